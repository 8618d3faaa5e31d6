/**
 * Full disks: to SQLite a database that may not grow is a full disk, on the same code path. A table
 * of ballast fills it, and the tests drop the table to make room.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { DiskWatch } from '../../src/ledger/sqlite/files/disk-watch.ts';
import type { StorageRoom } from '../../src/ledger/ledger.ts';
import { Crashes } from '../fake/crashes.ts';
import {
  accept,
  answer,
  deliverAll,
  effects,
  exchange,
  isSettled,
  hook,
  noneIn,
  oneIn,
  said,
  takeIn,
  takeOut,
  textsIn,
  until,
  type Bench,
} from '../contract/ledger/kit.ts';
import { patienceMs } from '../support/waiting.ts';

const pagesMax = 400;
const large = 'x'.repeat(30_000);

type World = AsyncDisposable &
  Bench & { readonly crashes: Crashes; readonly rooms: string[]; makeRoom(): void };

async function open(): Promise<World> {
  const rooms: string[] = [];
  const news = { storageRoom: ({ kind }: StorageRoom): number => rooms.push(kind) };
  const crashes = await Crashes.make({ limits: { pagesMax }, news });
  const it = await crashes.open();
  exec(crashes.path, 'CREATE TABLE ballast (x); INSERT INTO ballast VALUES (zeroblob(1000000))');
  return {
    ...it,
    crashes,
    rooms,
    makeRoom: () => exec(crashes.path, 'DROP TABLE ballast'),
    [Symbol.asyncDispose]: () => crashes[Symbol.asyncDispose](),
  };
}

function exec(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA busy_timeout = ${patienceMs}; ${sql}`);
  db.close();
}

/** Accepts messages until there is no room; returns their number. */
async function fill(it: Bench): Promise<number> {
  for (let count = 0; count < pagesMax; count++) {
    const acceptance = await it.ledger.accept([said('filler', large)]);
    if (acceptance.kind === 'accepted') continue;
    assert.equal(acceptance.reason, 'full');
    assert.ok(acceptance.retryAfterMs > 0);
    return count;
  }
  return assert.fail('it never became full');
}

