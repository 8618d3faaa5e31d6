/**
 * Runs test files with Node's own runner (docs/decisions/0032-nodes-own-test-runner.md). Some
 * processes share the files (test-worker.ts), since a process for each takes twice the time. When a
 * process dies or hangs, its file fails, and another process runs the remaining files.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import { inspect, stripVTControlCharacters } from 'node:util';

/** The result of one test or suite. */
export type Result = {
  readonly kind: 'test' | 'suite';
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'cancelled' | 'skipped' | 'todo';
  /** The reason for skipping it, where the test gives one. */
  readonly why: string | null;
  /** `src/lib/log.test.ts:12`; empty where node:test does not know. */
  readonly at: string;
  /** The error with its stack; null where only an inner test failed. */
  readonly error: string | null;
};

/** The result of one file. */
export type FileOutcome = {
  readonly file: string;
  /** Results of its tests and suites; also of the file itself where it failed. */
  readonly results: readonly Result[];
  /** The diagnostics of its tests. */
  readonly said: readonly string[];
  /** Further faults of the file, in sentences. */
  readonly faults: readonly string[];
};

export type Outcome = {
  /** The files that were begun. */
  readonly files: readonly FileOutcome[];
  /** The output of each file, by its path. */
  readonly output: Readonly<Record<string, string>>;
  /** Further faults of the run, in sentences. */
  readonly faults: readonly string[];
};

export type Options = {
  /** Absolute paths, in the order of their start. */
  readonly files: readonly string[];
  readonly processes: number;
  /** A process without an event for this long hangs. */
  readonly silenceMsMax: number;
  /** Variables of the tests, beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
};

const here = import.meta.dirname;
const worker = join(here, 'test-worker.ts');
const cache = join(here, '..', 'node_modules', '.cache');
const execArgv = [
  // Tests make many short-lived objects; with this much room the collector skips most of them.
  '--max-semi-space-size=64',
  `--import=${pathToFileURL(join(here, 'stripped.js')).href}`,
  '--disable-warning=ExperimentalWarning',
];
/** The nesting of the suite inside a file that holds all its tests; the file's own suite has 0. */
const ownNesting = 1;

/** @param report called with each file when it ends */
export async function runFiles(
  options: Options,
  report: (outcome: FileOutcome) => void = () => {},
): Promise<Outcome> {
  const { files, processes } = options;
  // Not in the folder for temporary files: when that is full, the tests must report it.
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'test-files-'));
  writeFileSync(join(folder, 'options.json'), JSON.stringify(options));
  const workers: Worker[] = [];
  const begun = (): number => readdirSync(folder).length - 1;
  const runWorkers = async (): Promise<void> => {
    for (let last = -1; begun() < files.length && begun() > last;) {
      last = begun();
      const next = new Worker(folder, String(workers.length), options, report);
      workers.push(next);
      await next.run();
    }
  };
  try {
    await Promise.all(Array.from({ length: processes }, runWorkers));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const outcomes = workers.flatMap((one) => one.files);
  const known = new Set(outcomes.map(({ file }) => file));
  const others = files.filter((file) => !known.has(file)).map((file) => `${file} was not run`);
  return {
    files: outcomes,
    output: Object.assign({}, ...workers.map((one) => one.output())) as Outcome['output'],
    faults: [...workers.flatMap((one) => one.faults), ...others],
  };
}

/** One worker process. Its events become the outcomes of its files. */
class Worker {
  readonly files: FileOutcome[] = [];
  readonly faults: string[] = [];
  readonly #folder: string;
  readonly #name: string;
  readonly #options: Options;
  readonly #report: (outcome: FileOutcome) => void;
  /** Results of the present file. */
  #results: Result[] = [];
  #said: string[] = [];
  #running = '';
  #hangs = false;
  /** The exit code or signal of a process that ended with an error. */
  #end: string | number | null = null;
  #hasFailed = false;
  #written = { 'test:stdout': '', 'test:stderr': '' };

  constructor(
    folder: string,
    name: string,
    options: Options,
    report: (outcome: FileOutcome) => void,
  ) {
    this.#folder = folder;
    this.#name = name;
    this.#options = options;
    this.#report = report;
  }

