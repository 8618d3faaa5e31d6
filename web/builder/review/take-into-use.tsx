import { useMemo } from 'react';
import type { Change } from '../../../src/config/changes/changes.ts';
import { restartFields } from '../../../src/config/changes/lifetime.ts';
import type { ConfigProblem } from '../../../src/config/problems.ts';
import { Button } from '../../kit/button.tsx';
import { Notice } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { some } from '../../kit/words.ts';
import { baseDocument, problemsNow, useDraft, type Base } from '../document/store.ts';
import { apply, useApplying } from './applying.ts';
import { GoTo } from './go-to.tsx';
import { NeedsRestart } from './needs-restart.tsx';
import { useWhyNot } from './why-not.ts';

type Props = { readonly base: Base; readonly changes: readonly Change[] };

/** The button that takes the draft into use. It is off, with a reason, where svc would refuse. */
export function TakeIntoUse({ base, changes }: Props) {
  const problems = useDraft((state) => state.problems);
  const document = useDraft((state) => state.document);
  const errors = problems.filter(({ severity }) => severity === 'error');
  const sending = useApplying(({ state }) => state.kind === 'sending');
  const whyNot = useWhyNot(changes.filter(({ restart }) => restart).length);
  const fields = useMemo(() => restartFields(baseDocument(base), document), [base, document]);
  const start = (): void => {
    if (problemsNow().every(({ severity }) => severity !== 'error')) void apply();
  };
  return (
    <Panel title="Take it into use">
      {errors.length === 0 ? null : <ToMend errors={errors} />}
      {fields.length === 0 || errors.length > 0 ? null : (
        <Notice tone="wait">
          <NeedsRestart base={base} fields={fields} />
        </Notice>
      )}
      <div className="flex flex-wrap items-center gap-3">
        <Button
          kind="main"
          disabled={whyNot !== null && !sending}
          aria-disabled={sending}
          aria-describedby="apply-words"
          onClick={start}
        >
          {sending ? 'Applying …' : 'Apply'}
        </Button>
        <span id="apply-words" className={`min-w-0 flex-1 ${whyNot === null ? 'text-soft' : ''}`}>
          {whyNot ?? `${warningWords(problems.length - errors.length)}${promise}`}
        </span>
      </div>
    </Panel>
  );
}

const promise =
  'Messages under way finish as they were begun. If anything fails, the old one runs on.';

function ToMend({ errors }: { readonly errors: readonly ConfigProblem[] }) {
  return (
    <Notice tone="bad">
      <p>{some(errors.length, 'problem')} to mend first:</p>
      <ul className="ms-5 list-disc">
        {errors.slice(0, 5).map(({ path, message }) => (
          <li key={`${path} ${message}`}>
            <GoTo path={path} />: {message}
          </li>
        ))}
        {errors.length > 5 ? <li>and {errors.length - 5} more</li> : null}
      </ul>
    </Notice>
  );
}

function warningWords(warnings: number): string {
  if (warnings === 0) return '';
  return `${some(warnings, 'warning')} ${warnings === 1 ? 'does' : 'do'} not stand in the way. `;
}
