/** When instances publish their reports, and what is known while one cannot. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { FakePeers, peersAlone } from '../../test/fake/peers.ts';
import { FakeView } from '../../test/fake/shared-view.ts';
import { handClock } from '../../test/support/hand-clock.ts';
import { until } from '../../test/support/waiting.ts';
import { systemClock } from '../lib/clock.ts';
import { LiveEvents } from '../telemetry/live-events.ts';
import { openView, ReportExchange, type ReportTimes } from './view.ts';

/** Two instances. The first has an exchange, whose published reports the test sees. */
function start(times: Partial<ReportTimes> = {}) {
  const members = new FakePeers();
  const peers = members.join(1);
  members.join(2);
  const shared = new FakeView();
  const clock = handClock();
  const it = { report: '{"n":1}', looks: 0, unheard: [] as unknown[] };
  const parts = {
    peers,
    view: shared.view,
    steady: clock.steady,
    report: () => (it.looks++, it.report),
    onUnheard: (error: unknown) => void it.unheard.push(error),
  };
  const exchange = new ReportExchange(parts, { publishMs: 1, waitMs: 60_000, ...times });
  /** Waits for so many more publications. */
  const ticks = (count: number): Promise<void> => {
    const from = it.looks;
    return until('it looks at itself', () => it.looks >= from + count);
  };
  const pass = (ms: number): void => {
    clock.pass(ms);
    shared.clockMs += ms;
  };
  return { members, shared, it, exchange, ticks, pass, asked: shared.asked };
}

test('an instance tells of itself when that changed, and again after some seconds', async () => {
  const { shared, it, exchange, ticks, pass, asked } = start();
  using _ = exchange;
  await until('it is told', () => shared.reports.has(1));
  await ticks(5);
  assert.equal(asked['publish'], 1);
  it.report = '{"n":2}';
  await until('the change is told', () => shared.reports.get(1)?.report === '{"n":2}');
  pass(3_000);
  await until('it is told again', () => shared.reports.get(1)!.at === 3_000);
  await ticks(5);
  assert.equal(asked['publish'], 3);
});

test('where there is no other instance nothing is told, and nothing swept', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { members, shared, it, exchange, asked } = start();
  using _ = exchange;
  const passes = async (): Promise<void> => {
    t.mock.timers.tick(1);
    await setImmediate();
  };
  members.give('keeper', 1);
  await until('it looks at itself', async () => (await passes(), it.looks >= 2));
  members.leave(2);
  const { sweeps } = shared;
  await until('what the other left is swept', async () => (await passes(), shared.sweeps > sweeps));
  const before = { ...asked };
  for (let times = 0; times < 10; times++) await passes();
  assert.deepEqual(asked, before);
  const shut = new FakeView();
  using alone = new ReportExchange({
    peers: peersAlone(),
    view: shut.view,
    report: () => assert.fail('it is asked'),
    steady: handClock().steady,
    onUnheard: () => {},
  });
  assert.deepEqual(await alone.seen(), { living: [], rows: null, rowsAgeMs: 0 });
  assert.deepEqual(shut.asked, {});
});

test('only the janitor sweeps, and not all the time', async () => {
  const { members, shared, exchange, ticks, pass } = start();
  using _ = exchange;
  await ticks(5);
  assert.equal(shared.sweeps, 0);
  members.give('keeper', 1);
  await until('it sweeps', () => shared.sweeps === 1);
  await ticks(5);
  assert.equal(shared.sweeps, 1);
  pass(10_000);
  await until('it sweeps again', () => shared.sweeps === 2);
});

