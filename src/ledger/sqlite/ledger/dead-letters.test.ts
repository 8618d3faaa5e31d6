/** The count of dead letters while the sweep deletes some during a person's requests. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { DeadLetters } from './dead-letters.ts';
import { migrate } from '../files/migrations.ts';
import type { SqliteDeps } from './deps.ts';
import type { HistoryCache } from './history-cache.ts';
import { sweep } from '../write/sweep.ts';

const dayMs = 86_400_000;

const idOf = (n: number): string => String(n).padStart(22, '0');

/** Dead messages, a dead reply of two parts, and a group commit that the sweep overtakes. */
function start(messages: number) {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  const dead = (table: string, at: string, id: string): void =>
    db.exec(
      `INSERT INTO ${table} (id, channel, conversation, ${at}, body, state, settled_at) ` +
        `VALUES ('${id}', 'webhook', 'c', 0, '{}', 2, 0)`,
    );
  for (let n = 0; n < messages; n++) dead('inbox', 'accepted_at', idOf(n));
  for (const part of ['-00', '-01']) dead('outbox', 'created_at', idOf(99) + part);
  let act = (): void => {};
  const groupCommit = {
    add: () => 0,
    written: async (then: () => void) => {
      act();
      then();
      return true;
    },
  };
  const rows = { nextSeq: () => 1_000 };
  const parts = { reader: db, groupCommit, rows } as unknown as SqliteDeps;
  const counted = (): DeadLetters => {
    return new DeadLetters({ ...parts, now: () => 0 }, {} as HistoryCache);
  };
  const beforeCommit = (what: () => void): void => void (act = what);
  return { db, letters: counted(), counted, beforeCommit };
}

test('the parts of one reply are one dead letter', () => {
  const { letters } = start(3);
  assert.equal(letters.count, 4);
  letters.add(`${idOf(50)}-00`);
  letters.add(`${idOf(50)}-01`);
  assert.equal(letters.count, 5);
  letters.remove(`${idOf(50)}-00`);
  letters.remove(`${idOf(50)}-01`);
  assert.equal(letters.count, 4);
});

test('a reply is a dead letter as long as one of its parts is kept', () => {
  const { db, letters, counted } = start(1);
  const { deadLetters } = sweep(db, 1, 10 * dayMs);
  assert.deepEqual(deadLetters, [`${idOf(99)}-00`], 'the newest row stays');
  for (const id of deadLetters) letters.remove(id);
  assert.deepEqual([letters.count, counted().count], [2, 2]);
  letters.remove(`${idOf(99)}-01`);
  assert.equal(letters.count, 1);
});

test('one that is swept away before it is replayed is not found', async () => {
  for (const [id, table] of [
    [idOf(1), 'inbox'],
    [idOf(99), 'outbox'],
  ] as const) {
    const { db, letters, beforeCommit } = start(2);
    beforeCommit(() => db.exec(`DELETE FROM ${table}`));
    assert.equal(await letters.replay(id), 'not_found');
  }
});

test('one that is swept away before the word of a person is done is counted off once', async () => {
  const { letters, beforeCommit } = start(3);
  beforeCommit(() => letters.remove(idOf(1)));
  assert.equal(await letters.discard(idOf(1)), 'done');
  assert.equal(letters.count, 3);
  beforeCommit(() => {});
  assert.equal(await letters.discard(idOf(99)), 'done');
  assert.equal(letters.count, 2);
});

test('one that was swept away before they were counted is not counted off', () => {
  const { letters } = start(3);
  letters.remove(idOf(70));
  assert.equal(letters.count, 4);
});
