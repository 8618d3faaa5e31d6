/** One line after the other from a terminal; a hidden one is shown nowhere. */
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Io } from '../cli.ts';

export class Asking {
  readonly #lines: Interface;
  readonly #out: Io['stdout'];
  #isHidden = false;
  #isClosed = false;
  #prompt = '';

  /** @param quit is called at Ctrl-C, and at the end of the input */
  constructor({ stdin, stdout }: Io, quit: () => void) {
    this.#out = stdout;
    const shown = new Writable({
      write: (part: Buffer, _encoding, done) => {
        if (!this.#isHidden) stdout.write(part);
        done();
      },
    });
    // What was typed is no history to go back to: some of it is secret.
    const settings = { input: stdin, output: shown, terminal: true, historySize: 0 };
    this.#lines = createInterface(settings);
    this.#lines.on('SIGINT', () => {
      stdout.write('\n');
      quit();
    });
    this.#lines.on('close', () => {
      const isOwn = this.#isClosed;
      // Before anybody hears of it: nothing can be written to it from now on.
      this.#isClosed = true;
      if (!isOwn) quit();
    });
  }

  /** Null: the signal came first, or there is no more input. */
  line(prompt: string, signal: AbortSignal): Promise<string | null> {
    this.#prompt = prompt;
    return this.#next(prompt, signal);
  }

  /** The same; nothing that is typed is shown. */
  async hidden(prompt: string, signal: AbortSignal): Promise<string | null> {
    this.#out.write(prompt);
    this.#isHidden = true;
    try {
      return await this.#next('', signal);
    } finally {
      this.#isHidden = false;
      this.#out.write('\n');
    }
  }

  /** Says something above the line that is typed. */
  say(text: string): void {
    this.#out.write(`\n${text}\n${this.#prompt}`);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#lines.close();
  }

  #next(prompt: string, signal: AbortSignal): Promise<string | null> {
    if (signal.aborted || this.#isClosed) return Promise.resolve(null);
    const lines = this.#lines;
    return new Promise((resolve) => {
      const end = (typed: string | null): void => {
        signal.removeEventListener('abort', gone);
        lines.removeListener('line', end).removeListener('close', gone);
        resolve(typed);
      };
      const gone = (): void => {
        // What was begun belongs to a page that is gone.
        if (!this.#isClosed) lines.write(null, { ctrl: true, name: 'u' });
        end(null);
      };
      lines.once('line', end);
      lines.once('close', gone);
      signal.addEventListener('abort', gone, { once: true });
      lines.setPrompt(prompt);
      lines.prompt();
    });
  }
}
