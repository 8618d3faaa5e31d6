/** The counts of several instances, merged into one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { live, messageId } from '../../../test/fake/admin-world.ts';
import { makeInstances } from '../../../test/fake/other-instances.ts';
import type { ChannelKey, ModelName } from '../../domain/ids.ts';
import { statusOf } from '../status.ts';
import { throughputOf, turnedAwayBy } from './merging.ts';
import { wholeOf } from './report.ts';

const channel = 'webhook' as ChannelKey;
const model = 'local_runtime/small' as ModelName;
const provider = 'local_runtime';

const three = (rows: Parameters<typeof makeInstances>[1] = null) => {
  const [asked, other, third] = makeInstances([1, 2, 3], rows);
  return { asked: asked!, other: other!, third: third! };
};

test('counts are sums, and dead letters are kept once for all', async () => {
  const { asked, other, third } = three();
  for (const one of [asked, other, other]) live(one.events);
  third.events.faulted({ where: 'a test', error: new Error('of the test') });
  const { counts, perMinute } = await statusOf(asked.ports, 'operator', 'operator');
  assert.equal(perMinute, 3);
  assert.deepEqual(counts, {
    accepted: 3,
    duplicates: 0,
    refused: 3,
    settled: 6,
    delivered: 3,
    deadLetters: 3,
    faults: 1,
    waiting: 21,
    inFlight: 6,
    deadLettersKept: 6,
  });
});

test('what waits is counted where it lies, with what nobody has in hand', async () => {
  const oldestAt = 990_000;
  const kept = [
    { key: 'webhook', inbox: 40, outbox: 2, oldestAt, oldestReplyAt: oldestAt },
    { key: 'messenger_b:1', inbox: 3, outbox: 5, oldestAt: oldestAt - 5, oldestReplyAt: oldestAt },
    { key: 'messenger_b:2', inbox: 1, outbox: 0, oldestAt, oldestReplyAt: null },
  ];
  const { asked } = three(kept);
  const { counts, backlog } = await statusOf(asked.ports, 'operator', 'operator');
  assert.deepEqual([counts.inFlight, counts.waiting], [6, 45]);
  assert.deepEqual(backlog, [
    { channel: 'webhook', inbox: 40, outbox: 2, unroutable: 0, oldestAt },
    { channel: 'messenger_b', inbox: 4, outbox: 5, unroutable: 9, oldestAt: oldestAt - 5 },
  ]);
});

test('times are of all calls together, not of the times of each', async () => {
  const { asked, other } = three();
  const turn = (of: typeof asked, ms: number): void =>
    of.events.modelAnswered({ model, provider, result: 'answer', ms });
  for (let n = 0; n < 99; n++) turn(asked, 8);
  turn(other, 50_000);
  const { providers, models } = await statusOf(asked.ports, 'operator', 'operator');
  const [mine] = providers;
  assert.equal(mine!.answers, 100);
  assert.ok(mine!.times.p95Ms! <= 10, String(mine!.times.p95Ms));
  assert.deepEqual(models[0]!.times, mine!.times);
  for (let n = 0; n < 20; n++) turn(other, 50_000);
  const after = await statusOf(asked.ports, 'operator', 'operator');
  assert.ok(after.providers[0]!.times.p95Ms! > 30_000);
  assert.ok(after.providers[0]!.times.p50Ms! <= 10);
});

test('times of turns are of all turns together', async () => {
  const { asked, other } = three();
  const decision = { kind: 'reply', text: '', model, why: 'first' } as const;
  const turn = (of: typeof asked, ms: number): void => {
    const who = { channel, id: messageId, sender: { id: 'ada', name: null } };
    of.events.turnFinished({ ...who, brain: 'main', decision, ms });
  };
  for (let n = 0; n < 60; n++) turn(asked, 50_000);
  for (let n = 0; n < 40; n++) turn(other, 8);
  const { times } = await statusOf(asked.ports, 'operator', 'operator');
  assert.ok(times.turns.p50Ms! > 30_000, String(times.turns.p50Ms));
  for (let n = 0; n < 40; n++) turn(other, 8);
  const after = await statusOf(asked.ports, 'operator', 'operator');
  assert.ok(after.times.turns.p50Ms! <= 10, String(after.times.turns.p50Ms));
  assert.ok(after.times.turns.p95Ms! > 30_000, String(after.times.turns.p95Ms));
});

test('calls that failed are added up by why', async () => {
  const { asked, other } = three();
  const fail = (of: typeof asked, result: 'timeout' | 'server_error' | 'cancelled'): void =>
    of.events.modelAnswered({ model, provider, result, ms: 1 });
  fail(asked, 'timeout');
  for (const one of [other, other]) fail(one, 'server_error');
  fail(other, 'timeout');
  fail(other, 'cancelled');
  const { models } = await statusOf(asked.ports, 'operator', 'operator');
  const [{ failures, givenUp, reasons }] = models as [(typeof models)[0]];
  assert.deepEqual([failures, givenUp], [4, 1]);
  assert.deepEqual(
    new Set(reasons.map(({ code, count }) => `${code} ${count}`)),
    new Set(['timeout 2', 'server_error 2']),
  );
});

test('each warning is told once, with the instances that have it where not all do', async () => {
  const { asked, other } = three();
  const { ports } = other;
  const more = { code: 'model_elsewhere', path: 'brains[0]', message: 'm', remedy: 'r' } as const;
  other.ports = {
    ...ports,
    runningConfig: () => ({
      ...ports.runningConfig(),
      warnings: [...ports.runningConfig().warnings, more],
    }),
  };
  const of = async (asker: 'reader' | 'operator') =>
    (await statusOf(asked.ports, 'operator', asker)).warnings.map((one) => [
      one.code,
      one.message,
      one.instances,
    ]);
  assert.deepEqual(await of('operator'), [
    ['open_bind', 'Anyone can reach it.', null],
    ['model_elsewhere', 'm', [2]],
  ]);
  const told = await of('reader');
  assert.deepEqual(
    told.map(([code, , has]) => [code, has]),
    [
      ['open_bind', null],
      ['model_elsewhere', [2]],
    ],
  );
  assert.doesNotMatch(JSON.stringify(told), /Anyone/);
});

test('a hundred warnings are told in all, and how many more there are', async () => {
  const { asked, other } = three();
  const many = (of: typeof asked, count: number): void => {
    const plan = of.ports.runningConfig();
    const warnings = Array.from({ length: count }, (_, n) => {
      return { code: 'c', path: `${of.id} ${n}`, message: 'm', remedy: 'r' };
    });
    of.ports = { ...of.ports, runningConfig: () => ({ ...plan, warnings }) };
  };
  many(asked, 70);
  many(other, 105);
  const { warnings, warningsLeftOut } = await statusOf(asked.ports, 'operator', 'operator');
  assert.deepEqual([warnings.length, warningsLeftOut], [100, 76]);
});

test('svc fails where one that stands fails; who is late or stops is not asked', async () => {
  const { asked, other, third } = three();
  const now = async () => {
    const { status, reason } = await statusOf(asked.ports, 'operator', 'operator');
    return `${status} ${reason}`;
  };
  assert.equal(await now(), 'ok null');
  other.health = { status: 'failing', reason: 'the disk is full' };
  assert.equal(await now(), 'failing instance 2: the disk is full');
  other.ageMs = 9_000;
  assert.equal(await now(), 'ok null');
  other.ageMs = 0;
  for (const one of [asked, third]) one.health = other.health;
  assert.equal(await now(), 'failing the disk is full', 'all of them do');
  const stopping = { status: 'failing', reason: 'it is stopping', isStopping: true } as const;
  for (const one of [asked, other]) one.health = stopping;
  third.health = { status: 'ok' };
  assert.equal(await now(), 'ok null');
  third.health = stopping;
  assert.equal(await now(), 'failing it is stopping');
});

test('who was turned away is told by any instance, newest first', async () => {
  const { asked, other } = three();
  const row = (sender: string, count: number, at: number) =>
    ({ channel, sender, reason: 'stranger', count, at }) as const;
  asked.ports = { ...asked.ports, turnedAway: () => [row('ada', 2, 50), row('bob', 1, 10)] };
  other.ports = { ...other.ports, turnedAway: () => [row('eve', 1, 70), row('ada', 3, 40)] };
  const { reports } = await wholeOf(asked.ports);
  const told = turnedAwayBy(reports.filter(({ id }) => id !== 3));
  assert.deepEqual(told, [row('eve', 1, 70), row('ada', 5, 50), row('bob', 1, 10)]);
});

test('what went which way is summed, and one of an older release tells none of it', async () => {
  const { asked, other } = three();
  const who = { channel, id: messageId, sender: { id: 'ada', name: null }, brain: 'main' };
  const decision = { kind: 'reply', text: '', model, why: 'first' } as const;
  for (const { events } of [asked, other, other]) {
    events.modelAnswered({ brain: 'main', model, provider, result: 'answer', ms: 1 });
    events.turnFinished({ ...who, decision, ms: 1 });
  }
  const { traffic: throughput } = await statusOf(asked.ports, 'operator', 'operator');
  assert.deepEqual(throughput, {
    answered: [{ channel: 'webhook', brain: 'main', perMinute: 3 }],
    asked: [{ brain: 'main', model, perMinute: 3 }],
  });
  const { own, reports } = await wholeOf(asked.ports);
  const older = reports.map((one) => {
    return one.id === own.id ? one : { ...one, report: { ...one.report, ways: null } };
  });
  assert.equal(throughputOf({ reports: older }).asked[0]!.perMinute, 1);
});
