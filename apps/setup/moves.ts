/** Moves of the state machine from step to step, and where "back" leads. Pure. */
import type { Draft, Effect, Facts, Place, SetupState, Step } from './state.ts';

export type Move = {
  readonly step: Step;
  readonly draft?: Partial<Draft>;
  readonly facts?: Partial<Facts>;
  readonly effect?: Effect;
};

/** Goes to another step. "Back" leads to the place that was left, unless it offered no choice. */
export function go(state: SetupState, { step, draft, facts, effect }: Move): SetupState {
  const left: Place = { step: state.step, draft: state.draft, facts: state.facts };
  const trail = isWaiting(left) ? state.trail : [...state.trail, left];
  const again = trail.findIndex((place) => place.step.at === step.at);
  return {
    step,
    draft: { ...state.draft, ...draft },
    facts: { ...state.facts, ...facts },
    trail: again < 0 ? trail : trail.slice(0, again),
    effect: effect ?? null,
  };
}

/** Stays in place with another text or another search. The trail stays the same. */
export function stay(state: SetupState, { step, draft, facts, effect }: Move): SetupState {
  return {
    step,
    draft: { ...state.draft, ...draft },
    facts: { ...state.facts, ...facts },
    trail: state.trail,
    effect: effect ?? null,
  };
}

/**
 * Drops the choices that were made since that place, but keeps the results that were found since.
 */
export function back(state: SetupState): SetupState {
  const place = state.trail.at(-1);
  if (place === undefined) return state;
  const { file, models, written } = state.facts;
  const facts = { ...place.facts, file, models, written };
  return { ...place, facts, trail: state.trail.slice(0, -1), effect: null };
}

export function over(
  state: SetupState,
  kind: 'left' | 'written' | 'serving' | 'goes_on',
): SetupState {
  return { ...state, step: { at: 'over', end: { kind } }, trail: [], effect: null };
}

/** True: the place only waits for a result, so "back" must not lead there. */
function isWaiting({ step, facts }: Place): boolean {
  if (step.at === 'answer') return step.outcome === null;
  if (step.at === 'token') return step.found === null;
  const waits: Partial<Record<Step['at'], boolean>> = {
    file: facts.file?.kind !== 'there',
    model: facts.models === null,
    keep: facts.place === null,
    write: true,
    start: true,
    first: true,
  };
  return waits[step.at] ?? false;
}
