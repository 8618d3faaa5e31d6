import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Mask } from './mask.ts';

const values = ['abcdefgh', 'abcdefgh-12345', 'xxabcdefgh', 'say "hello"'];
const text = 'a cat: abcdefgh, abcdefgh-12345 and xxabcdefgh; say "hello" or say \\"hello\\" abc';

test('of a text that grows nothing is shown that may become a value', () => {
  const mask = new Mask();
  mask.add(values);
  const whole = mask.clean(text);
  assert.equal(
    whole,
    'a cat: [secret], [secret] and [secret]; [secret] or [secret] abc',
    'of the whole nothing is left out',
  );
  for (let end = 0; end <= text.length; end++) {
    const shown = mask.cleanGrowing(text.slice(0, end));
    assert.ok(whole.startsWith(shown), `${shown} is no beginning of ${whole}`);
  }
  assert.equal(mask.cleanGrowing(text), whole.slice(0, -'abc'.length));
});

test('without a value a text that grows is shown as it is', () => {
  assert.equal(new Mask().cleanGrowing('abc'), 'abc');
});
