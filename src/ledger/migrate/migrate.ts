/**
 * Moves all that svc keeps from one database into an empty one, of whichever form. Nobody writes
 * either meanwhile: both are locked as a service locks its own. The target is there when every
 * table of it was read again and found to be the same, or not at all; the source stays as it is.
 */
import type { StoreProblem } from '../problem.ts';
import { TableDigest } from './digest.ts';
import { tableNames, type Side, type TableName, type Target } from './tables.ts';

export type MovedTable = {
  readonly name: TableName;
  readonly rows: number;
  /** Hex digits; the same of both databases. */
  readonly digest: string;
};

export type Moved = { readonly kind: 'moved'; readonly tables: readonly MovedTable[] };

export type Told = {
  /** `of`: how many there are. Called often. */
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

  /** How many rows there are to move, of each table. */
  async counts(): Promise<readonly { readonly name: TableName; readonly rows: number }[]> {
    const counted: { name: TableName; rows: number }[] = [];
    for (const name of tableNames) counted.push({ name, rows: await this.#source.count(name) });
    return counted;
  }

  /**
   * @returns a problem where the target is not the same in the end, or the signal aborted; then it
   *   holds nothing
   * @throws what either database says
   */
  async run(told: Told, stop: AbortSignal): Promise<Moved | StoreProblem> {
    const wanted: MovedTable[] = [];
    for (const { name, rows } of await this.counts()) {
      const digest = new TableDigest(name);
      for await (const page of this.#source.rows(name)) {
        if (stop.aborted) return stopped;
        for (const row of page) digest.add(row);
        await this.#target.put(name, page);
        told.copied(name, digest.rows, rows);
      }
      wanted.push({ name, rows: digest.rows, digest: String(digest) });
    }
    await this.#target.complete();
    told.comparing();
    for (const { name, rows, digest } of wanted) {
      const found = new TableDigest(name);
      for await (const page of this.#target.rows(name)) {
        if (stop.aborted) return stopped;
        for (const row of page) found.add(row);
      }
      if (found.rows !== rows || String(found) !== digest) return differs(name, rows, found.rows);
    }
    await this.#target.keep();
    return { kind: 'moved', tables: wanted };
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

function differs(name: TableName, rows: number, found: number): StoreProblem {
  const counts = rows === found ? `${rows} rows of other content` : `${found} rows, not ${rows}`;
  const message = `The copy has ${counts} in ${name}, so it was not kept.`;
  return { kind: 'problem', code: 'migration_differs', message, isPassing: false };
}
