/** What tells whether two databases hold the same rows of a table, in whatever order they come. */
import { createHash } from 'node:crypto';
import { tables, type Row, type TableName } from './tables.ts';

const digestBytes = 16;
const mask = (1n << BigInt(8 * digestBytes)) - 1n;

/** The sum of the digests of the rows, each with its place in its lane. */
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
      const key = textOf(row, queue);
      this.#place = key === this.#queue ? this.#place + 1 : 1;
      this.#queue = key;
    }
    const hash = createHash('sha256').update(`${this.#place} ${textOf(row, columns)}`);
    const part = hash.digest('hex').slice(0, 2 * digestBytes);
    this.#sum = (this.#sum + BigInt(`0x${part}`)) & mask;
    this.#rows++;
  }

  /** Hex digits. */
  toString(): string {
    return this.#sum.toString(16).padStart(2 * digestBytes, '0');
  }
}

/** A text of SQLite has no half characters, so that they count as what it makes of them. */
function textOf(row: Row, columns: readonly string[]): string {
  const values = columns.map((column) => row[column] ?? null);
  return JSON.stringify(values, (_, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  );
}
