/** A small world for the admin server: real events and counters, a config, a real listener. */
import { fakeDeciding } from './admin-approvals.ts';
import { fakeByHand } from './admin-by-hand.ts';
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { SteadyTime } from '../../src/lib/clock.ts';
import type { AdminPorts, Health } from '../../src/admin/admin.ts';
import type { OperatorAccess } from '../../src/admin/http/auth.ts';
import { createAdminServer } from '../../src/admin/http/server.ts';
import type { BrainConfig, Config } from '../../src/config/config.ts';
import { viewAlone } from '../../src/cluster/alone.ts';
import type { EnvName } from '../../src/config/secret-value.ts';
import type { ListenAddress } from '../../src/config/address.ts';
import type { AuditRow } from '../../src/domain/audit.ts';
import { failure } from '../../src/domain/failure.ts';
import type { ChannelKey, MessageId, ModelName, ReplyId } from '../../src/domain/ids.ts';
import type { EventHub } from '../../src/telemetry/events.ts';
import { createTokenCheck } from '../../src/lib/bearer.ts';
import { createRunEvents } from '../../src/app/run-events.ts';
import { createListeners } from '../../src/lib/listener.ts';
import { createLog } from '../../src/lib/log.ts';
import type { DeadLetterMove } from '../../src/ledger/ledger.ts';
import { fakeControl } from './admin-control.ts';
import { fakeReader, fakeWrites, ids, turnedAway, type Calls } from './admin-ledger.ts';
import { fakePairings } from './admin-pairings.ts';
import { fakeSecrets } from './admin-secrets.ts';
import { budget } from './admin-spend.ts';
import { fakeLooks } from './admin-models.ts';
import { fakeTrials } from './admin-trials.ts';

export const webRoot = join(import.meta.dirname, '../../web/dist');
export const revision = 'r-0001';
export const secretName = 'WEBHOOK_SECRET_NAME';
export const senderId = ids.sender;
export const messageId = ids.message as MessageId;
export const adminToken = 'the-token-of-the-administrator';
export const withToken: OperatorAccess = { kind: 'bearer', matches: createTokenCheck(adminToken) };
const readOnly: OperatorAccess = { kind: 'none', remedy: 'Set ADMIN_TOKEN and restart.' };

export type World = {
  ports: AdminPorts;
  events: EventHub;
  health: Health;
  clockMs: number;
  /** The calls that the API made to the ledger. */
  calls: Calls;
  moveResult: DeadLetterMove;
  /** The audit rows of operators' writes; null: writing one fails. */
  audited: AuditRow[] | null;
  /** The log lines at the level of the world and above. */
  log(): string;
};

export function makeWorld(level: 'debug' | 'info' = 'info'): World {
  const stream = new PassThrough();
  let logged = '';
  stream.on('data', (chunk) => (logged += String(chunk)));
  const log = createLog({ stream, level, format: 'json' });
  const world = {
    health: { status: 'ok' },
    clockMs: 1_000_000,
    calls: [] as Calls,
    moveResult: 'done',
    audited: [] as AuditRow[],
    log: () => logged,
  } as World;
  const clock = { now: () => world.clockMs, steady: () => world.clockMs as SteadyTime };
  const events = createRunEvents(log, clock, undefined);
  world.events = events;
  world.ports = {
    version: '1.2.3',
    startedAt: 1_000_000,
    now: () => world.clockMs,
    health: () => world.health,
    runningConfig: () => ({
      revision,
      usedAt: 1_000_050,
      config,
      warnings: [warning],
      channels: [
        {
          name: 'webhook',
          type: 'webhook',
          key: 'webhook' as ChannelKey,
          isHeld: true,
          state: 'degraded',
          since: 1_000_100,
          reason: 'It is slow.',
          lastSeenAt: null,
        },
      ],
    }),
    meters: world.events.meters,
    liveEvents: world.events.frames,
    figures: events.figures,
    gauges: () => gauges,
    backlog: () => [
      backlogOf('webhook', 3, 1, 999_000, null),
      backlogOf('messenger_a:1', 1, 0, 998_000, null),
      backlogOf('messenger_a:2', 1, 2, 997_000, 1_000_000),
    ],
    connections: () => 4,
    mcp: () => [],
    modelLoads: () => new Map([['local_runtime', { inFlight: 2, waiting: 3 }]]),
    view: viewAlone,
    place: () => ({ host: '', admin: null }),
    reader: fakeReader(world.calls),
    takeovers: fakeByHand(world.calls),
    approvals: fakeDeciding(world.calls),
    writes: fakeWrites(world.calls, () => world.moveResult),
    audit: async (row) => (world.audited?.push(row) ?? 0) > 0,
    turnedAway: () => turnedAway,
    pairings: fakePairings(world.calls),
    control: fakeControl(world.calls, revision),
    trials: fakeTrials(world.calls),
    models: fakeLooks(world.calls),
    secrets: fakeSecrets(world.calls),
    application: null,
    events: world.events,
  };
  return world;
}

