import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { limited } from '../discord/api.ts';
import { BestEffort } from './best-effort.ts';
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
