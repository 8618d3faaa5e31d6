import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../test/hand-clock.ts';
import { LooseEnds } from './loose-ends.ts';

function start(remove: (tries: number) => boolean = () => false) {
  const clock = handClock();
  const tried: string[] = [];
  const shown: string[] = [];
  const ends = new LooseEnds(clock.deadlines, (message) => {
    tried.push(message);
    return Promise.resolve(remove(tried.length));
  });
  return {
    ends,
    tried,
    shown,
    arrived: (message: string, text: string) =>
      ends.arrived(message, () => {
        shown.push(text);
        return Promise.resolve();
      }),
    /** So much later, when all that is due has acted. */
    later: async (ms: number): Promise<void> => {
      clock.pass(ms);
      await new Promise<void>((resolve) => void clock.deadlines.after(0, resolve));
      await new Promise(setImmediate);
    },
  };
}

test('a reply is shown once more where an edit of its message may come late', async () => {
  const it = start();
  it.ends.editUnseen('a');
  it.arrived('a', 'four');
  it.arrived('b', 'five');
  await it.later(19_999);
  assert.deepEqual(it.shown, []);
  await it.later(1);
  assert.deepEqual(it.shown, ['four']);
  it.arrived('a', 'six');
  await it.later(60_000);
  assert.deepEqual(it.shown, ['four']);
});

test('a newer reply in the same message is not overwritten by the former', async () => {
  const it = start();
  it.ends.editUnseen('a');
  it.arrived('a', 'four');
  await it.later(10_000);
  it.arrived('a', 'five');
  await it.later(60_000);
  assert.deepEqual(it.shown, []);
});

test('taking away is tried again while that may help, four times in all', async () => {
  const it = start((tries) => tries < 3);
  await it.ends.takeAway('a');
  await it.later(0);
  assert.equal(it.tried.length, 1);
  for (const ms of [2_000, 10_000, 60_000]) await it.later(ms);
  assert.deepEqual(it.tried, ['a', 'a', 'a']);
  const hopeless = start(() => true);
  await hopeless.ends.takeAway('b');
  for (const ms of [0, 2_000, 10_000, 60_000, 60_000]) await hopeless.later(ms);
  assert.equal(hopeless.tried.length, 4);
});

test('of unseen edits the last thousand are known', async () => {
  const it = start();
  for (let n = 0; n <= 1_000; n++) it.ends.editUnseen(`m${n}`);
  it.arrived('m0', 'forgotten');
  it.arrived('m1000', 'known');
  await it.later(20_000);
  assert.deepEqual(it.shown, ['known']);
});
