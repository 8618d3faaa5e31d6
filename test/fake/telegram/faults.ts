/** Ways in which the fake answers badly when a test wants it to. */
import type { ServerResponse } from 'node:http';
import { refuse } from './wire.ts';
import type { Answer, Refusal } from './wire.ts';

/**
 * `done`: whether the method takes effect before the answer goes wrong (a message is sent, and the
 * bot does not learn it). Otherwise nothing happens. `refuse` and `rate-limit` never take effect.
 */
export type Fault =
  | { readonly kind: 'refuse'; readonly answer: Refusal }
  /** https://core.telegram.org/bots/api#responseparameters */
  | { readonly kind: 'rate-limit'; readonly retryAfterSeconds: number }
  /** Never answered; the connection stays open. */
  | { readonly kind: 'hang'; readonly done?: boolean }
  /** The connection is reset before a byte of an answer. */
  | { readonly kind: 'reset'; readonly done?: boolean }
  /** Half an answer, then the end of the connection. */
  | { readonly kind: 'cut'; readonly done?: boolean }
  /** A byte of the answer every `everyMs` milliseconds. */
  | { readonly kind: 'drip'; readonly everyMs: number; readonly done?: boolean }
  /** What stands before the platform's servers answers, with a page. */
  | { readonly kind: 'html'; readonly status: number; readonly done?: boolean }
  /** The answer is right and comes late. */
  | { readonly kind: 'late'; readonly afterMs: number };

export const tooManyRequests = (retryAfterSeconds: number): Refusal =>
  refuse(429, `Too Many Requests: retry after ${retryAfterSeconds}`, {
    retry_after: retryAfterSeconds,
  });

/** Whether the method runs although this goes wrong. */
export function takesEffect(fault: Fault): boolean {
  if (fault.kind === 'late') return true;
  return 'done' in fault && fault.done;
}

/** @param answer what the method gave, where it took effect */
export function answerBadly(fault: Fault, answer: Answer | null, response: ServerResponse): void {
  switch (fault.kind) {
    case 'refuse':
      return send(fault.answer, response);
    case 'rate-limit':
      return send(tooManyRequests(fault.retryAfterSeconds), response);
    case 'hang':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'cut':
      return begin(answer, response, (text) => {
        response.write(text.slice(0, Math.ceil(text.length / 2)), () => response.destroy());
      });
    case 'drip':
      return begin(answer, response, (text) => drip(text, fault.everyMs, response));
    case 'html':
      response.writeHead(fault.status, { 'content-type': 'text/html' });
      response.end(`<html><head><title>${fault.status} Bad Gateway</title></head></html>`);
      return;
    case 'late': {
      const timer = setTimeout(
        () => send(answer ?? { ok: true, result: true }, response),
        fault.afterMs,
      );
      response.once('close', () => clearTimeout(timer));
      return;
    }
    default:
      fault satisfies never;
  }
}

/** The status of an answer is its error_code; a 429 says Retry-After too. */
export function send(answer: Answer, response: ServerResponse): void {
  if (response.destroyed) return;
  const text = JSON.stringify(answer);
  const wait = answer.ok ? undefined : answer.parameters?.retry_after;
  response.writeHead(answer.ok ? 200 : answer.error_code, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(wait !== undefined && { 'retry-after': String(wait) }),
  });
  response.end(text);
}

function begin(
  answer: Answer | null,
  response: ServerResponse,
  write: (text: string) => void,
): void {
  const text = JSON.stringify(answer ?? { ok: true, result: [] });
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  write(text);
}

function drip(text: string, everyMs: number, response: ServerResponse): void {
  const bytes = Buffer.from(text);
  let at = 0;
  const timer = setInterval(() => {
    response.write(bytes.subarray(at, ++at));
    if (at === bytes.length) response.end();
    if (at >= bytes.length) clearInterval(timer);
  }, everyMs);
  response.once('close', () => clearInterval(timer));
}
