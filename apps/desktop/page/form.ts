/** What a form of the shell's pages sends. Format: WHATWG URL, section 5. */
import type { IncomingMessage } from 'node:http';

/** A configuration of 1 MiB, of which each byte may come as three. */
const bodyBytesMax = 3 * 1_048_576 + 4_096;

export type FormRead =
  | { readonly kind: 'form'; readonly fields: URLSearchParams }
  | { readonly kind: 'refused'; readonly status: 400 | 413 | 415; readonly why: string };

export async function readForm(request: IncomingMessage): Promise<FormRead> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded(?:\s*;|$)/i.test(type)) {
    return { kind: 'refused', status: 415, why: 'Only the buttons of this page may do this.' };
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > bodyBytesMax) {
        return { kind: 'refused', status: 413, why: 'That is more than svc takes.' };
      }
      parts.push(part);
    }
  } catch {
    // What it is about is not told: it may hold what a person pasted.
    return { kind: 'refused', status: 400, why: 'It did not come as a whole. Try again.' };
  }
  return { kind: 'form', fields: new URLSearchParams(Buffer.concat(parts).toString('utf8')) };
}
