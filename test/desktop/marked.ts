/**
 * Finds all processes that one stage started, with all descendants: a core outlives its shell, and
 * a failed test may leave any of them. Each has the person's home among its variables. Chromium
 * overwrites its variables, but has its profile in its command line.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { until } from '../support/waiting.ts';

export type Process = { readonly pid: number; readonly words: readonly string[] };

export class Marked implements AsyncDisposable {
  readonly #place: string;
  readonly #uid: number;

  /**
   * @param place a folder that no other stage has
   * @param uid the owner of the processes
   */
  constructor(place: string, uid: number) {
    this.#place = `${place}/`;
    this.#uid = uid;
  }

  /** The processes that live now. */
  all(): readonly Process[] {
    return this.#among((name) => /^\d+$/.test(name));
  }

  /**
   * The same without processes that hide their details, such as Chromium's pages: /proc shows them
   * as root's. Few processes have the right owner, so this costs much less.
   */
  main(): readonly Process[] {
    return this.#among((name) => /^\d+$/.test(name) && ownerOf(name) === this.#uid);
  }

  #among(is: (pid: string) => boolean): readonly Process[] {
    return readdirSync('/proc').flatMap((name) => {
      if (!is(name)) return [];
      const line = read(name, 'cmdline');
      const isMine = line.includes(this.#place) || read(name, 'environ').includes(this.#place);
      return isMine ? [{ pid: Number(name), words: wordsOf(line) }] : [];
    });
  }

  /** Kills all of them, and the processes that they start meanwhile. */
  async [Symbol.asyncDispose](): Promise<void> {
    await until(`all processes of ${this.#place} have ended`, () => {
      const left = this.all();
      for (const { pid } of left) kill(pid);
      return left.length === 0;
    });
  }
}

/** Kills the process at once; it may be gone already. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}

/** Chromium joins its arguments into one text. */
function wordsOf(line: string): readonly string[] {
  const words = line.split('\0').filter((word) => word !== '');
  return words.length === 1 ? words[0]!.split(' ') : words;
}

function ownerOf(pid: string): number | null {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid ?? null;
}

function read(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
