/**
 * The channel of the completions API. Its clients speak the OpenAI API, ask brains, and wait for
 * the answer on their own connection.
 *
 * Each request is a message in a conversation of its own. It is registered in `OpenRequests` before
 * the ledger accepts it, so its turn always finds it. `deliver` sends the answer. When the channel
 * is removed or moves, new requests get `shutting_down`, and requests under way continue. Without a
 * newer channel, the disposal ends those that are left.
 */
import type { ServerResponse } from 'node:http';
import type { CompletionsConfig } from '../../config/config.ts';
import type { Events } from '../../domain/event.ts';
import { failure } from '../../domain/failure.ts';
import { completionsChannel, type ConversationId } from '../../domain/ids.ts';
import type { Inbound } from '../../domain/message.ts';
import type { DeliveryOutcome, Reply } from '../../domain/reply.ts';
import { createTokenCheck, type TokenCheck } from '../../lib/bearer.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import { describeBindError, type ListenerHandle, type Listeners } from '../../lib/listener.ts';
import { nodeCrypto } from '../../lib/node-http.ts';
import { aborted } from '../../lib/stop.ts';
import {
  HealthState,
  type Channel,
  type ChannelHealth,
  type ChannelProblem,
  type FetchResult,
  type Opened,
  type OpenRequest,
  type Receive,
  type Refused,
} from '../channel.ts';
import { createApiHandler, type ApiCall, type ApiRefusal, type ApiRoute } from './api-frame.ts';
import { WaitingRequest, type OpenRequests } from './open-requests.ts';
import {
  errorText,
  modelsText,
  modelText,
  parseRequest,
  secondsOf,
  unknownModel,
  type OfferedBrains,
  type ParsedRequest,
} from './wire.ts';

export type CompletionsDeps = Clock & {
  readonly config: CompletionsConfig;
  /** The bearer that clients send as their API key. */
  readonly token: string;
  /** The brains that clients can use, by name, in the order in which the API lists them. */
  readonly offered: OfferedBrains;
  /** Host names that clients may use beside those of loopback. */
  readonly allowedHosts: () => readonly string[];
  readonly listeners: Listeners;
  readonly deadlines: Deadlines;
  readonly events: Events;
  /** Shared by all running configurations of a process: make it once, with `new OpenRequests()`. */
  readonly openRequests: OpenRequests;
};

/** `boundPort()` is the actual port, also if the configuration names port 0; 0 before `open`. */
export type CompletionsChannel = Channel &
  Required<Pick<Channel, 'openRequest' | 'fetch'>> & { boundPort(): number };

/**
 * Makes the channel; it binds nothing before `open`. It hands in each message with `route`
 * `{ number: 0, brain, matched: [] }`, and without a label.
 */
export function createCompletionsChannel(deps: CompletionsDeps): CompletionsChannel {
  return new Completions(deps);
}

/** Requests under way may last so long after the address was given up. */
const underWayMs = 60 * 60_000;
/** For the last answers to go out. */
const disposeGraceMs = 1_000;

class Completions implements CompletionsChannel {
  readonly reportsSessions = true;
  readonly #deps: CompletionsDeps;
  readonly #check: TokenCheck;
  readonly #health: HealthState;
  /** In seconds since 1970. */
  readonly #created: number;
  #listener: ListenerHandle | null = null;

  constructor(deps: CompletionsDeps) {
    this.#deps = deps;
    this.#check = createTokenCheck(deps.token);
    this.#health = new HealthState(deps);
    this.#created = Math.floor(deps.now() / 1_000);
  }

  async open(): Promise<Opened | ChannelProblem> {
    const { bind } = this.#deps.config;
    const listener = await this.#deps.listeners.take(bind);
    if (listener.kind === 'held') {
      this.#listener = listener;
      return { kind: 'opened', key: completionsChannel };
    }
    const { code } = listener;
    const field = bind.byFlag?.name ?? 'completions.bind';
    const remedy = describeBindError(code, bind.port);
    const message = `${field}: cannot listen on ${bind.text} (${code}); ${remedy}`;
    this.#health.become('failed', message);
    return { kind: 'problem', code: 'bind_failed', message };
  }

