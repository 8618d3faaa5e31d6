/** Ways in which the fake answers badly when a test asks for it. */
import type { ServerResponse } from 'node:http';
import { breakAnswer, sendAnswer, type Breakage, type HttpAnswer } from '../breakage.ts';
import { refuse, type Answer, type Refusal } from './wire.ts';

/** The first two never take effect. */
export type Fault =
  | { readonly kind: 'refuse'; readonly answer: Refusal }
  /** https://core.telegram.org/bots/api#responseparameters */
  | { readonly kind: 'rate-limit'; readonly retryAfterSeconds: number }
  | Breakage;

const tooManyRequests = (retryAfterSeconds: number): Refusal =>
  refuse(429, `Too Many Requests: retry after ${retryAfterSeconds}`, {
    retry_after: retryAfterSeconds,
  });

/** @param answer the method's answer; null: the call had no effect */
export function answerBadly(fault: Fault, answer: Answer | null, response: ServerResponse): void {
  if (fault.kind === 'refuse') return send(fault.answer, response);
  if (fault.kind === 'rate-limit') {
    return send(tooManyRequests(fault.retryAfterSeconds), response);
  }
  breakAnswer(fault, answer === null ? null : httpOf(answer), response);
}

export function send(answer: Answer, response: ServerResponse): void {
  sendAnswer(httpOf(answer), response);
}

/** The status of an answer is its error_code; a 429 also has Retry-After. */
function httpOf(answer: Answer): HttpAnswer {
  const text = JSON.stringify(answer);
  if (answer.ok) return { status: 200, headers: {}, text };
  const wait = answer.parameters?.retry_after;
  const headers: Record<string, string> = wait === undefined ? {} : { 'retry-after': String(wait) };
  return { status: answer.error_code, headers, text };
}
