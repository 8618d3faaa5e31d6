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
