import { useEffect, useState } from 'react';
import type { Story } from '../../../src/domain/story.ts';
import { ask } from '../../kit/api.ts';
import { useLiveEvents } from '../feed.ts';
import type { Fate, Mover } from './fates.ts';
import { Following } from './following.ts';

/** Follows replayed letters while the component is shown. */
export function useFollowing() {
  const [fates, setFates] = useState<readonly Fate[]>([]);
  const [following] = useState(() => new Following({ read: readStory, onChange: setFates }));
  useEffect(() => () => following[Symbol.dispose](), [following]);
  useLiveEvents((liveEvent) => following.hear(liveEvent));
  return { fates, follow: (letter: Mover): void => following.add(letter) };
}

async function readStory(message: string): Promise<Story | null | undefined> {
  const answer = await ask<Story>(`messages/${encodeURIComponent(message)}`);
  if (answer.kind === 'ok') return answer.value;
  return answer.status === 404 ? null : undefined;
}
