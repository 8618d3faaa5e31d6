import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { limited } from '../discord/api.ts';
import { BestEffort, Typing } from './best-effort.ts';
import type { CallResult, Spare } from './platform.ts';

const { signal } = new AbortController();

function start() {
  const clock = handClock();
  const answers: CallResult[] = [];
  const kinds: (Spare | undefined)[] = [];
  const room = {
    spare: async (_place: string, _signal: AbortSignal, kind?: Spare) => {
      kinds.push(kind);
      return true;
    },
  };
  const bestEffort = new BestEffort<string>({ room, ...clock });
  const call = async (): Promise<CallResult> => answers.shift() ?? { kind: 'ok', body: {} };
  const see = () => bestEffort.offer('reaction', '1', call, signal);
  return { clock, answers, kinds, see };
}

test('eyes take only what no reply needs', async () => {
  const it = start();
  await it.see();
  assert.deepEqual(it.kinds, ['notice']);
});

test('where there is no place for them they wait some moments, and are left out', async () => {
  const it = start();
  it.answers.push(limited(400, true));
  const seeing = it.see();
  await new Promise(setImmediate);
  assert.equal(it.kinds.length, 1);
  it.clock.pass(400);
  await seeing;
  assert.equal(it.kinds.length, 2);
  it.answers.push(limited(5_000, true));
  await it.see();
  assert.equal(it.kinds.length, 3);
});

test('a 429 holds them for as long as it says', async () => {
  const it = start();
  it.answers.push(limited(8_000, false));
  await it.see();
  it.clock.pass(7_900);
  assert.equal(await it.see(), null);
  assert.equal(it.kinds.length, 1);
  it.clock.pass(100);
  await it.see();
  assert.equal(it.kinds.length, 2);
});

function startTyping() {
  const clock = handClock();
  const shown: string[] = [];
  const typing = new Typing(clock.deadlines);
  const begin = (place: string, goesOn = true): AbortController => {
    const work = new AbortController();
    const show = async (ending: AbortSignal): Promise<boolean> => {
      assert.equal(ending.aborted, false);
      shown.push(place);
      return goesOn;
    };
    typing.begin(place, 4_000, show, work.signal);
    return work;
  };
  const pass = async (ms: number): Promise<void> => {
    clock.pass(ms);
    await new Promise<void>((acted) => clock.deadlines.after(0, acted));
    await new Promise(setImmediate);
  };
  return { shown, begin, pass };
}

test('typing begins after a moment, and is shown once in a place', async () => {
  const it = startTyping();
  const first = it.begin('a');
  const second = it.begin('a');
  it.begin('b');
  await it.pass(200);
  assert.deepEqual(it.shown, []);
  await it.pass(50);
  assert.deepEqual(it.shown, ['a', 'b']);
  first.abort();
  await it.pass(4_000);
  assert.deepEqual(it.shown, ['a', 'b', 'a', 'b'], 'as long as svc works on one of them');
  second.abort();
  await it.pass(4_000);
  assert.deepEqual(it.shown.slice(4), ['b']);
});

test('typing that the platform refuses ends, and begins again with the next message', async () => {
  const it = startTyping();
  it.begin('a', false);
  await it.pass(250);
  await it.pass(4_000);
  assert.deepEqual(it.shown, ['a']);
  it.begin('a');
  await it.pass(250);
  assert.deepEqual(it.shown, ['a', 'a']);
});

test('nobody sees typing for more than five minutes', async () => {
  const it = startTyping();
  it.begin('a');
  await it.pass(250);
  for (let passedMs = 0; passedMs < 10 * 60_000; passedMs += 4_000) await it.pass(4_000);
  assert.equal(it.shown.length, 75);
});

test('more calls than a thousand wait for no room', async () => {
  const clock = handClock();
  const room = { spare: () => new Promise<boolean>(() => {}) };
  const bestEffort = new BestEffort<string>({ room, ...clock });
  const call = async (): Promise<CallResult> => ({ kind: 'ok', body: {} });
  const offered = Array.from({ length: 1_001 }, () =>
    bestEffort.offer('typing', '1', call, signal),
  );
  assert.equal(await offered.at(-1), null);
});
