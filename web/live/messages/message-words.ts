import type { MessageRow } from '../../../src/domain/records.ts';
import type { Tone } from '../../kit/state.tsx';
import { spaced } from '../../kit/words.ts';

/** What became of a message, in a word or two. */
export function fateOf({ state, outcome, replies }: MessageRow): readonly [Tone, string] {
  if (state === 'dead') return ['bad', 'given up'];
  if (state === 'waiting') return ['wait', 'waiting'];
  const named = outcome === null ? 'answered' : spaced(outcome);
  if (replies.dead > 0) return ['bad', `${named}, not delivered`];
  if (replies.waiting > 0) return ['wait', `${named}, on its way`];
  const isGood = outcome === 'reply' || outcome === 'command' || outcome === 'by_hand';
  return [isGood ? 'good' : 'wait', named];
}
