/**
 * All refusals of the webhook: status, stable code, and one sentence with the remedy. The body is a
 * problem of RFC 9457.
 */
import type { Refused } from '../channel.ts';

export const bodyBytesMax = 1_048_576;

export type Refusal = {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export const refusals = {
  notFound: {
    status: 404,
    code: 'not_found',
    detail: 'There is nothing at this path; messages are POSTed to the configured one.',
  },
  unauthorized: {
    status: 401,
    code: 'unauthorized',
    detail: 'Send the header "Authorization: Bearer <secret>" with the secret of this channel.',
    headers: { 'www-authenticate': 'Bearer' },
  },
  unsupportedMediaType: {
    status: 415,
    code: 'unsupported_media_type',
    detail: 'Send the header "Content-Type: application/json"; the charset can only be utf-8.',
  },
  /** Format: RFC 9110, section 15.5.16. */
  compressed: {
    status: 415,
    code: 'unsupported_media_type',
    detail: 'Send the body uncompressed, without "Content-Encoding".',
    headers: { 'accept-encoding': 'identity' },
  },
  bodyTooLarge: {
    status: 413,
    code: 'body_too_large',
    detail: `The body may have ${bodyBytesMax} bytes.`,
  },
  notUtf8: { status: 400, code: 'invalid_json', detail: 'The body is not valid UTF-8.' },
  fault: { status: 500, code: 'fault', detail: 'Something went wrong here; try again.' },
} as const satisfies Record<string, Refusal>;

/** @param allow the methods that the path answers */
export function methodNotAllowed(allow: string): Refusal {
  const detail = `This path answers ${allow} only.`;
  return { status: 405, code: 'method_not_allowed', detail, headers: { allow } };
}

/** @param header the header that had the id */
export function idReused(header: string): Refusal {
  const detail =
    `The ${header} of this request was that of another message of the same sender in this ` +
    'conversation, so this message was not taken. Give every message an id of its own, and send ' +
    'a message again with the fields that it had.';
  return { status: 409, code: 'id_reused', detail };
}

type Reason = Refused['reason'];

const reasons = {
  full: ['inbox_full', 'There is no room for more messages just now; try again later.'],
  shutting_down: ['shutting_down', 'The service is stopping; try again in a moment.'],
  storage_failed: ['storage_failed', 'The message could not be stored; try again later.'],
} as const satisfies Record<Reason, readonly [string, string]>;

/** A 503; `Retry-After` is in whole seconds, at least one. */
export function unavailable(reason: Reason, retryAfterMs: number): Refusal {
  const [code, detail] = reasons[reason];
  const seconds = String(Math.max(1, Math.ceil(retryAfterMs / 1_000)));
  return { status: 503, code, detail, headers: { 'retry-after': seconds } };
}
