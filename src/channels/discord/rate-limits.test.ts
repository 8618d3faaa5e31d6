import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { mockedClock } from '../../../test/support/hand-clock.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { BotRateLimiter } from '../messenger/rate-limits.ts';
import { botRates } from './api.ts';

const messages = 'https://discord.com/api/v10/channels/7/messages';
const waitMsMax = 1_500;

function start(t: TestContext) {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: 1_000 });
  const pace = new BotRateLimiter(
    mockedClock.steady,
    createDeadlines(mockedClock.steady),
    botRates,
  );
  return {
    pace,
    passedMs: () => Date.now() - 1_000,
    /** Lets time pass in steps, from one due task to the next. */
    async pass(ms: number): Promise<void> {
      await new Promise(setImmediate);
      for (let passed = 0; passed < ms; passed += 10) {
        t.mock.timers.tick(10);
        await new Promise(setImmediate);
      }
    },
  };
}

test('eight at once after a rest, then one each 30 ms, in the order of asking', async (t) => {
  const it = start(t);
  const gone: { readonly number: number; readonly at: number }[] = [];
  const told: (number | null)[] = [];
  const ask = async (number: number): Promise<void> => {
    const ms = await it.pace.admit(messages, waitMsMax);
    if (ms === null) gone.push({ number, at: it.passedMs() });
    else told.push(ms);
  };
  for (let number = 0; number < 60; number++) {
    void ask(number);
  }
  await it.pass(2_000);
  assert.deepEqual(
    gone,
    Array.from({ length: 58 }, (_, number) => ({ number, at: Math.max(0, number - 7) * 30 })),
  );
  const within = (from: number): number =>
    gone.filter(({ at }) => at >= from && at < from + 1_000).length;
  assert.ok(Math.max(...gone.map(({ at }) => within(at))) < 50);
  assert.deepEqual(told, [1_530, 1_530], 'who would wait for longer is told, and takes no place');
});

test('what nobody needs waits for its turn, and leaves places over', async (t) => {
  const it = start(t);
  const { signal } = new AbortController();
  const spared: { readonly number: number; readonly at: number }[] = [];
  for (let number = 0; number < 12; number++) {
    void it.pace.spare(signal).then(() => spared.push({ number, at: it.passedMs() }));
  }
  await it.pass(0);
  assert.equal(spared.length, 4);
  assert.equal(await it.pace.admit(messages, 0), null, 'there are some for replies');
  await it.pass(300);
  assert.deepEqual(
    spared,
    Array.from({ length: 12 }, (_, number) => {
      return { number, at: number < 4 ? 0 : (number - 2) * 30 };
    }),
  );
});

test('first sights of replies take what the growth of others leaves them, at once', async (t) => {
  const it = start(t);
  const { signal } = new AbortController();
  const spared: string[] = [];
  const spare = (name: string, isFirst: boolean): void =>
    void it.pace.spare(signal, isFirst).then(() => spared.push(`${name} ${it.passedMs()}`));
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) spare(name, false);
  await it.pass(0);
  for (const name of ['A', 'B', 'C', 'D']) spare(name, true);
  await it.pass(0);
  assert.deepEqual(spared, ['a 0', 'b 0', 'c 0', 'd 0', 'A 0', 'B 0', 'C 0']);
  assert.equal(await it.pace.admit(messages, 0), null, 'one is left for a reply');
  await it.pass(300);
  assert.deepEqual(spared.slice(7), ['D 60', 'e 180', 'f 210']);
});

test('answers to interactions do not count', async (t) => {
  const { pace } = start(t);
  for (const url of ['interactions/1/token/callback', 'webhooks/2/token/messages/@original']) {
    for (let number = 1; number <= 20; number++) {
      assert.equal(await pace.admit(`https://discord.com/api/v10/${url}`, 0), null);
    }
  }
  for (let number = 1; number <= 8; number++) assert.equal(await pace.admit(messages, 0), null);
});

test('who is stopped waits no longer', async (t) => {
  const { pace } = start(t);
  for (let number = 1; number <= 8; number++) await pace.admit(messages, waitMsMax);
  const stopping = new AbortController();
  const waiting = pace.admit(messages, waitMsMax, stopping.signal);
  stopping.abort();
  await waiting;
});
