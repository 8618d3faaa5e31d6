/** Two instances on one database: of all decisions one succeeds, and the call runs once. */
import assert from 'node:assert/strict';
import { createIdSource } from '../../src/domain/ids.ts';
import type { Reply } from '../../src/domain/reply.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openPostgresStore } from '../../src/ledger/postgres/postgres.ts';
import { hourMs, openApprovalHouse, type House } from './house.ts';
import { migratedDatabase, postgresTest } from '../fake/postgres.ts';
import { until } from '../messages/messenger-house.ts';

async function begin(url: string, clock: { now: number }): Promise<House> {
  const ids = createIdSource(Date.now, (bytes) => void crypto.getRandomValues(bytes));
  const store = await openPostgresStore({
    url,
    ...systemClock,
    ids,
    retentionDays: 30,
    version: 'test',
  });
  if ('kind' in store) throw new Error(store.message);
  return openApprovalHouse(store.ledger, clock, {}, store.peers);
}

/** The replies of either instance in that conversation. */
function toldIn(houses: readonly House[], conversation: string): readonly Reply[] {
  const all = houses.flatMap(({ messenger }) => messenger.delivered);
  return all.filter((reply) => (reply.conversation as string) === conversation);
}

postgresTest('asked at one instance, decided at both: it runs once, and is told', async () => {
  const url = await migratedDatabase();
  const clock = { now: Date.now() };
  await using one = await begin(url, clock);
  await using two = await begin(url, clock);
  const both = [one, two];
  void one.messenger.say('ada', 'pay');
  await until(() => toldIn(both, 'ada').length === 1);
  await until(() => toldIn(both, 'boss').length >= 1);
  const { id } = await two.waiting();
  const decided = await Promise.all([
    one.host.decide(id, 'approved'),
    two.host.decide(id, 'approved'),
    two.host.decide(id, 'approved'),
  ]);
  assert.equal(decided.filter(({ kind }) => kind === 'decided').length, 1);
  await until(() => toldIn(both, 'ada').length === 2);
  assert.equal(toldIn(both, 'ada')[1]!.text, 'told: webhook_call of https://example.com/pay');
  assert.equal(one.tool.ran.length + two.tool.ran.length, 1);
  assert.equal(toldIn(both, 'boss').length, 1, 'the question is put once');
  assert.deepEqual(await one.ledger.approvals.owed(clock.now + 99 * hourMs), []);
});

postgresTest('what had its time is ended once, by whichever instance keeps', async () => {
  const url = await migratedDatabase();
  const clock = { now: Date.now() };
  await using one = await begin(url, clock);
  await using two = await begin(url, clock);
  const both = [one, two];
  void one.messenger.say('ada', 'pay');
  await until(() => toldIn(both, 'ada').length === 1);
  clock.now += 24 * hourMs;
  for (const house of both) house.look();
  await until(() => toldIn(both, 'ada').length === 2);
  assert.match(toldIn(both, 'ada')[1]!.text, /^told: .* nobody decided in time\./);
  assert.equal(one.tool.ran.length + two.tool.ran.length, 0);
  const ended = both.map(({ meters }) => meters.approvals.byVerdict.expired);
  assert.equal(ended[0]! + ended[1]!, 1);
});
