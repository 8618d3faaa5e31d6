/**
 * Shares test files among some processes (test-worker.ts), each of which runs many, one after the
 * other. A file that must be alone has a process of its own. A process that dies or hangs costs
 * the file that it was at; another one goes on with the rest.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { FromWorker, Result, ToWorker } from './test-reporter.ts';

export type Orders = {
  /** Absolute paths, in the order in which they are begun. */
  readonly files: readonly string[];
  readonly isAlone: (file: string) => boolean;
  readonly workers: number;
  /** A file of which nothing is heard for so long hangs. */
  readonly hangMs: number;
};

/** The work is over, or the process ended before that, or nothing was heard for too long. */
type How = 'over' | 'ended' | 'hung';

/** What came of one file. */
export type FileOutcome = {
  readonly file: string;
  /** Of its tests and suites, and of the file itself where that could not be loaded. */
  readonly results: readonly Result[];
  readonly ms: number;
  /** Of the processor, without the processes that it started. */
  readonly cpuMs: number;
  /** What it wrote. */
  readonly output: string;
  /** What its tests said of themselves. */
  readonly said: readonly string[];
  /** False: its process died, or was ended because it hung. */
  readonly isOver: boolean;
  /** What is wrong beside the results, in sentences. */
  readonly faults: readonly string[];
};

export type Outcome = {
  readonly files: readonly FileOutcome[];
  /** What is wrong and belongs to no file. */
  readonly faults: readonly string[];
};

/** @param tell of each file as soon as it is over */
export async function runFiles(
  orders: Orders,
  tell: (outcome: FileOutcome) => void = () => {},
): Promise<Outcome> {
  const queue = [...orders.files];
  const files: FileOutcome[] = [];
  const faults: string[] = [];
  const take = async (worker: Worker, file: string): Promise<FileOutcome> => {
    const outcome = await worker.run(file);
    files.push(outcome);
    tell(outcome);
    return outcome;
  };
  const lane = async (): Promise<void> => {
    let shared: Worker | null = null;
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      if (orders.isAlone(file)) {
        const own = new Worker(orders.hangMs);
        if ((await take(own, file)).isOver) faults.push(...(await own.end()));
        continue;
      }
      shared ??= new Worker(orders.hangMs);
      if (!(await take(shared, file)).isOver) shared = null;
    }
    if (shared !== null) faults.push(...(await shared.end()));
  };
  await Promise.all(Array.from({ length: orders.workers }, lane));
  return { files, faults };
}

const node = ['--test-reporter', join(import.meta.dirname, 'test-reporter.ts')];

/** One process; idle → at a file → idle → … → ended. */
class Worker {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #hangMs: number;
  readonly #files: string[] = [];
  #failed = false;
  #heard: (message: FromWorker) => void = () => {};
  #output = '';

  constructor(hangMs: number) {
    this.#hangMs = hangMs;
    this.#child = fork(join(import.meta.dirname, 'test-worker.ts'), {
      execArgv: [...node, '--test-reporter-destination', 'stdout'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#ended = once(this.#child, 'close');
    this.#child.on('message', (message: FromWorker) => this.#heard(message));
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    }
  }

  async run(file: string): Promise<FileOutcome> {
    this.#files.push(file);
    this.#output = '';
    const startedAt = performance.now();
    const run = new FileRun(file);
    const how = await this.#until(
      (message, over) => {
        if (run.heard(message)) over();
      },
      { kind: 'file', file },
    );
    const ms = performance.now() - startedAt;
    const outcome = run.outcome(ms, stripVTControlCharacters(this.#output), how);
    this.#failed ||= outcome.results.some(
      ({ state }) => state === 'failed' || state === 'cancelled',
    );
    return outcome;
  }

  /** Lets the process end by itself. @returns what is wrong with that, in sentences */
  async end(): Promise<readonly string[]> {
    this.#output = '';
    const faults: string[] = [];
    const how = await this.#until(
      (message) => {
        if (message.kind === 'stray') faults.push(message.text);
      },
      { kind: 'end' },
    );
    const files = this.#files.join(', ');
    if (how === 'hung') faults.push(`a process does not end after ${files}`);
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== 0 && !this.#failed && faults.length === 0) {
      faults.push(`a process ended with ${exitCode ?? signalCode} after ${files}\n${this.#output}`);
    }
    return faults;
  }

  /** @param hear calls its second parameter when it has heard all */
  async #until(
    hear: (message: FromWorker, over: () => void) => void,
    message: ToWorker,
  ): Promise<How> {
    const { promise, resolve } = Promise.withResolvers<How>();
    const late = setTimeout(() => resolve('hung'), this.#hangMs);
    this.#heard = (told) => {
      late.refresh();
      hear(told, () => resolve('over'));
    };
    void this.#ended.then(() => resolve('ended'));
    if (this.#child.connected) this.#child.send(message);
    const how = await promise;
    // A message that comes later would set the timer again.
    this.#heard = () => {};
    clearTimeout(late);
    if (how === 'hung') this.#child.kill('SIGKILL');
    return how;
  }
}

/** What is heard of one file while it runs. */
class FileRun {
  readonly #file: string;
  readonly #results: Result[] = [];
  readonly #said: string[] = [];
  readonly #faults: string[] = [];
  #running = '';
  #cpuMs = 0;
  #isReported = false;
  #isDone = false;

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
        this.#isDone = true;
        this.#cpuMs = message.cpuMs;
        this.#faults.push(...message.changed.map((what) => `it leaves ${what} changed`));
        break;
      default:
        message satisfies never;
    }
    return this.#isDone && this.#isReported;
  }

  #took(result: Result): void {
    const isFile = result.nesting === 0;
    if (isFile) this.#isReported = true;
    // The suite that stands for the file is nobody's, unless the file could not be loaded.
    if (!isFile || result.error !== null) this.#results.push(result);
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
