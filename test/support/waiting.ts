/**
 * Waiting in tests. Every wait for an expected event has this one generous bound. That something
 * does not happen is shown with a clock of the test (hand-clock.ts).
 */
import assert from 'node:assert/strict';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';

/** How long a test waits for an expected event. No test sets another bound. */
export const patienceMs = 60_000;

/** Between two checks, after the first ones. */
const betweenMs = { least: 5, most: 25 };
const quickChecks = 50;
/** A check that takes longer is not repeated at once. */
const quickCheckMs = 1;

/**
 * Repeats a check until it succeeds.
 * @param what names the expected event in the error
 * @returns the first result that is neither null nor false
 */
export async function until(what: string, look: () => boolean | Promise<boolean>): Promise<void>;
export async function until<T>(what: string, look: () => T | null | Promise<T | null>): Promise<T>;
export async function until(what: string, look: () => unknown): Promise<unknown> {
  const startedAt = performance.now();
  for (let checks = 1; ; checks++) {
    const lookedAt = performance.now();
    const seen = await look();
    if (seen !== null && seen !== false) return seen;
    const [waitedMs, tookMs] = [performance.now() - startedAt, performance.now() - lookedAt];
    // Checks count, too: a process that was halted meanwhile has a backlog to work off first.
    const isOver = waitedMs > patienceMs && checks > 2 * quickChecks;
    assert.ok(!isOver, inVain(what));
    if (checks < quickChecks && tookMs < quickCheckMs) await turn();
    else await pause(pauseMs(waitedMs, tookMs));
  }
}

const inVain = (what: string): string => `waited ${patienceMs / 1_000} s in vain for: ${what}`;

/** Checks leave the processor to the awaited work: they grow rarer, and expensive ones are rare. */
function pauseMs(waitedMs: number, tookMs: number): number {
  return Math.min(betweenMs.most, Math.max(betweenMs.least, waitedMs / 40, 2 * tookMs));
}

/** The promise's own outcome; rejects when it does not settle. @param what names it then */
export async function within<T>(what: string | (() => string), promise: Promise<T>): Promise<T> {
  const settled = new AbortController();
  const tooLate = pause(patienceMs, null, { signal: settled.signal }).then(
    () => assert.fail(inVain(typeof what === 'string' ? what : what())),
    () => assert.fail('it has settled'),
  );
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    settled.abort();
    tooLate.catch(() => {});
  }
}

/**
 * Waits until so many have come, or none has come for a test's patience. The caller reports the
 * missing ones.
 */
export async function untilAll(all: number, came: () => number): Promise<void> {
  let most = -1;
  let lastAt = performance.now();
  for (let now = came(); now < all; now = came()) {
    if (now > most) [most, lastAt] = [now, performance.now()];
    if (performance.now() - lastAt >= patienceMs) return;
    await pause(betweenMs.least);
  }
}
