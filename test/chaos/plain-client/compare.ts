import { isDeepStrictEqual } from 'node:util';
import { type Case, outcomeOf } from './sides.ts';

/** The number of cases under way at once: they share the turns of the event loop. */
const atOnce = 256;

/** Runs a case with both clients; returns the difference, or null. */
export async function differenceOf(it: Case): Promise<string | null> {
  const [plain, undici] = await Promise.all([outcomeOf(true, it), outcomeOf(false, it)]);
  if (isDeepStrictEqual(plain, undici)) return null;
  const shown = { ...it, reads: it.reads.map(String), unasked: it.unasked?.toString() };
  return JSON.stringify({ case: shown, plain, undici }, null, 1);
}

/**
 * @param at makes the case of a number below `count`
 * @returns the first few differences, each with its number
 */
export async function differencesOf(
  count: number,
  at: (number: number) => Case,
): Promise<readonly string[]> {
  const found: string[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count && found.length < 5) {
      const number = next++;
      const difference = await differenceOf(at(number));
      if (difference !== null) found.push(`${number}: ${difference}`);
    }
  };
  const restore = standStill();
  try {
    await Promise.all(Array.from({ length: Math.min(atOnce, count) }, work));
    return found;
  } finally {
    restore();
  }
}

/**
 * Stops the timers, so that no connection closes because this machine is busy. Also stops stack
 * traces: most cases end in an error, and traces would cost more than all the rest.
 * @returns a function that undoes it
 */
function standStill(): () => void {
  const { setTimeout } = globalThis;
  const { stackTraceLimit } = Error;
  const timer = { ref: () => timer, unref: () => timer, refresh: () => timer };
  globalThis.setTimeout = (() => timer) as unknown as typeof setTimeout;
  Error.stackTraceLimit = 0;
  return () => {
    globalThis.setTimeout = setTimeout;
    Error.stackTraceLimit = stackTraceLimit;
  };
}
