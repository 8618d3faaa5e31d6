/** https://core.telegram.org/bots/api#getfile: files are read by their path, without a method. */
import type { ServerResponse } from 'node:http';
import { send } from './faults.ts';
import type { StoredFile } from './methods.ts';
import { refuse } from './wire.ts';

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

  answer(files: ReadonlyMap<string, StoredFile>, path: string, response: ServerResponse): void {
    const file = [...files.values()].find((one) => one.path === path);
    if (file === undefined) return send(refuse(404, 'Not Found'), response);
    const { bytes } = file;
    const headers = { 'content-type': 'application/octet-stream', 'content-length': bytes.length };
    response.writeHead(200, headers);
    if (this.stalled) response.write(bytes.subarray(0, bytes.length / 2));
    else response.end(bytes);
    this.asked.push(path);
    this.#changed();
  }
}
