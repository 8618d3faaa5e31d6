/**
 * The ledger behind the admin API's tests: one conversation, one message, one dead letter. Rows
 * have more fields than their type. None of these may leave the server.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditRow } from '../../src/domain/audit.ts';
import type { ChannelKey, ConversationId, ModelName } from '../../src/domain/ids.ts';
import type { TurnedAway } from '../../src/domain/gate.ts';
import { approvalId, approvalReads } from './admin-approvals.ts';
import { Bucket } from '../../src/telemetry/figures/counting.ts';
import type { FiguresRequest, KeptFigures } from '../../src/telemetry/figures/figures.ts';
import { Rollup } from '../../src/telemetry/figures/rollup.ts';
import type { NoteText } from '../../src/domain/note.ts';
import type { Page, PageRequest } from '../../src/domain/page.ts';
import type { DeliveryRow, MessageRow } from '../../src/domain/records.ts';
import type { FoundRow, FoundText } from '../../src/domain/search.ts';
import type { ToolUseRow, ToolUseText } from '../../src/domain/tool-use.ts';
import type { DeadLetterMove, Ledger, LedgerReader } from '../../src/ledger/ledger.ts';
import { spentBy } from './admin-spend.ts';
import type {
  DeadLetter,
  DeadLetterText,
  FailureSummary,
  Story,
  StoryText,
  TurnText,
  MessageOwner,
} from '../../src/domain/story.ts';

export const ids = {
  message: '0123456789abcdefghjkmn',
  reply: '0123456789abcdefghjkmp',
  letter: '0123456789abcdefghjkmq',
  conversationId: 'cMDEyMzQ1Njc4OWFiY2RlZmdoamttbnBxcnN0',
  /** All characters that a path must encode. */
  conversation: 'thread/7 ?#%ü&+',
  sender: 'sender-4711',
  code: 'ACDEFGHJ',
  brain: 'main',
  revision: '0123456789ab',
  variable: 'WEBHOOK_SECRET_NAME',
  use: '0123456789abcdefghjkmn:1:0',
};
/** A provider's words about an error. */
export const providerSaid = 'open srv models a.gguf: no such file';
export const said = 'where is my parcel';
export const answered = 'it is on its way';
export const unsent = 'it never left';

const idsIn = new Map([
  ['dead-letters', ids.letter],
  ['deliveries', ids.reply],
  ['conversations', ids.conversationId],
  ['holds', ids.conversationId],
  ['approvals', approvalId],
]);

/** The path of an operation on the existing rows. */
export function pathOf({ path }: { readonly path: string }): string {
  return path
    .replace('{id}', idsIn.get(path.split('/')[3]!) ?? ids.message)
    .replace('{channel}', 'webhook')
    .replace('{conversation}', encodeURIComponent(ids.conversation))
    .replace('{sender}', ids.sender)
    .replace('{code}', ids.code)
    .replace('{brain}', ids.brain)
    .replace('{key}', ids.use)
    .replace('{revision}', ids.revision)
    .replace('{name}', ids.variable)
    .replace('{file}', () => scriptOf(path.includes('builder') ? 'builder' : 'live'));
}

function scriptOf(page: string): string {
  const built = readdirSync(join(import.meta.dirname, '../../web/dist', page, 'assets'));
  return built.find((file) => file.endsWith('.js'))!;
}

const channel = 'webhook' as ChannelKey;
const conversation = ids.conversation as ConversationId;
const failure: FailureSummary = {
  kind: 'gone',
  whose: 'operator',
  status: 410,
  detail: 'the target is gone for good',
};
const more = { sender: ids.sender, conversation, text: said };
const model = 'local_runtime/small' as ModelName;
const answerTry = { startedAt: 1_040, ms: 40.5, failed: null };

const story: Story = Object.assign({
  ...more,
  id: ids.message,
  channel,
  acceptedAt: 1_000,
  state: 'answered',
  diedUnder: 0,
  settledAt: 2_000,
  failure: null,
  trace: {
    acceptedAt: 1_000,
    claimedAt: 1_020,
    decidedAt: 1_090,
    brain: 'main',
    attempt: 1,
    outcome: 'reply',
    steps: [
      { kind: 'session', session: 2, cut: 'idle', command: null },
      { kind: 'shield', dropped: ['hosted_runtime/big' as ModelName], kept: 1 },
      {
        kind: 'model',
        model,
        rank: 0,
        startMs: 1,
        ms: 41,
        result: 'answer',
        tries: [answerTry],
        linesDropped: 0,
        usage: { inputTokens: 12, outputTokens: 3 },
      },
      {
        kind: 'model',
        model: 'hosted_runtime/other' as ModelName,
        rank: 1,
        startMs: 1,
        ms: 4,
        result: 'server_error',
        tries: [],
        linesDropped: 0,
        usage: null,
        said: providerSaid,
      },
      {
        kind: 'policy',
        policy: 'priority',
        verdict: 'reply',
        winner: model,
        votes: [[model]],
        why: 'it ranks first',
      },
    ],
  },
  replies: [
    {
      id: ids.reply,
      createdAt: 1_090,
      state: 'dead',
      attempts: 1,
      possibleDuplicate: false,
      late: false,
      dueAt: null,
      settledAt: 2_000,
      tries: [{ startedAt: 1_100, ms: 12, failed: 'gone', status: 410 }],
      failure,
    },
  ],
} satisfies Story & typeof more);

