import assert from 'node:assert/strict';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { heartbeats, shortTimes, TestInstances } from '../../../../test/fake/postgres/instances.ts';
import { endedByStorage } from '../ledger/instance.ts';
import type { Heartbeat } from './heartbeat.ts';
import type { News } from './news.ts';
import { patienceMs, until } from '../../../../test/support/waiting.ts';

const rarely = { ...shortTimes, heartbeatMs: 1e6 };

function next(heartbeat: Heartbeat): Promise<News> {
  return new Promise((resolve) => heartbeat.onNews(resolve));
}

postgresTest('each heartbeat tells who lives, and the time at the server', async () => {
  await using all = await TestInstances.open();
  const [one, other] = await all.beginAll(2);
  const news = await next(one!.peers.heartbeat);
  assert.deepEqual(
    news.alive.map(({ id, version, broadcastLogRead }) => ({ id, version, broadcastLogRead })),
    [one, other].map((its) => ({ id: its!.id, version: '1', broadcastLogRead: 0 })),
  );
  assert.ok(Math.abs(news.serverNow - Date.now()) < patienceMs);
  assert.ok(news.askedAt <= news.landedAt);
  const later = await next(one!.peers.heartbeat);
  assert.ok(later.serverNow > news.serverNow);
  assert.ok(later.alive[0]!.grp > news.alive[0]!.grp);
});

postgresTest('a heartbeat goes at once where one is asked for, and one for many', async () => {
  await using all = await TestInstances.open();
  const { peers, id } = await all.begin(rarely);
  const first = await next(peers.heartbeat);
  const hears = next(peers.heartbeat);
  for (let times = 0; times < 10; times++) peers.heartbeat.sendNow();
  const second = await hears;
  assert.equal(second.alive[0]!.grp, first.alive[0]!.grp + 1);
  // A request that comes while a heartbeat is under way is not forgotten.
  const [third, fourth] = [next(peers.heartbeat), heartbeats(peers, 2)];
  peers.heartbeat.addWrites(() => []);
  peers.heartbeat.sendNow();
  setTimeout(() => peers.heartbeat.sendNow());
  await third;
  peers.heartbeat.sendNow();
  await fourth;
  assert.ok(Number((await all.instance(id))['grp']) >= 4);
});

postgresTest('what is brought goes with one heartbeat, before its news are read', async () => {
  await using all = await TestInstances.open();
  const { peers } = await all.begin();
  let text: string | null =
    "INSERT INTO svc.post (name, owner, epoch) VALUES ('b', NULL, 4), ('a', 7, 5)";
  const brought = Promise.withResolvers<void>();
  const seen = new Promise<News>((resolve) => {
    peers.heartbeat.onNews((news) => news.leases.length > 0 && resolve(news));
  });
  peers.heartbeat.addWrites(() => {
    if (text === null) return [];
    const writes = [{ kind: 'single', text, values: [] }] as const;
    text = null;
    brought.resolve();
    return writes;
  });
  await brought.promise;
  assert.deepEqual((await seen).leases, [
    { name: 'a', owner: 7, epoch: 5 },
    { name: 'b', owner: null, epoch: 4 },
  ]);
});

postgresTest('the dead are told of until they are cleaned up, and how they ended', async () => {
  await using all = await TestInstances.open();
  const [one, other, third] = await all.beginAll(3);
  third!.kill();
  const note = endedByStorage.values(third!.id, 'm1');
  await all.client.query(endedByStorage.text, [...note]);
  await other!.close();
  await all.passUntilDead(one!);
  let news = await next(one!.peers.heartbeat);
  one!.peers.heartbeat.onNews((is) => (news = is));
  await until('both are dead', () => news.unburied.length === 2);
  assert.deepEqual(news.unburied, [
    { id: other!.id, ended: '{"clean":true}' },
    { id: third!.id, ended: '{"alone":"m1"}' },
  ]);
  await all.client.query('UPDATE svc.instance SET buried = true WHERE id = $1', [other!.id]);
  await until('one is left', () => news.unburied.length === 1);
});

postgresTest('who is silent is dead whatever the server says that the time is', async () => {
  await using all = await TestInstances.open();
  const [one, other] = await all.beginAll(2);
  other!.kill();
  await all.client.query(
    "UPDATE svc.instance SET beat_at = beat_at + interval '1 hour' WHERE id = $1",
    [other!.id],
  );
  await all.passUntilDead(one!);
  await until('it is dead', async () => (await all.instance(other!.id))['dead'] === true);
  await until('that is known', () => one!.peers.limitShare() === 1);
  assert.equal(one!.broken(), null);
});

postgresTest('after its end there are no more heartbeats, and its end is told once', async () => {
  await using all = await TestInstances.open();
  const { peers, batches, id } = await all.begin(rarely);
  await next(peers.heartbeat);
  let ends = 0;
  peers.heartbeat.onEnd(() => ends++);
  peers.close();
  peers.close();
  peers.heartbeat.onNews(() => assert.fail('it beats'));
  peers.heartbeat.sendNow();
  await batches.written(() => {});
  assert.equal(ends, 1);
  assert.equal((await all.instance(id))['dead'], false, 'the flights go on');
});

postgresTest(
  'without room on the disk it waits, and sends heartbeats when there is some',
  async () => {
    await using all = await TestInstances.open();
    const { peers, batches } = await all.begin();
    await next(peers.heartbeat);
    await all.client.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN RAISE 'refused' USING ERRCODE = '53100'; END$$;
    CREATE TRIGGER refuse BEFORE UPDATE ON svc.instance EXECUTE FUNCTION refuse()`);
    await until('it is full', () => batches.state === 'full');
    await all.client.query('DROP TRIGGER refuse ON svc.instance');
    await next(peers.heartbeat);
    assert.equal(batches.state, 'ok');
  },
);
