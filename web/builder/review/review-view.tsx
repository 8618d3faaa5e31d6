import { useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../../kit/button.tsx';
import { Diff } from '../../kit/diff.tsx';
import { focusOn } from '../../kit/focus.ts';
import { Notice } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { some } from '../../kit/words.ts';
import { baseDocument, problemsNow, useDraft, type Base } from '../document/store.ts';
import { headingOfView } from '../shell/going.ts';
import { apply, noticeOthers, useApplying } from './applying.ts';
import { ChangeList } from './change-list.tsx';
import { changesOf, type Change } from '../../../src/config/changes/changes.ts';
import { ConflictChoice } from './conflict.tsx';
import { consequencesOf } from '../../../src/config/changes/consequences.ts';
import { GoTo } from './go-to.tsx';
import { History } from './history.tsx';
import { Preflight } from './preflight.tsx';
import { Outcome } from './outcome.tsx';

/** What the draft changes, whether it would work, and the step that takes it into use. */
export function ReviewView() {
  const base = useDraft((state) => state.base);
  const theirs = useApplying((state) => state.theirs);
  useEffect(() => void noticeOthers(), []);
  useOutcomeFocused();
  if (base === null) return null;
  return (
    <div className="mx-auto flex w-full min-w-0 max-w-4xl flex-col gap-6 p-4">
      <div aria-live="polite" className="flex flex-col gap-3 empty:hidden">
        <Outcome />
      </div>
      {theirs === null ? null : <ConflictChoice theirs={theirs} />}
      <Reviewed base={base} />
      <History />
    </div>
  );
}

function Reviewed({ base }: { readonly base: Base }) {
  const text = useDraft((state) => state.text);
  const document = useDraft((state) => state.document);
  const readable = useDraft((state) => state.readable);
  const before = baseDocument(base);
  const changes = useMemo(() => changesOf(before, document), [before, document]);
  const effects = useMemo(() => consequencesOf(before, document), [before, document]);
  if (text === base.text) {
    return (
      <Panel title="What changes">
        <p className="text-soft">Nothing: the draft is what is in use.</p>
      </Panel>
    );
  }
  return (
    <>
      <Panel title="What changes">
        {readable ? (
          <ChangeList changes={changes} none="Nothing but the layout of the text." />
        ) : (
          <p className="text-soft">The text is no JSON; what it changes cannot be told.</p>
        )}
        {effects.length === 0 ? null : (
          <div>
            <p>When it is applied:</p>
            <ul className="ms-5 list-disc">
              {effects.map((effect) => (
                <li key={effect}>{effect}</li>
              ))}
            </ul>
          </div>
        )}
      </Panel>
      <TextDiff before={base.text} after={text} />
      <Preflight />
      <Apply changes={changes} />
    </>
  );
}

function TextDiff({ before, after }: { readonly before: string; readonly after: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="font-semibold">The text, line by line</summary>
      <div className="mt-2">
        {open ? <Diff name="Lines that differ" before={before} after={after} /> : null}
      </div>
    </details>
  );
}

/** What is in the way of applying; what only the service knows, it tells by refusing. */
function Apply({ changes }: { readonly changes: readonly Change[] }) {
  const problems = useDraft((state) => state.problems);
  const errors = problems.filter(({ severity }) => severity === 'error');
  const warnings = problems.length - errors.length;
  const sending = useApplying(({ state }) => state.kind === 'sending');
  const isConflict = useApplying(({ theirs }) => theirs !== null);
  const restart = changes.filter((change) => change.restart);
  const blocked = errors.length > 0 || isConflict;
  const start = (): void => {
    if (problemsNow().every(({ severity }) => severity !== 'error')) void apply();
  };
  return (
    <Panel title="Take it into use">
      {errors.length === 0 ? null : (
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
      )}
      {restart.length === 0 || errors.length > 0 ? null : (
        <Notice tone="wait">
          {some(restart.length, 'change')} above can only be made with a restart: the service will
          refuse them and say what to do.
        </Notice>
      )}
      {isConflict ? <p className="text-wait">Choose above first whose changes hold.</p> : null}
      <div className="flex flex-wrap items-center gap-3">
        <Button kind="main" disabled={blocked} aria-disabled={sending} onClick={start}>
          {sending ? 'Applying …' : 'Apply'}
        </Button>
        <span className="text-soft">
          {warningWords(warnings)}
          Messages under way finish as they were begun. If anything fails, the old one runs on.
        </span>
      </div>
    </Panel>
  );
}

/** When an attempt ends, the focus goes to the heading of its outcome. */
function useOutcomeFocused(): void {
  const kind = useApplying(({ state }) => state.kind);
  const before = useRef(kind);
  useEffect(() => {
    const hasEnded = before.current === 'sending' && kind !== 'sending';
    before.current = kind;
    if (!hasEnded) return undefined;
    // A dialog that led here gives the focus back first.
    const timer = setTimeout(() => focusOn(headingOfView()), 50);
    return () => clearTimeout(timer);
  }, [kind]);
}

function warningWords(warnings: number): string {
  if (warnings === 0) return '';
  return `${some(warnings, 'warning')} ${warnings === 1 ? 'does' : 'do'} not stand in the way. `;
}
