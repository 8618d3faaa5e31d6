/** Who tries suspected messages of a channel that only one instance works. */
import assert from 'node:assert/strict';
import { answer, noneIn, until } from '../../../../test/contract/ledger/kit.ts';
import { idOf, put } from '../../../../test/fake/ledger-rows.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { comesIn, TestStores } from '../../../../test/fake/postgres/stores.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import { aborted } from '../../../lib/stop.ts';

const quick = { limits: { aloneMs: 30_000, besideMs: 0, stallMs: 120_000 } };
const bot = 'messenger_a:7' as ChannelKey;

postgresTest(
  'a messenger’s suspected message is tried where its lease is, whoever tries others',
  async () => {
    await using all = await TestStores.open();
    const [one, other] = await all.beginTwo(quick);
    using end = new DisposableStack();
    const life = end.adopt(new AbortController(), (is) => is.abort());
    void other.peers.withLease(bot, aborted, life.signal);
    for (const { ledger } of [one, other]) ledger.serve([bot]);
    await until('it has the messenger', () => other.peers.holds(bot));
    assert.equal(one.peers.holds('quarantine'), true, 'the other one has that post');
    const client = await all.another();
    await client.query('BEGIN');
    await put(client, 'lane', { channel: bot, tail: 2, waits: 3 });
    await put(client, 'inbox', { channel: bot, attempts: 2 }, { channel: bot, id: idOf(2), n: 2 });
    await client.query('COMMIT');
    const suspect = await comesIn(other, bot);
    assert.deepEqual([suspect.message.id, suspect.attempt], [idOf(1), 3]);
    assert.equal(await ranAlone(all), 1);
    await noneIn(one, bot);
    await answer(other, suspect);
    assert.equal((await comesIn(other, bot)).message.id, idOf(2));
  },
);

/** How many messages have run alone, by their counters. */
async function ranAlone({ client }: TestStores): Promise<number> {
  const { rows } = await client.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM svc.inbox WHERE alone > 0',
  );
  return rows[0]!.n;
}
