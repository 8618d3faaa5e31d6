/**
 * The server of attachments. It knows no bot, so a token sent to it is disclosed. It answers only
 * signed addresses.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Downloads } from '../downloads.ts';
import type { Snowflake } from './wire.ts';

type Kept = { readonly filename: string; readonly type: string; readonly bytes: Uint8Array };

export class Cdn {
  readonly downloads: Downloads;
  readonly #files = new Map<string, Uint8Array>();

  constructor(changed: () => void) {
    this.downloads = new Downloads(changed);
  }

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
    if (bytes === undefined) response.writeHead(404).end();
    else if (status === 200) this.downloads.send(url.pathname, bytes, response);
    else response.writeHead(status).end();
  }
}
