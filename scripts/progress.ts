/** A line while nothing else is said, so that whoever waits sees that it goes on. */

/** Between two lines. */
const everyMs = 8_000;

/**
 * Tells what is under way, again and again, until the work has ended.
 * @param told a sentence; it is asked for each line
 */
export async function telling<T>(told: () => string, work: Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    console.log(`… ${told()} (${Math.round((performance.now() - startedAt) / 1_000)} s)`);
  }, everyMs);
  // It tells of work, and is none.
  timer.unref();
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
