/** Messages, dead letters and turns in the ledger's form, as a base for tests. */
import type { ChannelKey, ConversationId, ModelName } from '../../src/domain/ids.ts';
import { failure } from '../../src/domain/failure.ts';
import type { DeadLetterText, Story, StoryText, TurnText } from '../../src/domain/story.ts';
import type { TraceStep } from '../../src/domain/trace.ts';

export const acceptedAt = Date.UTC(2026, 10, 21, 12);
export const messageId = '01kaabcdefghjkmnpqrst0';
export const replyId = '01kaabcdefghjkmnpqrst1';
const channel = 'webhook' as ChannelKey;

export const steps: readonly TraceStep[] = [
  { kind: 'session', session: 3, cut: 'idle', command: null },
  { kind: 'shield', dropped: ['hosted_runtime/big' as ModelName], kept: 3 },
  model('a', 0, 5, 100, 'answer'),
  model('b', 1, 5, 80, 'answer'),
  {
    ...model('c', 2, 5, 90, 'rate_limited'),
    tries: [
      { startedAt: acceptedAt + 15, ms: 20, failed: 'overloaded', tokens: null },
      { startedAt: acceptedAt + 85, ms: 20, failed: 'rate_limited', tokens: null },
    ],
  },
  {
    kind: 'policy',
    policy: 'consensus',
    verdict: 'reply',
    winner: 'local_runtime/a' as ModelName,
    votes: [
      ['local_runtime/a' as ModelName, 'local_runtime/b' as ModelName],
      ['local_runtime/c' as ModelName],
    ],
    why: '2 of 3 agree',
  },
];

function model(
  name: string,
  rank: number,
  startMs: number,
  ms: number,
  result: 'answer' | 'rate_limited',
): Extract<TraceStep, { kind: 'model' }> {
  const of = `local_runtime/${name}` as ModelName;
  const usage =
    result === 'answer' ? { inputTokens: 40, outputTokens: 7, cachedTokens: null } : null;
  const call = { model: of, rank, startMs, ms, result, tries: [], linesDropped: 0 };
  return {
    kind: 'model',
    ...call,
    usage,
    reuse: null,
    cost: null,
    isCut: null,
    withoutTools: null,
    status: null,
    said: null,
  };
}

/** Accepted, waited 10 ms, decided after 115 ms, delivered by its second attempt. */
export const story: Story = {
  id: messageId,
  channel,
  acceptedAt,
  state: 'answered',
  diedUnder: 0,
  settledAt: acceptedAt + 120,
  failure: null,
  trace: {
    acceptedAt,
    claimedAt: acceptedAt + 10,
    decidedAt: acceptedAt + 118,
    brain: 'main',
    attempt: 1,
    outcome: 'reply',
    steps,
  },
  replies: [
    {
      id: replyId,
      createdAt: acceptedAt + 118,
      state: 'delivered',
      attempts: 2,
      possibleDuplicate: false,
      late: false,
      dueAt: null,
      settledAt: acceptedAt + 1_170,
      tries: [
        { startedAt: acceptedAt + 121, ms: 9, failed: 'server_error', status: 500 },
        { startedAt: acceptedAt + 1_130, ms: 40, failed: null, status: null },
      ],
      failure: null,
    },
  ],
};

export const storyText: StoryText = {
  sender: { id: 'ada', name: 'Ada' },
  conversation: 'c\u001B[2J1' as ConversationId,
  conversationId: 'cAAAA',
  text: 'hello\u001B]0;gotcha\u0007 there\nsecond line',
  sensitivity: 'public',
  media: null,
  replies: [{ id: replyId, text: 'a reply' }],
  unsent: [{ model: 'local_runtime/b' as ModelName, text: 'another\u001B[2J\nanswer' }],
  tools: [
    {
      key: `${messageId}:1:0`,
      messageId,
      channel,
      conversation: 'c1' as ConversationId,
      at: acceptedAt + 20,
      ms: 1,
      tool: 'calc',
      mode: 'shadow',
      rule: 'governance[0]',
      outcome: 'rehearsed',
      arguments: '{}',
      told: '42\u001B[2J',
    },
  ],
};

/** An undeliverable reply. */
export function letter(number: number, kind: 'gone' | 'rejected' = 'gone'): DeadLetterText {
  const { whose, detail } = failure(kind);
  return {
    id: `01kaabcdefghjkmnpqrs${String(number).padStart(2, '0')}`,
    box: 'out',
    channel,
    messageId,
    acceptedAt,
    diedAt: acceptedAt + 5_000,
    attempts: 1,
    parts: 1,
    failure: { kind, whose, status: kind === 'gone' ? 410 : 400, detail },
    conversation: 'c\u001B[2J1' as ConversationId,
    conversationId: 'cAAAA',
    tries: [{ startedAt: acceptedAt + 4_990, ms: 10, failed: kind, status: 410 }],
    text: 'what \u009B31mnobody read',
  };
}

export function turn(number: number, conversation = 'c1', sender = 'ada'): TurnText {
  return {
    channel,
    conversation: conversation as ConversationId,
    messageId,
    session: 1,
    at: acceptedAt + number,
    sender,
    text: `message ${number}`,
    reply: `reply ${number}`,
    model: 'local_runtime/a' as ModelName,
    byHand: null,
  };
}
