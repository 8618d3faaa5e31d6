/** Query plans for starts, people and the sweep, in a ledger of many messages. */
import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { gatherOnlyWhenTold, planOf, tablesReadWhole } from '../../../../test/fake/explain.ts';
import { beganAt, everyMs, fillAll, idAt } from '../../../../test/fake/filled-postgres.ts';
import { openParts, type LedgerDeps } from '../../../../test/fake/ledger-parts.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import type { ChannelKey, ConversationId, MessageId } from '../../../domain/ids.ts';
import type { MessageOwner } from '../../../domain/story.ts';
import type { Query } from '../write/statement.ts';
import { StoredApprovals } from './approvals.ts';
import { aloneMark, clearedMark } from './marks.ts';
import { lastId, sweepOnce } from './sweep.ts';

const messages = 12_000;
const channel = 'webhook' as ChannelKey;

/** Each statement that these parts and a start send, with values that match rows. */
async function askAll(it: LedgerDeps): Promise<readonly Query[]> {
  await it.letters.replay(idAt(1_009));
  await it.letters.discard(idAt(2_009));
  await it.letters.replay(idAt(509, 'reply'));
  await it.letters.discard(idAt(1_509, 'reply'));
  const beforeId = idAt(messages) as MessageId;
  const forget = (whose: MessageOwner): Promise<number> =>
    it.forgetting.forget({ whose, before: 1, beforeId, removed: 0, remove() {} });
  const conversation = 'c100' as ConversationId;
  assert.ok((await forget({ kind: 'conversation', channel, conversation })) > 20);
  assert.ok((await forget({ kind: 'sender', channel, sender: 'sender 8' })) > 40);
  await it.forgetting.clearNotes({ kind: 'brain', brain: 'b1' });
  await it.forgetting.clearNotes({ kind: 'conversation', channel, conversation });
  const approvals = new StoredApprovals(it);
  await approvals.find('0000000009');
  await approvals.owed(beganAt);
  await approvals.waiting();
  const now = (): number => beganAt + 30 * 86_400_000 + (messages / 2) * everyMs;
  const { reads } = it;
  const swept = await sweepOnce({ reads, retentionDays: 30, now, expired() {} });
  assert.ok(swept >= 600, `all kinds are swept: ${swept}`);
  const ids = [idAt(messages - 1), idAt(messages - 2)];
  const marks = [aloneMark(ids[0]!, 1), clearedMark(ids)];
  return [...it.asked, ...marks, ...(await startAsks(it.client))];
}

/** The queries of a start before it reads the unsettled rows. */
async function startAsks(client: Client): Promise<readonly Query[]> {
  const asked: Query[] = [];
  const recorder = {
    query(text: string, values: readonly unknown[] = []) {
      asked.push({ text, values });
      return client.query(text, [...values]);
    },
  };
  await lastId(recorder as unknown as Client);
  return asked;
}

/** A search for the waiting messages of a sender may scan the inbox, which is bounded. */
const mayReadWhole = ({ text }: Query): readonly string[] =>
  text.includes('svc.inbox WHERE channel = $1 AND sender = $2') ? ['inbox'] : [];

/** The server collects statistics of one table at a time, at any time. */
const gatherings = ['', 'ANALYZE svc.message', 'ANALYZE svc.outbox', 'VACUUM ANALYZE'];

postgresTest('no statement reads a whole table, whatever statistics there are', async () => {
  await using it = await openParts(async (client) => {
    await gatherOnlyWhenTold(client);
    await fillAll(client, messages);
  });
  const asked = await askAll(it);
  for (const gathering of gatherings) {
    if (gathering !== '') await it.client.query(gathering);
    const seen = new Set<string>();
    const faults: string[] = [];
    for (const one of asked) {
      if (seen.has(one.text)) continue;
      seen.add(one.text);
      const allowed = mayReadWhole(one);
      const whole = await tablesReadWhole(it.client, one);
      const tables = whole.filter((table) => !allowed.includes(table) && table !== 'cursor');
      if (tables.length > 0) faults.push(`${tables.join(', ')}: ${one.text}`);
    }
    assert.ok(seen.size >= 30, `${seen.size} statements`);
    assert.deepEqual(faults, [], `after: ${gathering}`);
  }
  const dead = asked.find(({ text }) => text.includes('svc.message WHERE failure IS NOT NULL AND'));
  const indexes = (await planOf(it.client, dead!)).map((node) => node['Index Name']);
  assert.ok(indexes.includes('message_dead'), 'dead letters are counted by their own index');
});
