/** The lists of the form without storage: of the last messages, as their stories are told. */
import { isOnChannel, totalOf } from '../domain/records.ts';
import type { DeliveryFilter, DeliveryRow, DeliveryState } from '../domain/records.ts';
import type { MessageFilter, MessageRow, ReplyCounts } from '../domain/records.ts';
import { summaryOf } from '../domain/trace.ts';
import { emptyPage, limitOf, pageOf, placeAfter } from './pages.ts';
import type { RecordsReader } from './records.ts';
import { timeOrNull, type KeptReply, type KeptStory, type StoryRing } from './story-ring.ts';

/** Before every row. */
const newest: [number] = [Number.MAX_SAFE_INTEGER];

/** @param stories the ring that the memory form tells its stories to */
export function memoryRecords(stories: StoryRing): RecordsReader {
  return {
    async messages(filter, asked) {
      const limit = limitOf(asked);
      const after = placeAfter(asked, newest);
      if (after === null) return emptyPage;
      const rows = [...stories]
        .filter((story) => story.place < after[0] && fits(filter, story))
        .sort((a, b) => b.place - a.place);
      return pageOf(rows, limit, ({ place }) => [place], messageRow);
    },
    async deliveries(filter, asked) {
      const limit = limitOf(asked);
      const after = placeAfter(asked, [Number.MAX_SAFE_INTEGER, '']);
      if (after === null) return emptyPage;
      const [at, id] = after as [number, string];
      const rows = [...stories]
        .flatMap((story) => deliveriesOf(story, filter))
        .filter((row) => row.createdAt < at || (row.createdAt === at && row.id < id))
        .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
      return pageOf(
        rows,
        limit,
        (row) => [row.createdAt, row.id],
        (row) => row,
      );
    },
    conversationCounts: async () => [],
    async audit(asked) {
      const limit = limitOf(asked);
      const after = placeAfter(asked, newest);
      if (after === null) return emptyPage;
      const rows = stories.audit.told().filter(({ seq }) => seq < after[0]);
      return pageOf(
        rows,
        limit,
        ({ seq }) => [seq],
        ({ at, action, target, status, reason }) => ({ at, action, target, status, reason }),
      );
    },
  };
}

function fits(filter: MessageFilter, { channel, acceptedAt, state, trace }: KeptStory): boolean {
  return (
    isOnChannel(channel, filter.channel) &&
    (filter.state === null || state === filter.state) &&
    (filter.brain === null || trace?.brain === filter.brain) &&
    (filter.outcome === null || trace?.outcome === filter.outcome) &&
    acceptedAt >= (filter.since ?? 0) &&
    acceptedAt < (filter.until ?? Infinity)
  );
}

function messageRow(kept: KeptStory): MessageRow {
  const { channel, acceptedAt, state, trace } = kept;
  const sent = kept.replies.slice(0, kept.count);
  const counted = (wanted: KeptReply['state']): number =>
    sent.filter((reply) => reply.state === wanted).length;
  const replies: ReplyCounts = {
    waiting: counted('waiting'),
    delivered: counted('delivered'),
    dead: counted('dead'),
  };
  const ends = sent.filter((reply) => reply.state === 'delivered').map((one) => one.settledAt);
  const lastAt = ends.length === 0 ? null : Math.max(...ends);
  const summary = trace === null ? { brain: null, outcome: null, model: null } : summaryOf(trace);
  return {
    id: kept.id.toString(),
    channel,
    brain: summary.brain,
    acceptedAt,
    state,
    outcome: summary.outcome,
    model: summary.model,
    settledAt: timeOrNull(kept.settledAt),
    totalMs: totalOf({ state, acceptedAt }, replies, lastAt),
    replies,
  };
}

function deliveriesOf(kept: KeptStory, filter: DeliveryFilter): readonly DeliveryRow[] {
  if (!isOnChannel(kept.channel, filter.channel)) return [];
  return kept.replies
    .slice(0, kept.count)
    .filter((reply) => filter.state === null || stateOf(reply) === filter.state)
    .map((reply) => deliveryRow(kept, reply));
}

function stateOf({ state, dueAt }: KeptReply): DeliveryState {
  if (state !== 'waiting') return state;
  return Number.isNaN(dueAt) ? 'waiting' : 'deferred';
}

function deliveryRow(story: KeptStory, reply: KeptReply): DeliveryRow {
  const { createdAt, attempts, dueAt, possibleDuplicate, late, failure } = reply;
  const state = stateOf(reply);
  return {
    id: reply.id.toString(),
    message: story.id.toString(),
    channel: story.channel,
    createdAt,
    state,
    attempts,
    nextAt: state === 'deferred' ? dueAt : null,
    possibleDuplicate,
    late,
    failure: state === 'delivered' ? null : failure,
  };
}
