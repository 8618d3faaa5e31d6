/** Keeps a task running, and runs last actions before an uncaught exception ends the process. */
import { steadyNow } from './clock.ts';
import { fullJitter, pause } from './backoff.ts';

/**
 * Runs a task until the signal aborts. If a run ends or throws earlier, it begins again after a
 * pause. The pause grows from 1 s to 60 s. After a run of more than a minute it is small again.
 * @param ended called at each early end; `error` is null if the run just returned
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

/** The actions of this process before an uncaught exception ends it. */

const acts = new Set<() => void>();

/**
 * Registers an action. As without it, Node prints the exception and ends the process with exit code
 * 1.
 * @param act called just before that end, also for an unhandled rejection. It must finish before it
 *   returns; its own exceptions are ignored.
 * @returns unregisters `act`
 */
export function onUncaughtException(act: () => void): () => void {
  if (acts.size === 0) process.on('uncaughtExceptionMonitor', runActs);
  acts.add(act);
  return () => {
    acts.delete(act);
    if (acts.size === 0) process.off('uncaughtExceptionMonitor', runActs);
  };
}

/**
 * An exception from here would hide the first one: https://nodejs.org/api/process.html#exit-codes
 */
function runActs(): void {
  for (const act of acts) {
    try {
      act();
    } catch {
      // The process ends anyway.
    }
  }
}
