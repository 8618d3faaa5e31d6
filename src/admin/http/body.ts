import type { IncomingMessage, ServerResponse } from 'node:http';

/** The bytes that a client may send along to a route that wants no body. */
export const strayBytesMax = 65_536;

/** `broken_off`: the client was gone before its end. */
export type BodyEnd =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'broken_off' };

/**
 * Collects a request's body, with a running count. What follows a body that is too large is thrown
 * away, for as long as the listener gives a request.
 */
export function collectBody(
  request: IncomingMessage,
  response: ServerResponse,
  bytesMax: number,
): Promise<BodyEnd> {
  const declared = Number(request.headers['content-length']);
  if (declared > bytesMax) return Promise.resolve({ kind: 'too_large' });
  if (request.headers.expect !== undefined) response.writeContinue();
  return new Promise((resolve) => {
    let parts: Buffer[] = [];
    let count = 0;
    request.on('data', (part: Buffer) => {
      count += part.length;
      if (count <= bytesMax) {
        parts.push(part);
      } else {
        parts = [];
        resolve({ kind: 'too_large' });
      }
    });
    request.on('end', () => resolve({ kind: 'whole', bytes: Buffer.concat(parts) }));
    request.on('close', () => resolve({ kind: 'broken_off' }));
  });
}