const storyText: StoryText = {
  sender: { id: ids.sender, name: 'Ada' },
  conversation,
  conversationId: ids.conversationId,
  text: said,
  sensitivity: 'private',
  media: { type: 'image/png', reference: 'https://files.example/1' },
  replies: [{ id: ids.reply, text: answered }],
  unsent: [{ model: 'local_runtime/b' as ModelName, text: unsent }],
  tools: [],
};

const letterText: DeadLetterText = {
  id: ids.letter,
  box: 'out',
  channel,
  messageId: ids.message,
  acceptedAt: 1_000,
  diedAt: 2_000,
  attempts: 1,
  parts: 1,
  failure,
  conversation,
  conversationId: ids.conversationId,
  tries: story.replies[0]!.tries,
  text: answered,
};

const row = {
  id: ids.conversationId,
  channel,
  conversation,
  turns: 1,
  sessions: 2,
  firstAt: 1_000,
  lastAt: 2_000,
  waiting: 0,
};
const turn: TurnText = {
  channel,
  conversation,
  messageId: ids.message,
  session: 2,
  at: 1_090,
  sender: ids.sender,
  text: said,
  reply: answered,
  model,
  byHand: null,
};

const noteText: NoteText = { channel, conversation, at: 1_050, text: said };
const toolUse: ToolUseText = {
  key: ids.use,
  messageId: ids.message,
  channel,
  conversation,
  at: 1_045,
  ms: 3.5,
  tool: 'webhook_call',
  mode: 'allow',
  rule: 'no_governance',
  outcome: 'done',
  arguments: `{"body":"${said}"}`,
  told: unsent,
};

const messageRow = {
  ...more,
  id: ids.message,
  channel,
  brain: 'main',
  acceptedAt: 1_000,
  state: 'answered',
  outcome: 'reply',
  model,
  settledAt: 2_000,
  totalMs: null,
  replies: { waiting: 0, delivered: 0, dead: 1 },
} satisfies MessageRow & typeof more;
const deliveryRow = {
  ...more,
  id: ids.reply,
  message: ids.message,
  channel,
  createdAt: 1_090,
  state: 'dead',
  attempts: 1,
  nextAt: null,
  possibleDuplicate: false,
  late: false,
  failure,
} satisfies DeliveryRow & typeof more;
const conversationCount = { ...more, channel, conversations: 1, turns: 2, lastAt: 2_000 };
const foundRow: FoundRow = Object.assign({
  ...more,
  kind: 'message',
  id: ids.message,
  messageId: ids.message,
  channel,
  at: 1_000,
  brain: 'main',
  state: 'answered',
  outcome: 'reply',
} satisfies FoundRow & typeof more);

const foundText: FoundText = {
  ...foundRow,
  conversation,
  sender: ids.sender,
  excerpt: { text: said, hits: [{ from: 12, to: 18 }] },
};

const auditRow: AuditRow = {
  at: 3_000,
  action: 'forget_sender',
  target: { channel, sender: ids.sender },
  status: 200,
  reason: 'it was asked for',
};

/** The bots with rows: one of Telegram, two of Discord. */
const channelKeys = ['messenger_a:47', 'messenger_b:1', 'messenger_b:2'] as ChannelKey[];

/** The calls of the ledger with their arguments, oldest first. */
export type Calls = unknown[][];

type Writes = Pick<Ledger, 'replay' | 'discard' | 'forget' | 'clearNotes' | 'deferred'>;

