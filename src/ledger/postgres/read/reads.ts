/** What can be asked of the server, by the name it has in the reader's contract. */
import type { ReadArguments, ReadName, ReadResult } from '../../read/questions.ts';
import { findToolUse, listNotes, listToolUses } from './agents.ts';
import { listApprovals, showApproval } from './approvals.ts';
import type { Ask } from './ask.ts';
import { listAudit } from './audit.ts';
import {
  countPrivateConversations,
  findConversation,
  listChannelKeys,
  listConversations,
} from './conversations.ts';
import { findConversationKey, listOrigins } from './conversation-ids.ts';
import { listConversationCounts } from './counts.ts';
import { findDeadLetter, listDeadLetterReasons, listDeadLetters } from './dead-letters.ts';
import { listDeliveries } from './deliveries.ts';
import { readFigures } from './figures.ts';
import { findByIds } from './found-ids.ts';
import { findByWords } from './found-texts.ts';
import { listMessages } from './messages.ts';
import { readSpend } from './spend.ts';
import { findStory, findStoryText } from './stories.ts';
import { listTurns } from './turns.ts';

export const questions: {
  readonly [Q in ReadName]: (ask: Ask, ...asked: ReadArguments<Q>) => Promise<ReadResult<Q>>;
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
