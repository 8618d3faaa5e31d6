/** Ledgers in files of one folder. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import type { StoreProblem, Ledger } from '../../src/ledger/ledger.ts';
import { openSqliteLedger, type SqliteOptions } from '../../src/ledger/sqlite/sqlite.ts';
import { newIds, type Bench } from '../contract/ledger/kit.ts';

/** A new folder, and the ledgers opened in it. */
export class LedgerFolder implements AsyncDisposable {
  readonly folder: string;
  readonly path: string;
  readonly #opened: Ledger[] = [];

  constructor(folder: string) {
    this.folder = folder;
    this.path = join(folder, 'data', 'svc.db');
  }

  static async make(): Promise<LedgerFolder> {
    return new LedgerFolder(await mkdtemp(join(tmpdir(), 'svc-sqlite-')));
  }

  async open(more: Partial<SqliteOptions> = {}): Promise<Bench> {
    const ledger = await this.try(more);
    if ('kind' in ledger) throw new Error(ledger.message);
    return { ledger, reopen: () => Promise.reject(), [Symbol.asyncDispose]: () => ended(ledger) };
  }

  async try(more: Partial<SqliteOptions> = {}): Promise<Ledger | StoreProblem> {
    const fixed = { path: this.path, ids: newIds(), retentionDays: 30 };
    const options = { ...systemClock, ...fixed, ...more };
    const opened = await openSqliteLedger(options);
    if (!('kind' in opened)) this.#opened.push(opened);
    return opened;
  }

  /** Asserts that opening fails with this code, in a sentence that names the file. */
  async refuses(code: string): Promise<void> {
    const problem = await this.try();
    assert.ok('kind' in problem, 'it does not open');
    assert.equal(problem.code, code);
    assert.ok(problem.message.includes(this.path), problem.message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const ledger of this.#opened) await ended(ledger);
    await rm(this.folder, { recursive: true });
  }
}

export const ended = (ledger: Ledger): Promise<void> => ledger[Symbol.asyncDispose]();
