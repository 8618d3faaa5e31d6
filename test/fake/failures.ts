/**
 * The failures of a model, each with one name. Every fake model server knows every name, and the
 * table says what failure svc makes of it.
 */
import type { FailureKind } from '../../src/domain/failure.ts';

export const failures = {
  /** The port is closed. */
  refused: 'connect_failed',
  /** The connection is reset before any header. */
  reset: 'connection_lost',
  /** The connection ends in the middle of the body. */
  cut: 'connection_lost',
  /** No answer until the client goes away. */
  hang: 'timeout',
  /** The body comes a byte at a time and never ends. */
  drip: 'timeout',
  '429': 'rate_limited',
  /** With `Retry-After: 7`, unless the script gives another. */
  '429-retry-after': 'rate_limited',
  '503': 'overloaded',
  '500': 'server_error',
  '401': 'unauthorized',
  '404': 'not_found',
  '400': 'rejected',
  /** The wire's own error for a conversation that is too long. */
  overflow: 'context_overflow',
  /** 307 to the script's `location`. */
  redirect: 'redirected',
  /** 200, and JSON that ends too early. */
  malformed: 'malformed_answer',
  /** 200, and JSON of another shape. */
  'wrong-shape': 'malformed_answer',
  /** 200, and an answer without text. */
  empty: 'empty_answer',
  /** 200, and a good answer of 5 MiB. */
  oversized: 'answer_too_large',
  /** 200, and a web page. */
  html: 'malformed_answer',
} as const satisfies Record<string, FailureKind>;

export type FailureName = keyof typeof failures;
export const failureNames = Object.keys(failures) as readonly FailureName[];

/** In every error body, with the request's own key and text. svc may pass none of it on. */
export const upstreamWords = 'upstream-words-that-may-not-come-out';
