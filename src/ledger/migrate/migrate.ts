/**
 * Moves all data of svc from one database into an empty one, between any two backends. Both are
 * locked as a service locks its own, so nobody writes them meanwhile. The target is complete when
 * every table was read again and found equal; otherwise it holds nothing. The source stays as it
 * is.
 */
import type { StoreProblem } from '../ledger.ts';
import { tableNames, tables, type Side, type TableName, type Target, type Row } from './tables.ts';
import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { codeOf } from '../postgres/server/errors.ts';

// Locking a server's database, and whether it may be moved. No instance on it may be alive, and
// every instance on a source must have ended in order. The lock lasts until the transaction ends: a
// start waits for that, or gives up.

/** An instance is alive if it has sent a heartbeat within this time. */
const heartbeatSeconds = 10;
const lockSeconds = 5;
const lockedState = '55P03';

/** Every instance and every start changes this table. */
const lock = 'LOCK TABLE svc.instance IN SHARE ROW EXCLUSIVE MODE';
const countLiving =
  'SELECT count(*) AS n FROM svc.instance WHERE NOT dead ' +
  `AND beat_at > clock_timestamp() - interval '${heartbeatSeconds} seconds'`;

/**
 * Instances that have not ended in order. A silent one may have died, or may go on once it can. A
 * dead one has left nothing once its queues are free. It has left nothing either where an instance
 * of the release before came after it, which had the database to itself.
 */
const unclean = `
SELECT count(*) AS n FROM svc.instance
WHERE (NOT dead OR (NOT buried AND coalesce(ended, '') NOT LIKE '%"clean":true%'))
  AND id >= coalesce((SELECT max(id) FROM svc.instance WHERE NOT beside), 0)`;

/**
 * No instance of the target has the moved rows. All count as dead and cleaned up, so that a silent
 * one writes nothing any more.
 */
const markAllDead = 'UPDATE svc.instance SET dead = true, beside = true, buried = true';

/** @returns null: no instance can start on it now, and the last one ended in order */
export async function lockSource(client: Client, named: string): Promise<StoreProblem | null> {
  const locked = await lockInstances(client, named);
  if (locked !== null) return locked;
  return (await countOf(client, unclean)) === 0 ? null : uncleanProblem(`The ${named}`);
}

/** @returns null: no instance can start or go on there now */
export async function lockTarget(client: Client, named: string): Promise<StoreProblem | null> {
  const locked = await lockInstances(client, named);
  if (locked === null) await client.query(markAllDead);
  return locked;
}

export function uncleanProblem(named: string): StoreProblem {
  const what = 'was not closed by the svc that ran on it last. Start svc on it and stop it again';
  const message = `${named} ${what}: that puts in order what was under way.`;
  return { kind: 'problem', code: 'migration_unclean', message, isPassing: false };
}

async function lockInstances(client: Client, named: string): Promise<StoreProblem | null> {
  try {
    await client.query(`SET LOCAL lock_timeout = '${lockSeconds}s'`);
    await client.query(lock);
  } catch (error) {
    if (codeOf(error) !== lockedState) throw error;
    return inUse(named, 'another program that has locked it. Wait until that has ended');
  }
  const count = await countOf(client, countLiving);
  if (count === 0) return null;
  return inUse(named, count === 1 ? 'another svc. Stop that one' : `${count} svc. Stop them all`);
}

function inUse(named: string, by: string): StoreProblem {
  const message = `The ${named} is in use by ${by}.`;
  return { kind: 'problem', code: 'storage_locked', message, isPassing: true };
}

async function countOf(client: Client, text: string): Promise<number> {
  return Number((await client.query<{ n: unknown }>(text)).rows[0]!.n);
}

export type MovedTable = {
  readonly name: TableName;
  readonly rows: number;
  /** Hex digits, equal in both databases. */
  readonly digest: string;
};

export type Moved = { readonly kind: 'moved'; readonly tables: readonly MovedTable[] };

