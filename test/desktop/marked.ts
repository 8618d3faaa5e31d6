/**
 * All processes that one stage began, children of children too: a core outlives its shell, and a
 * test that fails leaves any of them. Each has the person's home among its variables, but for
 * Chromium, which writes over them; that has its profile among its words.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { until } from '../support/waiting.ts';

export type Process = { readonly pid: number; readonly words: readonly string[] };

export class Marked implements AsyncDisposable {
  readonly #place: string;
  readonly #uid: number;

  /**
   * @param place a folder that no other stage has
   * @param uid whose processes they are
   */
  constructor(place: string, uid: number) {
    this.#place = `${place}/`;
    this.#uid = uid;
  }

  /** Those that live now. */
  all(): readonly Process[] {
    return this.#among((name) => /^\d+$/.test(name));
  }

  /**
   * The same without those that let nobody look into them, as pages of Chromium do: to /proc they
   * are root's. Few processes have the right owner, so this costs much less.
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

  /** Ends each, and those that they began meanwhile. */
  async [Symbol.asyncDispose](): Promise<void> {
    await until(`all processes of ${this.#place} have ended`, () => {
      const left = this.all();
      for (const { pid } of left) kill(pid);
      return left.length === 0;
    });
  }
}

/** Ends it at once; it may be gone by then. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}

/** Chromium makes one text of its words. */
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
