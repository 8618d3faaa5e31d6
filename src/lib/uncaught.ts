/** What is still done when an uncaught exception ends this process. */

const acts = new Set<() => void>();

/**
 * Node prints the exception and ends the process with exit code 1, as without this.
 * @param act called once the end is certain, also for a rejection that nobody handles. It must be
 * done when it returns; what it throws is ignored.
 * @returns takes `act` back
 */
export function beforeUncaughtEnd(act: () => void): () => void {
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
