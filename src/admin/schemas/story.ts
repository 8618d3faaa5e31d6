/**
 * Schemas of messages and stories; the compiler compares each with its type in src/domain/story.ts.
 */
import { routeKeys } from '../../domain/routing.ts';
import { failureKinds } from '../../domain/failure.ts';
import type { ChannelKey, ConversationId, MessageId, ModelName } from '../../domain/ids.ts';
import {
  boolean,
  integer,
  kinds,
  list,
  maybe,
  maybeBoolean,
  maybeInteger,
  maybeNumber,
  maybeText,
  number,
  object,
  objectMay,
  objectWith,
  oneOf,
  pageOf,
  text,
  map,
  type IdText,
} from './schema.ts';
import { verdicts } from '../../domain/approval.ts';
import { grantModes, toolOutcomes } from '../../domain/tool-use.ts';
import { turnOutcomes } from '../../domain/trace.ts';
import { readingParts, unreadReasons } from '../../domain/attachment.ts';
import { deliveryStates, messageStates } from '../../domain/records.ts';
import { foundKinds, foundStates } from '../../domain/search.ts';

const channel = text as IdText<ChannelKey>;
const conversation = text as IdText<ConversationId>;
const model = text as IdText<ModelName>;
const failureKind = oneOf(...failureKinds);
const cutReason = oneOf('command', 'daily', 'idle');

export const failureSummary = object({
  kind: failureKind,
  whose: oneOf('sender', 'operator', 'provider', 'us'),
  status: maybeInteger,
  detail: text,
});

const tries = list(
  object({ startedAt: integer, ms: number, failed: maybe(failureKind), status: maybeInteger }),
);

const used = objectMay(
  { input: integer, output: integer, estimated: boolean },
  { cached: maybeInteger },
);
const usage = objectMay(
  { inputTokens: maybeInteger, outputTokens: maybeInteger },
  { cachedTokens: maybeInteger },
);
const modelTry = objectMay(
  { startedAt: integer, ms: number, failed: maybe(failureKind) },
  { tokens: maybe(used) },
);

const traceStep = kinds(
  object({
    kind: oneOf('route'),
    number: integer,
    matched: list(object({ key: oneOf(...routeKeys), value: maybeText })),
  }),
  object({
    kind: oneOf('session'),
    session: integer,
    cut: maybe(cutReason),
    command: maybeText,
  }),
  object({ kind: oneOf('shield'), dropped: list(model), kept: integer }),
  object({ kind: oneOf('sight'), blind: list(model), seeing: integer }),
  object({
    kind: oneOf('file'),
    part: oneOf(...readingParts),
    result: oneOf('read', ...unreadReasons),
    startMs: number,
    ms: number,
  }),
  object({ kind: oneOf('operator'), answeredWith: maybe(text as IdText<MessageId>) }),
  object({ kind: oneOf('joined'), answeredWith: text as IdText<MessageId> }),
  object({
    kind: oneOf('left_out'),
    why: oneOf('private', 'unanswered', 'refused'),
    models: list(model),
    turns: integer,
    notes: integer,
  }),
  objectMay(
    {
      kind: oneOf('model'),
      model,
      rank: integer,
      startMs: number,
      ms: number,
      result: oneOf('answer', ...failureKinds),
      tries: list(modelTry),
      linesDropped: integer,
      usage: maybe(usage),
    },
    {
      cost: maybeText,
      reuse: maybeNumber,
      isCut: maybeBoolean,
      withoutTools: maybeText,
      status: maybeInteger,
      said: maybeText,
    },
  ),
  object({
    kind: oneOf('tool'),
    tool: text,
    mode: oneOf(...grantModes),
    outcome: oneOf(...toolOutcomes),
    rule: text,
    startMs: number,
    ms: number,
  }),
  object({
    kind: oneOf('approval'),
    tool: text,
    verdict: oneOf(...verdicts),
    by: maybe(oneOf('operator', 'approver')),
  }),
  object({
    kind: oneOf('policy'),
    policy: oneOf('priority', 'consensus'),
    verdict: oneOf('reply', 'none'),
    winner: maybe(model),
    votes: list(list(model)),
    why: text,
  }),
);

export const traceSchema = object({
  acceptedAt: integer,
  claimedAt: integer,
  decidedAt: integer,
  brain: text,
  attempt: integer,
  outcome: oneOf(...turnOutcomes),
  steps: list(traceStep),
});

export const storySchema = object({
  id: text,
  channel,
  acceptedAt: integer,
  state: oneOf('waiting', 'answered', 'dead'),
  diedUnder: integer,
  settledAt: maybeInteger,
  failure: maybe(failureSummary),
  trace: maybe(traceSchema),
  replies: list(
    object({
      id: text,
      createdAt: integer,
      state: oneOf('waiting', 'delivered', 'dead'),
      attempts: integer,
      possibleDuplicate: boolean,
      late: boolean,
      dueAt: maybeInteger,
      settledAt: maybeInteger,
      tries,
      failure: maybe(failureSummary),
    }),
  ),
});

