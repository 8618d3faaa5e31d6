import assert from 'node:assert/strict';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { beats, shortTimes, TestInstances } from '../../../../test/fake/postgres/instances.ts';
import { endedByStorage } from '../ledger/instance.ts';
import type { Beat } from './heartbeat.ts';
import type { News } from './news.ts';
import { patienceMs, until } from '../../../../test/support/waiting.ts';

const rarely = { ...shortTimes, beatMs: 1e6 };

function next(beat: Beat): Promise<News> {
  return new Promise((resolve) => beat.onNews(resolve));
}

postgresTest('each beat tells who lives, and the time at the server', async () => {
  await using all = await TestInstances.open();
  const [one, other] = await all.beginAll(2);
  const news = await next(one!.peers.beat);
  assert.deepEqual(
    news.alive.map(({ id, version, boardRead }) => ({ id, version, boardRead })),
    [one, other].map((its) => ({ id: its!.id, version: '1', boardRead: 0 })),
  );
  assert.ok(Math.abs(news.serverNow - Date.now()) < patienceMs);
  assert.ok(news.askedAt <= news.landedAt);
  const later = await next(one!.peers.beat);
  assert.ok(later.serverNow > news.serverNow);
  assert.ok(later.alive[0]!.grp > news.alive[0]!.grp);
});

postgresTest('a beat goes at once where one is asked for, and one for many', async () => {
  await using all = await TestInstances.open();
  const { peers, id } = await all.begin(rarely);
  const first = await next(peers.beat);
  const hears = next(peers.beat);
  for (let times = 0; times < 10; times++) peers.beat.now();
  const second = await hears;
  assert.equal(second.alive[0]!.grp, first.alive[0]!.grp + 1);
  // What is asked for while one is under way is not forgotten.
  const [third, fourth] = [next(peers.beat), beats(peers, 2)];
  peers.beat.bring(() => []);
  peers.beat.now();
  setTimeout(() => peers.beat.now());
  await third;
  peers.beat.now();
  await fourth;
  assert.ok(Number((await all.instance(id))['grp']) >= 4);
});

postgresTest('what is brought goes with one beat, before its news are read', async () => {
  await using all = await TestInstances.open();
  const { peers } = await all.begin();
  let text: string | null =
    "INSERT INTO svc.post (name, owner, epoch) VALUES ('b', NULL, 4), ('a', 7, 5)";
  const brought = Promise.withResolvers<void>();
  const seen = new Promise<News>((resolve) => {
    peers.beat.onNews((news) => news.posts.length > 0 && resolve(news));
  });
  peers.beat.bring(() => {
    if (text === null) return [];
    const writes = [{ kind: 'single', text, values: [] }] as const;
    text = null;
    brought.resolve();
    return writes;
  });
  await brought.promise;
  assert.deepEqual((await seen).posts, [
    { name: 'a', owner: 7, epoch: 5 },
    { name: 'b', owner: null, epoch: 4 },
  ]);
});

postgresTest('the dead are told of until they are buried, and how they ended', async () => {
  await using all = await TestInstances.open();
  const [one, other, third] = await all.beginAll(3);
  third!.kill();
  const note = endedByStorage.values(third!.id, 'm1');
  await all.client.query(endedByStorage.text, [...note]);
  await other!.close();
  await all.passUntilDead(one!);
  let news = await next(one!.peers.beat);
  one!.peers.beat.onNews((is) => (news = is));
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
  await until('that is known', () => one!.peers.share() === 1);
  assert.equal(one!.broken(), null);
});

postgresTest('after its end there are no more beats, and its end is told once', async () => {
  await using all = await TestInstances.open();
  const { peers, flights, id } = await all.begin(rarely);
  await next(peers.beat);
  let ends = 0;
  peers.beat.onEnd(() => ends++);
  peers.close();
  peers.close();
  peers.beat.onNews(() => assert.fail('it beats'));
  peers.beat.now();
  await flights.written(() => {});
  assert.equal(ends, 1);
  assert.equal((await all.instance(id))['dead'], false, 'the flights go on');
});

postgresTest('without room on the disk it waits, and beats when there is some', async () => {
  await using all = await TestInstances.open();
  const { peers, flights } = await all.begin();
  await next(peers.beat);
  await all.client.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN RAISE 'refused' USING ERRCODE = '53100'; END$$;
    CREATE TRIGGER refuse BEFORE UPDATE ON svc.instance EXECUTE FUNCTION refuse()`);
  await until('it is full', () => flights.state === 'full');
  await all.client.query('DROP TRIGGER refuse ON svc.instance');
  await next(peers.beat);
  assert.equal(flights.state, 'ok');
});
