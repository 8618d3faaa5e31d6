/** Ways in which the fake answers badly when a test asks for it. */
import type { ServerResponse } from 'node:http';
import {
  breakAnswer,
  sendAnswer,
  takesEffect,
  type Breakage,
  type HttpAnswer,
} from '../breakage.ts';
import { tooMany, type Scope } from './rate-limits.ts';
import { failed, type RestAnswer } from './rest.ts';
import type { ErrorName } from './wire.ts';

/** Only a `Breakage` may take effect. */
export type DiscordFault =
  | { readonly kind: 'rate-limit'; readonly retryAfterSeconds: number; readonly scope?: Scope }
  | { readonly kind: 'refuse'; readonly error: ErrorName }
  | { readonly kind: 'status'; readonly status: number }
  | Breakage;

/** @param carryOut does the request, for faults that take effect */
export function answerBadly(
  fault: DiscordFault,
  carryOut: () => HttpAnswer,
  response: ServerResponse,
): void {
  if (fault.kind === 'rate-limit') {
    const limited = tooMany(fault.retryAfterSeconds, fault.scope ?? 'user');
    return sendAnswer(httpOf(limited, limited.headers), response);
  }
  if (fault.kind === 'refuse') return sendAnswer(httpOf(failed(fault.error)), response);
  if (fault.kind === 'status') {
    const body = { message: `${fault.status}: a fault`, code: 0 };
    return sendAnswer(httpOf({ status: fault.status, body }), response);
  }
  breakAnswer(fault, takesEffect(fault) ? carryOut() : null, response);
}

export function httpOf(
  { status, body }: RestAnswer,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer {
  return { status, headers, text: body === undefined ? '' : JSON.stringify(body) };
}
