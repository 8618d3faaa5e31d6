import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TableDigest, Migration, type Moved } from './migrate.ts';
import type { StoreProblem } from '../ledger.ts';
import type { Row, Side, TableName, Target } from './tables.ts';

const quiet = { copied: () => {}, comparing: () => {} };
const never = new AbortController().signal;

class Kept implements Side {
  readonly tables: Map<TableName, readonly Row[]>;

  constructor(tables: Partial<Record<TableName, readonly Row[]>> = {}) {
    this.tables = new Map(Object.entries(tables) as [TableName, readonly Row[]][]);
  }

  async count(table: TableName): Promise<number> {
    return this.tables.get(table)?.length ?? 0;
  }

  async *rows(table: TableName): AsyncGenerator<readonly Row[]> {
    yield this.tables.get(table) ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Stores the rows as `spoil` changes them. */
class Made extends Kept implements Target {
  readonly #spoil: (rows: readonly Row[]) => readonly Row[];
  kept = false;

  constructor(spoil: (rows: readonly Row[]) => readonly Row[] = (rows) => rows) {
    super();
    this.#spoil = spoil;
  }

  async put(table: TableName, rows: readonly Row[]): Promise<void> {
    this.tables.set(table, this.#spoil(rows));
  }

  async complete(): Promise<void> {}

  async keep(): Promise<void> {
    this.kept = true;
  }
}

const cursor = (name: string, value: string): Row => ({ channel: 'a', name, value });
const message = (id: string, conversation: string): Row => ({ id, channel: 'a', conversation });
const source = new Kept({
  messages: [message('1', 'ada'), message('3', 'ada'), message('2', 'bob')],
  cursors: [cursor('x', '1'), cursor('y', '2')],
});

async function run(target: Made): Promise<Moved | StoreProblem> {
  await using migration = new Migration(source, target);
  return await migration.run(quiet, never);
}

test('a copy that is the same is kept, with the counts and digests of both', async () => {
  const target = new Made();
  const moved = await run(target);
  assert.ok(moved.kind === 'moved');
  const of = new Map(moved.tables.map(({ name, rows }) => [name, rows]));
  assert.deepEqual([of.get('messages'), of.get('cursors'), of.get('audit')], [3, 2, 0]);
  assert.equal(target.kept, true);
});

const spoils: readonly (readonly [string, (rows: readonly Row[]) => readonly Row[], RegExp])[] = [
  ['lacks a row', (rows) => rows.slice(1), /2 rows, not 3 in messages/],
  ['has a row twice', (rows) => [...rows, ...rows.slice(0, 1)], /rows, not 3 in messages/],
  [
    'has another value',
    (rows) => rows.map((row) => ('value' in row ? { ...row, value: '9' } : row)),
    /2 rows of other content in cursors/,
  ],
  [
    'has a conversation in another order',
    ([a, b, ...rest]) => (b === undefined ? [a!].filter(Boolean) : [b, a!, ...rest]),
    /3 rows of other content in messages/,
  ],
];

for (const [what, spoil, told] of spoils) {
  test(`a copy that ${what} is not kept`, async () => {
    const target = new Made(spoil);
    const moved = await run(target);
    assert.ok(moved.kind === 'problem' && moved.code === 'migration_differs');
    assert.match(moved.message, told);
    assert.equal(target.kept, false);
  });
}

test('a digest is of the rows, in whatever order conversations come', () => {
  const digestOf = (...rows: readonly Row[]): string => {
    const digest = new TableDigest('messages');
    for (const row of rows) digest.add(row);
    return String(digest);
  };
  const [a, b, c] = [message('1', 'ada'), message('3', 'ada'), message('2', 'bob')];
  assert.equal(digestOf(c, a, b), digestOf(a, b, c));
  assert.notEqual(digestOf(b, a, c), digestOf(a, b, c));
  assert.notEqual(digestOf(a, a), digestOf(b, b));
  assert.equal(digestOf({ ...a, body: '\uD800' }), digestOf({ ...a, body: '\uFFFD' }));
});
