/**
 * A log in a few files of a bounded size: `name.log` is written to, and when it is full it becomes
 * `name.1.log`, that one `name.2.log` and so on; the last is gone. This user alone can read them.
 *
 * What was taken is with the system when `write` returns, as with a standard error that is a file:
 * a process that dies right after loses no line. Where the disk takes nothing, lines are lost and
 * nothing else is; the next line is tried anew.
 */
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fstatSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { makeFolderSync } from './make-folder.ts';

export type LogFilesOptions = {
  /** Absolute; it is made where it is missing. */
  readonly folder: string;
  readonly name: string;
  /** Of one file; a single chunk that is larger has a file of its own. */
  readonly bytesMax?: number;
  /** All of them, the one that is written to among them. */
  readonly filesMax?: number;
};

/**
 * The stream for a log, which is given whole lines.
 * @throws what the file system says, where nothing can be written there
 */
export function openLogFiles(options: LogFilesOptions): Writable & Disposable {
  const { folder, name, bytesMax = 1_048_576, filesMax = 5 } = options;
  makeFolderSync(folder, 0o700);
  chmodSync(folder, 0o700);
  return new LogFiles(folder, name, bytesMax, filesMax);
}

/** The path of the file that is written to. */
export function logFileIn(folder: string, name: string): string {
  return join(folder, `${name}.log`);
}

type OpenFile = { readonly fd: number; bytes: number };

class LogFiles extends Writable implements Disposable {
  readonly #folder: string;
  readonly #name: string;
  readonly #bytesMax: number;
  readonly #filesMax: number;
  #file: OpenFile | null;

  constructor(folder: string, name: string, bytesMax: number, filesMax: number) {
    super({ decodeStrings: true });
    this.#folder = folder;
    this.#name = name;
    this.#bytesMax = bytesMax;
    this.#filesMax = filesMax;
    this.#file = this.#open('a');
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    try {
      this.#put(chunk);
    } catch {
      this.#close();
    }
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#close();
    done(error);
  }

  [Symbol.dispose](): void {
    this.destroy();
  }

  #put(chunk: Buffer): void {
    this.#file ??= this.#open('a');
    const { bytes } = this.#file;
    if (bytes > 0 && bytes + chunk.length > this.#bytesMax) this.#file = this.#next();
    for (let at = 0; at < chunk.length;) {
      const written = writeSync(this.#file.fd, chunk, at);
      this.#file.bytes += written;
      at += written;
    }
  }

  /** Where a file cannot be moved, what it holds is given up: the bound counts more. */
  #next(): OpenFile {
    this.#close();
    try {
      rmSync(this.#path(this.#filesMax - 1), { force: true });
      for (let index = this.#filesMax - 1; index > 0; index--) this.#move(index - 1, index);
      return this.#open('a');
    } catch {
      return this.#open('w');
    }
  }

  #move(from: number, to: number): void {
    try {
      renameSync(this.#path(from), this.#path(to));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  #open(flag: 'a' | 'w'): OpenFile {
    const fd = openSync(this.#path(0), flag, 0o600);
    fchmodSync(fd, 0o600);
    return { fd, bytes: fstatSync(fd).size };
  }

  #close(): void {
    const file = this.#file;
    this.#file = null;
    if (file === null) return;
    try {
      closeSync(file.fd);
    } catch {
      // A disk that is gone says so at the end, too.
    }
  }

  #path(index: number): string {
    return logFileIn(this.#folder, index === 0 ? this.#name : `${this.#name}.${index}`);
  }
}
