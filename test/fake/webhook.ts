/** A webhook channel on a free port with a ledger that only notes, and raw sockets to reach it. */
import { connect, type Socket } from 'node:net';
import { patienceMs } from '../support/waiting.ts';
import type { WebhookConfig } from '../../src/channels/registry.ts';
import type { Events } from '../../src/domain/event.ts';
import type { MessageId } from '../../src/domain/ids.ts';
import type { Inbound } from '../../src/domain/message.ts';
import { createHttpClient } from '../../src/lib/http-client.ts';
import {
  createListeners,
  type ListenDeps,
  type ListenLimits,
  type Listeners,
} from '../../src/lib/listener.ts';
import type { Accepted, Receive, Refused } from '../../src/channels/channel.ts';
import { createWebhookChannel, type WebhookChannel } from '../../src/channels/webhook/webhook.ts';
import { handClock } from '../support/hand-clock.ts';

const unsigned = { outboundSecret: null, signingKey: null };
export const secret = 'a-secret-for-tests';

export const defaultMapping: WebhookConfig['mapping'] = {
  sender_id: 'sender_id',
  sender_name: 'sender_name',
  text: 'text',
  media_url: 'media_url',
  media_type: 'media_type',
  conversation_id: 'conversation_id',
};

export function webhookConfig(more: Partial<WebhookConfig> = {}): WebhookConfig {
  return {
    name: 'webhook',
    type: 'webhook',
    tokenEnv: 'WEBHOOK_SECRET' as WebhookConfig['tokenEnv'],
    bind: { host: '127.0.0.1', port: 0, text: '127.0.0.1:0', loopback: true, given: true },
    path: '/webhook',
    outboundUrl: 'http://127.0.0.1:9/replies',
    outboundTokenEnv: null,
    outboundSigningEnv: null,
    mapping: defaultMapping,
    ...more,
  };
}

/** Events that note the name and the argument of each call. */
export function noteEvents(): { events: Events; calls: [string, unknown][] } {
  const calls: [string, unknown][] = [];
  const events = new Proxy({} as Events, {
    get: (_target, name) => (e: unknown) => calls.push([String(name), e]),
  });
  return { events, calls };
}

const safe = Promise.resolve();

export type NotingAccept = Receive & {
  messages: Inbound[];
  next: (Accepted | Refused)[];
  free: number;
};

/** Accepts everything, or gives the answers in `next` first; a known dedupe key is a duplicate. */
export function noteAccept(): NotingAccept {
  const first = new Map<string, { id: MessageId; fingerprint: string | undefined }>();
  const accept = (batch: readonly Inbound[]): Promise<Accepted | Refused> => {
    const planned = note.next.shift();
    if (planned !== undefined) return Promise.resolve(planned);
    const receipts = batch.map((message) => {
      const fingerprint = message.keyCheck?.fingerprint;
      const known = first.get(message.dedupeKey ?? '');
      const duplicate = known?.fingerprint === fingerprint;
      if (known !== undefined) return { id: known.id, duplicate, keyReused: !duplicate, safe };
      note.messages.push(message);
      const id = `m${note.messages.length}` as MessageId;
      if (message.dedupeKey !== null) first.set(message.dedupeKey, { id, fingerprint });
      return { id, duplicate: false, keyReused: false, safe };
    });
    return Promise.resolve({ kind: 'accepted', receipts });
  };
  const note: NotingAccept = Object.assign(accept, {
    messages: [],
    next: [],
    free: 1_000,
    asksForChats: () => true,
    whenRoom: () => Promise.resolve(),
    cursor: () => Promise.resolve(null),
    room: () => note.free,
  });
  return note;
}

export type RunningWebhook = AsyncDisposable & {
  readonly channel: WebhookChannel;
  readonly port: number;
  readonly accept: NotingAccept;
  readonly calls: readonly [string, unknown][];
  stop(): void;
};

/**
 * Without time limits: a busy machine may be slower than a client may be.
 * @param limits override the defaults
 */
export async function startWebhook(
  deps: Partial<ListenDeps> = {},
  limits: Partial<ListenLimits> = {},
): Promise<RunningWebhook> {
  const { deadlines, now, steady } = handClock();
  const http = createHttpClient(deadlines, { connectMs: patienceMs });
  const { events, calls } = noteEvents();
  const listeners = patient(
    createListeners({ headersMs: patienceMs, requestMs: patienceMs, ...limits }, deps),
  );
  const bearerChecks = new Map();
  const rest = { listeners, bearerChecks, http, events, deadlines, now, steady, version: '1.2.3' };
  const config = webhookConfig();
  const channel = createWebhookChannel({ config, secret, ...unsigned, ...rest });
  const opened = await channel.open();
  if (opened.kind === 'problem') throw new Error(opened.message);
  const ending = new AbortController();
  const accept = noteAccept();
  const running = channel.run(accept, ending.signal);
  return {
    channel,
    port: channel.boundPort(),
    accept,
    calls,
    stop: () => ending.abort(),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await running;
      await channel[Symbol.asyncDispose]();
      await http.close();
    },
  };
}

/** Gives open answers a minute to end, where the channel gives them a second. */
function patient(listeners: Listeners): Listeners {
  return {
    async take(address) {
      const taken = await listeners.take(address);
      if (taken.kind === 'fault') return taken;
      return { ...taken, release: () => taken.release(patienceMs) };
    },
    takeAlone: (address) => listeners.takeAlone(address),
    get connections() {
      return listeners.connections;
    },
    get places() {
      return listeners.places;
    },
  };
}

export type Answer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
};

/** Writes the text as it is, then reads until the other side closes. Bytes are latin1. */
export async function exchange(port: number, text: string | Buffer): Promise<readonly Answer[]> {
  const socket = connect(port, '127.0.0.1');
  socket.write(text);
  return answersOf(await readAll(socket));
}

/** Reads until the connection ends, even by a reset. */
export function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => (text += part));
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
    socket.resume();
  });
}

/** Reads answers with a content length, one after another. */
export function answersOf(text: string): Answer[] {
  const answers: Answer[] = [];
  for (let rest = text; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) throw new Error(`no answer: ${rest.slice(0, 200)}`);
    const [first, ...lines] = rest.slice(0, end).split('\r\n');
    const headers = new Map(
      lines.map((line) => [line.split(':')[0]!.toLowerCase(), line.replace(/^[^:]*: /, '')]),
    );
    const length = Number(headers.get('content-length') ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    answers.push({ status: Number(first!.split(' ')[1]), headers, body });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

/** A request as HTTP bytes; `connection: close` unless other headers are given. */
export function post(
  body: string,
  headers: Record<string, string> = {},
  target = 'POST /webhook',
): string {
  const all: Record<string, string> = {
    host: 'svc',
    authorization: `Bearer ${secret}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    ...headers,
  };
  const lines = Object.entries(all)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}`);
  return `${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}
