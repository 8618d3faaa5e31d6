/** Goes from problem to problem. */
import type { ConfigProblem } from '../../../src/config/problems.ts';
import { pathOf } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { showInText } from '../json/showing.ts';
import { goToField } from '../shell/going.ts';

const isTextShown = (): boolean => new URLSearchParams(location.search).get('view') === 'json';

/** Errors come before warnings, each in the order of the file. */
export function errorsFirst(problems: readonly ConfigProblem[]): readonly ConfigProblem[] {
  return problems.toSorted(
    (a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'),
  );
}

/**
 * Goes to a problem's field, or to its place in the text if the text is open or there is no field.
 */
export function goToProblem(problem: ConfigProblem): void {
  const { readable } = useDraft.getState();
  const isOfText = problem.path === '' || problem.code === 'duplicate_key' || isTextShown();
  if (readable && !isOfText) goToField(pathOf(problem.path));
  else showInText(problem);
}

let lastProblem = '';

/** Goes to the problem after the last one that it went to. */
export function nextProblem(): void {
  const problems = errorsFirst(useDraft.getState().problems);
  const names = problems.map(({ code, path }) => `${code} ${path}`);
  const at = names.indexOf(lastProblem) + 1;
  const problem = problems[at] ?? problems[0];
  if (problem === undefined) return;
  lastProblem = names[problems.indexOf(problem)]!;
  goToProblem(problem);
}
