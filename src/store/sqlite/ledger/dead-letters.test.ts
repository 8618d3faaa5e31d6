/** How many dead letters there are, while the sweep takes some away beside what people ask for. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { DeadLetters } from './dead-letters.ts';
import { migrate } from '../files/migrations.ts';
import type { SqliteParts } from './parts.ts';
import type { HistoryCache } from './history-cache.ts';

const idOf = (n: number): string => String(n).padStart(22, '0');

/** So many dead messages, a dead reply of two parts, and a journal that the sweep overtakes. */
function start(messages: number) {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  const dead = (table: string, at: string, id: string): void =>
    db.exec(
      `INSERT INTO ${table} (id, channel, conversation, ${at}, body, state) ` +
        `VALUES ('${id}', 'webhook', 'c', 0, '{}', 2)`,
    );
  for (let n = 0; n < messages; n++) dead('inbox', 'accepted_at', idOf(n));
  for (const part of ['-00', '-01']) dead('outbox', 'created_at', idOf(99) + part);
  let sweep = (): void => {};
  const journal = {
    add: () => 0,
    written: async (then: () => void) => {
      sweep();
      then();
      return true;
    },
  };
  const parts = { reader: db, journal } as unknown as SqliteParts;
  const letters = new DeadLetters(parts, {} as HistoryCache);
  return { letters, beforeCommit: (act: () => void) => (sweep = act) };
}

test('the parts of one reply are one dead letter', () => {
  const { letters } = start(3);
  assert.equal(letters.count, 4);
  letters.add(`${idOf(50)}-00`);
  letters.add(`${idOf(50)}-01`);
  assert.equal(letters.count, 5);
  letters.remove(`${idOf(50)}-00`);
  assert.equal(letters.count, 4);
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
