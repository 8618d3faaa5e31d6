import type { IncomingMessage, ServerResponse } from 'node:http';

/** No route wants a body yet, so this is only what a client may send along. */
export const bodyBytesMax = 65_536;

/** `broken_off`: the client was gone before its end. */
export type BodyEnd = 'passed' | 'too_large' | 'broken_off';

/**
 * Waits for the end of a request's body, which is thrown away, so that what is asked for happens
 * only if all of the request came. What follows a body that is too large is thrown away as well,
 * for as long as the listener gives a request.
 */
export function passBody(request: IncomingMessage, response: ServerResponse): Promise<BodyEnd> {
  if (Number(request.headers['content-length']) > bodyBytesMax) return Promise.resolve('too_large');
  if (request.headers.expect !== undefined) response.writeContinue();
  return new Promise((resolve) => {
    let bytes = 0;
    request.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > bodyBytesMax) resolve('too_large');
    });
    request.on('end', () => resolve('passed'));
    request.on('close', () => resolve('broken_off'));
  });
}
