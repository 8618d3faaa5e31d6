/**
 * Schemas of calls that wait for approval; the compiler compares them with src/domain/approval.ts.
 */
import { approvalStates } from '../../domain/approval.ts';
import {
  type ApprovalId,
  type ChannelKey,
  type ConversationId,
  type MessageId,
} from '../../domain/ids.ts';
import { toolOutcomes } from '../../domain/tool-use.ts';
import {
  integer,
  maybe,
  maybeInteger,
  maybeText,
  object,
  oneOf,
  pageOf,
  text,
  type IdText,
} from './schema.ts';

/** Times in milliseconds since 1970. */
const shared = {
  id: text as IdText<ApprovalId>,
  state: oneOf(...approvalStates),
  channel: text as IdText<ChannelKey>,
  messageId: text as IdText<MessageId>,
  brain: text,
  tool: text,
  sensitivity: oneOf('public', 'private'),
  askedAt: integer,
  expiresAt: integer,
  decidedAt: maybeInteger,
  settledAt: maybeInteger,
  outcome: maybe(oneOf(...toolOutcomes)),
} as const;

/** `decidedBy`: the operator, or a person that the agent lists; null: nobody. */
export const approvalsSchema = pageOf(
  object({ ...shared, decidedBy: maybe(oneOf('operator', 'approver')) }),
);

/**
 * `code`: the text that an approver writes after /approve or /refuse; null: the call does not wait
 * any more. `decidedBy`: `operator`, or a messenger's type, `:` and the person's id on it.
 */
export const approvalTextSchema = object({
  ...shared,
  conversation: text as IdText<ConversationId>,
  sender: object({ id: text, name: maybeText }),
  arguments: text,
  code: maybeText,
  decidedBy: maybeText,
});

export const approvalDecidedSchema = object({ result: oneOf('approved', 'refused') });
