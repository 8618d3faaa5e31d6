import { useEffect, useMemo, useRef, useState } from 'react';
import { late } from '../../kit/late.tsx';
import { focusOn } from '../../kit/focus.ts';
import { Panel } from '../../kit/panel.tsx';
import { baseDocument, useDraft, type Base } from '../document/store.ts';
import { headingOfView } from '../shell/going.ts';
import { noticeOthers, useApplying } from './applying.ts';
import { ChangeList } from './change-list.tsx';
import { changesOf, consequencesOf } from '../../../src/config/changes/changes.ts';
import { LineDiff } from './line-diff.ts';
import { Preflight } from './preflight.tsx';
import { Outcome } from './outcome.tsx';
import { TakeIntoUse } from './take-into-use.tsx';

// Loaded late: few reviews need them.
const ConflictChoice = late('choice', async () => (await import('./conflict.tsx')).ConflictChoice);
const History = late('history', async () => (await import('./history.tsx')).History);

/** The draft's changes, the preflight, and the button that takes the draft into use. */
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
      <>
        <Panel title="What changes">
          <p className="text-soft">Nothing: the draft is what is in use.</p>
        </Panel>
        <TakeIntoUse base={base} changes={[]} />
      </>
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
      <TakeIntoUse base={base} changes={changes} />
    </>
  );
}

function TextDiff({ before, after }: { readonly before: string; readonly after: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="font-semibold">The text, line by line</summary>
      <div className="mt-2">
        {open ? <LineDiff name="Lines that differ" before={before} after={after} /> : null}
      </div>
    </details>
  );
}

/** At the end of an attempt, the focus moves to the heading of its result. */
function useOutcomeFocused(): void {
  const kind = useApplying(({ state }) => state.kind);
  const before = useRef(kind);
  useEffect(() => {
    const hasEnded = before.current === 'sending' && kind !== 'sending';
    before.current = kind;
    if (!hasEnded) return undefined;
    // A dialog that led here returns the focus first.
    const timer = setTimeout(() => focusOn(headingOfView()), 50);
    return () => clearTimeout(timer);
  }, [kind]);
}
