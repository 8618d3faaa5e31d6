import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { within } from '../../../test/support/waiting.ts';
import { Stopper } from '../../lib/stop.ts';
import { ConcurrencyLimit, type Load, type NoPermit, type Permit } from './build-model.ts';

const never = new Stopper();
const none: Load = { inFlight: 0, waiting: 0 };
const clock = handClock();
const later = clock.in(60_000);

function enterNow(calls: ConcurrencyLimit): Permit {
  const entered = calls.acquire(later, never);
  assert.ok(!(entered instanceof Promise), 'there was room');
  return entered;
}

test('as many as allowed are in flight at once, the rest go in the order they came', async () => {
  const calls = new ConcurrencyLimit(2, clock.deadlines, { ...none });
  const passes = [enterNow(calls), enterNow(calls)];
  const order: number[] = [];
  const waiting = [0, 1, 2].map(async (number) => {
    const pass = await calls.acquire(later, never);
    order.push(number);
    assert.ok(pass.kind === 'pass');
    calls.release(pass, 'other');
  });
  assert.deepEqual(calls.size, { inFlight: 2, waiting: 3, bound: 2 });
  calls.release(passes[0]!, 'answered');
  await Promise.all(waiting);
  assert.deepEqual(order, [0, 1, 2]);
  calls.release(passes[1]!, 'answered');
  assert.deepEqual(calls.size, { inFlight: 0, waiting: 0, bound: 2 });
});

test('models that share a load add up in it, and leave nothing behind', async () => {
  const load = { ...none };
  const { deadlines } = clock;
  const bounds = [
    new ConcurrencyLimit(1, deadlines, load),
    new ConcurrencyLimit(1, deadlines, load),
  ];
  const passes = bounds.map(enterNow);
  const ending = new Stopper();
  const waiting = bounds.map((calls) => calls.acquire(later, ending));
  assert.deepEqual(load, { inFlight: 2, waiting: 2 });
  bounds[0]!.release(passes[0]!, 'answered');
  const next = await waiting[0]!;
  assert.deepEqual(load, { inFlight: 2, waiting: 1 });
  ending.stop();
  await waiting[1];
  assert.ok(next.kind === 'pass');
  bounds[0]!.release(next, 'answered');
  bounds[1]!.release(passes[1]!, 'strain');
  assert.deepEqual(load, { inFlight: 0, waiting: 0 });
});

test('one that waits can be cancelled, or runs out of time, and takes no place', async () => {
  const { deadlines } = clock;
  const calls = new ConcurrencyLimit(1, deadlines, { ...none });
  const permit = enterNow(calls);
  const ending = new Stopper();
  const cancelled = calls.acquire(later, ending);
  const late = calls.acquire(clock.in(5), never);
  const third = calls.acquire(later, never);
  ending.stop();
  assert.deepEqual(await cancelled, { kind: 'cancelled' });
  assert.deepEqual(await calls.acquire(later, ending), { kind: 'cancelled' });
  clock.pass(5);
  assert.deepEqual(await within('the end of its time', Promise.resolve(late)), {
    kind: 'deadline',
  });
  calls.release(permit, 'other');
  const turn: Permit | NoPermit = await third;
  assert.equal(turn.kind, 'pass');
  assert.deepEqual(calls.size, { inFlight: 1, waiting: 0, bound: 1 });
  assert.equal(deadlines.size, 0);
});

test('strain halves the bound once for all the calls under way, never below one', () => {
  const calls = new ConcurrencyLimit(8, clock.deadlines, { ...none });
  const first = Array.from({ length: 4 }, () => enterNow(calls));
  for (const permit of first) calls.release(permit, 'strain');
  assert.equal(calls.size.bound, 4);
  for (const bound of [2, 1, 1]) {
    calls.release(enterNow(calls), 'strain');
    assert.equal(calls.size.bound, bound);
  }
  for (const bound of [2, 3, 4, 5, 6, 7, 8, 8]) {
    calls.release(enterNow(calls), 'answered');
    assert.equal(calls.size.bound, bound);
  }
  calls.release(enterNow(calls), 'other');
  assert.equal(calls.size.bound, 8);
});

test('while more are in flight than a halved bound allows, nobody enters', async () => {
  const calls = new ConcurrencyLimit(4, clock.deadlines, { ...none });
  const passes = Array.from({ length: 4 }, () => enterNow(calls));
  let entered = false;
  const waiting = Promise.resolve(calls.acquire(later, never)).then(() => (entered = true));
  calls.release(passes[0]!, 'strain');
  calls.release(passes[1]!, 'other');
  await Promise.resolve();
  assert.equal(entered, false);
  assert.deepEqual(calls.size, { inFlight: 2, waiting: 1, bound: 2 });
  calls.release(passes[2]!, 'other');
  await waiting;
});

test('another limit holds from now on: a lower one waits for what is under way', async () => {
  const calls = new ConcurrencyLimit(2, clock.deadlines, { ...none });
  const passes = [enterNow(calls), enterNow(calls)];
  calls.limitTo(1);
  const waiting = [0, 1].map(() => Promise.resolve(calls.acquire(later, never)));
  calls.release(passes[0]!, 'answered');
  assert.deepEqual(calls.size, { inFlight: 1, waiting: 2, bound: 1 });
  calls.limitTo(3);
  assert.deepEqual(calls.size, { inFlight: 3, waiting: 0, bound: 3 });
  const entered = await Promise.all(waiting);
  assert.deepEqual(
    entered.map(({ kind }) => kind),
    ['pass', 'pass'],
  );
});

test('a limit that is raised ends no strain', () => {
  const calls = new ConcurrencyLimit(8, clock.deadlines, { ...none });
  calls.release(enterNow(calls), 'strain');
  calls.limitTo(100);
  assert.equal(calls.size.bound, 4);
  calls.release(enterNow(calls), 'answered');
  assert.equal(calls.size.bound, 5);
  calls.limitTo(2);
  assert.equal(calls.size.bound, 2);
});
