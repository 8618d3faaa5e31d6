import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { mockedClock } from '../../test/hand-clock.ts';
import { GrowingMessage, growingTimes } from './growing-message.ts';

function start(t: TestContext, replaces: string | null = null) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 });
  const asked: string[] = [];
  const made: string[] = [];
  const waiting: ((ok: boolean) => void)[] = [];
  let [answers, room, unseen] = [true, true, false];
  const answer = (): Promise<boolean> =>
    answers ? Promise.resolve(true) : new Promise((resolve) => waiting.push(resolve));
  const message = new GrowingMessage(
    {
      make: async (text) => {
        asked.push(`make ${text}`);
        if (unseen) return { kind: 'unseen' };
        return (await answer()) ? { kind: 'made', replaces: '[7]' } : { kind: 'failed' };
      },
      edit: (ref, text) => {
        asked.push(`edit ${ref} ${text}`);
        return answer();
      },
      mayShow: () => room,
    },
    { replaces, made: (ref) => made.push(ref) },
    mockedClock.steady,
  );
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  return {
    message,
    asked,
    made,
    async pass(ms: number) {
      t.mock.timers.tick(ms);
      await settle();
    },
    hold: () => (answers = false),
    async answer(ok: boolean) {
      waiting.shift()!(ok);
      await settle();
    },
    unseen: () => (unseen = true),
    roomFor: (is: boolean) => (room = is),
  };
}

test('a quick answer is not shown before it is whole', async (t) => {
  const it = start(t);
  it.message.show('a');
  await it.pass(growingTimes.firstMs - 1);
  await it.message.end();
  await it.pass(60_000);
  assert.deepEqual(it.asked, []);
});

test('it is made once, told at once, and then edited with the newest text alone', async (t) => {
  const it = start(t);
  it.message.show('a');
  await it.pass(growingTimes.firstMs);
  assert.deepEqual([it.asked, it.made], [['make a'], ['[7]']]);
  for (const text of ['a b', 'a b c', 'a b c d']) it.message.show(text);
  await it.pass(growingTimes.everyMs);
  it.message.show('a b c d');
  await it.pass(60_000);
  assert.deepEqual(it.asked, ['make a', 'edit [7] a b c d']);
});

test('one request at a time, and the end waits for it', async (t) => {
  const it = start(t);
  it.hold();
  it.message.show('a');
  await it.pass(growingTimes.firstMs);
  it.message.show('a b');
  await it.pass(1_000);
  let ended = false;
  const ending = it.message.end().then(() => (ended = true));
  await it.pass(0);
  assert.deepEqual([it.asked, ended], [['make a'], false]);
  await it.answer(true);
  await ending;
  assert.deepEqual(it.made, ['[7]']);
  await it.pass(60_000);
  assert.deepEqual(it.asked, ['make a'], 'nothing follows the end');
});

test('an end does not wait for a platform that does not answer', async (t) => {
  const it = start(t);
  it.hold();
  it.message.show('a');
  await it.pass(growingTimes.firstMs);
  const ending = it.message.end();
  await it.pass(growingTimes.endMs);
  await ending;
});

test('the message of an earlier run is edited, and none is made', async (t) => {
  const it = start(t, '[5]');
  it.message.show('a');
  await it.pass(growingTimes.firstMs);
  assert.deepEqual([it.asked, it.made], [['edit [5] a'], []]);
});

test('after three failures in a row it is silent', async (t) => {
  const it = start(t);
  it.hold();
  for (let times = 0; times < 5; times++) {
    it.message.show(`a${times}`);
    await it.pass(growingTimes.everyMs);
    if (it.asked.length > times) await it.answer(false);
  }
  assert.equal(it.asked.length, 3);
});

test('where the platform leaves no room it waits for its next turn', async (t) => {
  const it = start(t);
  it.roomFor(false);
  it.message.show('a');
  await it.pass(growingTimes.firstMs);
  assert.deepEqual(it.asked, []);
  it.roomFor(true);
  await it.pass(growingTimes.everyMs);
  assert.deepEqual(it.asked, ['make a']);
});

test('a message that may stand there unseen is not made again', async (t) => {
  const it = start(t);
  it.unseen();
  it.message.show('a');
  await it.pass(growingTimes.firstMs);
  it.message.show('a b');
  await it.pass(60_000);
  assert.deepEqual([it.asked, it.made], [['make a'], []]);
});
