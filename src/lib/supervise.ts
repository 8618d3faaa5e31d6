import { steadyNow } from './clock.ts';
import { fullJitter, pause } from './backoff.ts';

/**
 * Keeps something running until the signal aborts: a run that ends or throws earlier is begun again
 * after a pause. The pause grows from 1 s to 60 s, and is small again after a good minute.
 * @param ended told of each early end; `error` is null when the run just returned
 */
export async function supervise(
  run: () => Promise<void>,
  signal: AbortSignal,
  ended: (error: unknown, pauseMs: number) => void,
  steady: () => number = steadyNow,
): Promise<void> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    const startedAt = steady();
    let error: unknown = null;
    try {
      await run();
    } catch (thrown) {
      error = thrown;
    }
    if (signal.aborted) return;
    if (steady() - startedAt > 60_000) attempt = 0;
    const pauseMs = 1_000 + fullJitter(attempt, { baseMs: 1_000, capMs: 59_000 });
    ended(error, pauseMs);
    await pause(pauseMs, signal);
  }
}

/** What this process still does when an uncaught exception is about to end it. */

const acts = new Set<() => void>();

/**
 * Node prints the exception and ends the process with exit code 1, as without this.
 * @param act called just before that end, also for an unhandled rejection. It must finish before it
 * returns; its own exceptions are ignored.
 * @returns unregisters `act`
 */
export function onUncaughtException(act: () => void): () => void {
  if (acts.size === 0) process.on('uncaughtExceptionMonitor', actAll);
  acts.add(act);
  return () => {
    acts.delete(act);
    if (acts.size === 0) process.off('uncaughtExceptionMonitor', actAll);
  };
}

/** An exception from here would hide the first one: https://nodejs.org/api/process.html#exit-codes */
function actAll(): void {
  for (const act of acts) {
    try {
      act();
    } catch {
      // The process ends all the same.
    }
  }
}
