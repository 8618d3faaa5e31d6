/** What can be asked of a database, by the name it has in the reader's contract. */
import type { DatabaseSync } from 'node:sqlite';
import type { LedgerReader } from '../../store.ts';
import { findToolUse, listNotes, listToolUses } from './agents.ts';
import { listAudit, listConversationCounts } from './audit.ts';
import { listChannelKeys } from './channel-keys.ts';
import {
  countPrivateConversations,
  findConversation,
  listConversations,
  listTurns,
} from './conversations.ts';
import { findDeadLetter, listDeadLetterReasons, listDeadLetters } from './dead-letters.ts';
import { listDeliveries } from './deliveries.ts';
import { listMessages } from './messages.ts';
import { findStory, findStoryText } from './stories.ts';

export type ReadName = Exclude<keyof LedgerReader, symbol>;
export type ReadArguments<Q extends ReadName> = Parameters<LedgerReader[Q]>;
export type ReadResult<Q extends ReadName> = Answers[Q];
type Answers = { readonly [Q in ReadName]: Awaited<ReturnType<LedgerReader[Q]>> };

const questions: {
  readonly [Q in ReadName]: (db: DatabaseSync, ...asked: ReadArguments<Q>) => ReadResult<Q>;
} = {
  story: findStory,
  storyText: findStoryText,
  deadLetters: listDeadLetters,
  deadLetterReasons: listDeadLetterReasons,
  deadLetter: findDeadLetter,
  conversations: listConversations,
  conversation: findConversation,
  channelKeys: listChannelKeys,
  privateConversations: countPrivateConversations,
  turns: listTurns,
  notes: listNotes,
  toolUses: listToolUses,
  toolUse: findToolUse,
  messages: listMessages,
  deliveries: listDeliveries,
  conversationCounts: listConversationCounts,
  audit: listAudit,
};

/** All that one answer tells was true at one moment. */
export function runRead<Q extends ReadName>(
  db: DatabaseSync,
  question: Q,
  asked: ReadArguments<Q>,
): ReadResult<Q> {
  db.exec('BEGIN');
  try {
    return questions[question](db, ...asked);
  } finally {
    db.exec('ROLLBACK');
  }
}

/**
 * A reader whose answers come from elsewhere.
 * @param ask rejects where there is no answer
 */
export function readerOver(
  ask: <Q extends ReadName>(question: Q, asked: ReadArguments<Q>) => Promise<ReadResult<Q>>,
  close: () => Promise<void>,
): LedgerReader {
  return {
    story: (...asked) => ask('story', asked),
    storyText: (...asked) => ask('storyText', asked),
    deadLetters: (...asked) => ask('deadLetters', asked),
    deadLetterReasons: (...asked) => ask('deadLetterReasons', asked),
    deadLetter: (...asked) => ask('deadLetter', asked),
    conversations: (...asked) => ask('conversations', asked),
    conversation: (...asked) => ask('conversation', asked),
    channelKeys: (...asked) => ask('channelKeys', asked),
    privateConversations: (...asked) => ask('privateConversations', asked),
    turns: (...asked) => ask('turns', asked),
    notes: (...asked) => ask('notes', asked),
    toolUses: (...asked) => ask('toolUses', asked),
    toolUse: (...asked) => ask('toolUse', asked),
    messages: (...asked) => ask('messages', asked),
    deliveries: (...asked) => ask('deliveries', asked),
    conversationCounts: (...asked) => ask('conversationCounts', asked),
    audit: (...asked) => ask('audit', asked),
    [Symbol.asyncDispose]: close,
  };
}
