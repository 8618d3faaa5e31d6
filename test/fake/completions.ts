/** A channel of the completions API on a free port. Its ledger notes; the test plays the turns. */
import type { CompletionEnd } from '../../src/domain/completion.ts';
import type { Decision } from '../../src/domain/decision.ts';
import type { ConversationId, ModelName } from '../../src/domain/ids.ts';
import type { Usage } from '../../src/domain/outcome.ts';
import type { DeliveryOutcome, Reply } from '../../src/domain/reply.ts';
import type { EnvName } from '../../src/config/secret-value.ts';
import { createListeners, type Listeners } from '../../src/lib/listener.ts';
import { Stopper } from '../../src/lib/stop.ts';
import type { OpenRequest } from '../../src/channels/channel.ts';
import {
  createCompletionsChannel,
  type CompletionsChannel,
  type CompletionsDeps,
} from '../../src/channels/completions/completions.ts';
import { OpenRequests } from '../../src/channels/completions/open-requests.ts';
import { handClock, type HandClock } from '../support/hand-clock.ts';
import { patienceMs, until } from '../support/waiting.ts';
import { noteAccept, noteEvents, type NotingAccept } from './webhook.ts';

export const apiKey = 'a-key-for-tests';

export const offered: CompletionsDeps['offered'] = new Map([
  ['support', { isAgent: false }],
  ['butler', { isAgent: true }],
]);

type Config = CompletionsDeps['config'];

export function completionsConfig(more: Partial<Config> = {}): Config {
  return {
    bind: { host: '127.0.0.1', port: 0, text: '127.0.0.1:0', loopback: true, given: true },
    tokenEnv: 'COMPLETIONS_TOKEN' as EnvName,
    brains: [...offered.keys()],
    inFlightMax: 256,
    requestsPerMinute: null,
    ...more,
  };
}

export type RunningCompletions = AsyncDisposable & {
  readonly channel: CompletionsChannel;
  readonly port: number;
  readonly accept: NotingAccept;
  readonly calls: readonly [string, unknown][];
  readonly clock: HandClock;
  stop(): void;
  /** Waits for the n-th message, from 0, and gives its open request. */
  opened(at?: number): Promise<OpenRequest>;
  /** Ends a turn as the pipeline does it: the end first, then the reply. */
  reply(end: CompletionEnd, text?: string, at?: number): Promise<DeliveryOutcome>;
};

export type Start = Partial<Pick<CompletionsDeps, 'openRequests' | 'token' | 'allowedHosts'>> & {
  readonly config?: Partial<Config>;
  readonly listeners?: Listeners;
  readonly accept?: NotingAccept;
};

export async function startCompletions(given: Start = {}): Promise<RunningCompletions> {
  const clock = handClock();
  const { events, calls } = noteEvents();
  const limits = { headersMs: patienceMs, requestMs: patienceMs };
  const { listeners = createListeners(limits), openRequests = new OpenRequests() } = given;
  const { allowedHosts = () => [], token = apiKey, accept = noteAccept() } = given;
  const { deadlines, now, steady } = clock;
  const rest = { listeners, openRequests, allowedHosts, token, deadlines, now, steady };
  const config = completionsConfig(given.config);
  const channel = createCompletionsChannel({ config, offered, events, ...rest });
  const result = await channel.open();
  if (result.kind === 'problem') throw new Error(result.message);
  const ending = new AbortController();
  const running = channel.run(accept, ending.signal);
  const opened = (at = 0): Promise<OpenRequest> =>
    until('the open request', () => {
      const message = accept.messages[at];
      return message === undefined ? null : channel.openRequest(message);
    });
  return {
    channel,
    port: channel.boundPort(),
    accept,
    calls,
    clock,
    stop: () => ending.abort(),
    opened,
    async reply(end, text = 'sorry', at = 0) {
      (await opened(at)).end(end);
      const { conversation } = accept.messages[at]!;
      const attempt = { number: 1, possibleDuplicate: false, late: false };
      return channel.deliver(replyTo(conversation, text, at), attempt, new Stopper());
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await running;
      await channel[Symbol.asyncDispose]();
    },
  };
}

function replyTo(conversation: ConversationId, text: string, at: number): Reply {
  const inReplyTo = `m${at + 1}`;
  const address = { channel: 'completions', target: conversation };
  const reply = { id: 'r1', inReplyTo, conversation, address, brain: 'support', text };
  return { ...reply, createdAt: 0, sessionStarted: null } as unknown as Reply;
}

type ReplyMore = Partial<Extract<Decision, { kind: 'reply' }>>;

/** The end with an answer. */
export function answered(
  text: string,
  more: ReplyMore = {},
  usage: Usage | null = null,
): CompletionEnd {
  const model = 'p/m' as ModelName;
  return { kind: 'decided', decision: { kind: 'reply', text, model, why: '', ...more }, usage };
}

type Request = { readonly method?: string; readonly headers?: Record<string, string> };

/** Sends a request with the right key. */
export function ask(
  { port }: { readonly port: number },
  path: string,
  body: unknown = null,
  { method = body === null ? 'GET' : 'POST', headers = {} }: Request = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    signal,
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: body === null ? null : JSON.stringify(body),
  });
}

/** A request of the completions API for the brain `support`. */
export const question = (more: object = {}): object => ({
  model: 'support',
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
});

export const chatPath = '/v1/chat/completions';
