/** What can be asked of a database, by the name it has in the reader's contract. */
import type { DatabaseSync } from 'node:sqlite';
import type { ReadArguments, ReadName, ReadResult } from '../../read/questions.ts';
import { findToolUse, listNotes, listToolUses } from './agents.ts';
import { listApprovals, showApproval } from './approvals.ts';
import { listAudit, listConversationCounts } from './audit.ts';
import { listChannelKeys } from './channel-keys.ts';
import {
  countPrivateConversations,
  findConversation,
  listConversations,
  listTurns,
} from './conversations.ts';
import { findConversationKey, listOrigins } from './conversation-ids.ts';
import { findDeadLetter, listDeadLetterReasons, listDeadLetters } from './dead-letters.ts';
import { listDeliveries } from './deliveries.ts';
import { readFigures } from './figures.ts';
import { findByIds } from './found-ids.ts';
import { findByWords } from './found-texts.ts';
import { listMessages } from './messages.ts';
import { readSpend } from './spend.ts';
import { findStory, findStoryText } from './stories.ts';

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
  conversationById: findConversationKey,
  origins: listOrigins,
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
  figures: readFigures,
  approvals: listApprovals,
  approval: showApproval,
  spent: readSpend,
  foundIds: findByIds,
  foundTexts: findByWords,
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