function backlogOf(
  key: string,
  inbox: number,
  outbox: number,
  oldestAt: number,
  unroutableSince: number | null,
) {
  const oldestReplyAt = outbox === 0 ? null : oldestAt;
  return { channel: key as ChannelKey, inbox, outbox, oldestAt, oldestReplyAt, unroutableSince };
}

/** Reports one message that succeeds, one that is refused, and one reply that dies. */
export function live(events: EventHub): void {
  const channel = 'webhook' as ChannelKey;
  const model = 'local_runtime/small' as ModelName;
  const reply = messageId as string as ReplyId;
  const ada = { id: 'ada', name: null };
  const decision = { kind: 'reply', text: 'the answer', model, why: 'first' } as const;
  events.messageAccepted({ channel, id: messageId, duplicate: false });
  events.turnStarted({ channel, id: messageId, brain: 'main', waitedMs: 2 });
  events.modelAnswered({ model, provider: 'local_runtime', result: 'answer', ms: 40 });
  events.modelAnswered({ model, provider: 'local_runtime', result: 'timeout', ms: 400 });
  const dryRun = { tool: 'calc', mode: 'shadow', rule: 'governance[0]', ms: 1 } as const;
  events.toolUsed({ channel, id: messageId, brain: 'main', ...dryRun, outcome: 'rehearsed' });
  events.turnFinished({ channel, id: messageId, sender: ada, brain: 'main', decision, ms: 41 });
  const sent = { channel, id: reply, message: messageId, attempt: 1 };
  events.replyDelivered({ ...sent, totalMs: 45 });
  events.messageRefused({ channel, code: 'inbox_full' });
  const gone = failure('gone');
  events.deliveryFailed({ ...sent, failure: gone, nextAt: null });
  events.buried({ box: 'out', channel, id: reply, failure: gone });
}

const warning = {
  severity: 'warning',
  code: 'open_bind',
  path: 'channels[0].webhook.bind',
  line: 3,
  column: 5,
  message: 'Anyone can reach it.',
  remedy: 'Bind 127.0.0.1.',
} as const;

const gauges = {
  inboxWaiting: 2,
  inboxClaimed: 1,
  outboxWaiting: 0,
  outboxClaimed: 1,
  outboxDeferred: 5,
  unroutable: 0,
  suspects: 0,
  held: 0,
  tracesDropped: 0,
  deadLetters: 6,
  bytesHeld: 700,
  bytesMax: 67_108_864,
  messagesMax: 10_000,
  conversationsAtWork: 1,
  rememberedBytes: 80,
  commitsPending: 0,
};

export function addressOf(host: string, loopback: boolean, port = 0): ListenAddress {
  return { host, port, text: `${host}:${port}`, loopback, given: false };
}

