/** A start gives only ids that are newer than all earlier ids. */
import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { openParts } from '../../../../test/fake/ledger-parts.ts';
import { all, died, idOf, put } from '../../../../test/fake/ledger-rows.ts';
import { migratedDatabase, postgresTest } from '../../../../test/fake/postgres.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import { connect } from '../server/connect.ts';
import { lastId } from './sweep.ts';
import { lastIdMark } from './marks.ts';

const hook = 'webhook' as ChannelKey;

postgresTest('ids go on behind the newest that was ever given', async () => {
  const client = await connect(await migratedDatabase());
  try {
    assert.equal(await lastId(client), '');
    for (const [at, table] of ['message', 'inbox', 'sent', 'outbox'].entries()) {
      const id = idOf(100 + at);
      const isReply = table === 'sent' || table === 'outbox';
      await put(client, table, { id: isReply ? `${id}-03` : id });
      assert.equal(await lastId(client), id, table);
    }
    for (const [given, newest] of [
      [idOf(300), idOf(300)],
      [idOf(200), idOf(300)],
    ] as const) {
      const { text, values } = lastIdMark(given);
      await client.query(text, [...values]);
      assert.equal(await lastId(client), newest);
    }
  } finally {
    await client.end();
  }
});

postgresTest('an id is not given again where the newest row was deleted', async () => {
  const fill = async (client: Client): Promise<void> => {
    await put(client, 'message', {}, { id: idOf(7), n: 2, failure: died });
  };
  await using it = await openParts(fill);
  assert.equal(await it.letters.discard(idOf(7)), 'done');
  assert.equal(await lastId(it.client), idOf(7));
  const whose = { kind: 'conversation', channel: hook, conversation: 'ann' } as never;
  const asked = { whose, before: 1, beforeId: idOf(9) as never, removed: 0, remove() {} };
  await it.forgetting.forget(asked);
  assert.equal(await lastId(it.client), idOf(9));
  assert.deepEqual(await all(it.client, 'message'), []);
});
