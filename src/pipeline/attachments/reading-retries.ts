import type { Failure } from '../../domain/failure.ts';
import { pause } from '../../lib/backoff.ts';
import type { Stop } from '../../lib/stop.ts';

const triesMax = 3;
const againMs = 500;

/** What fails for a passing reason is tried again, until it is stopped. */
export async function withTries<End extends { readonly kind: string; readonly failure?: Failure }>(
  stop: Stop,
  act: () => Promise<End>,
): Promise<End> {
  for (let tries = 1; ; tries++) {
    const end = await act();
    if (end.failure?.retryable !== true || tries === triesMax || stop.stopped) return end;
    await pause(againMs * tries, stop.signal);
  }
}
