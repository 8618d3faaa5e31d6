/** How a browser is given an address that holds a code: by a file that this user alone reads. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { makeFolderSync } from '../../../src/lib/make-folder.ts';
import {
  redirectPrefix,
  writeRedirectFile,
  type RedirectFile,
} from '../../../src/lib/person-browser.ts';

/** Longer than a code in it is good. */
const keptMs = 70_000;

export class Redirects implements Disposable {
  readonly #folder: string;
  /** Each is there until its own time is over: a browser that starts may read it late. */
  readonly #kept = new Map<RedirectFile, NodeJS.Timeout>();
  #isSwept = false;

  /** @param folder made where it is not there, for this user alone */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @returns the path of a file that leads there; null: none can be written */
  to(url: string): string | null {
    try {
      makeFolderSync(this.#folder, 0o700);
      this.#sweep();
      const file = writeRedirectFile(url, { TMPDIR: this.#folder });
      this.#kept.set(file, setTimeout(() => this.#remove(file), keptMs).unref());
      return file.path;
    } catch {
      return null;
    }
  }

  /** The same as an address. Where no file can be written, it is the address itself. */
  addressTo(url: string): string {
    const path = this.to(url);
    return path === null ? url : pathToFileURL(path).href;
  }

  [Symbol.dispose](): void {
    for (const file of this.#kept.keys()) this.#remove(file);
  }

  #remove(file: RedirectFile): void {
    clearTimeout(this.#kept.get(file));
    this.#kept.delete(file);
    file[Symbol.dispose]();
  }

  /** What a killed shell left: its codes are good for nothing any more. */
  #sweep(): void {
    if (this.#isSwept) return;
    this.#isSwept = true;
    for (const name of readdirSync(this.#folder)) {
      if (!name.startsWith(redirectPrefix)) continue;
      rmSync(join(this.#folder, name), { recursive: true, force: true });
    }
  }
}