export function fakeReader(calls: Calls): LedgerReader {
  const page = <Row>(asked: PageRequest, rows: readonly Row[]): Page<Row> => {
    if (asked.after !== null || rows.length === 0) return { rows: [], next: null };
    return { rows, next: Buffer.from('["further"]').toString('base64url') };
  };
  const isIt = (whose: MessageOwner): boolean =>
    whose.channel === channel &&
    (whose.kind === 'sender' ? whose.sender === ids.sender : whose.conversation === conversation);
  const note = <Answer>(answer: Answer, ...call: unknown[]): Promise<Answer> => {
    calls.push(call);
    return Promise.resolve(answer);
  };
  return {
    story: (id) => note(id === ids.message ? story : null, 'story', id),
    storyText: (id) => note(id === ids.message ? storyText : null, 'storyText', id),
    deadLetters: (asked) => note(page<DeadLetter>(asked, [letterText]), 'deadLetters', asked),
    deadLetterReasons: () => {
      return note([{ ...more, ...failure, box: 'out', count: 1 }], 'deadLetterReasons');
    },
    deadLetter: (id) => note(id === ids.letter ? letterText : null, 'deadLetter', id),
    conversations: (asked) => note(page(asked, [row]), 'conversations', asked),
    privateConversations: (type) => note(0, 'privateConversations', type),
    conversation: (where) => {
      const cuts = [{ session: 2, at: 1_000, reason: 'idle' as const }];
      const found = isIt({ kind: 'conversation', ...where });
      return note(found ? { ...row, cuts } : null, 'conversation', where);
    },
    conversationById: (id) => {
      const found = id === ids.conversationId ? { channel, conversation } : null;
      return note(found, 'conversationById', id);
    },
    origins: (asked) => {
      const where = { id: ids.message, conversationId: ids.conversationId };
      const origin = { ...row, ...more, ...where, sender: storyText.sender };
      return note(asked.includes(ids.message) ? [origin] : [], 'origins', asked);
    },
    lines: (asked) => {
      const line = { id: ids.message, line: storyText.text, sensitivity: storyText.sensitivity };
      return note(asked.includes(ids.message) ? [line] : [], 'lines', asked);
    },
    channelKeys: (type) => {
      const keys = channelKeys.filter((key) => key.startsWith(type));
      return note(keys, 'channelKeys', type);
    },
    turns: (whose, asked) => note(page(asked, isIt(whose) ? [turn] : []), 'turns', whose, asked),
    notes: (of) => {
      const kept = of.kind === 'brain' ? of.brain === ids.brain : isIt(of);
      return note(kept ? [noteText] : [], 'notes', of);
    },
    toolUses: (asked) => note(page<ToolUseRow>(asked, [toolUse]), 'toolUses', asked),
    toolUse: (key) => note(key === ids.use ? toolUse : null, 'toolUse', key),
    messages: (filter, asked) => note(page(asked, [messageRow]), 'messages', filter, asked),
    deliveries: (filter, asked) => note(page(asked, [deliveryRow]), 'deliveries', filter, asked),
    conversationCounts: () => note([conversationCount], 'conversationCounts'),
    audit: (asked) => note(page(asked, [auditRow]), 'audit', asked),
    figures: (asked) => note(keptFigures(asked), 'figures', asked),
    ...approvalReads(calls),
    foundIds: (id, asked) => note(page(asked, [foundRow]), 'foundIds', id, asked),
    foundTexts: (words, asked) => {
      const found = { ...page(asked, [foundText]), complete: false, indexedSince: 500 };
      return note(found, 'foundTexts', words, asked);
    },
    spent: (by, since) => note([spentBy(by)], 'spent', by, since),
    async [Symbol.asyncDispose]() {},
  };
}

/** One message arrived an hour ago, and a model answered it. */
function keptFigures(asked: FiguresRequest): KeptFigures {
  const bucket = new Bucket(asked.from);
  bucket.accepted = bucket.answered = bucket.model(model, 'local_runtime').answered = 1;
  bucket.mark({ at: asked.from, revision: ids.revision });
  const gathering = new Rollup(asked);
  gathering.add({ at: asked.from, body: JSON.stringify({ ...more, ...bucket.body() }) });
  return gathering.told({ first: { minute: asked.from, hour: null }, ownUntil: null });
}

/** @param result of every move of the dead letter */
export function fakeWrites(calls: Calls, result: () => DeadLetterMove): Writes {
  const move = (what: string) => async (id: string) => {
    calls.push([what, id]);
    return id === ids.letter ? result() : 'not_found';
  };
  return {
    replay: move('replay'),
    discard: move('discard'),
    deferred: {
      groups: async () => {
        calls.push(['groups']);
        return [
          { ...more, channel, failure: 'gone', status: 410, count: 1, oldestAt: 1, nextAt: 2 },
        ];
      },
      tryNow: async (which, most) => {
        calls.push(['tryNow', which, most]);
        const isThere = which.kind === 'all' || which.id === ids.reply;
        return { kind: 'moved', moved: isThere ? 1 : 0, more: false };
      },
    },
    forget: async (whose) => {
      calls.push(['forget', whose]);
      return 3;
    },
    clearNotes: async (of) => {
      calls.push(['clearNotes', of]);
      return 2;
    },
  };
}

/** Senders that the gate turned away, with more fields than the type. */
export const turnedAway: readonly TurnedAway[] = [
  Object.assign({ ...more, channel, reason: 'stranger', count: 2, at: 1_000 } as const),
];
