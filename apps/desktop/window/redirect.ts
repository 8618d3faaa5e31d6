/** Passes an address with a code to a browser, through a file that only this user can read. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { makeFolderSync } from '../../../src/lib/make-folder.ts';
import {
  redirectPrefix,
  writeRedirectFile,
  type RedirectFile,
} from '../../../src/lib/person-browser.ts';

/** Longer than the code in the file is valid. */
const keptMs = 70_000;

export class Redirects implements Disposable {
  readonly #folder: string;
  /** Each file stays for its full time: a browser that is still starting may read it late. */
  readonly #kept = new Map<RedirectFile, NodeJS.Timeout>();
  #isSwept = false;

  /** @param folder created if it is missing, for this user alone */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @returns the path of a file that redirects to the URL; null: it cannot be written */
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

  /** @returns the URL of such a file; `url` itself if the file cannot be written */
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

  /** Removes the files of a killed shell; their codes are no longer valid. */
  #sweep(): void {
    if (this.#isSwept) return;
    this.#isSwept = true;
    for (const name of readdirSync(this.#folder)) {
      if (!name.startsWith(redirectPrefix)) continue;
      rmSync(join(this.#folder, name), { recursive: true, force: true });
    }
  }
}
