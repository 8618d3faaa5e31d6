/** Problems in words, with the buttons of their fixes. */
import type { ConfigProblem } from '../../../src/config/problems.ts';
import { fixesOf, type Fix } from '../document/fixes.ts';
import { pathOf } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { withPlaces } from '../outline/place-words.ts';
import { Button } from '../../kit/button.tsx';
import { announce } from '../shell/announce.tsx';
import { leadTo } from '../shell/going.ts';

/** A problem in words: what is wrong, and what to do. */
export function ProblemText({ problem }: { readonly problem: ConfigProblem }) {
  const isError = problem.severity === 'error';
  const said = useDraft(({ document }) => withPlaces(problem.message, document));
  const text = said.charAt(0).toUpperCase() + said.slice(1);
  return (
    <>
      <span className={isError ? 'font-medium text-bad' : 'font-medium text-wait'}>
        <span aria-hidden="true">{isError ? '✗ ' : '! '}</span>
        <span className="sr-only">{isError ? 'Error: ' : 'Warning: '}</span>
        {text}.
      </span>{' '}
      <span className="text-soft">{problem.remedy}</span>
    </>
  );
}

/** The problems below an input, each with its fixes. */
export function ProblemList({
  problems,
  id,
}: {
  readonly problems: readonly ConfigProblem[];
  readonly id: string;
}) {
  if (problems.length === 0) return null;
  return (
    <div id={id} className="flex flex-col gap-1 text-sm">
      {problems.map((problem) => (
        <div key={problem.code + problem.message}>
          <p>
            <ProblemText problem={problem} />
          </p>
          <Fixes problem={problem} />
        </div>
      ))}
    </div>
  );
}

type FixesProps = {
  readonly problem: ConfigProblem;
  /**
   * Called after a fix that may have removed the buttons. Moves the focus; by default the field
   * gets it.
   */
  readonly onMended?: () => void;
};

export function Fixes({ problem, onMended }: FixesProps) {
  const document = useDraft((state) => state.document);
  const readable = useDraft((state) => state.readable);
  const fixes = readable ? fixesOf(problem, document) : [];
  if (fixes.length === 0) return null;
  const apply = ({ label, edits }: Fix): void => {
    if (!useDraft.getState().apply(edits)) return;
    announce(`Done: ${label}.`);
    const [edit] = edits;
    const moved = edit?.kind === 'move' ? [...edit.list, edit.to] : null;
    if (onMended === undefined) leadTo(moved ?? pathOf(problem.path));
    else onMended();
  };
  return (
    <div className="mt-1 flex flex-wrap gap-1.5">
      {fixes.map((fix) => (
        <Button key={fix.label} small onClick={() => apply(fix)}>
          {fix.label}
        </Button>
      ))}
    </div>
  );
}
