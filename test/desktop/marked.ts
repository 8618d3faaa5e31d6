/**
 * All processes that one stage began, children of children too: a core outlives its shell, and a
 * test that fails leaves any of them. Each has the person's home among its variables, but for
 * Chromium, which writes over them; that has its profile among its words.
 */
import { readdirSync, readFileSync } from 'node:fs';

export type Process = { readonly pid: number; readonly words: readonly string[] };

export class Marked implements AsyncDisposable {
  readonly #place: string;

  /** @param place a folder that no other stage has */
  constructor(place: string) {
    this.#place = `${place}/`;
  }

  /** Those that live now. */
  all(): readonly Process[] {
    return readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      const line = read(name, 'cmdline');
      const isMine = line.includes(this.#place) || read(name, 'environ').includes(this.#place);
      return isMine ? [{ pid: Number(name), words: wordsOf(line) }] : [];
    });
  }

  /** Ends each, and those that they began meanwhile. */
  async [Symbol.asyncDispose](): Promise<void> {
    const lastAt = performance.now() + 60_000;
    for (let left = this.all(); left.length > 0; left = this.all()) {
      if (performance.now() > lastAt) throw new Error(`still there: ${JSON.stringify(left)}`);
      for (const { pid } of left) kill(pid);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
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

function read(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}
