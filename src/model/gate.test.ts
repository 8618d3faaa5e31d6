import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDeadlines } from '../lib/deadlines.ts';
import { Gate } from './gate.ts';
import type { Load, NoPass, Pass } from './gate.ts';

const never = new AbortController().signal;
const none: Load = { inFlight: 0, waiting: 0 };
const later = Date.now() + 60_000;

function enterNow(gate: Gate): Pass {
  const entered = gate.enter(later, never);
  assert.ok(!(entered instanceof Promise), 'there was room');
  return entered;
}

test('as many as allowed are in flight at once, the rest go in the order they came', async () => {
  const gate = new Gate(2, createDeadlines(), { ...none });
  const passes = [enterNow(gate), enterNow(gate)];
  const order: number[] = [];
  const waiting = [0, 1, 2].map(async (number) => {
    const pass = await gate.enter(later, never);
    order.push(number);
    assert.ok(pass.kind === 'pass');
    gate.leave(pass, 'other');
  });
  assert.deepEqual(gate.size, { inFlight: 2, waiting: 3, bound: 2 });
  gate.leave(passes[0]!, 'answered');
  await Promise.all(waiting);
  assert.deepEqual(order, [0, 1, 2]);
  gate.leave(passes[1]!, 'answered');
  assert.deepEqual(gate.size, { inFlight: 0, waiting: 0, bound: 2 });
});

test('gates that share a load add up in it, and leave nothing behind', async () => {
  const load = { ...none };
  const deadlines = createDeadlines();
  const gates = [new Gate(1, deadlines, load), new Gate(1, deadlines, load)];
  const passes = gates.map(enterNow);
  const ending = new AbortController();
  const waiting = gates.map((gate) => gate.enter(later, ending.signal));
  assert.deepEqual(load, { inFlight: 2, waiting: 2 });
  gates[0]!.leave(passes[0]!, 'answered');
  const next = await waiting[0]!;
  assert.deepEqual(load, { inFlight: 2, waiting: 1 });
  ending.abort();
  await waiting[1];
  assert.ok(next.kind === 'pass');
  gates[0]!.leave(next, 'answered');
  gates[1]!.leave(passes[1]!, 'strain');
  assert.deepEqual(load, { inFlight: 0, waiting: 0 });
});

test('one that waits can be cancelled, or runs out of time, and takes no place', async () => {
  const deadlines = createDeadlines();
  const gate = new Gate(1, deadlines, { ...none });
  const pass = enterNow(gate);
  const ending = new AbortController();
  const cancelled = gate.enter(later, ending.signal);
  const late = gate.enter(Date.now() + 5, never);
  const third = gate.enter(later, never);
  ending.abort();
  assert.deepEqual(await cancelled, { kind: 'cancelled' });
  assert.deepEqual(await gate.enter(later, ending.signal), { kind: 'cancelled' });
  const hold = setTimeout(() => {}, 2_000);
  assert.deepEqual(await late, { kind: 'deadline' });
  clearTimeout(hold);
  gate.leave(pass, 'other');
  const turn: Pass | NoPass = await third;
  assert.equal(turn.kind, 'pass');
  assert.deepEqual(gate.size, { inFlight: 1, waiting: 0, bound: 1 });
  assert.equal(deadlines.size, 0);
});

test('strain halves the bound once for all the calls under way, never below one', () => {
  const gate = new Gate(8, createDeadlines(), { ...none });
  const first = Array.from({ length: 4 }, () => enterNow(gate));
  for (const pass of first) gate.leave(pass, 'strain');
  assert.equal(gate.size.bound, 4);
  for (const bound of [2, 1, 1]) {
    gate.leave(enterNow(gate), 'strain');
    assert.equal(gate.size.bound, bound);
  }
  for (const bound of [2, 3, 4, 5, 6, 7, 8, 8]) {
    gate.leave(enterNow(gate), 'answered');
    assert.equal(gate.size.bound, bound);
  }
  gate.leave(enterNow(gate), 'other');
  assert.equal(gate.size.bound, 8);
});

test('while more are in flight than a halved bound allows, nobody enters', async () => {
  const gate = new Gate(4, createDeadlines(), { ...none });
  const passes = Array.from({ length: 4 }, () => enterNow(gate));
  let entered = false;
  const waiting = Promise.resolve(gate.enter(later, never)).then(() => (entered = true));
  gate.leave(passes[0]!, 'strain');
  gate.leave(passes[1]!, 'other');
  await Promise.resolve();
  assert.equal(entered, false);
  assert.deepEqual(gate.size, { inFlight: 2, waiting: 1, bound: 2 });
  gate.leave(passes[2]!, 'other');
  await waiting;
});
