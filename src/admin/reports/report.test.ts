/** Which instances there are, and the state of each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { live, makeWorld, revision } from '../../../test/fake/admin-world.ts';
import { ids, said } from '../../../test/fake/admin-ledger.ts';
import { makeInstances, viewOf } from '../../../test/fake/other-instances.ts';
import { findKind } from '../../channels/registry.ts';
import { statusOf } from '../status.ts';
import { instancesOf } from './merging.ts';
import { readReport, reportOf, describeReport, wholeOf } from './report.ts';

const nameOfA = findKind('messenger_a')!.name;

test('one that works alone is all there is, and nobody is counted', async () => {
  const { ports } = makeWorld();
  const { instance, instances, asOf } = await statusOf(ports, 'operator', 'operator');
  assert.deepEqual([instance, instances, asOf], [null, [], null]);
  const shared = {
    ...ports,
    view: viewOf(
      0,
      () => ({ living: [], rows: null, rowsAgeMs: 0 }),
      () => 0,
    ),
  };
  assert.deepEqual((await statusOf(shared, 'operator', 'operator')).instances, []);
});

test('each instance tells where it is, what it alone may do, and how much it has', async () => {
  const [first, second] = makeInstances([3, 8]);
  second!.posts = ['keeper', 'messenger_a:7'];
  live(second!.events);
  const { instance, instances, asOf } = await statusOf(first!.ports, 'operator', 'operator');
  assert.equal(instance, 3);
  assert.equal(asOf, first!.clockMs - 400, 'as old as the oldest of what was told');
  const addresses = (id: number) => [
    { of: 'webhook', address: 'http://127.0.0.1:8090/webhook' },
    { of: 'admin', address: `http://10.0.0.${id}:2112` },
  ];
  const common = { state: 'up', reason: null, revision, startedAt: 900_000 };
  const load = { inHand: 2, waiting: 7 };
  const now = first!.clockMs;
  assert.deepEqual(instances, [
    {
      id: 3,
      version: '1.2.3',
      host: 'host-3',
      ...common,
      ...load,
      addresses: addresses(3),
      toldAt: now,
      posts: [],
      perMinute: 0,
    },
    {
      id: 8,
      version: '1.2.8',
      host: 'host-8',
      ...common,
      ...load,
      addresses: addresses(8),
      toldAt: now - 400,
      posts: [
        { post: 'keeper', name: 'Keeper' },
        { post: 'messenger_a:7', name: nameOfA },
      ],
      perMinute: 1,
    },
  ]);
});

test('one is late after five seconds, unless it has only just begun', async () => {
  const all = makeInstances([1, 2, 3, 4, 5]);
  const [asked, late, young, silent, ending] = all as [(typeof all)[0], ...typeof all];
  asked.ageMs = 60_000;
  late!.ageMs = 5_001;
  late!.health = { status: 'failing', reason: 'the disk is full' };
  young!.ageMs = silent!.ageMs = null;
  young!.beganAt = asked.clockMs - 4_000;
  silent!.beganAt = asked.clockMs - 6_000;
  ending!.health = { status: 'failing', reason: 'it is stopping', isStopping: true };
  const { instances } = await statusOf(asked.ports, 'operator', 'operator');
  assert.deepEqual(
    instances!.map(({ state, reason, toldAt }) => [state, reason, toldAt]),
    [
      ['up', null, asked.clockMs],
      ['late', null, asked.clockMs - 5_001],
      ['starting', null, null],
      ['late', null, null],
      ['stopping', 'it is stopping', asked.clockMs - 400],
    ],
  );
});

test('what one of a later release adds is left out, and what it lacks is no fault', async () => {
  const [asked, later, other] = makeInstances([1, 2, 3]);
  later!.change = (report) => ({ ...report, ofLater: 1, perMinute: 40 });
  other!.change = ({ counts: _counts, ...report }) => report;
  const { instances, perMinute } = await statusOf(asked!.ports, 'operator', 'operator');
  assert.equal(perMinute, 40);
  assert.deepEqual(
    instances!.map(({ state, reason }) => [state, reason]),
    [
      ['up', null],
      ['up', null],
      ['up', 'This version cannot read what it tells of itself.'],
    ],
  );
});

test('a path that somebody chose is told to the operator alone', async () => {
  const [asked, other] = makeInstances([1, 2]);
  other!.change = (report) => {
    const listeners = report.listeners.map((one) => ({ ...one, path: '/of-mine' }));
    return { ...report, listeners };
  };
  const whole = await wholeOf(asked!.ports);
  const of = (asker: 'reader' | 'operator') => instancesOf(whole, asker)[1]!.addresses[0]!.address;
  assert.equal(of('operator'), 'http://127.0.0.1:8090/of-mine');
  assert.equal(of('reader'), 'http://127.0.0.1:8090');
});

test('a report holds what was counted and nothing that was said', () => {
  const world = makeWorld();
  live(world.events);
  const told = describeReport(reportOf(world.ports));
  assert.deepEqual(readReport(told), JSON.parse(told), 'it comes as it was told');
  for (const secret of ['the answer', said, ids.conversation, 'SECRET', 'BOT']) {
    assert.ok(!told.includes(secret), secret);
  }
});
