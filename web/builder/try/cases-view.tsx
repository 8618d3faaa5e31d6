import type { TryResult } from '../../../src/admin/config-trials.ts';
import { Button } from '../../kit/button.tsx';
import { LongText } from '../../kit/long-text.tsx';
import { Panel } from '../../kit/panel.tsx';
import { beginningOf } from '../../kit/shorten.ts';
import { State } from '../../kit/state.tsx';
import { length, some } from '../../kit/words.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { change } from '../graph/doing.ts';
import { casesOf, dropCase, type KeptCase } from './cases.ts';
import { CostWarning, paidModels } from './cost.tsx';
import { TrialView } from './trial-view.tsx';
import { Expects, Judged } from './expected.tsx';
import { attempt, attemptAll, keyOf, stopAll, useTrials } from './trials.ts';

type Props = { readonly brain: Path; readonly name: string };

/** Test cases are part of the configuration itself, so that the next person finds them. */
export function Cases({ brain, name }: Props) {
  const document = useDraft((state) => state.document);
  const readable = useDraft((state) => state.readable);
  const series = useTrials((state) => state.series);
  const cases = casesOf(document, brain);
  const all = (): void =>
    void attemptAll(cases.map((one) => ({ brain: name, channel: '', isPrivate: false, ...one })));
  return (
    <Panel
      title="Test cases"
      aside={
        cases.length === 0 ? null : series ? (
          <Button small onClick={stopAll}>
            Stop
          </Button>
        ) : (
          <Button small disabled={!readable} onClick={all}>
            Run all {cases.length === 1 ? '' : cases.length} again
          </Button>
        )
      }
    >
      <p className="text-soft">
        They stand in the configuration as the brain&apos;s <code>_try</code>, which the service
        does not read. What a case expects of its reply, <code>svc try</code> judges at a terminal.
        Write nothing that a real person said.
      </p>
      {cases.length === 0 ? (
        <p className="text-soft">None is kept yet.</p>
      ) : (
        <>
          <CostWarning models={paidModels(document, brain)} />
          <ul className="flex flex-col gap-3">
            {cases.map((one) => (
              <Case key={one.index} brain={brain} name={name} kept={one} />
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}

function Case({ brain, name, kept }: Props & { readonly kept: KeptCase }) {
  const run = useTrials(({ runs }) => runs.get(keyOf(name, kept)));
  const { text, note, history, index, expected } = kept;
  const named = beginningOf(text, 100);
  return (
    <li className="flex flex-col gap-2 rounded-md border border-line bg-card p-3">
      <div className="flex flex-wrap items-start justify-between gap-2">
        <div className="min-w-0">
          <div className="font-medium">
            <LongText text={text} name={`Test case ${index + 1}`} />
          </div>
          <p className="text-sm text-soft">
            {[note, history.length === 0 ? '' : `after ${some(history.length, 'earlier turn')}`]
              .filter((part) => part !== '')
              .join(' · ')}
          </p>
          <Expects expected={expected} name={`What test case ${index + 1} expects`} />
        </div>
        <div className="flex gap-2">
          <Button
            small
            aria-label={`Run “${named}”`}
            disabled={run?.now.kind === 'asking'}
            onClick={() =>
              void attempt({ brain: name, channel: '', isPrivate: false, text, history })
            }
          >
            Run
          </Button>
          <Button
            small
            kind="danger"
            aria-label={`Drop “${named}”`}
            onClick={() => change((now) => dropCase(now, brain, index))}
          >
            Drop
          </Button>
        </div>
      </div>
      {run === undefined ? null : (
        <div aria-live="polite" className="flex flex-col gap-2">
          {run.now.kind === 'told' && run.before !== null ? (
            <BeforeAfter before={run.before} after={run.now.result} />
          ) : null}
          {run.now.kind === 'told' ? <Judged expected={expected} result={run.now.result} /> : null}
          <TrialView run={run} />
        </div>
      )}
    </li>
  );
}

/** The former and the new result of the same text. */
function BeforeAfter({ before, after }: { readonly before: TryResult; readonly after: TryResult }) {
  const isSame = before.decision.text === after.decision.text;
  return (
    <div className="flex flex-col gap-1 text-sm">
      <State tone={isSame ? 'good' : 'wait'}>
        {isSame ? 'The same as the last time' : 'Not the same as the last time'}
      </State>
      {isSame ? null : (
        <div className="border-s-4 border-line ps-3 text-soft">
          <LongText
            text={`Before (${length(before.ms)}): ${before.decision.text}`}
            name="The reply before"
          />
        </div>
      )}
    </div>
  );
}