  async run(receive: Receive, signal: AbortSignal): Promise<void> {
    if (this.#listener === null) throw new Error('run() before open()');
    if (signal.aborted) return;
    const { openRequests } = this.#deps;
    openRequests.newest = { channel: this, check: this.#check };
    this.#listener.answer(this.#handler(receive, signal));
    this.#health.become('up');
    await aborted(signal);
    this.#health.become('stopped');
    void this.#listener.release(underWayMs);
  }

  openRequest({ conversation }: { readonly conversation: ConversationId }): OpenRequest | null {
    return this.#deps.openRequests.find(conversation);
  }

  deliver(reply: Reply): Promise<DeliveryOutcome> {
    const request = this.#deps.openRequests.find(reply.conversation);
    const isSent = request?.finish(reply) === true;
    return Promise.resolve(
      isSent ? { kind: 'delivered' } : { kind: 'dead', failure: failure('gone', { detail }) },
    );
  }

  async fetch(file: string, bytesMax: number): Promise<FetchResult> {
    const conversation = file.slice(0, Math.max(0, file.indexOf('/'))) as ConversationId;
    const picture = this.#deps.openRequests.find(conversation)?.takePicture(file) ?? null;
    if (picture === null) return { kind: 'failed', failure: failure('gone', { detail }) };
    if (picture.bytes > bytesMax) return { kind: 'too_large' };
    return { kind: 'fetched', bytes: Buffer.from(picture.base64, 'base64') };
  }

  health(): ChannelHealth {
    return this.#health.health;
  }

  boundPort(): number {
    return this.#listener?.port ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { openRequests } = this.#deps;
    if (openRequests.newest !== null && openRequests.newest.channel !== this) {
      void this.#listener?.release(underWayMs);
      return;
    }
    openRequests.newest = null;
    openRequests.failAll();
    await this.#listener?.release(disposeGraceMs);
    openRequests.destroyAll();
  }

  #handler(receive: Receive, stopped: AbortSignal): ReturnType<typeof createApiHandler> {
    const { config, allowedHosts, deadlines, openRequests, events } = this.#deps;
    const create: ApiRoute = {
      method: 'POST',
      take: (call, body) => this.#take(receive, stopped, call, body),
    };
    return createApiHandler({
      errorText,
      deadlines,
      bodies: openRequests.bodies,
      route: (path) => this.#routeOf(path, create),
      hosts: () => (config.bind.loopback ? allowedHosts() : null),
      bearerCheck: () => openRequests.newest?.check ?? this.#check,
      enter: (response) => this.#enter(response),
      unavailable: () => {
        if (stopped.aborted) return unavailable('shutting_down', 1_000);
        return receive.room() > 0 ? null : unavailable('full', 1_000);
      },
      refused: (code) => events.messageRefused({ channel: completionsChannel, code }),
    });
  }

  #routeOf(asked: string, create: ApiRoute): ApiRoute | ApiRefusal {
    const { offered } = this.#deps;
    // Some clients join their paths to a base URL that ends in a slash, or end them in one.
    const path = asked.replace(/\/+/g, '/').replace(/\/$/, '');
    switch (path) {
      case '/healthz':
        return { method: 'GET', isOpen: true, answer: () => '{"status":"ok"}' };
      case '/v1/chat/completions':
        return create;
      case '/v1/models':
        return { method: 'GET', answer: () => modelsText(offered, this.#created) };
      default:
        return path.startsWith(modelPath)
          ? { method: 'GET', answer: () => this.#model(path.slice(modelPath.length)) }
          : notFound;
    }
  }

  #model(encoded: string): string | ApiRefusal {
    const { offered } = this.#deps;
    const name = decoded(encoded);
    return offered.has(name) ? modelText(name, this.#created) : unknownModel(name, offered);
  }

  #enter(response: ServerResponse): ApiRefusal | null {
    const { config, openRequests, steady } = this.#deps;
    const { inFlightMax, requestsPerMinute: perMinute } = config;
    const waitMs = openRequests.enter(response, { inFlightMax, perMinute }, steady());
    if (waitMs === null) return null;
    const message = 'There are too many requests just now; try again later.';
    const headers = { 'retry-after': secondsOf(waitMs) };
    return { status: 429, code: 'rate_limit_exceeded', message, headers };
  }

  async #take(receive: Receive, stopped: AbortSignal, call: ApiCall, body: unknown): Promise<void> {
    const { offered, openRequests, events } = this.#deps;
    // A newer channel would have taken the request over.
    const hasNewer = openRequests.newest !== null && openRequests.newest.channel !== this;
    if (stopped.aborted && !hasNewer) return call.refuse(unavailable('shutting_down', 1_000));
    const conversation = nodeCrypto().randomUUID() as string as ConversationId;
    const parsed = parseRequest(body, offered, conversation);
    if ('status' in parsed) return call.refuse(parsed);
    const request = new WaitingRequest({ ...this.#deps, call, parsed });
    openRequests.add(conversation, request, call.response);
    try {
      const result = await receive([messageOf(conversation, parsed)]);
      const id = result.kind === 'accepted' ? result.receipts[0]?.id : undefined;
      if (id !== undefined) request.accepted(id);
      else if (result.kind === 'accepted') request.refuse(fault);
      else request.refuse(unavailable(result.reason, result.retryAfterMs));
    } catch (error) {
      events.faulted({ where: 'completions', error });
      request.refuse(fault);
    }
    await request.withoutPictures;
  }
}

const detail = 'the client of this request has hung up';
const modelPath = '/v1/models/';

function messageOf(conversation: ConversationId, { request, user }: ParsedRequest): Inbound {
  const newest = request.lines[request.newest]!;
  const [media = null, ...further] = newest.role === 'user' ? newest.media : [];
  return {
    channel: completionsChannel,
    conversation,
    sender: { id: user ?? completionsChannel, name: null },
    text: newest.text,
    media,
    ...(further.length > 0 && { further }),
    address: { channel: completionsChannel, target: conversation },
    dedupeKey: null,
    route: { number: 0, brain: request.brain, matched: [] },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const notFound: ApiRefusal = {
  status: 404,
  code: 'not_found',
  message:
    'svc answers /v1/models and /v1/chat/completions only; the base URL of this API ends in /v1.',
};

const fault: ApiRefusal = {
  status: 500,
  code: 'fault',
  message: 'Something went wrong here; try again.',
};

const sentences: Readonly<Record<Refused['reason'], string>> = {
  full: 'There is no room for more messages just now; try again later.',
  shutting_down: 'The service is stopping; try again in a moment.',
  storage_failed: 'The message could not be stored; try again later.',
};

function unavailable(reason: Refused['reason'], retryAfterMs: number): ApiRefusal {
  const headers = { 'retry-after': secondsOf(retryAfterMs) };
  return { status: 503, code: reason, message: sentences[reason], headers };
}
