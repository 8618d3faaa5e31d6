import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import type { Vision } from './model.ts';
import { Sight } from './vision.ts';

const providerOf = (...answers: (Vision | null)[]) => {
  const asked = { times: 0 };
  const ask = async (): Promise<Vision | null> => answers[asked.times++] ?? null;
  return { asked, ask };
};

test('what is declared holds, and nobody is asked', async () => {
  const { asked, ask } = providerOf(false);
  assert.equal(await new Sight(true, handClock().steady).sees(ask), true);
  assert.equal(await new Sight(false, handClock().steady).sees(ask), false);
  assert.equal(asked.times, 0);
});

test('the provider is asked once, by all who wait together', async () => {
  const { asked, ask } = providerOf(true);
  const sight = new Sight(null, handClock().steady);
  assert.deepEqual(await Promise.all([sight.sees(ask), sight.sees(ask)]), [true, true]);
  assert.equal(await sight.sees(ask), true);
  assert.equal(asked.times, 1);
});

test('a provider that does not say has a blind model, and is asked again later', async () => {
  const clock = handClock();
  const { asked, ask } = providerOf(null, true);
  const sight = new Sight(null, clock.steady);
  assert.deepEqual(await Promise.all([sight.sees(ask), sight.sees(ask)]), [false, false]);
  clock.pass(599_000);
  assert.equal(await sight.sees(ask), false);
  assert.equal(asked.times, 1);
  clock.pass(1_000);
  assert.equal(await sight.sees(ask), true);
  assert.equal(asked.times, 2);
});

test('a provider that cannot be reached is asked again', async () => {
  const { asked, ask } = providerOf('unreached', true);
  const sight = new Sight(null, handClock().steady);
  assert.equal(await sight.sees(ask), 'unreached');
  assert.equal(await sight.sees(ask), true);
  assert.equal(asked.times, 2);
});

test('a refused picture counts for an hour, whatever was declared', async () => {
  const clock = handClock();
  const sight = new Sight(true, clock.steady);
  sight.refused();
  clock.pass(3_599_000);
  assert.equal(await sight.sees(async () => true), false);
  clock.pass(1_000);
  assert.equal(await sight.sees(async () => true), true);
});
