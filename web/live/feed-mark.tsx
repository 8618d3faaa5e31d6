import type { StreamState } from '../kit/stream.ts';
import { State, type Tone } from '../kit/state.tsx';
import { useFeed, useLiveEvents } from './feed.ts';

const words: Readonly<Record<StreamState, readonly [Tone, string]>> = {
  connecting: ['wait', 'Connecting'],
  open: ['good', 'Live'],
  lost: ['bad', 'Not live'],
  paused: ['off', 'Resting'],
};

/** Says whether what is shown is current. It also holds the connection while views come and go. */
export function FeedMark() {
  useLiveEvents(() => undefined);
  const [tone, word] = words[useFeed(({ state }) => state)];
  return (
    <span role="status" className="min-w-[6.5rem] text-right text-sm max-sm:min-w-0">
      <State tone={tone}>{word}</State>
    </span>
  );
}
