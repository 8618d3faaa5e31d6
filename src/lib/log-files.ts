/**
 * A log in a few files of limited size. svc writes to `name.log`. When it is full, it becomes
 * `name.1.log`, that one `name.2.log` and so on; the last one is deleted. Only this user can read
 * them.
 *
 * When `write` returns, the system has the line, as with a standard error that is a file. So a
 * process that dies right after it loses no line. If the disk takes nothing, lines are lost and
 * nothing else happens; svc tries again with the next line.
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
  /** Absolute; created if it is missing. */
  readonly folder: string;
  readonly name: string;
  /** The limit of one file. A single chunk that is larger has its own file. */
  readonly bytesMax?: number;
  /** The number of files, with the one that svc writes to. */
  readonly filesMax?: number;
};

/**
 * The stream for a log; it takes whole lines.
 * @throws the error of the file system, if svc cannot write there
 */
export function openLogFiles(options: LogFilesOptions): Writable & Disposable {
  const { folder, name, bytesMax = 1_048_576, filesMax = 5 } = options;
  makeFolderSync(folder, 0o700);
  chmodSync(folder, 0o700);
  return new LogFiles(folder, name, bytesMax, filesMax);
}

/** The path of the file that svc writes to. */
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

  /** If svc cannot move a file, it deletes the content: the limit is more important. */
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
      // The close fails too if the disk is gone.
    }
  }

  #path(index: number): string {
    return logFileIn(this.#folder, index === 0 ? this.#name : `${this.#name}.${index}`);
  }
}