const model = {
  baseUrl: 'http://127.0.0.1:1',
  timeoutMs: 1,
  retriesMax: 0,
  outputTokensMax: null,
  contextTokens: null,
  price: null,
  vision: null,
  inFlightMax: 1,
};
const brain = {
  dispatch: 'fanout',
  policy: { kind: 'priority', order: [] },
  models: [
    { ...model, provider: 'local_runtime', modelId: 'small', locality: 'local', apiKeyEnv: null },
    { ...model, provider: 'hosted_runtime', modelId: 'big', locality: 'cloud', apiKeyEnv: null },
  ],
  agent: null,
  budget: null,
  historyBounds: { turns: 40, characters: 16_000 },
  systemPrompt: null,
  deadlineMs: 600_000,
} as const satisfies Partial<BrainConfig>;

const config: Config = {
  channels: [
    {
      name: 'webhook',
      type: 'webhook',
      tokenEnv: secretName as EnvName,
      bind: addressOf('127.0.0.1', true, 8_090),
      path: '/webhook',
      outboundUrl: 'http://receiver.example/hidden',
      outboundTokenEnv: null,
      outboundSigningEnv: null,
      mapping: {
        sender_id: 'sender_id',
        sender_name: 'sender_name',
        text: 'text',
        media_url: 'media_url',
        media_type: 'media_type',
        conversation_id: 'conversation_id',
      },
    },
    {
      name: 'messenger_a',
      type: 'messenger_a',
      tokenEnv: 'BOT' as EnvName,
      baseUrl: null,
      access: { allow: [senderId], groups: 'off', pairing: false },
      streaming: true,
      gatherMs: 0,
      edits: false,
      speech: null,
    },
  ],
  brains: [
    { name: 'main', sensitivity: 'private', ...brain, budget },
    { name: 'open', sensitivity: 'public', ...brain },
  ],
  routes: [{ channel: 'webhook', brain: 'main', number: 1, when: null, description: null }],
  storage: null,
  session: null,
  observability: { enabled: true, address: addressOf('127.0.0.1', true), allowedHosts: [] },
  admin: null,
  completions: null,
};

export const listeners = createListeners({ wrongBearersFree: Infinity });

export type Reply = { status: number; headers: Headers; body: string };

/** Opens an admin server on a free port, with functions that send it exact bytes. */
export async function openAdmin(
  world: World,
  options: {
    loopback?: boolean;
    allowedHosts?: string[];
    webRoot?: string;
    access?: OperatorAccess;
  } = {},
) {
  assert.ok(existsSync(webRoot), 'web/dist is missing: "npm run pages" builds it');
  const server = createAdminServer(world.ports, {
    address: addressOf('127.0.0.1', options.loopback ?? true),
    allowedHosts: () => options.allowedHosts ?? [],
    access: options.access ?? readOnly,
    listeners,
    webRoot: options.webRoot ?? webRoot,
  });
  const opened = await server.open();
  if (opened.kind === 'problem') throw new Error(opened.message);
  const { port } = opened;
  return {
    port,
    routes: server.routes,
    get: (path: string, host = '127.0.0.1') => ask(port, 'GET', path, `Host: ${host}`),
    ask: (method: string, path: string, host = '127.0.0.1') =>
      ask(port, method, path, `Host: ${host}`),
    /** Sends exactly these header lines, with Host among them, and this body. */
    send: (method: string, path: string, head: readonly string[], body = '') =>
      ask(port, method, path, head.join('\r\n'), body),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function ask(
  port: number,
  method: string,
  path: string,
  headers: string,
  body = '',
): Promise<Reply> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`${method} ${path} HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n${body}`);
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    // A stream has no end: its first events are enough.
    if (/^content-type: text\/event-stream/im.test(text) && text.includes('\n\n')) break;
  }
  const [head, ...rest] = text.split('\r\n\r\n');
  const [first, ...lines] = head!.split('\r\n');
  const answered = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
  return { status: Number(first!.split(' ')[1]), headers: answered, body: rest.join('\r\n\r\n') };
}
