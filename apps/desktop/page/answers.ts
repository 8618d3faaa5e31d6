/** Sends an answer of the shell's pages, with the headers that every answer has. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { styleHash } from './frame.ts';

export type PageAnswer =
  | {
      readonly kind: 'page';
      readonly status: number;
      readonly page: string;
      /** Called once the answer is sent, or the client is gone. */
      readonly after?: () => void;
    }
  /** A redirect: `to` is relative to the page, or the full address of a page of the core. */
  | { readonly kind: 'go'; readonly to: string };

/**
 * The pages run no script, load nothing, and no page may frame them. A form may lead to the core's
 * pages, which are at another port. The referrer goes to no other origin. It is not switched off,
 * since forms without it would not say where they come from.
 */
const headers: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src ${styleHash}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'self' http://127.0.0.1:*",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

export function send(request: IncomingMessage, response: ServerResponse, answer: PageAnswer): void {
  // An unread rest of a body would be taken for the next request.
  const close = request.complete ? {} : { connection: 'close' };
  switch (answer.kind) {
    case 'go':
      response.writeHead(303, { ...headers, ...close, location: answer.to, 'content-length': 0 });
      response.end();
      return;
    case 'page': {
      const { status, page, after } = answer;
      const body = Buffer.from(page);
      const type = { 'content-type': 'text/html; charset=utf-8', 'content-length': body.length };
      if (after !== undefined) response.once('close', after);
      response.writeHead(status, { ...headers, ...close, ...type });
      response.end(request.method === 'HEAD' ? undefined : body);
      return;
    }
    default:
      answer satisfies never;
  }
}
