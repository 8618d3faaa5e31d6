/** Makes search results from the rows of a storage. */
import type { Box } from '../../domain/event.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/page.ts';
import { idPrefixMin, type Excerpt, type FoundRow, type FoundText } from '../../domain/search.ts';
import { turnOutcomes } from '../../domain/trace.ts';
import { wholeIdLength } from '../engine/queue.ts';
import { keyAfter, limitOf, pageOf } from '../pages.ts';

/** `state`: 0 unsettled, 1 settled, 2 dead. */
type Ended = {
  readonly state: number;
  readonly brain: string | null;
  readonly outcome: string | null;
};

/** A message, a reply, or a part of a reply. */
export type IdRecord = Ended & {
  readonly box: Box;
  readonly id: string;
  readonly messageId: string | null;
  readonly channel: string;
  readonly at: number;
};

/** All ids with a prefix lie between these two; `before` is excluded. */
export type IdRange = { readonly from: string; readonly before: string };

/** The key before every row: it sorts behind every digit of an id. */
const newest: [string] = ['~'];

/** @returns null: nothing can be found, since the page key is invalid or the prefix too short */
export function rangeOfIds(beginning: string, page: PageRequest): IdRange | null {
  const id = beginning.trim().toLowerCase();
  const after = keyAfter(page, newest);
  if (after === null || !isBeginning.test(id)) return null;
  return { from: id, before: after[0] < `${id}~` ? after[0] : `${id}~` };
}

const isBeginning = new RegExp(`^[0-9a-z-]{${idPrefixMin},25}$`);

/** @param records the highest ids of each kind; one more than the limit if there are that many */
export function pageOfIds(records: readonly IdRecord[], page: PageRequest): Page<FoundRow> {
  const newestFirst = records.toSorted((a, b) => (a.id < b.id ? 1 : -1));
  return pageOf(newestFirst, limitOf(page), (row) => [row.id], idRowOf);
}

function idRowOf({ box, id, messageId, channel, at, state, ...ended }: IdRecord): FoundRow {
  const isDead = state === 2;
  const kind = isDead ? 'dead_letter' : box === 'in' ? 'message' : 'reply';
  return {
    kind,
    id: isDead ? id.slice(0, wholeIdLength) : id,
    messageId,
    channel: channel as ChannelKey,
    at,
    state: (box === 'in' ? messageStates : replyStates)[state] ?? null,
    brain: ended.brain,
    outcome: outcomeOf(ended.outcome),
  };
}

const messageStates = ['waiting', 'answered', 'dead'] as const;
const replyStates = ['waiting', 'delivered', 'dead'] as const;

function outcomeOf(stored: string | null): FoundRow['outcome'] {
  return turnOutcomes.find((known) => known === stored) ?? null;
}

/** A turn that the search found. */
export type TextRecord = {
  readonly channel: string;
  readonly conversation: string;
  readonly at: number;
  readonly sender: string | null;
  /** Null: the message is not kept any more. */
  readonly message: (Ended & { readonly id: string }) | null;
};

export function textRowOf(record: TextRecord, excerpt: Excerpt | null): FoundText {
  const { channel, conversation, at, sender, message } = record;
  const place = {
    channel: channel as ChannelKey,
    conversation: conversation as ConversationId,
    at,
    sender,
    excerpt,
  };
  if (message === null) return { ...place, ...ofConversation };
  const { id, state, brain, outcome } = message;
  return {
    ...place,
    kind: state === 2 ? 'dead_letter' : 'message',
    id,
    messageId: id,
    brain,
    state: messageStates[state] ?? null,
    outcome: outcomeOf(outcome),
  };
}

const ofConversation = {
  kind: 'conversation',
  id: null,
  messageId: null,
  brain: null,
  state: null,
  outcome: null,
} as const;

export function conversationRowOf(
  where: Pick<TextRecord, 'channel' | 'conversation' | 'at'>,
): FoundText {
  return textRowOf({ ...where, sender: null, message: null }, null);
}

/** The command that the words begin with, lower case; null: they ask for something else. */
export function commandIn(words: string): string | null {
  const command = words.trim().toLowerCase();
  return command.startsWith('/') && command.length > 1 ? command : null;
}

/** At most this many conversations are found by their ids. */
export const conversationsMax = 5;
/** At most this many texts that are in no index are examined one by one. */
export const looksAtTextsMax = 2_000;
