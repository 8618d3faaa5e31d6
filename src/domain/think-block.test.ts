import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutThinkBlock } from './think-block.ts';

test('a leading think block is no part of the answer', () => {
  assert.equal(withoutThinkBlock('<think>two plus two</think>\n\nFour.'), 'Four.');
  assert.equal(withoutThinkBlock('\n<Thinking>hm</Thinking> Four.'), 'Four.');
  assert.equal(withoutThinkBlock('<think></think><think>again</think>Four.'), 'Four.');
});

test('a block that never ends leaves nothing', () => {
  assert.equal(withoutThinkBlock('<think>two plus two is'), '');
});

test('an answer without a leading block is passed on character for character', () => {
  for (const text of ['', 'Four. ', 'I <think>so</think>', '<thinker>x</thinker>', '</think>']) {
    assert.equal(withoutThinkBlock(text), text);
  }
});

test('a megabyte of tags takes no noticeable time', () => {
  const hostile = [
    '<think>'.repeat(150_000),
    '<think>x</think>'.repeat(65_000),
    `${' '.repeat(1_000_000)}<think>`,
    `<think>${'</think'.repeat(150_000)}`,
  ];
  for (const text of hostile) {
    const start = performance.now();
    withoutThinkBlock(text);
    assert.ok(performance.now() - start < 500);
  }
});
