import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keptLater, keptReading } from './kept-text.ts';

test('what is cut says so, and how long it was', () => {
  const kept = keptReading('x'.repeat(30_000), '\n');
  assert.equal(kept, `${'x'.repeat(20_000)}\n[… cut: the first 20,000 of 30,000 characters]`);
  assert.equal(keptReading('short', ' '), 'short');
  assert.equal(keptReading('x'.repeat(20_000), ' ').length, 20_000);
});

test('a text that was cut before is told as long as it was at first', () => {
  const kept = keptReading('x'.repeat(30_000), '\n');
  const mark = '\n[… cut: the first 4,000 of 30,000 characters]';
  assert.equal(keptLater(kept), `${'x'.repeat(4_000)}${mark}`);
  assert.equal(keptLater(keptLater(kept)), keptLater(kept));
  assert.equal(keptLater('x'.repeat(4_001)).split('\n')[1], mark.trim().replace('30,000', '4,001'));
  assert.equal(keptLater('x'.repeat(4_000)).length, 4_000);
});
