/** One process that runs test files (test-worker.ts), as its parent sees it. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { FileRun, type FileOutcome, type How } from './file-run.ts';
import type { FromWorker, ToWorker } from './test-reporter.ts';

export type ProcessOptions = {
  /** A file hangs when nothing is heard of it for so long. */
  readonly hangMs: number;
  /** When a process without further files lives for so long, something holds it open. */
  readonly endMs: number;
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
};

const here = import.meta.dirname;
const flags = [
  // Tests make many short-lived objects; with this much room most are never looked at.
  ['--max-semi-space-size=64'],
  ['--import', join(here, 'stripped.js')],
  ['--disable-warning', 'ExperimentalWarning'],
  ['--test-reporter', join(here, 'test-reporter.ts')],
  ['--test-reporter-destination', 'stdout'],
].flat();

/** at rest → at a file → at rest → … → ended */
export class TestProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #options: ProcessOptions;
  readonly #files: string[] = [];
  #failed = false;
  #heard: (message: FromWorker) => void = () => {};
  #output = '';

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.#child = fork(join(here, 'test-worker.ts'), {
      execArgv: flags,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // Inside of a test of its own, the process would report to the outer run.
      env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...options.env },
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
    const how = await this.#send({ kind: 'file', file }, this.#options.hangMs, (message, over) => {
      if (run.heard(message)) over();
    });
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
    const how = await this.#send({ kind: 'end' }, this.#options.endMs, (message) => {
      if (message.kind === 'stray') faults.push(message.text);
    });
    const files = this.#files.join(', ');
    if (how === 'hung') faults.push(`a process does not end after ${files}`);
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== 0 && !this.#failed && faults.length === 0) {
      faults.push(`a process ended with ${exitCode ?? signalCode} after ${files}\n${this.#output}`);
    }
    return faults;
  }

  /**
   * @param quietMs how long nothing need be heard
   * @param hear is given what the process says, and what to call when all has been heard
   */
  async #send(
    message: ToWorker,
    quietMs: number,
    hear: (message: FromWorker, over: () => void) => void,
  ): Promise<How> {
    const { promise, resolve } = Promise.withResolvers<How>();
    const late = setTimeout(() => resolve('hung'), quietMs);
    this.#heard = (told) => {
      late.refresh();
      hear(told, () => resolve('over'));
    };
    void this.#ended.then(() => resolve('ended'));
    if (this.#child.connected) this.#child.send(message, () => {});
    const how = await promise;
    // A later message would set the timer again.
    this.#heard = () => {};
    clearTimeout(late);
    if (how === 'hung') this.#child.kill('SIGKILL');
    return how;
  }
}
