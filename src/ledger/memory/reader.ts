/**
 * The reader of the memory backend: the stories of the last messages, and the dead letters among
 * them.
 */
import {
  triesMax,
  type DeadLetter,
  type DeadLetterText,
  type DeliveryTry,
  type ReplyStory,
  type Story,
} from '../../domain/story.ts';
import { registeredNameOf, type ConversationId } from '../../domain/ids.ts';
import type { ToolUseRow, ToolUseText } from '../../domain/tool-use.ts';
import { emptyPage, limitOf, pageOf, keyAfter, countReasons } from '../pages.ts';
import { wholeIdLength } from '../engine/queue.ts';
import type { LedgerReader, RecordsReader } from '../ledger.ts';
import {
  timeOrNull,
  type KeptReply,
  type KeptStory,
  type StoryRing,
  type MadeReply,
} from './story-ring.ts';
import { summaryOf } from '../../domain/trace.ts';
import { pageOfIds, rangeOfIds, type IdRange, type IdRecord } from '../read/search.ts';
import type { SearchReader } from '../search/search.ts';
import {
  isInState,
  isOnChannel,
  totalOf,
  type DeliveryFilter,
  type DeliveryRow,
  type DeliveryState,
  type MessageFilter,
  type MessageRow,
  type ReplyCounts,
} from '../../domain/records.ts';

/** @param stories the ring in which the memory storage records its stories */
export function createMemoryReader(stories: StoryRing): LedgerReader {
  const letters = (): readonly DeadLetterText[] =>
    [...stories]
      .flatMap(deadLettersOf)
      .sort((a, b) => b.diedAt - a.diedAt || (a.id < b.id ? 1 : -1));
  return {
    ...memoryRecords(stories),
    ...memorySearch(stories),
    ...stories.approvals.reads,
    async story(messageId) {
      const kept = stories.find(messageId);
      return kept === null ? null : storyOf(kept);
    },
    storyText: async () => null,
    async deadLetters(page) {
      const limit = limitOf(page);
      const after = keyAfter(page, [Number.MAX_SAFE_INTEGER, '']);
      if (after === null) return emptyPage;
      const [at, id] = after as [number, string];
      const rows = letters().filter(
        (letter) => letter.diedAt < at || (letter.diedAt === at && letter.id < id),
      );
      return pageOf(rows, limit, (letter) => [letter.diedAt, letter.id], withoutText);
    },
    async deadLetterReasons() {
      return countReasons(letters().map(({ box, failure }) => ({ ...failure, box, count: 1 })));
    },
    async deadLetter(id) {
      const whole = id.slice(0, wholeIdLength);
      return letters().find((letter) => letter.id === whole) ?? null;
    },
    conversations: async () => emptyPage,
    conversation: async () => null,
    conversationById: async () => null,
    async channelKeys(name) {
      const keys = new Set([...stories].map(({ channel }) => channel));
      return [...keys].filter((key) => registeredNameOf(key) === name).sort();
    },
    privateConversations: async () => 0,
    turns: async () => emptyPage,
    notes: async () => [],
    async toolUses(page) {
      const limit = limitOf(page);
      const after = keyAfter(page, ['']);
      if (after === null) return emptyPage;
      const uses = stories.uses.newestFirst();
      const from = after[0] === '' ? 0 : uses.findIndex(({ key }) => key === after[0]) + 1;
      // If the ring has dropped the use at this key, there is no next page.
      const rows = after[0] !== '' && from === 0 ? [] : uses.slice(from);
      return pageOf(rows, limit, ({ key }) => [key], withoutArguments);
    },
    figures: (query) => stories.figures.figures(query),
    spent: (by, since) => stories.spend.spent(by, since),
    toolUse: async (key) => stories.uses.newestFirst().find((use) => use.key === key) ?? null,
    [Symbol.asyncDispose]: async () => {},
  };
}

function storyOf(kept: KeptStory): Story {
  const { channel, acceptedAt, state, settledAt, failure, trace } = kept;
  const id = kept.id.toString();
  const replies = kept.replies.slice(0, kept.count).map(replyStory);
  const settled = timeOrNull(settledAt);
  return {
    id,
    channel,
    acceptedAt,
    state,
    diedUnder: 0,
    settledAt: settled,
    failure,
    trace,
    replies,
  };
}

function replyStory(kept: KeptReply): ReplyStory {
  const { id, createdAt, state, attempts, possibleDuplicate, late, failure } = kept;
  return {
    id: id.toString(),
    createdAt,
    state,
    attempts,
    possibleDuplicate,
    late,
    dueAt: timeOrNull(kept.dueAt),
    settledAt: timeOrNull(kept.settledAt),
    tries: triesOf(kept),
    failure,
  };
}

function triesOf({ tries, settledAt, deliveredInMs: ms }: KeptReply): readonly DeliveryTry[] {
  const failed = tries ?? [];
  if (Number.isNaN(ms)) return [...failed];
  const last = { startedAt: settledAt - ms, ms, failed: null, status: null };
  return [...failed, last].slice(-triesMax);
}

