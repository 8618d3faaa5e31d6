/** What the proofs about the network look at from outside of svc, and how they sum it up. */
import assert from 'node:assert/strict';

/** @param share 0.99 is the 99th percentile */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Waits for something that must come to be. */
export async function untilTrue(
  what: string,
  is: () => boolean | Promise<boolean>,
  withinMs = 20_000,
): Promise<void> {
  const end = Date.now() + withinMs;
  while (!(await is())) {
    assert.ok(Date.now() < end, `in vain, for ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