suite('a disk without room', { concurrency: 4 }, () => {
  test('refuses messages, keeps what is finished in order, and goes on by itself', async () => {
    await using it = await open();
    await exchange(it, 'cid', 'before', 'delivered when it is full');
    await accept(it, said('ann', 'one'), said('ann', 'two'), said('bob', 'three'));
    const [ann, bob] = await takeIn(it, 2);
    const [reply] = await takeOut(it, 1);
    const filled = await fill(it);
    assert.deepEqual([it.ledger.room().messages, it.rooms], [0, ['full']]);

    const done = Promise.all([
      it.ledger.delivered(reply!),
      it.ledger.complete(ann!, effects(ann!, [large])),
      it.ledger.complete(bob!, effects(bob!, [large, 'and more'])),
    ]);
    assert.equal((await it.ledger.accept([said('dee', 'too late')])).kind, 'refused');
    assert.equal(await isSettled(done), false);
    assert.equal(it.ledger.gauges().outboxWaiting, 0, 'no reply goes out before its commit');
    it.makeRoom();
    await until('there is room', () => it.ledger.room().messages > 0);
    assert.deepEqual(await done, [true, true, true]);
    assert.deepEqual(it.rooms, ['full', 'ok']);
    await accept(it, said('dee', 'in time'));
    assert.deepEqual((await deliverAll(it)).sort(), ['and more', large, large].sort());
    assert.equal(textsIn(await takeIn(it, 10)).length, 3, 'ann two, one filler, dee');

    const after = await it.crashes.crash();
    const { inboxWaiting, outboxWaiting, deadLetters } = after.ledger.gauges();
    assert.deepEqual([inboxWaiting, outboxWaiting, deadLetters], [filled + 2, 0, 0]);
  });

  test('a message in the group that finds no room is refused, the turn in it is not', async () => {
    await using it = await open();
    await accept(it, said('ann', 'one'));
    const ann = await oneIn(it);
    const left = 'y'.repeat(2_000_000);
    const both = await Promise.all([
      it.ledger.accept([said('bob', left, { dedupeKey: 'k' })]),
      Promise.race([it.ledger.complete(ann, effects(ann, ['re: one'])), Promise.resolve('waits')]),
    ]);
    assert.ok(both[0].kind === 'refused' && both[0].reason === 'full');
    assert.equal(both[1], 'waits');
    const isDone = async (): Promise<boolean> => (await deliverAll(it)).includes('re: one');
    await until('the turn is done', isDone);
    await noneIn(it);
    const [receipt] = await accept(it, said('bob', 'short', { dedupeKey: 'k' }));
    assert.equal(receipt!.duplicate, false, 'its key is not known: it was never accepted');
  });

  test('what an operator did is not kept, and is not waited for', async () => {
    await using it = await open();
    const row = { at: 1, action: 'replay', target: { id: '1' }, status: 200, reason: null };
    assert.equal(await it.ledger.recordWrite(row), true);
    await fill(it);
    const long = { ...row, target: { id: 'x'.repeat(100_000) } };
    assert.equal(await it.ledger.recordWrite(long), false);
    it.makeRoom();
    await until('there is room', () => it.ledger.room().messages > 0);
    assert.equal(await it.ledger.recordWrite(row), true);
  });

  test('a cursor that found no room stands where it stood', async () => {
    await using it = await open();
    const move = { channel: hook, name: 'offset' };
    await it.ledger.accept([], { ...move, value: '1' });
    await fill(it);
    const asked = [
      it.ledger.accept([], { ...move, value: large, expected: '1' }),
      it.ledger.accept([], { ...move, value: '3', expected: large }),
    ];
    for (const refused of await Promise.all(asked)) {
      assert.ok(refused.kind === 'refused' && refused.reason === 'full');
    }
    assert.equal(await it.ledger.cursor(hook, 'offset'), '1');
    it.makeRoom();
    await until('there is room', () => it.ledger.room().messages > 0);
    const moved = await it.ledger.accept([], { ...move, value: '2', expected: '1' });
    assert.equal(moved.kind, 'accepted');
  });

  test('those who wait for room are woken when there is some', async () => {
    await using it = await open();
    await fill(it);
    const room = it.ledger.whenRoom(new AbortController().signal);
    assert.equal(await isSettled(room), false);
    it.makeRoom();
    await room;
    await accept(it, said('ann', large));
  });

  test('ends with what is finished unwritten, which the next start does again', async () => {
    await using it = await open();
    await accept(it, said('ann', 'one'));
    const ann = await oneIn(it);
    await fill(it);
    const done = it.ledger.complete(ann, effects(ann, [large]));
    await it.ledger[Symbol.asyncDispose]();
    assert.equal(await done, false);
    it.makeRoom();
    const after = await it.crashes.open();
    const [again] = await takeIn(after, 1);
    assert.deepEqual([again!.message.text, again!.attempt], ['one', 1], 'no message is to blame');
    await answer(after, again!, 're: one');
    assert.deepEqual(await deliverAll(after), ['re: one']);
  });
});

test('after a failed write nothing more is asked of the database, nor to close it', async () => {
  const faults: unknown[] = [];
  await using crashes = await Crashes.make({ onFault: (error) => faults.push(error) });
  const it = await crashes.open();
  await accept(it, said('ann', 'one'));
  const ann = await oneIn(it);
  exec(crashes.path, 'ALTER TABLE turns RENAME TO elsewhere');
  assert.equal(await it.ledger.complete(ann, effects(ann, ['re: one'])), false);
  exec(crashes.path, 'ALTER TABLE elsewhere RENAME TO turns');
  const files = (): Buffer[] => ['', '-wal'].map((end) => readFileSync(crashes.path + end));
  const before = files();
  assert.equal((await it.ledger.accept([said('bob', 'two')])).kind, 'refused');
  await it.ledger[Symbol.asyncDispose]();
  assert.ok(
    files().every((bytes, at) => bytes.equals(before[at]!)),
    'nothing was written and nothing folded in',
  );
  assert.equal(faults.length, 1);
});

test('a disk that is nearly full is told of once, and again only after it had recovered', () => {
  const told: StorageRoom[] = [];
  const watch = new DiskWatch(800, (room) => told.push(room));
  for (const free of [900, 799, 700, 801, 899, 798]) watch.look(free, null);
  assert.deepEqual(told, [{ kind: 'low', freeBytes: 799, freeBytesMin: 800 }]);
  assert.equal(watch.hasRoom, false);
  for (const free of [900, 850, 800, 799]) watch.look(free, null);
  assert.deepEqual(
    told.map(({ kind }) => kind),
    ['low', 'ok', 'low'],
  );
  watch.look(10, 'full');
  watch.look(10, null);
  watch.look(1_000, null);
  assert.deepEqual(
    told.slice(3).map(({ kind }) => kind),
    ['full', 'low', 'ok'],
  );
  assert.equal(watch.hasRoom, true);
});