test('who is asked tells the living, each with what it told and how old that is', async () => {
  const { members, shared, exchange, pass } = start();
  using _ = exchange;
  members.give('messenger_a:7', 2);
  shared.rows = [{ key: 'webhook', inbox: 1, outbox: 2, oldestAt: 3, oldestReplyAt: 4 }];
  shared.reports.set(2, { report: 'of two', at: 0 });
  shared.reports.set(9, { report: 'of a dead one', at: 0 });
  pass(1_500);
  const { living, rows, rowsAgeMs } = await exchange.seen();
  assert.deepEqual(rows, shared.rows);
  assert.equal(rowsAgeMs, 0);
  const began = { version: '1.2.3', beganAt: 900_000 };
  assert.deepEqual(living[1], {
    id: 2,
    ...began,
    posts: ['messenger_a:7'],
    lastReport: { ageMs: 1_500, report: 'of two' },
  });
  assert.equal(living.length, 2);
});

test('many who ask at once ask the server once, and soon after each other not again', async () => {
  const { exchange, pass, asked } = start();
  using _ = exchange;
  await Promise.all(Array.from({ length: 20 }, () => exchange.seen()));
  await exchange.seen();
  assert.equal(asked['readReports'], 1);
  pass(500);
  await exchange.seen();
  assert.equal(asked['readReports'], 2);
});

test('while the server does not answer, what is known is told, as old as it is', async () => {
  const { shared, exchange, pass, asked } = start({ waitMs: 5 });
  using _ = exchange;
  shared.reports.set(2, { report: 'of two', at: 0 });
  shared.rows = [{ key: 'webhook', inbox: 1, outbox: 0, oldestAt: 3, oldestReplyAt: null }];
  await until('it was read', async () => (await exchange.seen()).rows !== null);
  const held = Promise.withResolvers<void>();
  shared.way = held.promise;
  pass(4_000);
  const looks = asked['readReports']!;
  const first = await exchange.seen();
  assert.equal(first.living[1]!.lastReport?.ageMs, 4_000);
  assert.equal(first.rowsAgeMs, 4_000);
  pass(2_000);
  assert.equal((await exchange.seen()).living[1]!.lastReport?.ageMs, 6_000);
  assert.equal(asked['readReports'], looks + 1, 'and it is not asked by each');
  held.resolve();
});

test('the one that is asked tells what it knows once it has waited for the others', async () => {
  const members = new FakePeers();
  const peers = members.join(1);
  members.join(2);
  const shared = new FakeView();
  const held = Promise.withResolvers<void>();
  shared.way = held.promise;
  const { now, steady } = systemClock;
  const events = { warned: () => {} };
  const liveEvents = new LiveEvents(now);
  const source = { report: () => '', liveEvents, liveEventOf: () => null, events };
  using view = openView({ now, steady, ...source, peers, view: shared.view }, { waitMs: 60_000 });
  let status: 'ok' | 'stopping' = 'ok';
  const asked = view.read(
    () => ({ health: { status } }),
    () => null,
  );
  status = 'stopping';
  held.resolve();
  const { own, members: all } = await asked;
  assert.deepEqual([own.report.health.status, all[0]!.state], ['stopping', 'stopping']);
});

test('of a server that was never reached nobody knows anything', async () => {
  const { shared, exchange } = start();
  using _ = exchange;
  shared.way = Promise.reject(new Error('away'));
  shared.way.catch(() => {});
  const { living, rows } = await exchange.seen();
  assert.deepEqual(
    living.map(({ id, lastReport: told }) => [id, told]),
    [
      [1, null],
      [2, null],
    ],
  );
  assert.equal(rows, null);
});

test('that the others hear nothing is told once, until they do again', async () => {
  const { shared, it, exchange, ticks } = start();
  using _ = exchange;
  const away = (): void => {
    shared.way = Promise.reject(new Error('away'));
    shared.way.catch(() => {});
  };
  away();
  await until('it is told', () => it.unheard.length === 1);
  await ticks(10);
  assert.equal(it.unheard.length, 1);
  shared.way = Promise.resolve();
  await until('it is heard', () => shared.reports.has(1));
  it.report = 'new';
  away();
  await until('it is told again', () => it.unheard.length === 2);
});
