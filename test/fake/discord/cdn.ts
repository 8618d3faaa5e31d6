/**
 * Where attachments lie: it knows no bot, so a token that is sent there is given away, and answers
 * signed addresses alone.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Snowflake } from './wire.ts';

type Kept = { readonly filename: string; readonly type: string; readonly bytes: Uint8Array };

export class Cdn {
  readonly #files = new Map<string, Uint8Array>();

  static has(url: URL): boolean {
    return url.pathname.startsWith('/attachments/');
  }

  /** @returns the fields of an attachment */
  store(id: Snowflake, port: number, { filename, type, bytes }: Kept) {
    const path = `/attachments/${id}/${filename}`;
    this.#files.set(path, bytes);
    const url = `http://127.0.0.1:${port}${path}?ex=1&is=1&hm=1`;
    return { id, filename, content_type: type, size: bytes.length, url, proxy_url: url };
  }

  answer(request: IncomingMessage, url: URL, response: ServerResponse): void {
    const bytes = this.#files.get(url.pathname);
    const isSigned = url.searchParams.has('hm');
    const status = request.headers.authorization !== undefined ? 400 : isSigned ? 200 : 403;
    response.writeHead(bytes === undefined ? 404 : status).end(status === 200 ? bytes : '');
  }
}
