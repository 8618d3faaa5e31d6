/** Finding in the form without storage: the last messages and replies, by their ids. */
import { summaryOf } from '../../domain/trace.ts';
import { emptyPage, limitOf } from '../pages.ts';
import { pageOfIds, rangeOfIds, type IdRange, type IdRecord } from '../read/search.ts';
import type { SearchReader } from '../search/search.ts';
import type { KeptStory, StoryRing } from './story-ring.ts';

/** @param stories the ring that the memory form tells its stories to */
export function memorySearch(stories: StoryRing): SearchReader {
  return {
    async foundIds(beginning, asked) {
      const range = rangeOfIds(beginning, asked);
      if (range === null) return emptyPage;
      const found = stories
        .before(Number.MAX_SAFE_INTEGER)
        .flatMap((story) => recordsIn(story, range))
        .take(looksMax)
        .toArray();
      // Of many the highest ids, which are not always the last to come.
      const highest = found.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limitOf(asked) + 1);
      return pageOfIds(highest, asked);
    },
    // No text is kept, so all that are have been looked at.
    foundTexts: async () => ({ ...emptyPage, complete: true, indexedSince: null }),
  };
}

/** More ids that begin so are no answer to a question. */
const looksMax = 5_000;

function* recordsIn(story: KeptStory, { from, before }: IdRange): Generator<IdRecord> {
  const { channel, acceptedAt, trace } = story;
  const isFound = (id: string): boolean => id >= from && id < before;
  const messageId = story.id.toString();
  const summary = trace === null ? { brain: null, outcome: null } : summaryOf(trace);
  const rest = { messageId, channel, brain: summary.brain, outcome: summary.outcome };
  if (isFound(messageId)) {
    const state = story.state === 'waiting' ? 0 : story.state === 'dead' ? 2 : 1;
    yield { ...rest, box: 'in', id: messageId, at: acceptedAt, state };
  }
  for (const { id: kept, createdAt, state } of story.replies.slice(0, story.count)) {
    const id = kept.toString();
    const told = state === 'waiting' ? 0 : state === 'dead' ? 2 : 1;
    if (isFound(id)) yield { ...rest, box: 'out', id, at: createdAt, state: told };
  }
}
