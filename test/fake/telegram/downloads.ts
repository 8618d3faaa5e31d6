import type { ServerResponse } from 'node:http';
import type { StoredFile } from './methods.ts';

/** Files as a bot downloads them. */
export class Downloads {
  /** The paths that were asked for, in order. */
  readonly asked: string[] = [];
  /** While it is set, every download stops halfway. */
  stalled = false;
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** @returns false: there is no such file */
  answer(files: Iterable<StoredFile>, path: string, response: ServerResponse): boolean {
    const file = [...files].find((one) => one.path === path);
    if (file === undefined) return false;
    const { bytes } = file;
    const headers = { 'content-type': 'application/octet-stream', 'content-length': bytes.length };
    response.writeHead(200, headers);
    if (this.stalled) response.write(bytes.subarray(0, bytes.length / 2));
    else response.end(bytes);
    this.asked.push(path);
    this.#changed();
    return true;
  }
}
