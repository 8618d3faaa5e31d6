/** Reads of the form without storage: the stories of the last messages, and the dead among them. */
import { triesMax } from '../../domain/story.ts';
import type {
  DeadLetter,
  DeadLetterText,
  DeliveryTry,
  ReplyStory,
  Story,
} from '../../domain/story.ts';
import { channelTypeOf, type ConversationId } from '../../domain/ids.ts';
import type { ToolUseRow, ToolUseText } from '../../domain/tool-use.ts';
import { memoryRecords } from './records.ts';
import { memorySearch } from './search.ts';
import { emptyPage, limitOf, pageOf, keyAfter } from '../pages.ts';
import { countReasons } from '../reasons.ts';
import { wholeIdLength } from '../engine/order/rows.ts';
import type { LedgerReader } from '../ledger.ts';
import { timeOrNull, type KeptReply, type KeptStory, type StoryRing } from './story-ring.ts';

/** @param stories the ring that the memory form tells its stories to */
export function createMemoryReader(stories: StoryRing): LedgerReader {
  const letters = (): readonly DeadLetterText[] =>
    [...stories].flatMap(lettersOf).sort((a, b) => b.diedAt - a.diedAt || (a.id < b.id ? 1 : -1));
  return {
    ...memoryRecords(stories),
    ...memorySearch(stories),
    ...stories.approvals.reads,
    async story(messageId) {
      const kept = stories.find(messageId);
      return kept === null ? null : storyOf(kept);
    },
    storyText: async () => null,
    async deadLetters(asked) {
      const limit = limitOf(asked);
      const after = keyAfter(asked, [Number.MAX_SAFE_INTEGER, '']);
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
    async channelKeys(type) {
      const keys = new Set([...stories].map(({ channel }) => channel));
      return [...keys].filter((key) => channelTypeOf(key) === type).sort();
    },
    privateConversations: async () => 0,
    turns: async () => emptyPage,
    notes: async () => [],
    async toolUses(asked) {
      const limit = limitOf(asked);
      const after = keyAfter(asked, ['']);
      if (after === null) return emptyPage;
      const uses = stories.uses.told();
      const from = after[0] === '' ? 0 : uses.findIndex(({ key }) => key === after[0]) + 1;
      // When the place has been written over since, there is no next page.
      const rows = after[0] !== '' && from === 0 ? [] : uses.slice(from);
      return pageOf(rows, limit, ({ key }) => [key], withoutArguments);
    },
    figures: (asked) => stories.figures.figures(asked),
    spent: (by, since) => stories.spend.spent(by, since),
    toolUse: async (key) => stories.uses.told().find((use) => use.key === key) ?? null,
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

/** The message itself, and each reply to it, with its parts as one. */
function lettersOf(kept: KeptStory): readonly DeadLetterText[] {
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

/** Stands for ids that belong to a person, which are not kept without storage. */
const unknown = '' as ConversationId;

function withoutText(letter: DeadLetterText): DeadLetter {
  const { id, box, channel, messageId, acceptedAt, diedAt, attempts, parts, failure } = letter;
  return { id, box, channel, messageId, acceptedAt, diedAt, attempts, parts, failure };
}

function withoutArguments(use: ToolUseText): ToolUseRow {
  const { key, messageId, channel, at, ms, tool, mode, rule, outcome } = use;
  return { key, messageId, channel, at, ms, tool, mode, rule, outcome };
}
