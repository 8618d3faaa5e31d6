import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutThinkBlock } from './think-block.ts';

test('the thinking before an answer goes, and nothing else', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['8', '8'],
    ['<think>hm</think>8', '8'],
    ['\n <think>\nhm\n</think>\n\n8 \n', '8 \n'],
    ['<THINK>hm</Think>8', '8'],
    ['<thinking>hm </think> </thinking>8', '8'],
    ['<reasoning>hm</reasoning><thought>hm</thought> 8', '8'],
    ['<think></think>8', '8'],
    ['<think>hm', ''],
    ['<think>', ''],
    ['', ''],
    ['Use <think>hm</think> like this', 'Use <think>hm</think> like this'],
    ['<thinker>hm</thinker>8', '<thinker>hm</thinker>8'],
    ['8 </think>', '8 </think>'],
  ];
  for (const [text, answer] of cases) assert.equal(withoutThinkBlock(text), answer, text);
});

test('a text of 4 MiB made to be slow is read in one pass', () => {
  const size = 4 * 1024 * 1024;
  const hostile = [
    '<think></think>',
    '<think>',
    '<think>a</thin',
    '<think> </think> ',
    ' ',
    '<',
    '</think>',
    '<thinking><think></think>',
  ];
  const startedAt = performance.now();
  for (const part of hostile) {
    const text = part.repeat(Math.ceil(size / part.length));
    assert.ok(withoutThinkBlock(text).length <= text.length);
    assert.ok(withoutThinkBlock(`<think>${text}`).length <= text.length);
  }
  // If each character were read more than once, 16 such texts would take minutes.
  assert.ok(performance.now() - startedAt < 8_000);
});
