/** One test file while it runs, and what came of it. */
import type { FromWorker, Result } from './test-reporter.ts';

/** The work is over, or the process ended before that, or nothing was heard for too long. */
export type How = 'over' | 'ended' | 'hung';

/** What came of one file. */
export type FileOutcome = {
  readonly file: string;
  /** The results of its tests and suites, and of the file itself where it could not be loaded. */
  readonly results: readonly Result[];
  readonly ms: number;
  /** Time on the processor, without that of the processes that it started. */
  readonly cpuMs: number;
  /** The output of the file. */
  readonly output: string;
  /** The diagnostics of its tests. */
  readonly said: readonly string[];
  /** False: its process died, or was ended because it hung. */
  readonly isOver: boolean;
  /** What is wrong beside the results, in sentences. */
  readonly faults: readonly string[];
};

/** What is heard of one file while it runs. */
export class FileRun {
  readonly #file: string;
  readonly #results: Result[] = [];
  readonly #said: string[] = [];
  readonly #faults: string[] = [];
  #running = '';
  #cpuMs = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** @returns whether all has been heard */
  heard(message: FromWorker): boolean {
    switch (message.kind) {
      case 'began':
        this.#running = message.name;
        break;
      case 'said':
        this.#said.push(message.text);
        break;
      case 'stray':
        this.#faults.push(message.text);
        break;
      case 'result':
        this.#took(message.result);
        break;
      case 'done':
        this.#cpuMs = message.cpuMs;
        this.#faults.push(...message.changed.map((what) => `it leaves ${what} changed`));
        return true;
      default:
        message satisfies never;
    }
    return false;
  }

  #took(result: Result): void {
    // The suite that stands for the file is left out, unless the file could not be loaded.
    if (result.nesting > 0 || result.error !== null) this.#results.push(result);
  }

  outcome(ms: number, output: string, how: How): FileOutcome {
    const where = this.#running === '' ? '' : ` at "${this.#running}"`;
    const faults = [...this.#faults];
    if (how === 'ended') faults.push(`its process died${where}`);
    if (how === 'hung') faults.push(`it hangs${where}`);
    return {
      file: this.#file,
      results: this.#results,
      ms,
      cpuMs: this.#cpuMs,
      output,
      said: this.#said,
      isOver: how === 'over',
      faults,
    };
  }
}
