/** Ways in which an HTTP answer goes wrong on demand, on any platform. */
import type { ServerResponse } from 'node:http';

export type HttpAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
};

/**
 * `done`: the request takes effect before the answer goes wrong. For example the platform sends a
 * message, and the bot does not learn of it. Otherwise the request has no effect.
 */
export type Breakage =
  /** No answer; the connection stays open. */
  | { readonly kind: 'hang'; readonly done?: boolean }
  /** The connection is reset before a byte of an answer. */
  | { readonly kind: 'reset'; readonly done?: boolean }
  /** Half an answer, then the end of the connection. */
  | { readonly kind: 'cut'; readonly done?: boolean }
  /** A byte of the answer every `everyMs` milliseconds. */
  | { readonly kind: 'drip'; readonly everyMs: number; readonly done?: boolean }
  /** A proxy before the platform's servers answers with a page. */
  | { readonly kind: 'html'; readonly status: number; readonly done?: boolean }
  /** The right answer, but late. */
  | { readonly kind: 'late'; readonly afterMs: number };

const nothing: HttpAnswer = { status: 200, headers: {}, text: '{"nothing":"was done"}' };

/** Whether the request takes effect although its answer goes wrong. */
export function takesEffect(breakage: { readonly kind: string; readonly done?: boolean }): boolean {
  return breakage.kind === 'late' || breakage.done === true;
}

/** @param answer the right answer; null: the request had no effect */
export function breakAnswer(
  breakage: Breakage,
  answer: HttpAnswer | null,
  response: ServerResponse,
): void {
  const { text } = answer ?? nothing;
  switch (breakage.kind) {
    case 'hang':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'cut':
      begin(answer ?? nothing, response);
      response.write(text.slice(0, Math.ceil(text.length / 2)), () => response.destroy());
      return;
    case 'drip':
      begin(answer ?? nothing, response);
      return drip(text, breakage.everyMs, response);
    case 'html':
      response.writeHead(breakage.status, { 'content-type': 'text/html' });
      response.end(`<html><head><title>error ${breakage.status}</title></head></html>`);
      return;
    case 'late': {
      const timer = setTimeout(() => sendAnswer(answer ?? nothing, response), breakage.afterMs);
      response.once('close', () => clearTimeout(timer));
      return;
    }
    default:
      breakage satisfies never;
  }
}

export function sendAnswer(answer: HttpAnswer, response: ServerResponse): void {
  if (response.destroyed) return;
  begin(answer, response);
  response.end(answer.text);
}

function begin({ status, headers, text }: HttpAnswer, response: ServerResponse): void {
  const length = Buffer.byteLength(text);
  const about = { 'content-type': 'application/json', 'content-length': length };
  response.writeHead(status, { ...(status !== 204 && about), ...headers });
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
