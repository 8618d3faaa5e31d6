/** What the admin API answers to those who ask about messages, as shapes to read it by. */
import type { Box } from '../../domain/event.ts';
import { failureKinds, type FailureKind } from '../../domain/failure.ts';
import type { Pairing } from '../../domain/gate.ts';
import type { ChannelKey, ConversationId, ModelName } from '../../domain/ids.ts';
import type { Media, Sender } from '../../domain/message.ts';
import type { NoteText } from '../../domain/note.ts';
import type { Try } from '../../domain/outcome.ts';
import type {
  ConversationRow,
  ConversationText,
  DeadLetter,
  DeadLetterReason,
  DeadLetterText,
  DeliveryTry,
  FailureTold,
  ReplyStory,
  Story,
  StoryText,
  TurnText,
} from '../../domain/story.ts';
import { grantModes, toolOutcomes } from '../../domain/tool-use.ts';
import type { ToolUseRow, ToolUseText } from '../../domain/tool-use.ts';
import type { Trace, TraceStep } from '../../domain/trace.ts';
import type { Page } from '../../domain/page.ts';
import { byKind, flag, id, list, maybe, number, object, oneOf, text, type Shape } from './shape.ts';

const channel = id<ChannelKey>();
const conversationId = id<ConversationId>();
const model = id<ModelName>();
const box: Shape<Box> = oneOf('in', 'out');
const kind: Shape<FailureKind> = oneOf(...failureKinds);

const failureFields = {
  kind,
  whose: oneOf('sender', 'operator', 'provider', 'us'),
  status: maybe(number),
  detail: text,
} as const;
const failure = object<FailureTold>(failureFields);

const modelTry = object<Try>({ startedAt: number, ms: number, failed: maybe(kind) });
const cut = oneOf('command', 'daily', 'idle');

type StepOf<Kind extends TraceStep['kind']> = Extract<TraceStep, { readonly kind: Kind }>;
const step = byKind<TraceStep>({
  session: object<StepOf<'session'>>({
    kind: oneOf('session'),
    session: number,
    cut: maybe(cut),
    command: maybe(text),
  }),
  shield: object<StepOf<'shield'>>({
    kind: oneOf('shield'),
    dropped: list(model),
    kept: number,
  }),
  model: object<StepOf<'model'>>({
    kind: oneOf('model'),
    model,
    rank: number,
    startMs: number,
    ms: number,
    result: oneOf('answer', ...failureKinds),
    tries: list(modelTry),
    linesDropped: number,
  }),
  tool: object<StepOf<'tool'>>({
    kind: oneOf('tool'),
    tool: text,
    mode: oneOf('allow', 'shadow', 'deny'),
    outcome: oneOf(...toolOutcomes),
    rule: text,
    startMs: number,
    ms: number,
  }),
  policy: object<StepOf<'policy'>>({
    kind: oneOf('policy'),
    policy: oneOf('priority', 'consensus'),
    verdict: oneOf('reply', 'none'),
    winner: maybe(model),
    votes: list(list(model)),
    why: text,
  }),
});

const trace = object<Trace>({
  acceptedAt: number,
  claimedAt: number,
  decidedAt: number,
  brain: text,
  attempt: number,
  outcome: oneOf('reply', 'command', 'no_consensus', 'busy', 'no_answer', 'unfinished', 'fault'),
  steps: list(step),
});

const deliveryTry = object<DeliveryTry>({
  startedAt: number,
  ms: number,
  failed: maybe(kind),
  status: maybe(number),
});

const replyStory = object<ReplyStory>({
  id: text,
  createdAt: number,
  state: oneOf('waiting', 'delivered', 'dead'),
  attempts: number,
  possibleDuplicate: flag,
  late: flag,
  dueAt: maybe(number),
  settledAt: maybe(number),
  tries: list(deliveryTry),
  failure: maybe(failure),
});

export const story = object<Story>({
  id: text,
  channel,
  acceptedAt: number,
  state: oneOf('waiting', 'answered', 'dead'),
  diedUnder: number,
  settledAt: maybe(number),
  failure: maybe(failure),
  trace: maybe(trace),
  replies: list(replyStory),
});

export const storyText = object<StoryText>({
  sender: object<Sender>({ id: text, name: maybe(text) }),
  conversation: conversationId,
  text,
  media: maybe(object<Media>({ type: maybe(text), reference: text })),
  replies: list(object<{ readonly id: string; readonly text: string }>({ id: text, text })),
});

const deadLetterFields = {
  id: text,
  box,
  channel,
  messageId: text,
  acceptedAt: number,
  diedAt: number,
  attempts: number,
  parts: number,
  failure,
} as const;
const deadLetter = object<DeadLetter>(deadLetterFields);

export const deadLetterText = object<DeadLetterText>({
  ...deadLetterFields,
  conversation: conversationId,
  tries: list(deliveryTry),
  text: maybe(text),
});

export const deadLetterReasons = object<{ readonly rows: readonly DeadLetterReason[] }>({
  rows: list(object<DeadLetterReason>({ ...failureFields, box, count: number })),
});

const conversationFields = {
  channel,
  conversation: conversationId,
  turns: number,
  sessions: number,
  firstAt: number,
  lastAt: number,
  waiting: number,
} as const;

export const conversationText = object<ConversationText>({
  ...conversationFields,
  cuts: list(object({ session: number, at: number, reason: cut })),
});

const turn = object<TurnText>({
  channel,
  conversation: conversationId,
  session: number,
  at: number,
  sender: maybe(text),
  text,
  reply: maybe(text),
});

const toolUseFields = {
  key: text,
  messageId: text,
  channel,
  at: number,
  ms: number,
  tool: text,
  mode: oneOf(...grantModes),
  rule: text,
  outcome: oneOf(...toolOutcomes),
} as const;

export const toolUseText = object<ToolUseText>({
  ...toolUseFields,
  conversation: conversationId,
  arguments: maybe(text),
});

export const notes = object<{ readonly rows: readonly NoteText[] }>({
  rows: list(object<NoteText>({ channel, conversation: conversationId, at: number, text })),
});

export const toolUsePage = pageOf(object<ToolUseRow>(toolUseFields));
export const deadLetterPage = pageOf(deadLetter);
export const conversationPage = pageOf(object<ConversationRow>(conversationFields));
export const turnPage = pageOf(turn);
export const moved = object<{ readonly result: 'done' }>({ result: oneOf('done') });
export const deleted = object<{ readonly deleted: number }>({ deleted: number });
export const pairing = object<Pairing>({
  channel: text,
  sender: text,
  name: maybe(text),
  state: oneOf('admitted', 'asking'),
  at: number,
});
export const pairings = object<{ readonly rows: readonly Pairing[] }>({ rows: list(pairing) });
export const problem = object<{ readonly code: string; readonly detail: string }>({
  code: text,
  detail: text,
});

function pageOf<T>(row: Shape<T>): Shape<Page<T>> {
  return object<Page<T>>({ rows: list(row), next: maybe(text) });
}
