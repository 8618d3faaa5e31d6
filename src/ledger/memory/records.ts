/**
 * The lists of the form without storage: of the last messages, as their stories are told. They
 * are read on the thread that everything else runs on: a page reads in the order of the ring, puts
 * nothing in order, and ends when it is full.
 */
import { isOnChannel, totalOf } from '../../domain/records.ts';
import type { DeliveryFilter, DeliveryRow, DeliveryState } from '../../domain/records.ts';
import type { MessageFilter, MessageRow, ReplyCounts } from '../../domain/records.ts';
import { summaryOf } from '../../domain/trace.ts';
import { emptyPage, limitOf, pageOf, keyAfter } from '../pages.ts';
import type { RecordsReader } from '../records.ts';
import { timeOrNull, type StoryRing } from './story-ring.ts';
import type { KeptReply, KeptStory, MadeReply } from './story-ring.ts';

/** Before every row. */
const newest: [number] = [Number.MAX_SAFE_INTEGER];

/** @param stories the ring that the memory form tells its stories to */
export function memoryRecords(stories: StoryRing): RecordsReader {
  return {
    async messages(filter, asked) {
      const limit = limitOf(asked);
      const after = keyAfter(asked, newest);
      if (after === null) return emptyPage;
      const fitting = stories.before(after[0]).filter((story) => fits(filter, story));
      const rows = fitting.take(limit + 1).toArray();
      return pageOf(rows, limit, ({ place }) => [place], messageRow);
    },
    // Nobody's id is kept.
    origins: async () => [],
    async deliveries(filter, asked) {
      const limit = limitOf(asked);
      const after = keyAfter(asked, newest);
      if (after === null) return emptyPage;
      const fitting = stories.madeBefore(after[0]).filter((made) => isAsked(filter, made));
      const rows = fitting.take(limit + 1).toArray();
      return pageOf(rows, limit, ({ number }) => [number], deliveryRow);
    },
    conversationCounts: async () => [],
    async audit(asked) {
      const limit = limitOf(asked);
      const after = keyAfter(asked, newest);
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

function isAsked(filter: DeliveryFilter, { story, reply }: MadeReply): boolean {
  return (
    isOnChannel(story.channel, filter.channel) &&
    (filter.state === null || stateOf(reply) === filter.state)
  );
}

function stateOf({ state, dueAt }: KeptReply): DeliveryState {
  if (state !== 'waiting') return state;
  return Number.isNaN(dueAt) ? 'waiting' : 'deferred';
}

function deliveryRow({ story, reply }: MadeReply): DeliveryRow {
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
