import assert from 'node:assert/strict';

/** As many tries as it takes to have one that no other program made longer. */
const triesMax = 30;

/**
 * Holds that a text is read in one pass: of 64 times the length it takes 64 times as long, and with
 * one loop in another 4,096 times. Other programs make a try longer, and none shorter, so one short
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
