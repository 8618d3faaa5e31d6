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
