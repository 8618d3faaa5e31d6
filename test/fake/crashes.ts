/** Ledgers whose process ends without notice. The disk keeps its state of that moment. */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { openSqliteLedger, type SqliteOptions } from '../../src/ledger/sqlite/sqlite.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { ids, type Bench } from '../contract/ledger/kit.ts';
import { putNewDatabase } from './new-database.ts';
import { writeHere } from './writer-here.ts';

export class Crashes implements AsyncDisposable {
  readonly #folder: string;
  readonly #more: Partial<SqliteOptions>;
  readonly #opened: Ledger[] = [];
  #lives = 0;

  private constructor(folder: string, more: Partial<SqliteOptions>) {
    this.#folder = folder;
    this.#more = more;
  }

  static async make(more: Partial<SqliteOptions> = {}): Promise<Crashes> {
    const crashes = new Crashes(await mkdtemp(join(tmpdir(), 'svc-crashes-')), more);
    await putNewDatabase(crashes.path);
    return crashes;
  }

  /** The file of the newest ledger. */
  get path(): string {
    return join(this.#folder, `${this.#lives}.db`);
  }

  /** Opens the file that the last ledger left. */
  async open(more: Partial<SqliteOptions> = {}): Promise<Bench> {
    // Suspected messages are tried at once, since each run is short.
    const limits = { besideMs: 0, ...this.#more.limits, ...more.limits };
    const here = { startWriter: writeHere, retentionDays: 30 };
    const options = { path: this.path, ...systemClock, ids, ...here };
    const ledger = await openSqliteLedger({ ...options, ...this.#more, ...more, limits });
    if ('kind' in ledger) throw new Error(ledger.message);
    this.#opened.push(ledger);
    const end = (): Promise<void> => ledger[Symbol.asyncDispose]();
    return {
      ledger,
      reopen: () => Promise.reject(new Error('crash it')),
      [Symbol.asyncDispose]: end,
    };
  }

  /** Simulates an uncaught exception: every open ledger is notified. */
  throwUncaught(): Promise<Bench> {
    process.emit('uncaughtExceptionMonitor', new Error('a fault'), 'uncaughtException');
    return this.crash();
  }

  /** Copies the disk as it is now for the next ledger; the old ledger goes on unseen. */
  async crash(): Promise<Bench> {
    const left = this.path;
    this.#lives++;
    for (const end of ['', '-wal', '.crashed']) {
      if (existsSync(left + end)) await copyFile(left + end, this.path + end);
    }
    return this.open();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const ledger of this.#opened) await ledger[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true });
  }
}
