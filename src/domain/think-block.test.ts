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

/** The least of some tries, in milliseconds: other programs make a try longer, and none shorter. */
function leastMs(text: string): number {
  const tries = Array.from({ length: 5 }, () => {
    const startedAt = performance.now();
    assert.ok(withoutThinkBlock(text).length <= text.length);
    return performance.now() - startedAt;
  });
  return Math.min(...tries);
}

test('a text made to be slow is read in one pass', () => {
  const [size, times] = [8 * 1024, 64];
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
  for (const part of hostile) {
    for (const begin of ['', '<think>']) {
      const textOf = (length: number): string => begin + part.repeat(length / part.length);
      const [small, large] = [leastMs(textOf(size)), leastMs(textOf(size * times))];
      // One pass over 64 times the text takes 64 times as long, two loops in each other 4,096.
      assert.ok(large < 1_000 * Math.max(small, 0.05), `${begin}${part}: ${small}, ${large} ms`);
    }
  }
});
