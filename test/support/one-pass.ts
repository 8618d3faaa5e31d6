import assert from 'node:assert/strict';

/** Enough tries to have one that no other program prolongs. */
const triesMax = 30;

/**
 * Asserts that a text is read in one pass. A text 64 times as long takes 64 times as long, but
 * 4,096 times with nested loops. Other programs prolong a try, and none shortens it. So one short
 * try is proof.
 */
export function assertOnePass(begin: string, part: string, read: (text: string) => unknown): void {
  const [size, times] = [4 * 1024, 64];
  const textOf = (length: number): string => begin + part.repeat(length / part.length);
  const msOf = (text: string): number => {
    const startedAt = performance.now();
    read(text);
    return performance.now() - startedAt;
  };
  const [shortText, longText] = [textOf(size), textOf(size * times)];
  let [small, large] = [Infinity, Infinity];
  for (let tries = 0; tries < triesMax; tries++) {
    small = Math.min(small, msOf(shortText));
    large = Math.min(large, msOf(longText));
    if (large < 1_000 * Math.max(small, 0.05)) return;
  }
  assert.fail(
    `${begin}${part}: ${small} ms for ${size} characters, ${large} ms for ${times} times`,
  );
}
