import type { MessageRow } from '../../../src/domain/records.ts';
import type { Tone } from '../../kit/state.tsx';
import { toneOfOutcome } from '../outcome-tone.ts';
import { spaced } from '../../kit/words.ts';

/** The result of a message in one or two words. */
export function fateOf({ state, outcome, replies }: MessageRow): readonly [Tone, string] {
  if (state === 'dead') return ['bad', 'given up'];
  if (state === 'waiting') return ['wait', 'waiting'];
  const named = outcome === null ? 'answered' : spaced(outcome);
  const tone = outcome === null ? 'off' : toneOfOutcome(outcome);
  if (replies.dead > 0) return ['bad', `${named}, not delivered`];
  if (replies.waiting > 0) return [tone === 'bad' ? tone : 'wait', `${named}, on its way`];
  return [tone, named];
}
