/** Prints a line of progress while nothing else is printed. */

const everyMs = 8_000;

/**
 * Prints the progress again and again until the work ends.
 * @param sentence returns the next sentence
 */
export async function telling<T>(sentence: () => string, work: Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    console.log(`… ${sentence()} (${Math.round((performance.now() - startedAt) / 1_000)} s)`);
  }, everyMs);
  // The timer must not keep the process alive.
  timer.unref();
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
