import type { IncomingMessage, ServerResponse } from 'node:http';

/** `broken_off`: the client was gone before the end of the body. */
export type BodyEnd =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  /** `count`: how many bytes had come by then. */
  | { readonly kind: 'too_large'; readonly count: number }
  | { readonly kind: 'broken_off' };

/**
 * Collects a request's body, with a running count. What follows a body that is too large is thrown
 * away, for as long as the listener gives a request. Never rejects.
 */
export function collectBody(
  request: IncomingMessage,
  response: ServerResponse,
  bytesMax: number,
): Promise<BodyEnd> {
  const declared = Number(request.headers['content-length']);
  if (declared > bytesMax) return Promise.resolve({ kind: 'too_large', count: 0 });
  // Behind an unanswered request Node would write the interim answer into the final one.
  const isNext = response.socket !== null;
  if (expectsContinue(request) && isNext) response.writeContinue();
  return new Promise((resolve) => {
    let parts: Buffer[] = [];
    let count = 0;
    request.on('data', (part: Buffer) => {
      count += part.length;
      if (count <= bytesMax) {
        parts.push(part);
      } else {
        parts = [];
        resolve({ kind: 'too_large', count });
      }
    });
    request.on('end', () => {
      resolve({ kind: 'whole', bytes: parts.length === 1 ? parts[0]! : Buffer.concat(parts) });
    });
    request.on('close', () => resolve({ kind: 'broken_off' }));
  });
}

/** HTTP/1.0 has no interim answer: https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1 */
function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion !== '1.0' && /^100-continue$/i.test(headers.expect ?? '');
}
