/**
 * How often a property is tried with random values. It is a count, never a time, so that a busy
 * machine tries as often as a quiet one. The proof `long-tests` tries more often
 * (test/chaos/long-tests.ts).
 */
const factor = Number(process.env['SVC_TEST_RUNS_FACTOR'] ?? 1);

export function runs(count: number): number {
  return count * factor;
}
