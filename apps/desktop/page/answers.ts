/** What goes out, with the headers of every answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { styleHash } from './frame.ts';

export type PageAnswer =
  | {
      readonly kind: 'page';
      readonly status: number;
      readonly page: string;
      /** Is called once the answer is out, or nobody is there to take it. */
      readonly after?: () => void;
    }
  /** Elsewhere: relative to the page, or the whole address of a page of the core. */
  | { readonly kind: 'go'; readonly to: string };

/**
 * Nothing runs, nothing is loaded, and no page may frame it. A form may lead to the pages of the
 * core, which are at another port. The address of a page goes to no other origin, and forms say
 * where they come from: without a referrer they would not.
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
  // What is left of a body that nobody read would be taken for the next request.
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
