/** The colours of outcomes. An expected outcome has no colour, so that others stand out. */
import type { DeliveryState } from '../../src/domain/records.ts';
import type { ToolOutcome } from '../../src/domain/tool-use.ts';
import type { TurnOutcome } from '../../src/domain/trace.ts';
import type { Tone } from '../kit/state.tsx';

type Outcome = TurnOutcome | DeliveryState | ToolOutcome;

/** Amber: it may still succeed. Red: the sender got no answer, or a step did not happen. */
const tones: Readonly<Record<Outcome, Tone>> = {
  reply: 'off',
  command: 'off',
  by_hand: 'off',
  abandoned: 'off',
  no_consensus: 'bad',
  busy: 'bad',
  no_answer: 'bad',
  over_budget: 'bad',
  unfinished: 'bad',
  unseen: 'bad',
  too_long: 'bad',
  fault: 'bad',
  waiting: 'off',
  deferred: 'wait',
  delivered: 'off',
  dead: 'bad',
  done: 'off',
  asked: 'wait',
  rehearsed: 'wait',
  unknown: 'wait',
  failed: 'bad',
  denied: 'bad',
  refused: 'bad',
  invalid: 'bad',
};

export const toneOfOutcome = (outcome: Outcome): Tone => tones[outcome];
