import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPressable, rowsOf } from './choices.ts';

const limits = { labelUnitsMax: 10, saysBytesMax: 20 };
const choice = (label: string, says = label) => ({ label, says });

test('a pair stands in a row', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((label) => choice(label));
  assert.deepEqual(rowsOf([a!, b!, c!], limits), [[a, b], [c]]);
  assert.deepEqual(rowsOf([], limits), []);
  assert.deepEqual(rowsOf(undefined, limits), []);
});

test('where one button would be refused, there are none', () => {
  const good = choice('yes');
  const bad = [
    choice('', 'no'),
    choice('no', ''),
    choice('a label too long', 'no'),
    choice('no', 'ö'.repeat(11)),
    choice('again', 'yes'),
  ];
  for (const one of bad) assert.deepEqual(rowsOf([good, one], limits), [], JSON.stringify(one));
  const many = Array.from({ length: 11 }, (_, index) => choice(String(index)));
  assert.deepEqual(rowsOf(many, limits), []);
});

test('a press says a command with a code, or what a button of the message says', () => {
  const shown = [[choice('Try again', '/retry'), choice('New', '/new')], [choice('odd', 'pay it')]];
  for (const says of ['/approve 4XK2M9TQ0Z', '/refuse 4XK2M9TQ0Z']) {
    assert.ok(isPressable(says, []), says);
  }
  assert.ok(isPressable('/retry 1795', [[choice('Try again', '/retry 1795')]]));
  for (const says of ['/retry', '/new']) assert.ok(isPressable(says, shown), says);
  const odd = ['/reset', '/approve', '/approve 4XK2M9TQ0Z and more', '/approve  4XK2M9TQ0Z'];
  const worse = [' /approve 4XK2M9TQ0Z', '/approve 4XK2M9TQ0Z\n', '/approve 4XK2', '', null, 7];
  for (const says of [...odd, ...worse, 'pay it', '/retry ', '/retry 1795']) {
    assert.ok(!isPressable(says, shown), String(says));
  }
});