/** The dead letters of a story: its message, and its replies, each with its parts as one letter. */
function deadLettersOf(kept: KeptStory): readonly DeadLetterText[] {
  const { channel, acceptedAt, attempts, settledAt, failure } = kept;
  const id = kept.id.toString();
  const letters: DeadLetterText[] = [];
  const rest = {
    channel,
    messageId: id,
    acceptedAt,
    conversation: unknown,
    text: null,
    conversationId: null,
  };
  if (kept.state === 'dead' && failure !== null) {
    const own = {
      box: 'in',
      id,
      diedAt: settledAt,
      attempts,
      parts: 1,
      failure,
      tries: [],
    } as const;
    letters.push({ ...rest, ...own });
  }
  const dead = kept.replies.slice(0, kept.count).filter(({ state }) => state === 'dead');
  const wholes = Map.groupBy(dead, (reply) => reply.id.toString().slice(0, wholeIdLength));
  for (const [whole, parts] of wholes) {
    const last = parts.toSorted((a, b) => a.settledAt - b.settledAt).at(-1)!;
    letters.push({
      ...rest,
      box: 'out',
      id: whole,
      diedAt: last.settledAt,
      attempts: Math.max(...parts.map((part) => part.attempts)),
      parts: parts.length,
      failure: last.failure!,
      tries: parts.flatMap(triesOf).slice(-triesMax),
    });
  }
  return letters;
}

/** Replaces the ids of persons, which are not kept without storage. */
const unknown = '' as ConversationId;

function withoutText(letter: DeadLetterText): DeadLetter {
  const { id, box, channel, messageId, acceptedAt, diedAt, attempts, parts, failure } = letter;
  return { id, box, channel, messageId, acceptedAt, diedAt, attempts, parts, failure };
}

function withoutArguments(use: ToolUseText): ToolUseRow {
  const { key, messageId, channel, at, ms, tool, mode, rule, outcome } = use;
  return { key, messageId, channel, at, ms, tool, mode, rule, outcome };
}

// Search in the memory backend: finds the last messages and replies by their ids.

/** @param stories the ring in which the memory storage records its stories */
export function memorySearch(stories: StoryRing): SearchReader {
  return {
    async foundIds(beginning, page) {
      const range = rangeOfIds(beginning, page);
      if (range === null) return emptyPage;
      const found = stories
        .before(Number.MAX_SAFE_INTEGER)
        .flatMap((story) => recordsIn(story, range))
        .take(examinedMax)
        .toArray();
      // If there are many, the highest ids; they are not always the newest rows.
      const highest = found.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limitOf(page) + 1);
      return pageOfIds(highest, page);
    },
    // No text is kept, so the search is complete.
    foundTexts: async () => ({ ...emptyPage, complete: true, indexedSince: null }),
  };
}

/** At most this many ids are examined: more are no useful answer. */
const examinedMax = 5_000;

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
    const stateNumber = state === 'waiting' ? 0 : state === 'dead' ? 2 : 1;
    if (isFound(id)) yield { ...rest, box: 'out', id, at: createdAt, state: stateNumber };
  }
}

// The lists of the memory backend. They run on the main thread, so a page reads in the order of the
// ring, sorts nothing, and ends when it is full.

/** The key before every row. */
const newest: [number] = [Number.MAX_SAFE_INTEGER];
const oldest: [number] = [0];

/** @param stories the ring in which the memory storage records its stories */
export function memoryRecords(stories: StoryRing): RecordsReader {
  return {
    async messages(filter, page) {
      const limit = limitOf(page);
      const isOldestFirst = page.order === 'oldest';
      const after = keyAfter(page, isOldestFirst ? oldest : newest);
      if (after === null) return emptyPage;
      const behind = isOldestFirst ? stories.after(after[0]) : stories.before(after[0]);
      const fitting = behind.filter((story) => fitsMessage(filter, story));
      const rows = fitting.take(limit + 1).toArray();
      return pageOf(rows, limit, ({ place }) => [place], messageRow);
    },
    // No sender ids are kept.
    origins: async () => [],
    lines: async () => [],
    async deliveries(filter, page) {
      const limit = limitOf(page);
      const after = keyAfter(page, newest);
      if (after === null) return emptyPage;
      const fitting = stories.madeBefore(after[0]).filter((made) => fitsDelivery(filter, made));
      const rows = fitting.take(limit + 1).toArray();
      return pageOf(rows, limit, ({ number }) => [number], deliveryRow);
    },
    conversationCounts: async () => [],
    async audit(page) {
      const limit = limitOf(page);
      const after = keyAfter(page, newest);
      if (after === null) return emptyPage;
      const rows = stories.audit.newestFirst().filter(({ seq }) => seq < after[0]);
      return pageOf(
        rows,
        limit,
        ({ seq }) => [seq],
        ({ at, action, target, status, reason }) => ({ at, action, target, status, reason }),
      );
    },
  };
}

function fitsMessage(
  filter: MessageFilter,
  { channel, acceptedAt, state, trace }: KeptStory,
): boolean {
  return (
    isOnChannel(channel, filter.channel) &&
    isInState(state, trace?.outcome ?? null, filter.state) &&
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

function fitsDelivery(filter: DeliveryFilter, { story, reply }: MadeReply): boolean {
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
