import { useRef } from 'react';
import type { ConfigProblem } from '../../../src/config/problems.ts';
import { Button } from '../../kit/button.tsx';
import { State } from '../../kit/state.tsx';
import { some } from '../../kit/words.ts';
import { useDraft } from '../document/store.ts';
import { Fixes, ProblemText } from '../form/problem-list.tsx';
import { placeWords } from '../outline/place-words.ts';
import { errorsFirst, goToProblem } from './next.ts';

/** All problems of the draft, errors before warnings, each with a link to its place. */
export function Problems() {
  const problems = useDraft((state) => state.problems);
  const heading = useRef<HTMLHeadingElement>(null);
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  return (
    <section aria-labelledby="problems-title" className="flex min-h-0 flex-col gap-2">
      <h2 id="problems-title" ref={heading} tabIndex={-1} className="text-base outline-none">
        Problems
      </h2>
      <p role="status">
        <Sum errors={errors} warnings={problems.length - errors} />
      </p>
      <ol className="flex flex-col gap-2">
        {errorsFirst(problems).map((problem) => (
          <li
            key={`${problem.code} ${problem.path} ${problem.message}`}
            className="rounded-md border border-line bg-card p-2 text-sm"
          >
            <One problem={problem} onMended={() => heading.current?.focus()} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Sum({ errors, warnings }: { readonly errors: number; readonly warnings: number }) {
  const looks = warnings === 0 ? '' : some(warnings, 'warning');
  if (errors > 0) {
    const both = looks === '' ? '' : `, ${looks}`;
    return <State tone="bad">{some(errors, 'error') + both}</State>;
  }
  if (warnings > 0) return <State tone="wait">{looks}</State>;
  return <State tone="good">No problems</State>;
}

type OneProps = { readonly problem: ConfigProblem; readonly onMended: () => void };

function One({ problem, onMended }: OneProps) {
  const { path, line, column } = problem;
  const words = useDraft(({ document }) => placeWords(path, document));
  const where = path === '' ? `line ${line}, column ${column}` : words;
  return (
    <>
      <p>
        <ProblemText problem={problem} />
      </p>
      <div className="mt-1">
        <Button
          small
          kind="quiet"
          className="max-w-full -ms-2"
          title={path}
          onClick={() => goToProblem(problem)}
        >
          <span className="sr-only">Go to </span>
          <span className="min-w-0 truncate text-link">{where}</span>
        </Button>
      </div>
      <Fixes problem={problem} onMended={onMended} />
    </>
  );
}
