import type { ServerResponse } from 'node:http';
import { problemText, problemType } from '../../lib/problem.ts';
import { only, type Described, type Schema } from '../schemas/schema.ts';

/** What a route answers, and the headers that every answer of the admin server carries. */
export type Answer = {
  readonly status: number;
  /** null: the answer has no body. */
  readonly contentType: string | null;
  readonly body: string | Buffer | Stream;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * What is kept of a write, or of a read of texts, beside the ids of its path: in the audit, and
   * of a write in its log line. Never text.
   */
  readonly told?: Readonly<Record<string, string>>;
  /** Of a stream: resolves when what it tells of is over. A server that ends waits for it. */
  readonly ends?: Promise<void>;
};

/**
 * A body of open length: called once the head is written, it writes to the response from then on,
 * and stops when the response closes. Not called for HEAD.
 */
export type Stream = (response: ServerResponse) => void;

/**
 * Of a stream of events: a proxy that gathers answers would hold the events back, and one that
 * compresses them would, too (fastify-sse-v2#8).
 */
export const unbuffered = {
  'x-accel-buffering': 'no',
  'cache-control': 'no-store, no-transform',
} as const;
export const eventStreamType = 'text/event-stream';

/** Nothing runs or loads here but the server's own files; no page may frame it. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

export function json(status: number, value: unknown): Answer {
  return { status, contentType: 'application/json', body: JSON.stringify(value) };
}

/** It is done, and there is nothing to tell. */
export const noContent: Answer = { status: 204, contentType: null, body: '' };

/** The value with the fields that the schema describes, and no others. */
export function tell<const S>(schema: S & Schema, value: Described<S>): Answer {
  return json(200, only(schema, value));
}

/** The same as `tell`, or 404 with `detail` where there is nothing. */
export function found<const S>(
  schema: S & Schema,
  value: Described<S> | null,
  detail: string,
): Answer {
  return value === null ? problem(404, 'not_found', detail) : json(200, only(schema, value));
}

/**
 * An error. `code` is stable; `detail` says what to do; `members` stand beside them, and the route
 * describes them.
 */
export function problem(
  status: number,
  code: string,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
  members: Readonly<Record<string, unknown>> = {},
): Answer {
  const body = problemText(status, code, detail, members);
  return { status, contentType: problemType, body, headers };
}
