/** The words and colours of outcomes. An expected one has no colour, so that others stand out. */
import type { DeliveryState, stateFilters } from '../../src/domain/records.ts';
import type { ToolOutcome } from '../../src/domain/tool-use.ts';
import type { TurnOutcome } from '../../src/domain/trace.ts';
import type { Tone } from '../kit/state.tsx';
import { spaced } from '../kit/words.ts';

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

/** How a message ended or stands, for a person: in lists, filters and search. */
const words = {
  reply: 'answered',
  command: 'answered by svc',
  by_hand: 'answered by hand',
  abandoned: 'no answer wanted',
  no_answer: 'no model answered',
  busy: 'models busy',
  unseen: 'picture not seen',
  fault: 'svc failed',
  dead: 'given up',
  unanswered: 'not answered',
} as const satisfies Partial<Record<TurnOutcome | (typeof stateFilters)[number], string>>;

const wordsByCode = new Map<string, string>(Object.entries(words));

/** @param code an outcome or a state of a message; the other codes are words already */
export const wordOf = (code: string): string => wordsByCode.get(code) ?? spaced(code);