const toolUse = {
  key: text,
  messageId: text,
  channel,
  at: integer,
  ms: number,
  tool: text,
  mode: oneOf(...grantModes),
  rule: text,
  outcome: oneOf(...toolOutcomes),
} as const;

const toolUseText = { ...toolUse, conversation, arguments: maybeText, told: maybeText } as const;

const sender = object({ id: text, name: maybeText });
/** An older svc leaves it out. */
const conversationId = { conversationId: maybeText } as const;

export const storyTextSchema = objectWith(
  {
    sender,
    conversation,
    text,
    sensitivity: oneOf('public', 'private'),
    media: maybe(object({ type: maybeText, reference: text })),
    replies: list(object({ id: text, text })),
    unsent: list(object({ model, text })),
    tools: list(object(toolUseText)),
  },
  conversationId,
);

export const originsSchema = object({
  rows: list(
    object({ id: text, channel, conversation, conversationId: text, sender: maybe(sender) }),
  ),
});

export const linesSchema = object({
  rows: list(object({ id: text, line: text, sensitivity: oneOf('public', 'private') })),
});

const deadLetter = {
  id: text,
  box: oneOf('in', 'out'),
  channel,
  messageId: text,
  acceptedAt: integer,
  diedAt: integer,
  attempts: integer,
  parts: integer,
  failure: failureSummary,
} as const;

export const deadLettersSchema = pageOf(object(deadLetter));
export const deadLetterTextSchema = objectWith(
  { ...deadLetter, conversation, tries, text: maybeText },
  conversationId,
);
export const deadLetterReasonsSchema = object({
  rows: list(object({ ...failureSummary.properties, box: deadLetter.box, count: integer })),
});
export const deadLetterMovedSchema = object({ result: oneOf('done') });

const conversationRow = {
  channel,
  conversation,
  turns: integer,
  sessions: integer,
  firstAt: integer,
  lastAt: integer,
  waiting: integer,
} as const;

const conversationLink = { id: maybeText } as const;

export const conversationsSchema = pageOf(objectWith(conversationRow, conversationLink));
export const conversationTextSchema = objectWith(
  {
    ...conversationRow,
    cuts: list(object({ session: integer, at: integer, reason: cutReason })),
  },
  conversationLink,
);

export const turnsSchema = pageOf(
  objectWith(
    {
      channel,
      conversation,
      session: integer,
      at: integer,
      sender: maybeText,
      text,
      reply: maybeText,
      model: maybe(model),
    },
    {
      messageId: maybeText,
      byHand: maybe(object({ answeredWith: maybe(text as IdText<MessageId>) })),
    },
  ),
);

export const deletedSchema = object({ deleted: integer });

export const notesSchema = object({
  rows: list(object({ channel, conversation, at: integer, text })),
});

export const toolUsesSchema = pageOf(object(toolUse));
export const toolUseTextSchema = object(toolUseText);

/** Schemas of the ledger's lists; the compiler compares each with its type in src/domain. */
const recordsChannel = text as IdText<ChannelKey>;

export const messagesSchema = pageOf(
  object({
    id: text,
    channel: recordsChannel,
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
    channel: recordsChannel,
    createdAt: integer,
    state: oneOf(...deliveryStates),
    attempts: integer,
    nextAt: maybeInteger,
    possibleDuplicate: boolean,
    late: boolean,
    failure: maybe(failureSummary),
  }),
);

/** The schema of `DeferredGroup` in src/domain. */
export const deferredGroupsSchema = object({
  rows: list(
    object({
      channel: recordsChannel,
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
  rows: list(
    object({
      channel: recordsChannel,
      conversations: integer,
      turns: integer,
      lastAt: maybeInteger,
    }),
  ),
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

/** Schemas of search; the compiler compares them with the types in src/domain/search.ts. */
const found = {
  kind: oneOf(...foundKinds),
  id: maybeText,
  messageId: maybeText,
  channel: text as IdText<ChannelKey>,
  at: integer,
  brain: maybeText,
  state: maybe(oneOf(...foundStates)),
  outcome: maybe(oneOf(...turnOutcomes)),
};
const excerpt = object({ text, hits: list(object({ from: integer, to: integer })) });

export const foundIdsSchema = pageOf(object(found));

export const foundTextsSchema = object({
  rows: list(
    object({
      ...found,
      conversation: text as IdText<ConversationId>,
      sender: maybeText,
      excerpt: maybe(excerpt),
    }),
  ),
  next: maybeText,
  complete: boolean,
  indexedSince: maybeInteger,
});
