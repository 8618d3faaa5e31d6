/** Refusals that all listeners of channels share: status, stable code, and one sentence. */
import type { Refused } from './channel.ts';

export type Refusal = {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export const sharedRefusals = {
  /** Format: RFC 9110, section 15.5.16. */
  compressed: {
    status: 415,
    code: 'unsupported_media_type',
    detail: 'Send the body uncompressed, without "Content-Encoding".',
    headers: { 'accept-encoding': 'identity' },
  },
  fault: { status: 500, code: 'fault', detail: 'Something went wrong here; try again.' },
} as const satisfies Record<string, Refusal>;

export function bodyTooLarge(bytesMax: number): Refusal {
  return { status: 413, code: 'body_too_large', detail: `The body may have ${bytesMax} bytes.` };
}

/** @param allow the methods that the path answers */
export function methodNotAllowed(allow: string): Refusal {
  const detail = `This path answers ${allow} only.`;
  return { status: 405, code: 'method_not_allowed', detail, headers: { allow } };
}

const reasons = {
  full: ['inbox_full', 'There is no room for more messages just now; try again later.'],
  shutting_down: ['shutting_down', 'The service is stopping; try again in a moment.'],
  storage_failed: ['storage_failed', 'The message could not be stored; try again later.'],
} as const satisfies Record<Refused['reason'], readonly [string, string]>;

export function unavailable(reason: Refused['reason'], retryAfterMs: number): Refusal {
  const [code, detail] = reasons[reason];
  return { status: 503, code, detail, headers: { 'retry-after': secondsOf(retryAfterMs) } };
}

/** A number of seconds for `Retry-After`, at least one. */
export const secondsOf = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1_000)));
