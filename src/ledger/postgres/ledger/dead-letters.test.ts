/** Dead letters on PostgreSQL: a person replays or discards one while the sweep may delete it. */
import assert from 'node:assert/strict';
import { all, count, died, idOf, put } from '../../../../test/fake/ledger-rows.ts';
import { now, openParts, type LedgerDeps } from '../../../../test/fake/ledger-parts.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import { sweepOnce } from './sweep.ts';

const hook = 'webhook' as ChannelKey;
const message = idOf(1);
const reply = idOf(2);
const parts = [`${reply}-00`, `${reply}-01`];
const dayMs = 86_400_000;

/** A dead message with all its rows, and a dead reply of two parts to another message. */
const open = (): Promise<LedgerDeps> =>
  openParts(async (client) => {
    await put(client, 'lane', { tail: 4 });
    const left = { attempts: 2, failure: died, trace: '{}', outcome: null };
    await put(client, 'message', left, { id: idOf(3), n: 3 });
    await put(client, 'turn', { reply: null }, { n: 3, message_id: idOf(3) });
    await put(client, 'tool_use', {}, { key: 'other', message_id: idOf(3) });
    await put(client, 'tool_call', {}, { key: 'other', message_id: idOf(3) });
    await put(client, 'note', {});
    const dead = { message_id: idOf(3), attempts: 5, failure: died };
    await put(client, 'sent', { ...dead, id: parts[1]!, seq: 8 }, { ...dead, id: parts[0]! });
    await put(client, 'sent', { id: idOf(4), seq: 9, message_id: idOf(3) });
  });

const sweep = ({ reads, letters }: LedgerDeps): Promise<number> =>
  sweepOnce({
    reads,
    retentionDays: 1,
    now: () => now + 40 * dayMs,
    expired: (id) => letters.remove(id),
  });

postgresTest('a dead message goes to the end of its queue, as new', async () => {
  await using it = await open();
  assert.equal(it.letters.count, 2);
  assert.equal(await it.letters.replay(message), 'done');
  const { rows } = await it.client.query('SELECT * FROM svc.inbox');
  const { n, accepted_at: at, attempts, alone } = rows[0];
  assert.deepEqual({ n, at, attempts, alone }, { n: 5, at: now, attempts: 0, alone: 0 });
  assert.deepEqual(await all(it.client, 'lane', 'tail'), [5]);
  assert.deepEqual(await all(it.client, 'message'), [idOf(3)]);
  assert.deepEqual(await all(it.client, 'turn', 'n'), [3], 'its turn is gone, the other stays');
  assert.deepEqual([await count(it.client, 'note'), await count(it.client, 'tool_use')], [1, 2]);
  assert.equal(it.letters.count, 1);
  assert.equal(it.rows.take('in', hook)?.head.id, message);
});

postgresTest('a message whose queue is not kept any more gets a new one', async () => {
  await using it = await open();
  await it.client.query('DELETE FROM svc.lane');
  assert.equal(await it.letters.replay(message), 'done');
  assert.deepEqual(await all(it.client, 'lane', 'tail'), [1]);
  assert.deepEqual(await all(it.client, 'inbox', 'n'), [1]);
});

postgresTest('all parts of a reply come back together, in their order', async () => {
  await using it = await open();
  await put(it.client, 'outbox', { id: idOf(4), seq: 1 });
  await it.client.query('ALTER TABLE svc.outbox ALTER seq RESTART 20');
  assert.equal(await it.letters.replay(reply), 'done');
  const { rows } = await it.client.query(
    'SELECT id, seq, late, parked, attempts, replayed, due_at, failure FROM svc.outbox ' +
      'WHERE seq >= 20 ORDER BY seq',
  );
  const back = { late: true, parked: false, attempts: 5, replayed: 5, due_at: null, failure: null };
  assert.deepEqual(rows, [
    { id: parts[0], seq: 20, ...back },
    { id: parts[1], seq: 21, ...back },
  ]);
  assert.deepEqual(await all(it.client, 'sent'), [idOf(4)], 'what was delivered stays');
  assert.equal(it.letters.count, 1);
  for (const id of [idOf(4), ...parts]) {
    const next = it.rows.take('out', hook)!;
    assert.equal(next.head.id, id);
    assert.equal(it.rows.take('out', hook), undefined, 'what is behind it waits');
    it.rows.settle(next);
  }
});

for (const id of [message, reply]) {
  const what = id === message ? 'message' : 'reply';
  postgresTest(`a ${what} that is swept away before it is replayed is not found`, async () => {
    await using it = await open();
    it.afterFound(async () => {
      while ((await sweep(it)) > 0);
    });
    assert.equal(await it.letters.replay(id), 'not_found');
    assert.equal(await count(it.client, 'inbox'), 0);
    assert.equal(await count(it.client, 'outbox'), 0);
    assert.equal(it.rows.take('in', hook), undefined);
    assert.equal(it.rows.take('out', hook), undefined);
    assert.equal(
      it.letters.count,
      (await all(it.client, 'sent', 'failure')).filter(Boolean).length,
    );
  });

  postgresTest(`a ${what} that is back is not the sweep's`, async () => {
    await using it = await open();
    assert.equal(await it.letters.replay(id), 'done');
    while ((await sweep(it)) > 0);
    const back = [...(await all(it.client, 'inbox')), ...(await all(it.client, 'outbox'))];
    assert.deepEqual(back, id === message ? [message] : parts);
  });

  postgresTest(`a ${what} is back once where the answer was lost`, async () => {
    await using it = await open();
    it.loseAnswers();
    assert.equal(await it.letters.replay(id), 'done');
    assert.equal(it.letters.count, 1);
    const box = id === message ? 'in' : 'out';
    assert.equal(it.rows.take(box, hook)?.head.id, id === message ? message : parts[0]);
    assert.deepEqual(
      await all(it.client, 'lane', 'tail'),
      [5],
      'whoever has the lane sees that something came',
    );
  });
}

postgresTest('a discarded message leaves nothing of its turn but what was said', async () => {
  await using it = await open();
  assert.equal(await it.letters.discard(message), 'done');
  assert.deepEqual(await all(it.client, 'message'), [idOf(3)]);
  assert.deepEqual(await all(it.client, 'tool_use', 'key'), ['other']);
  assert.deepEqual(await all(it.client, 'tool_call', 'key'), ['other']);
  assert.equal(await count(it.client, 'turn'), 2);
  assert.equal(await it.letters.discard(reply), 'done');
  assert.deepEqual(await all(it.client, 'sent'), [idOf(4)]);
  assert.equal(it.letters.count, 0);
  for (const id of [message, reply]) assert.equal(await it.letters.discard(id), 'not_found');
});

postgresTest('what is no dead letter is not found', async () => {
  await using it = await open();
  for (const id of [idOf(3), idOf(4), idOf(77), parts[0]!, '', `${message}%`]) {
    assert.equal(await it.letters.replay(id), 'not_found');
    assert.equal(await it.letters.discard(id), 'not_found');
  }
  assert.equal(it.letters.count, 2);
});
