/** The search index: its content, how it is filled, and how turns leave it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { addTurn, all, everyPage, ReadFile } from '../../../../test/fake/read-file.ts';
import type { MessagePort } from 'node:worker_threads';
import { openSearchIndex, type SearchIndex } from './search-index.ts';
import { beginWriting } from './writer.ts';

const fillAll = (index: SearchIndex): void => {
  while (index.step());
};
const hits = (db: DatabaseSync, word: string): readonly unknown[] =>
  db
    .prepare('SELECT rowid AS place FROM search WHERE search MATCH ? ORDER BY rowid')
    .all(word)
    .map(({ place }) => place);
const stateOf = (db: DatabaseSync) => ({
  ...db.prepare('SELECT low, high FROM search_state').get(),
});

test('the newest turns are found first, then those of before, and the reader says so', async () => {
  using place = new ReadFile();
  using db = place.make();
  await using reader = place.open();
  db.exec('BEGIN');
  for (let at = 0; at < 5_000; at++)
    addTurn(db, 'c', { at: 1_000 + at, text: `zebra ${at} x${at}` });
  db.exec('COMMIT');
  const index = openSearchIndex(db);
  const before = await reader.foundTexts('x0', all);
  assert.deepEqual([before.complete, before.indexedSince], [false, null]);
  for (let step = 0; step < 6; step++) assert.equal(index.step(), true);
  const { low, high } = stateOf(db) as { low: number; high: number };
  assert.equal(high - low, 160);
  const partly = await reader.foundTexts('x4900', all);
  assert.deepEqual([partly.rows.length, partly.complete], [1, false]);
  assert.equal(partly.indexedSince, 1_000 + 5_000 - 160);
  fillAll(index);
  const whole = await reader.foundTexts('x0', all);
  assert.deepEqual([whole.rows.length, whole.complete, whole.indexedSince], [1, true, null]);
  const found = await everyPage((page) => reader.foundTexts('zeb', page), 400);
  assert.deepEqual(
    found.map(({ at }) => at),
    Array.from({ length: 5_000 }, (_, at) => 5_999 - at),
  );
});

test('of a new database nothing is ever missing, however soon the first turn comes', async () => {
  using place = new ReadFile();
  const port = { on() {}, postMessage() {}, close() {} } as unknown as MessagePort;
  const data = {
    path: place.path,
    retentionDays: 30,
    pagesMax: null,
    busyMs: 5_000,
    lockedMs: 5_000,
  };
  const end = beginWriting(port, data);
  using db = new DatabaseSync(place.path);
  for (let at = 0; at < 3; at++) addTurn(db, 'c', { text: `zebra ${at}` });
  end();
  await using reader = place.open();
  const found = await reader.foundTexts('zebra', all);
  assert.deepEqual([found.rows.length, found.complete], [3, true]);
  // As if the turns were older than the index.
  db.exec("UPDATE search_state SET rules = '', low = 0, high = 0");
  beginWriting(port, data)();
  assert.equal((await reader.foundTexts('zebra', all)).complete, false);
});

test('a step takes in few turns, and fewer of long ones', () => {
  using place = new ReadFile();
  using db = place.make();
  const index = openSearchIndex(db);
  index.step();
  for (let at = 0; at < 40; at++) addTurn(db, 'c', { text: 'short' });
  index.step();
  assert.equal(stateOf(db)['high'], 32);
  for (let at = 0; at < 40; at++) addTurn(db, 'c', { text: 'long '.repeat(5_000) });
  index.step();
  assert.equal(stateOf(db)['high'], 32 + 8 + 3);
});

test('a deleted turn leaves the index at once, and its place may be given again', () => {
  using place = new ReadFile();
  using db = place.make();
  for (const text of ['one', 'two', 'three', 'four']) addTurn(db, 'c', { text, reply: null });
  const index = openSearchIndex(db);
  fillAll(index);
  db.exec("DELETE FROM turns WHERE text IN ('two', 'four')");
  assert.deepEqual(hits(db, 'two OR four'), []);
  assert.deepEqual(hits(db, 'one OR three'), [1, 3]);
  addTurn(db, 'c', { text: 'five' });
  fillAll(index);
  assert.deepEqual(hits(db, 'five'), [4]);
  db.exec('DELETE FROM turns');
  addTurn(db, 'c', { text: 'six' });
  fillAll(index);
  assert.deepEqual(hits(db, 'one OR three OR five'), []);
  assert.deepEqual(hits(db, 'six'), [1]);
  db.exec("INSERT INTO search (search) VALUES ('integrity-check')");
});

test('a turn that is deleted before it is taken in changes nothing of the others', () => {
  using place = new ReadFile();
  using db = place.make();
  for (let at = 0; at < 200; at++) addTurn(db, 'c', { text: at % 2 === 0 ? 'even' : 'odd' });
  const index = openSearchIndex(db);
  for (let step = 0; step < 3; step++) index.step();
  db.exec("DELETE FROM turns WHERE text = 'even'");
  fillAll(index);
  assert.deepEqual(hits(db, 'even'), []);
  assert.equal(hits(db, 'odd').length, 100);
});

test('words of what was deleted are overwritten without a rewrite, too', () => {
  using place = new ReadFile();
  using db = place.make();
  db.exec('PRAGMA secure_delete = ON');
  for (let at = 0; at < 500; at++) {
    addTurn(db, 'c', { text: `apple${at} zebra${at} ${at === 250 ? 'canarynest' : ''}` });
  }
  const index = openSearchIndex(db);
  fillAll(index);
  const holds = (): boolean => {
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return readFileSync(place.path, 'latin1').includes('canarynest');
  };
  assert.equal(holds(), true);
  db.exec("DELETE FROM turns WHERE text LIKE '%canarynest%'");
  assert.equal(holds(), false);
});

test('an index that was made by other rules, or is damaged, is made anew', () => {
  using place = new ReadFile();
  using db = place.make();
  for (let at = 0; at < 100; at++) addTurn(db, 'c', { text: 'zebra' });
  const index = openSearchIndex(db);
  fillAll(index);
  const both = (): void => {
    addTurn(db, 'c', { text: 'zebra' });
    fillAll(index);
    const { n } = db.prepare('SELECT count(*) AS n FROM turns').get() as { n: number };
    assert.equal(hits(db, 'zebra').length, n);
  };
  db.exec("UPDATE search_state SET rules = 'of before'");
  both();
  // Damages the record of the index's parts.
  const harm = new DatabaseSync(place.path, { defensive: false });
  harm.exec("UPDATE search_data SET block = x'ffffffffffffffff' WHERE id = 10");
  harm.close();
  both();
});
