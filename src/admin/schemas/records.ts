/** What the API lists of the ledger; each is held to its type in src/domain. */
import { failureKinds } from '../../domain/failure.ts';
import type { ChannelKey, ModelName } from '../../domain/ids.ts';
import { deliveryStates, messageStates } from '../../domain/records.ts';
import { turnOutcomes } from '../../domain/trace.ts';
import { boolean, integer, list, map, maybe, maybeInteger, maybeText } from './schema.ts';
import { object, oneOf, pageOf, text, type IdText } from './schema.ts';
import { failureSummary } from './story.ts';

const channel = text as IdText<ChannelKey>;

export const messagesSchema = pageOf(
  object({
    id: text,
    channel,
    brain: maybeText,
    acceptedAt: integer,
    state: oneOf(...messageStates),
    outcome: maybe(oneOf(...turnOutcomes)),
    model: maybe(text as IdText<ModelName>),
    settledAt: maybeInteger,
    totalMs: maybeInteger,
    replies: object({ waiting: integer, delivered: integer, dead: integer }),
  }),
);

export const deliveriesSchema = pageOf(
  object({
    id: text,
    message: maybeText,
    channel,
    createdAt: integer,
    state: oneOf(...deliveryStates),
    attempts: integer,
    nextAt: maybeInteger,
    possibleDuplicate: boolean,
    late: boolean,
    failure: maybe(failureSummary),
  }),
);

/** Of `DeferredGroup` in src/domain. */
export const deferredGroupsSchema = object({
  rows: list(
    object({
      channel,
      failure: oneOf(...failureKinds),
      status: maybeInteger,
      count: integer,
      oldestAt: integer,
      nextAt: integer,
    }),
  ),
});

export const triedNowSchema = object({ moved: integer, more: boolean, before: integer });

export const conversationCountsSchema = object({
  rows: list(object({ channel, conversations: integer, turns: integer, lastAt: maybeInteger })),
});

export const auditSchema = pageOf(
  object({
    at: integer,
    action: text,
    target: map(text),
    status: integer,
    reason: maybeText,
  }),
);