export type Progress = {
  /** `of`: how many rows there are. Called often. */
  readonly copied: (table: TableName, rows: number, of: number) => void;
  readonly comparing: () => void;
};

export class Migration implements AsyncDisposable {
  readonly #source: Side;
  readonly #target: Target;

  constructor(source: Side, target: Target) {
    this.#source = source;
    this.#target = target;
  }

  /** How many rows each table has to move. */
  async counts(): Promise<readonly { readonly name: TableName; readonly rows: number }[]> {
    const counted: { name: TableName; rows: number }[] = [];
    for (const name of tableNames) counted.push({ name, rows: await this.#source.count(name) });
    return counted;
  }

  /**
   * @returns a problem where the copy differs, or the signal aborted; then the target holds nothing
   * @throws the error of either database
   */
  async run(progress: Progress, stop: AbortSignal): Promise<Moved | StoreProblem> {
    const sourceTables: MovedTable[] = [];
    for (const { name, rows } of await this.counts()) {
      const digest = new TableDigest(name);
      for await (const page of this.#source.rows(name)) {
        if (stop.aborted) return stopped;
        for (const row of page) digest.add(row);
        await this.#target.put(name, page);
        progress.copied(name, digest.rows, rows);
      }
      sourceTables.push({ name, rows: digest.rows, digest: String(digest) });
    }
    await this.#target.complete();
    progress.comparing();
    for (const { name, rows, digest } of sourceTables) {
      const copy = new TableDigest(name);
      for await (const page of this.#target.rows(name)) {
        if (stop.aborted) return stopped;
        for (const row of page) copy.add(row);
      }
      if (copy.rows !== rows || String(copy) !== digest)
        return differsProblem(name, rows, copy.rows);
    }
    await this.#target.keep();
    return { kind: 'moved', tables: sourceTables };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using opened = new AsyncDisposableStack();
    opened.use(this.#source);
    opened.use(this.#target);
  }
}

const stopped: StoreProblem = {
  kind: 'problem',
  code: 'migration_stopped',
  message: 'It was stopped; the target holds nothing.',
  isPassing: true,
};

function differsProblem(name: TableName, rows: number, found: number): StoreProblem {
  const counts = rows === found ? `${rows} rows of other content` : `${found} rows, not ${rows}`;
  const message = `The copy has ${counts} in ${name}, so it was not kept.`;
  return { kind: 'problem', code: 'migration_differs', message, isPassing: false };
}

// A digest that is equal when two databases hold the same rows of a table, in whatever order.

const digestBytes = 16;
const mask = (1n << BigInt(8 * digestBytes)) - 1n;

/** The sum of the digests of the rows, each with its place in its queue. */
export class TableDigest {
  readonly #table: (typeof tables)[TableName];
  #rows = 0;
  #sum = 0n;
  #queue = '';
  #place = 0;

  constructor(name: TableName) {
    this.#table = tables[name];
  }

  get rows(): number {
    return this.#rows;
  }

  add(row: Row): void {
    const { columns, queue } = this.#table;
    if (queue !== null) {
      const key = rowText(row, queue);
      this.#place = key === this.#queue ? this.#place + 1 : 1;
      this.#queue = key;
    }
    const hash = createHash('sha256').update(`${this.#place} ${rowText(row, columns)}`);
    const part = hash.digest('hex').slice(0, 2 * digestBytes);
    this.#sum = (this.#sum + BigInt(`0x${part}`)) & mask;
    this.#rows++;
  }

  /** Hex digits. */
  toString(): string {
    return this.#sum.toString(16).padStart(2 * digestBytes, '0');
  }
}

/** SQLite stores no half surrogate pairs, so a text counts as SQLite would store it. */
function rowText(row: Row, columns: readonly string[]): string {
  const values = columns.map((column) => row[column] ?? null);
  return JSON.stringify(values, (_, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  );
}
