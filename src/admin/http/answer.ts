import type { ServerResponse } from 'node:http';
import { problemText, problemType } from '../../lib/problem.ts';
import { only, type Described, type Schema } from '../schemas/schema.ts';

/** A route's answer, and the headers of every answer of the admin server. */
export type Answer = {
  readonly status: number;
  /** null: the answer has no body. */
  readonly contentType: string | null;
  readonly body: string | Buffer | Stream;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Details beside the ids of the path. They go into the audit, and for a write into its log line.
   * Never text of people.
   */
  readonly auditDetails?: Readonly<Record<string, string>>;
  /** For a stream: resolves when its subject is over. A server that ends waits for it. */
  readonly ends?: Promise<void>;
};

/**
 * A body of open length. It is called once the head is written, then writes to the response until
 * that closes. Not called for HEAD.
 */
export type Stream = (response: ServerResponse) => void;

/**
 * Headers of an event stream. They keep a proxy from buffering the events, and from compressing,
 * which buffers too (fastify-sse-v2#8).
 */
export const unbuffered = {
  'x-accel-buffering': 'no',
  'cache-control': 'no-store, no-transform',
} as const;
export const eventStreamType = 'text/event-stream';

/** The browser runs and loads only the server's own files, and no page may frame them. */
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

/** The act succeeded, and there is nothing to return. */
export const noContent: Answer = { status: 204, contentType: null, body: '' };

/** Answers with the fields that the schema describes, and no others. */
export function answerWith<const S>(schema: S & Schema, value: Described<S>): Answer {
  return json(200, only(schema, value));
}

/** The same as `answerWith`, or 404 with `detail` if the value is null. */
export function found<const S>(
  schema: S & Schema,
  value: Described<S> | null,
  detail: string,
): Answer {
  return value === null ? problem(404, 'not_found', detail) : json(200, only(schema, value));
}

/**
 * Answers with an error. `code` is stable; `detail` says what to do. `members` are further fields,
 * which the route describes.
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
