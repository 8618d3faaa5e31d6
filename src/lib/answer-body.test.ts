import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerBody, interimMax, wrappingBytesMax } from './collect-body.ts';

test('what came in parts of any size is read in its order', () => {
  const body = new AnswerBody();
  const sizes = [3, 1, 5_000, 1, 4_095, 70_000, 4_096, ...Array<number>(200_000).fill(1), 9];
  const parts = sizes.map((size, at) => Buffer.alloc(size, at % 251));
  for (const part of parts) body.add(part);
  const whole = Buffer.concat(parts);
  assert.equal(body.bytes, whole.length);
  assert.ok(body.read().equals(whole));
});

test('a small part does not keep all that was read with it', () => {
  const body = new AnswerBody();
  body.add(Buffer.from('first '));
  const read = Buffer.from('a chunk, and what wrapped it');
  body.add(read.subarray(0, 7));
  read.fill('x');
  assert.equal(body.read().toString(), 'first a chunk');
});

test('what is not kept is counted', () => {
  const body = new AnswerBody();
  body.add(Buffer.alloc(10), false);
  assert.equal(body.bytes, 10);
  assert.equal(body.read().length, 0);
});

test('interim answers, and what wraps a body, are bounded', () => {
  const body = new AnswerBody();
  const more = Array.from({ length: interimMax + 1 }, () => body.addInterim());
  assert.deepEqual(more, [...Array<boolean>(interimMax).fill(false), true]);
  assert.equal(body.isFlooded(wrappingBytesMax), false);
  assert.equal(body.isFlooded(wrappingBytesMax + 1), true);
  body.add(Buffer.alloc(1_000));
  assert.equal(body.isFlooded(wrappingBytesMax + 6_000), false, 'chunks of one byte');
});
