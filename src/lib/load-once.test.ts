import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoadOnce } from './load-once.ts';

/** A load that the test ends, and the number of its calls. */
function loads() {
  const begun: PromiseWithResolvers<string>[] = [];
  const once = new LoadOnce(() => {
    const load = Promise.withResolvers<string>();
    begun.push(load);
    return load.promise;
  });
  return { begun, once };
}

test('nothing is loaded before it is asked for, and then once for all who ask', async () => {
  const { begun, once } = loads();
  assert.equal(begun.length, 0);
  const [one, other] = [once.get(), once.get()];
  assert.equal(once.value, null);
  begun[0]!.resolve('it');
  assert.deepEqual(await Promise.all([one, other, once.get()]), ['it', 'it', 'it']);
  assert.equal(once.value, 'it');
  assert.equal(begun.length, 1);
});

test('a load that failed is told to who waited, and tried again by who asks next', async () => {
  const { begun, once } = loads();
  const [one, other] = [once.get(), once.get()];
  begun[0]!.reject(new Error('no file is free'));
  await assert.rejects(one, /no file is free/);
  await assert.rejects(other, /no file is free/);
  assert.equal(once.value, null);
  const again = once.get();
  begun[1]!.resolve('it');
  assert.equal(await again, 'it');
  assert.equal(once.value, 'it');
});

test('what is released is loaded anew, and a load under way is waited for', async () => {
  const { begun, once } = loads();
  assert.equal(await once.release(), null);
  const first = once.get();
  const released = once.release();
  begun[0]!.resolve('first');
  assert.equal(await released, 'first');
  assert.equal(await first, 'first');
  assert.equal(once.value, null);
  const second = once.get();
  assert.equal(begun.length, 2);
  begun[1]!.resolve('second');
  assert.equal(await second, 'second');
  assert.equal(await once.release(), 'second');
});

test('to release what could not be loaded is no failure', async () => {
  const { begun, once } = loads();
  const asked = once.get();
  const released = once.release();
  begun[0]!.reject(new Error('no file is free'));
  assert.equal(await released, null);
  await assert.rejects(asked, /no file is free/);
});
