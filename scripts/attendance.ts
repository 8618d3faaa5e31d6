/** Whether all tests ran: a green run that left some out proves nothing. */
import type { FileOutcome } from './file-run.ts';

/**
 * @param wanted the files that were to run
 * @param min how many tests there must be
 * @returns what is wrong, in sentences
 */
export function absences(
  wanted: readonly string[],
  outcomes: readonly FileOutcome[],
  min: number,
): readonly string[] {
  const came = new Map(outcomes.map((outcome) => [outcome.file, outcome]));
  const faults = wanted.flatMap((file) => {
    const outcome = came.get(file);
    if (outcome === undefined) return [`${file} was not run`];
    if (!outcome.isOver) return [`${file} did not come to its end`];
    return testsOf(outcome) === 0 ? [`${file} has run no test`] : [];
  });
  const tests = outcomes.reduce((sum, outcome) => sum + testsOf(outcome), 0);
  if (tests < min) faults.push(`${tests} tests have run, and there are at least ${min}`);
  return faults;
}

function testsOf({ results }: FileOutcome): number {
  return results.filter(({ kind }) => kind === 'test').length;
}
