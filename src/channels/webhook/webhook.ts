/**
 * The webhook channel: senders POST messages to it, and it POSTs the replies.
 *
 * Several webhooks may share an address, each with its own path. When a newer webhook channel takes
 * the same address, the listener outlives the run and the newer handler answers. Otherwise the end of the run releases the address, while replies still go out.
 * Requests on connections that are still open get `shutting_down`. A request under way must then
 * carry the secret of the newest channel.
 */
import { dayMs } from '../../lib/durations.ts';
import type { Mapping } from '../../config/config.ts';
import type { ListenAddress } from '../../config/address.ts';
import type { WebhookConfig } from '../registry.ts';
import type { Events } from '../../domain/event.ts';
import { channelKeyOf, type ChannelKey } from '../../domain/ids.ts';
import { createTokenCheck, type TokenCheck } from '../../lib/bearer.ts';
import { later, type Clock } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { HttpClient } from '../../lib/http-client.ts';
import type { HttpResult } from '../../lib/http-client/exchange.ts';
import { describeBindError, type ListenerHandle, type Listeners } from '../../lib/listener.ts';
import {
  HealthState,
  type Receive,
  type Channel,
  type ChannelHealth,
  type ChannelProblem,
  type Opened,
} from '../channel.ts';
import { createInboundHandler } from './inbound.ts';
import { failure, type Failure, type FailureKind } from '../../domain/failure.ts';
import type { Attempt, DeliveryOutcome, Reply } from '../../domain/reply.ts';
import { retryAfterMs } from '../../lib/backoff.ts';
import { aborted, type Stop } from '../../lib/stop.ts';
import { signatureOf, signingKeyBytes } from '../../lib/webhook-signature.ts';
import { createReplyWriter } from './wire.ts';

const releaseGraceMs = 1_000;

/** The current check of a sender's bearer, set by the channel that ran last. */
export type BearerChecks = Map<ChannelKey, TokenCheck>;

export type WebhookDeps = Clock & {
  readonly config: WebhookConfig;
  readonly secret: string;
  /** Null: replies carry no authorization. */
  readonly outboundSecret: string | null;
  /** Null: replies are not signed. */
  readonly signingKey: string | null;
  readonly listeners: Listeners;
  /** Shared by all channels of a process. */
  readonly bearerChecks: BearerChecks;
  readonly http: HttpClient;
  readonly events: Events;
  readonly deadlines: Deadlines;
  /** The version of this program, for the user agent. */
  readonly version: string;
};

/** `boundPort()` is the actual port, also if the configuration names port 0; 0 before `open`. */
export type WebhookChannel = Channel & { boundPort(): number };

/** Makes the channel; it binds nothing before `open`. */
export function createWebhookChannel(deps: WebhookDeps): WebhookChannel {
  return new Webhook(deps);
}

class Webhook implements WebhookChannel {
  readonly reportsSessions = true;
  readonly deliver: Deliver;
  readonly #deps: WebhookDeps;
  readonly #key: ChannelKey;
  #listener: ListenerHandle | null = null;
  readonly #health: HealthState;

  constructor(deps: WebhookDeps) {
    const { config, outboundSecret: secret, signingKey, http, version, now, steady } = deps;
    this.#deps = deps;
    this.#key = channelKeyOf(config, null);
    this.#health = new HealthState(deps);
    const { outboundUrl: url, mapping } = config;
    const rest = { http, version, now, steady };
    this.deliver = createDeliver({ url, mapping, secret, signingKey, ...rest });
  }

