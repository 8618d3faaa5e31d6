/** The result of an attempt to apply, in the review and in short beside the other tabs. */
import { useEffect } from 'react';
import type { ConfigProblem } from '../../../src/config/problems.ts';
import { Button } from '../../kit/button.tsx';
import { Notice } from '../../kit/notice.tsx';
import { goTo } from '../../kit/place.ts';
import { State } from '../../kit/state.tsx';
import { useDraft } from '../document/store.ts';
import { placeWords, withPlaces } from '../outline/place-words.ts';
import { useApplying, type ApplyState, type What } from './applying.ts';
import { ageOf, type Age } from './outcome-age.ts';
import { NotApplied, titleOf } from './refusal.tsx';

function useOutcome(): { readonly state: ApplyState; readonly age: Age } {
  const state = useApplying((applying) => applying.state);
  const age = useDraft(({ text, base }) => ageOf(state, { text, used: base?.text ?? '' }));
  return { state, age };
}

const see = (): void => useApplying.setState(({ state }) => ({ seen: state }));

/** The result of the last attempt. */
export function Outcome() {
  const { state, age } = useOutcome();
  const isConflict = useApplying(({ theirs }) => theirs !== null);
  useEffect(see, [state]);
  if (age === 'gone') return null;
  switch (state.kind) {
    case 'idle':
      return null;
    case 'sending':
      return (
        <Notice tone="plain">
          <State tone="wait">Applying</State> The service checks it, opens what is new, saves it and
          moves over. Where several svc share it, all are asked first.
        </Notice>
      );
    case 'applied':
      return (
        <Notice tone="good">
          <h2 className="font-semibold">{appliedTitles[state.what]}</h2>
          <p>
            Revision <code>{state.taken.revision.slice(0, 12)}</code>.{' '}
            {saidOf(state.taken.warnings)}
          </p>
        </Notice>
      );
    case 'refused':
      return isConflict ? null : (
        <>
          {age === 'now' ? null : <p className="text-wait">This was before your last edit.</p>}
          <NotApplied refused={state.refused} sent={state.sent} />
        </>
      );
    default:
      return state satisfies never;
  }
}

/** The result in a few words, for a person who changed the tab before the attempt ended. */
export function OutcomeElsewhere() {
  const { state, age } = useOutcome();
  const isSeen = useApplying(({ seen }) => seen === state);
  const isSent = state.kind === 'sending';
  if (state.kind === 'idle' || age === 'gone' || (isSeen && !isSent)) return null;
  const tone = isSent ? 'plain' : state.kind === 'applied' ? 'good' : 'bad';
  return (
    <div aria-live="polite" className="px-3 pt-3">
      <Notice tone={tone}>
        <div className="flex flex-wrap items-center gap-2">
          <p className="min-w-0 flex-1 basis-64 wrap-anywhere">{shortOf(state)}</p>
          <Button small onClick={() => goTo({ view: 'review' })}>
            Look at it in Review
          </Button>
          {isSent ? null : (
            <Button small onClick={see}>
              Close
            </Button>
          )}
        </div>
      </Notice>
    </div>
  );
}

function shortOf(state: Exclude<ApplyState, { kind: 'idle' }>): string {
  switch (state.kind) {
    case 'sending':
      return 'Applying …';
    case 'applied':
      return `${appliedTitles[state.what]}.`;
    case 'refused':
      return `${titleOf(state.refused)}.`;
    default:
      return state satisfies never;
  }
}

const appliedTitles: Readonly<Record<What, string>> = {
  draft: 'The configuration is in use',
  rest: 'The rest is in use; what needs a restart stays as the draft',
  earlier: 'The earlier configuration is in use',
};

function saidOf(warnings: readonly ConfigProblem[]): string {
  if (warnings.length === 0) return 'The service warns of nothing.';
  const { document } = useDraft.getState();
  const said = warnings.map(({ path, message }) => {
    const where = path === '' ? '' : `${placeWords(path, document)}: `;
    return `${where}${withPlaces(message, document)}`;
  });
  return `The service warns: ${said.join('; ')}.`;
}
