/** The admin API of two instances on one database: each instance answers for both. */
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { openView } from '../../src/cluster/view.ts';
import { PostgresView } from '../../src/ledger/postgres/view/shared-view.ts';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import type { Status } from '../../src/admin/admin.ts';
import { describeReport, reportOf } from '../../src/admin/reports/report.ts';
import { readLiveEvent } from '../../src/admin/schemas/live-event.ts';
import type { ChannelKey } from '../../src/domain/ids.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { until } from '../contract/ledger/kit.ts';
import { adminToken, live, makeWorld, openAdmin, withToken } from '../fake/admin-world.ts';
import { listen } from '../fake/live-listener.ts';
import { FakePeers } from '../fake/peers.ts';
import { migratedDatabase, postgresTest } from '../fake/postgres.ts';
import { assertDescribed, operationsOf, type OpenApi } from './open-api.ts';

const head = ['Host: localhost', `Authorization: Bearer ${adminToken}`];
const times = { publishMs: 10, freshMs: 0, batchMs: 10, leaseMs: 600_000, graceMs: 600_000 };
const hook = 'webhook' as ChannelKey;

type Beginning = { readonly url: string; readonly members: FakePeers; readonly id: number };

/** An instance, with its own admin server. */
async function startOne({ url, members, id }: Beginning) {
  const world = makeWorld();
  world.clockMs = Date.now();
  const peers = members.join(id, { version: `1.2.${id}`, beganAt: world.clockMs });
  const shared = new PostgresView((signal) => connect(url, { signal }));
  const { ports, events } = world;
  const report = (): string => describeReport(reportOf(world.ports));
  const source = { report, liveEvents: events.frames, liveEventOf: readLiveEvent, events };
  const clock = { now: () => world.clockMs, steady: systemClock.steady };
  const view = openView({ ...clock, ...source, peers, view: shared }, times);
  const place = () => ({ host: hostname(), admin: `127.0.0.1:${id}` });
  world.ports = { ...ports, view, place };
  const server = await openAdmin(world, { access: withToken });
  const ask = async (path: string) => server.send('GET', path, head);
  return {
    id,
    world,
    server,
    view,
    ask,
    status: async () => JSON.parse((await ask('/api/v1/status')).body) as Status,
    async [Symbol.asyncDispose]() {
      view[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
      await shared[Symbol.asyncDispose]();
    },
  };
}

type One = Awaited<ReturnType<typeof startOne>>;

async function start() {
  const url = await migratedDatabase();
  const client = await connect(url);
  const members = new FakePeers();
  const begin = async (): Promise<One> => {
    const { rows } = await client.query<{ id: number }>(
      "INSERT INTO svc.instance (version, process) VALUES ('1', '{}') RETURNING id",
    );
    return startOne({ url, members, id: rows[0]!.id });
  };
  const [one, other] = [await begin(), await begin()];
  return {
    client,
    members,
    one,
    other,
    async [Symbol.asyncDispose]() {
      await other[Symbol.asyncDispose]();
      await one[Symbol.asyncDispose]();
      await client.end();
    },
  };
}

/** Waits until the condition holds for the status of both instances. */
async function untilBoth(it: { one: One; other: One }, is: (status: Status) => boolean) {
  for (const instance of [it.one, it.other]) {
    await until('it is known there', async () => is(await instance.status()));
  }
}

postgresTest('either tells the sum of both, where each is, and what it alone does', async () => {
  await using it = await start();
  const { one, other, members } = it;
  members.give('keeper', one.id);
  members.give('messenger_a:7', other.id);
  live(one.world.events);
  for (let n = 0; n < 2; n++) live(other.world.events);
  await untilBoth(it, ({ counts }) => counts.accepted === 3);
  const told = await Promise.all([one.status(), other.status()]);
  assert.deepEqual(
    told.map(({ instance }) => instance),
    [one.id, other.id],
  );
  for (const { counts, perMinute, times: ms, instances, models } of told) {
    assert.deepEqual([counts.delivered, counts.deadLetters, perMinute], [3, 3, 3]);
    assert.equal(models[0]!.answers, 3);
    assert.ok(ms.turns.p50Ms! > 0);
    assert.deepEqual(
      instances!.map(({ id, state, version, posts }) => [
        id,
        state,
        version,
        posts.map(({ post }) => post),
      ]),
      [
        [one.id, 'up', `1.2.${one.id}`, ['keeper']],
        [other.id, 'up', `1.2.${other.id}`, ['messenger_a:7']],
      ],
    );
  }
  const { body } = await other.server.get('/metrics');
  assert.match(body, /^svc_messages_accepted_total\{channel="webhook"\} 2$/m, 'its own alone');
});

postgresTest('what is told of all is as the API describes it', async () => {
  await using it = await start();
  const { one } = it;
  await untilBoth(it, ({ instances }) => instances!.every(({ state }) => state === 'up'));
  const api = JSON.parse((await one.ask('/api/v1/openapi.json')).body) as OpenApi;
  const paths = ['status', 'channels', 'routes', 'turned-away', 'turned-away/senders'];
  for (const path of paths.map((name) => `/api/v1/${name}`)) {
    const operation = operationsOf(api).find((each) => each.path === path)!;
    const answer = await one.ask(path);
    assert.equal(answer.status, 200, answer.body);
    assertDescribed(api, operation, answer);
  }
  const turned = JSON.parse((await one.ask('/api/v1/turned-away/senders')).body) as {
    readonly rows: readonly { readonly count: number }[];
  };
  assert.deepEqual(
    turned.rows.map(({ count }) => count),
    [4],
    'the two of both',
  );
});

postgresTest('one that tells nothing any more is late, and holds up nobody', async () => {
  await using it = await start();
  const { one, other, client, members } = it;
  live(other.world.events);
  await untilBoth(it, ({ counts }) => counts.accepted === 1);
  other.view[Symbol.dispose]();
  const older =
    "UPDATE svc.instance_status SET at = clock_timestamp() - interval '6 seconds' WHERE id = $1";
  let told = await one.status();
  await until('it is late', async () => {
    await client.query(older, [other.id]);
    told = await one.status();
    return told.instances![1]!.state === 'late';
  });
  const { instances, counts, asOf } = told;
  const [, late] = instances!;
  assert.equal(counts.accepted, 1, 'what it told last counts');
  assert.equal(asOf, late!.toldAt);
  assert.ok(one.world.clockMs - asOf! >= 6_000);
  members.leave(other.id);
  const after = await one.status();
  assert.equal(after.counts.accepted, 0, 'one that is no more takes its counts along');
  assert.equal(after.instances!.length, 1);
});

postgresTest('who listens at one hears what happens at the other, and reads on there', async () => {
  await using it = await start();
  const { one, other } = it;
  const first = await listen(one.server.port);
  await first.until((block) => block.includes('event: dropped'));
  live(other.world.events);
  await first.until((block) => block.includes('event: dead_letter'));
  first.socket.destroy();
  const heard = first.told.map(({ event }) => event);
  assert.deepEqual(heard.slice(0, 3), ['dropped', 'message_accepted', 'turn_started']);
  const numbers = first.told.map(({ id }) => Number(id.split('-')[1]));
  assert.deepEqual(
    numbers,
    Array.from(numbers.keys(), (n) => n + 1),
  );
  other.world.events.messageRefused({ channel: hook, code: 'while_away' });
  one.world.events.messageRefused({ channel: hook, code: 'own' });
  const back = await listen(one.server.port, `Last-Event-ID: ${first.told[2]!.id}`);
  const codes = () =>
    back.told.flatMap(({ data }) => (data.kind === 'message_refused' ? [data.code] : []));
  await until('both came', () => codes().length === 3);
  assert.equal(back.told[0]!.id, first.told[3]!.id, 'it goes on behind what it had');
  assert.deepEqual(new Set(codes()), new Set(['inbox_full', 'while_away', 'own']));
  assert.deepEqual(
    back.told.filter(({ event }) => event === 'dropped'),
    [],
  );
  back.socket.destroy();
});