  async run(): Promise<void> {
    const silence = setTimeout(() => this.#kill(), this.#options.silenceMsMax);
    const argv = [this.#folder, this.#name];
    for await (const event of run({ files: [worker], argv, execArgv })) {
      silence.refresh();
      this.#handle(event);
    }
    clearTimeout(silence);
    const over = new Set(this.files.map(({ file }) => file));
    const at = this.#running === '' ? '' : ` at "${this.#running}"`;
    const lost = this.#claimed().filter(({ file }) => !over.has(file));
    for (const { file } of lost) {
      const died = `its process ended with ${this.#end ?? 0}`;
      this.#finish(file, [`${this.#hangs ? 'it hangs' : died}${at}`]);
    }
    if (lost.length > 0) return;
    const files = [...over].join(', ') || 'none of its files';
    if (this.#hangs) this.faults.push(`a process does not end after ${files}`);
    else if (this.#end !== null && !this.#hasFailed) {
      const written = this.#written['test:stderr'].slice(-2_000);
      this.faults.push(`a process ended with ${this.#end} after ${files}\n${written}`);
    }
  }

  /** The output of each file: test-worker.ts prints its name first. */
  output(): Readonly<Record<string, string>> {
    const texts: Record<string, string> = {};
    for (const written of Object.values(this.#written)) {
      const places = this.files
        .map(({ file }) => ({ file, at: written.indexOf(`\n── ${file}\n`) }))
        .sort((one, other) => one.at - other.at);
      for (const [place, { file, at }] of places.entries()) {
        if (at < 0) continue;
        const text = written
          .slice(at, places[place + 1]?.at)
          .split('\n')
          .slice(2)
          .join('\n');
        texts[file] = `${texts[file] ?? ''}\n${text}`.trim();
      }
    }
    return texts;
  }

  #handle({ type, data }: TestEvent): void {
    if (type === 'test:stdout' || type === 'test:stderr') {
      this.#written[type] += stripVTControlCharacters(data.message);
    } else if (type === 'test:dequeue') {
      this.#running = data.nesting > ownNesting ? data.name : '';
    } else if (type === 'test:diagnostic') {
      if (data.nesting > 0) this.#said.push(data.message);
      // A failure outside of every test; the totals (`pass 12`) are counted elsewhere.
      else if (!/^[a-z_]+ [\d.]+$/.test(data.message)) this.faults.push(data.message);
    } else if (type === 'test:complete' && data.name === worker) {
      const error = data.details.error as WorkerError | undefined;
      // After a failed test the process ends with 1, as it should.
      this.#hasFailed = error?.failureType === 'subtestsFailed';
      this.#end = error?.exitCode ?? error?.signal ?? null;
    } else if (type === 'test:complete') {
      const result = resultOf(data);
      if (data.nesting > ownNesting || result.error !== null) this.#results.push(result);
      if (data.nesting === 0) this.#finish(data.name, []);
    }
  }

  #finish(file: string, found: readonly string[]): void {
    const hasRun = this.#results.some(({ kind, state }) => kind === 'test' || state === 'skipped');
    // A green run without a test proves nothing.
    const faults = hasRun ? found : [...found, 'it has run no test'];
    const outcome = { file, results: this.#results, said: this.#said, faults };
    this.#results = [];
    this.#said = [];
    this.files.push(outcome);
    this.#report(outcome);
  }

  /** Kills with SIGKILL, since a process that blocks its event loop handles no other signal. */
  #kill(): void {
    this.#hangs = true;
    const [claimed] = this.#claimed();
    try {
      if (claimed !== undefined) process.kill(claimed.pid, 'SIGKILL');
    } catch {
      // It has ended, but a program that it started still holds its output.
    }
  }

  /** The files that this process has begun. */
  #claimed(): readonly { readonly file: string; readonly pid: number }[] {
    return this.#options.files.flatMap((file, place) => {
      const path = join(this.#folder, String(place));
      const [name, pid] = existsSync(path) ? readFileSync(path, 'utf8').split(' ') : [];
      return name === this.#name ? [{ file, pid: Number(pid) }] : [];
    });
  }
}

/** node:test's error for a file whose process ended by a signal or with a code other than 0. */
type WorkerError = Error & {
  readonly failureType: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
};

type Complete = Extract<TestEvent, { type: 'test:complete' }>['data'];

function resultOf(data: Complete): Result {
  const { name, nesting, file, line, details } = data;
  const kind = details.type === 'suite' ? 'suite' : 'test';
  const at = file === undefined || nesting <= ownNesting ? '' : `${file}:${line}`;
  const why = typeof data.skip === 'string' ? data.skip : null;
  return { kind, name, state: stateOf(data), why, at, error: errorOf(details.error) };
}

function stateOf({ skip, todo, details }: Complete): Result['state'] {
  if (skip !== undefined && skip !== false) return 'skipped';
  if (todo !== undefined && todo !== false) return 'todo';
  if (details.passed) return 'passed';
  return cancelled.has(failureType(details.error)) ? 'cancelled' : 'failed';
}

const cancelled = new Set<unknown>(['cancelledByParent', 'testAborted', 'testTimeoutFailure']);

function failureType(error: unknown): unknown {
  return (error as { failureType?: unknown } | undefined)?.failureType;
}

/** Unwraps the thrown error: node:test's own only says that a test failed. */
function errorOf(error: Error | undefined): string | null {
  if (error === undefined || failureType(error) === 'subtestsFailed') return null;
  const thrown = error.cause ?? error;
  return typeof thrown === 'string' ? thrown : inspect(thrown, { depth: 8 });
}
