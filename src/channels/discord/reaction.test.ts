import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { FirstSeen } from '../messenger/recent-questions.ts';
import { BackoffWindows } from '../messenger/rate-limits.ts';
import { limited, type Api, type ApiResult } from './api.ts';
import { showEyes } from './reaction.ts';

function start() {
  const clock = handClock();
  const answers: ApiResult[] = [];
  const modes: unknown[] = [];
  const put: Api['put'] = async (_route, _body, _signal, mode) => {
    modes.push(mode);
    return answers.shift() ?? { kind: 'ok', body: {} };
  };
  const backoff = new BackoffWindows<'reaction'>(clock.steady);
  const { deadlines } = clock;
  const parts = { api: { put } as Api, known: new FirstSeen(), backoff, deadlines };
  const see = (message: string) => showEyes(parts, { place: '1', message, acknowledged: true });
  return { clock, answers, modes, see };
}

test('eyes take only what no reply needs, and are put once on a message', async () => {
  const it = start();
  await it.see('7');
  await it.see('7');
  assert.deepEqual(it.modes, [{ spare: 'in_turn' }]);
});

test('where there is no place for them they wait some moments, and are left out', async () => {
  const it = start();
  it.answers.push(limited(400, true));
  const seeing = it.see('7');
  await new Promise(setImmediate);
  assert.equal(it.modes.length, 1);
  it.clock.pass(400);
  await seeing;
  assert.equal(it.modes.length, 2);
  it.answers.push(limited(5_000, true));
  await it.see('8');
  assert.equal(it.modes.length, 3);
});

test('a 429 holds them for as long as it says', async () => {
  const it = start();
  it.answers.push(limited(8_000, false));
  await it.see('7');
  it.clock.pass(7_900);
  await it.see('8');
  assert.equal(it.modes.length, 1);
  it.clock.pass(100);
  await it.see('8');
  assert.equal(it.modes.length, 2);
});
