import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { patienceMs } from '../../test/support/waiting.ts';
import { GivenUp, Lifetime } from './lifetime.ts';

/** A lifetime, the closes in it, and the errors that it reported. */
function bench() {
  const giving = new AbortController();
  const closed: string[] = [];
  const errors: string[] = [];
  const lifetime = new Lifetime(giving.signal, (what, error) =>
    errors.push(`${what}: ${(error as Error).message}`),
  );
  const close = (name: string) => () => void closed.push(name);
  return { lifetime, giving, closed, errors, close };
}

const never = (): Promise<never> => new Promise(() => {});

test('what was opened is closed in the reverse order, once', async () => {
  const { lifetime, closed, errors, close } = bench();
  lifetime.defer('one', close('one'));
  assert.equal(await lifetime.adopt('two', async () => 2, close('two')), 2);
  assert.equal(await lifetime.use('three', async () => 3, close('three')), 3);
  await Promise.all([lifetime.close(patienceMs), lifetime.close(patienceMs)]);
  assert.deepEqual([closed, errors], [['three', 'two', 'one'], []]);
});

test('one that fails to close keeps no other open, and each of its errors is told', async () => {
  const { lifetime, closed, errors, close } = bench();
  lifetime.defer('one', close('one'));
  lifetime.defer('two', async () => {
    await using inner = new AsyncDisposableStack();
    for (const name of ['a', 'b']) {
      inner.defer(() => {
        throw new Error(name);
      });
    }
  });
  lifetime.defer('three', () => {
    throw new Error('c');
  });
  await lifetime.close(patienceMs);
  assert.deepEqual([closed, errors], [['one'], ['three: c', 'two: b', 'two: a']]);
});

test('one whose close does not end keeps no other open, and is told', async () => {
  const { lifetime, closed, errors, close } = bench();
  lifetime.defer('one', close('one'));
  lifetime.defer('two', never);
  await lifetime.close(1);
  assert.deepEqual(closed, ['one']);
  assert.equal(errors[0], 'two: it did not close in time');
});

test('giving up ends every wait, and closes nothing by itself', async () => {
  const { lifetime, giving, closed, close } = bench();
  const waits = [
    lifetime.use('one', never, close('one')),
    lifetime.adopt('two', never, close('two')),
    lifetime.within(never),
  ];
  giving.abort();
  for (const wait of waits) await assert.rejects(wait, GivenUp);
  assert.deepEqual(closed, []);
  await lifetime.close(1);
  assert.deepEqual(closed, ['one']);
});

test('nothing is opened once it is given up, or closes', async () => {
  for (const end of ['given up', 'closed'] as const) {
    const { lifetime, giving, close } = bench();
    if (end === 'given up') giving.abort();
    else await lifetime.close(patienceMs);
    let opened = 0;
    const open = async (): Promise<void> => void opened++;
    await assert.rejects(lifetime.use('one', open, close('one')), GivenUp);
    await assert.rejects(lifetime.adopt('two', open, close('two')), GivenUp);
    await assert.rejects(lifetime.within(open), GivenUp);
    assert.throws(() => lifetime.defer('three', close('three')), GivenUp);
    assert.equal(opened, 0, end);
  }
});

test('what opens after it was given up is closed, before the closing and after it', async () => {
  for (const late of [false, true]) {
    const { lifetime, giving, closed } = bench();
    const opening = Promise.withResolvers<string>();
    const close = (name: string): void => void closed.push(name);
    const wait = lifetime.adopt('one', () => opening.promise, close);
    giving.abort();
    await assert.rejects(wait, GivenUp);
    if (late) await lifetime.close(1);
    opening.resolve('one');
    await turn();
    await lifetime.close(patienceMs);
    assert.deepEqual(closed, ['one'], String(late));
  }
});

test('what existed before it was open is closed also where its opening fails', async () => {
  const { lifetime, closed, close } = bench();
  const fail = (): Promise<never> => Promise.reject(new Error('no'));
  await assert.rejects(lifetime.use('one', fail, close('one')), /no/);
  await assert.rejects(lifetime.adopt('two', fail, close('two')), /no/);
  await lifetime.close(patienceMs);
  assert.deepEqual(closed, ['one']);
});
