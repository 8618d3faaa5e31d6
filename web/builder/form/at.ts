/** Hooks that give a form the value and the problems of one place of the draft. */
import { useMemo } from 'react';
import type { ConfigProblem } from '../../../src/config/problems.ts';
import type { Json } from '../../../src/config/locate.ts';
import { textOf, type Path } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { valueAt } from '../document/value.ts';

export function useValue(path: Path): Json | undefined {
  return useDraft((state) => valueAt(state.document, path));
}

/** The problems of exactly this place. */
export function useProblems(path: Path): readonly ConfigProblem[] {
  const problems = useDraft((state) => state.problems);
  const at = textOf(path);
  return useMemo(() => problems.filter((problem) => problem.path === at), [problems, at]);
}

/** The service treats absent, null and an empty text alike. */
export const isAbsent = (value: Json | undefined): boolean =>
  value === undefined || value === null || value === '';
