/** The search index: its rows, how it is filled, and which rows leave it. */
import assert from 'node:assert/strict';
import { now, openParts, type LedgerDeps } from '../../../../test/fake/ledger-parts.ts';
import { count, idOf, put } from '../../../../test/fake/ledger-rows.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { timeText } from '../../../domain/ids.ts';
import type { PageRequest } from '../../../domain/page.ts';
import type { FoundText } from '../../../domain/search.ts';
import { wireValue, type Ask } from '../read/lists.ts';
import { findByWords } from '../read/found-texts.ts';
import { beginning } from '../read/people-connection.ts';
import { indexOnce } from './search-index.ts';

const all: PageRequest = { after: null, limit: 100 };

async function fillAll({ reads }: LedgerDeps, at = now): Promise<void> {
  while (await indexOnce(reads, at));
}

async function say(it: LedgerDeps, id: string, text: string, n: number): Promise<void> {
  await put(it.client, 'message', { id, n, body: JSON.stringify({ sender: { id: 'ann' }, text }) });
  await put(it.client, 'turn', { message_id: id, n, at: n, text, reply: `to ${n}` });
}

async function find(it: LedgerDeps, words: string, asked = all) {
  const ask: Ask = async (text, ...values) => {
    return (await it.client.query(text, values.map(wireValue))).rows as never;
  };
  await it.client.query(beginning(10_000));
  try {
    return await findByWords(ask, words, asked);
  } finally {
    await it.client.query('ROLLBACK');
  }
}

async function findAll(it: LedgerDeps, words: string, limit = 100): Promise<FoundText[]> {
  const rows: FoundText[] = [];
  let after: string | null = null;
  do {
    const page = await find(it, words, { after, limit });
    rows.push(...page.rows);
    after = page.next;
  } while (after !== null);
  return rows;
}

postgresTest('turns of before are taken in by a walk, new ones as they are settled', async () => {
  await using it = await openParts();
  await put(it.client, 'lane', {});
  for (let at = 0; at < 250; at++) await say(it, idOf(at), `zebra x${at}`, at);
  const before = await find(it, 'nowhere');
  assert.deepEqual([before.complete, before.indexedSince], [false, null]);
  assert.equal((await findAll(it, 'x7')).length, 1 + 10, 'what is in no index is looked at');
  await fillAll(it);
  assert.equal(await count(it.client, 'search'), 250);
  const { complete, indexedSince } = await find(it, 'nowhere');
  assert.deepEqual([complete, indexedSince], [true, null]);
  const found = await findAll(it, 'zebra', 40);
  assert.deepEqual(
    found.map(({ id }) => id),
    Array.from({ length: 250 }, (_, at) => idOf(249 - at)),
  );
  const fresh = timeText(now + 1_000) + '0'.repeat(12);
  await say(it, fresh, 'zebra fresh', 251);
  assert.equal((await findAll(it, 'fresh')).length, 1);
  await fillAll(it);
  assert.equal(await count(it.client, 'search'), 250, 'flights may hold older ones yet');
  await fillAll(it, now + 120_000);
  assert.equal(await count(it.client, 'search'), 251);
  assert.equal((await findAll(it, 'fresh')).length, 1);
});

postgresTest('what was answered late is taken in by the next walk', async () => {
  await using it = await openParts();
  await put(it.client, 'lane', {});
  await fillAll(it);
  await say(it, idOf(5), 'late zebra', 5);
  await fillAll(it);
  assert.equal(await count(it.client, 'search'), 0);
  await it.client.query("UPDATE svc.search_state SET walked_at = now() - interval '2 hours'");
  await fillAll(it);
  assert.equal(await count(it.client, 'search'), 1);
});

postgresTest('a word of very many texts is found by looking at the newest', async () => {
  await using it = await openParts();
  await put(it.client, 'lane', {});
  await it.client.query(
    'INSERT INTO svc.turn (channel, conversation, session, n, message_id, at, private, text) ' +
      `SELECT 'webhook', 'ann', 1, n, '${timeText(1)}' || lpad(n::text, 12, '0'), n, false, ` +
      "'common ' || n FROM generate_series(1, 2500) AS n",
  );
  await fillAll(it);
  const found = await findAll(it, 'common', 500);
  assert.deepEqual(
    found.map(({ at }) => at),
    Array.from({ length: 2_500 }, (_, at) => 2_500 - at),
  );
  assert.ok(found.every(({ kind, id }) => kind === 'conversation' && id === null));
});

postgresTest('what is deleted of turns leaves the index with them', async () => {
  await using it = await openParts();
  await put(it.client, 'lane', {});
  for (let at = 0; at < 3; at++) await say(it, idOf(at), `zebra x${at}`, at);
  await fillAll(it);
  await it.client.query('DELETE FROM svc.turn WHERE n = 1');
  assert.equal(await count(it.client, 'search'), 2);
  await it.client.query('DELETE FROM svc.message WHERE n = 1');
  assert.deepEqual(await findAll(it, 'x1'), []);
});

postgresTest('an index that was made by other rules is made anew', async () => {
  await using it = await openParts();
  await put(it.client, 'lane', {});
  await say(it, idOf(1), 'zebra', 1);
  await fillAll(it);
  await it.client.query("UPDATE svc.search_state SET rules = 'of before'");
  await it.client.query("UPDATE svc.search SET words = ''");
  assert.equal((await find(it, 'zebra')).complete, false);
  await fillAll(it);
  const { rows } = await it.client.query("SELECT 1 FROM svc.search WHERE words @@ 'zebra'");
  assert.equal(rows.length, 1);
});

postgresTest('a turn that is deleted just now is not waited for', async () => {
  await using it = await openParts();
  await put(it.client, 'lane', {});
  await indexOnce(it.reads, now);
  for (let at = 0; at < 3; at++) await say(it, idOf(at), 'zebra', at);
  await it.client.query('BEGIN; DELETE FROM svc.turn WHERE n = 1');
  await fillAll(it);
  await it.client.query('ROLLBACK');
  assert.equal(await count(it.client, 'search'), 2);
  await it.client.query("UPDATE svc.search_state SET walked_at = now() - interval '2 hours'");
  await fillAll(it);
  assert.equal(await count(it.client, 'search'), 3);
});
