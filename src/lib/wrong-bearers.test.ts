import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../test/support/hand-clock.ts';
import { addressesMax, delayMsMax, WrongBearers } from './bearer.ts';

test('the first wrong bearers do not wait, the others longer and longer up to a limit', () => {
  const wrong = new WrongBearers(2, handClock().steady);
  const delays = Array.from({ length: 100 }, () => wrong.add('192.0.2.1'));
  assert.deepEqual(delays.slice(0, 5), [0, 0, 100, 200, 300]);
  assert.equal(delays.at(-1), delayMsMax);
  assert.equal(wrong.add('192.0.2.2'), 0, 'another address');
});

test('after ten quiet minutes an address is as new', () => {
  const clock = handClock();
  const wrong = new WrongBearers(0, clock.steady);
  assert.deepEqual([wrong.add('::1'), wrong.add('::1')], [100, 200]);
  clock.pass(10 * 60_000);
  assert.equal(wrong.add('::1'), 300);
  clock.pass(10 * 60_000 + 1);
  assert.equal(wrong.add('::1'), 100);
});

test('the addresses of one IPv6 network are one', () => {
  const wrong = new WrongBearers(0, handClock().steady);
  const delays = ['2001:db8::1', '2001:db8:0:0:1:2:3:4', '2001:db8::'].map((one) => wrong.add(one));
  assert.deepEqual(delays, [100, 200, 300]);
  const others = ['2001:db8:0:1::1', 'fe80::1%eth0', '::ffff:192.0.2.1', '192.0.2.1', ''];
  assert.deepEqual(
    others.map((one) => wrong.add(one)),
    others.map(() => 100),
  );
});

test('however many addresses come, so many are remembered, those heard of last', () => {
  const wrong = new WrongBearers(0, handClock().steady);
  wrong.add('first');
  wrong.add('second');
  for (let more = 2; more < addressesMax; more++) wrong.add(String(more));
  wrong.add('first');
  wrong.add('one more');
  assert.equal(wrong.size, addressesMax);
  assert.equal(wrong.add('first'), 300);
  assert.equal(wrong.add('second'), 100, 'it was forgotten');
});