  async open(): Promise<Opened | ChannelProblem> {
    const { bind, name, type } = this.#deps.config;
    const listener = await this.#deps.listeners.take(bind);
    if (listener.kind === 'fault') {
      const problem = problemOf(bind, name === type ? null : name, listener.code);
      this.#health.become('failed', problem.message);
      return problem;
    }
    this.#listener = listener;
    return { kind: 'opened', key: this.#key };
  }

  async run(receive: Receive, signal: AbortSignal): Promise<void> {
    if (this.#listener === null) throw new Error('run() before open()');
    if (signal.aborted) return;
    const { config, secret, events, deadlines, bearerChecks } = this.#deps;
    const { path, mapping } = config;
    const key = this.#key;
    bearerChecks.set(key, createTokenCheck(secret));
    const bearerCheck = (): TokenCheck => bearerChecks.get(key)!;
    const rest = { path, mapping, bearerCheck, events, deadlines };
    const handler = createInboundHandler({ channel: key, receive, stopped: signal, ...rest });
    this.#listener.answer(handler, path);
    this.#health.become('up');
    await aborted(signal);
    this.#health.become('stopped');
    await this.#release();
  }

  health(): ChannelHealth {
    return this.#health.health;
  }

  boundPort(): number {
    return this.#listener?.port ?? 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#release();
  }

  async #release(): Promise<void> {
    const listener = this.#listener;
    this.#listener = null;
    await listener?.release(releaseGraceMs);
  }
}

/** @param name null: the channel has no name of its own */
function problemOf(bind: ListenAddress, name: string | null, code: string): ChannelProblem {
  const remedy = describeBindError(code, bind.port);
  const own = name === null ? 'webhook.bind' : `webhook.bind of the channel ${name}`;
  const field = bind.byFlag?.name ?? own;
  const message = `${field}: cannot listen on ${bind.text} (${code}); ${remedy}`;
  return { kind: 'problem', code: 'bind_failed', message };
}

// Sends replies to the receiver: one POST a try, with the headers of Standard Webhooks
// (https://www.standardwebhooks.com). It never retries.
//
// Only the status counts; svc discards the body. Any 2xx is success. 410 ends the delivery for
// good. After any other status svc may try again, since the receiver may be corrected within the
// schedule.

const tryMs = 15_000;
/** A longer answer closes its connection. */
const answerBytesMax = 64 * 1024;
/** The delivery schedule may try again sooner. */
const retryAfterMsMax = dayMs;

export type OutboundDeps = Clock & {
  readonly url: string;
  readonly mapping: Mapping;
  /** Sent as a bearer; null: no authorization header. */
  readonly secret: string | null;
  /** Signs each try (`whsec_…`); null: no signature. */
  readonly signingKey: string | null;
  readonly http: HttpClient;
  readonly version: string;
};

export type Deliver = (reply: Reply, attempt: Attempt, stop: Stop) => Promise<DeliveryOutcome>;

/** Makes the function that tries once to deliver one reply. That function never throws. */
export function createDeliver(deps: OutboundDeps): Deliver {
  const { http, now, steady } = deps;
  const url = new URL(deps.url);
  const write = createReplyWriter(deps.mapping);
  const fixedHeaders: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': `svc/${deps.version}`,
  };
  if (deps.secret !== null) {
    fixedHeaders['authorization'] = `Bearer ${Buffer.from(deps.secret, 'utf8').toString('latin1')}`;
  }
  const key = deps.signingKey === null ? null : signingKeyBytes(deps.signingKey);
  return async (reply, attempt, stop) => {
    const body = write(reply);
    const timestamp = String(Math.floor(now() / 1_000));
    const headers: Record<string, string> = {
      ...fixedHeaders,
      'webhook-id': reply.id,
      'webhook-timestamp': timestamp,
      'svc-attempt': String(attempt.number),
    };
    if (key !== null) {
      headers['webhook-signature'] = signatureOf({ id: reply.id, timestamp, body }, key);
    }
    if (attempt.possibleDuplicate) headers['svc-possible-duplicate'] = 'true';
    if (attempt.late) headers['svc-late'] = 'true';
    const request = {
      method: 'POST',
      url,
      headers,
      body,
      deadlineAt: later(steady(), tryMs),
      bodyBytesMax: answerBytesMax,
      discardBody: true,
    } as const;
    return outcomeOf(await http.send(request, stop), now());
  };
}

function outcomeOf(result: HttpResult, now: number): DeliveryOutcome {
  if (result.kind === 'fault') {
    return { kind: 'retry', failure: failure(result.fault), mayHaveArrived: result.sent };
  }
  const { status } = result;
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === 410) return { kind: 'dead', failure: failure('gone', { status }) };
  const why = refusalOf(status, retryAfterMs(result.headers['retry-after'], now, retryAfterMsMax));
  // A server error may come after the receiver did the work; any other status excludes that.
  const mayHaveArrived = status >= 500 && status !== 503;
  return { kind: 'retry', failure: why, mayHaveArrived };
}

function refusalOf(status: number, afterMs: number | null): Failure {
  if (status === 429) return failure('rate_limited', { status, retryAfterMs: afterMs });
  if (status === 503) return failure('overloaded', { status, retryAfterMs: afterMs });
  return failure(refusalKindOf(status), { status });
}

function refusalKindOf(status: number): FailureKind {
  if (status < 400) return 'redirected';
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404) return 'not_found';
  return status < 500 ? 'rejected' : 'server_error';
}
