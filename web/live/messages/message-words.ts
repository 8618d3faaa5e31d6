import type { MessageRow } from '../../../src/domain/records.ts';
import type { Tone } from '../../kit/state.tsx';
import { toneOfOutcome, wordOf } from '../outcome-tone.ts';

/** The result of a message in one or two words. */
export function fateOf({ state, outcome, replies }: MessageRow): readonly [Tone, string] {
  if (state !== 'answered') return [state === 'dead' ? 'bad' : 'wait', wordOf(state)];
  const named = wordOf(outcome ?? state);
  const tone = outcome === null ? 'off' : toneOfOutcome(outcome);
  if (replies.dead > 0) return ['bad', `${named}, not delivered`];
  if (replies.waiting > 0) return [tone === 'bad' ? tone : 'wait', `${named}, on its way`];
  return [tone, named];
}
