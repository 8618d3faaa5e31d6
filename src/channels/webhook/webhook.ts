/**
 * The webhook channel: messages are POSTed to it, replies are POSTed by it.
 *
 * Its listener outlives its run when a newer webhook channel took the same address: then the
 * handler of the newer channel answers. Otherwise the address is released at the end of the run,
 * while replies still go out. Requests on connections that are still open are refused as shutting
 * down. A request that is under way then has to bring the secret of the newest channel.
 */
import type { ListenAddress, WebhookConfig } from '../../config/config.ts';
import type { Events } from '../../domain/event.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { createTokenCheck, type TokenCheck } from '../../lib/bearer.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { HttpClient } from '../../lib/http-client.ts';
import type { Held, Listeners } from '../../lib/listener.ts';
import type { Receive, Channel, ChannelHealth, ChannelProblem, Opened } from '../channel.ts';
import { describeUnbound } from '../../lib/bind-error.ts';
import { HealthState } from '../health-state.ts';
import { createInboundHandler } from './inbound.ts';
import { webhook } from './kind.ts';
import { createDeliver } from './outbound.ts';
import type { Deliver } from './outbound.ts';

const key = webhook.type as string as ChannelKey;
const releaseGraceMs = 1_000;

/** What a sender's bearer has to pass now, by the channel that ran last. */
export type BearerChecks = Map<ChannelKey, TokenCheck>;

export type WebhookDeps = Clock & {
  readonly config: WebhookConfig;
  readonly secret: string;
  /** null: replies carry no authorization. */
  readonly outboundSecret: string | null;
  /** null: replies are not signed. */
  readonly signingKey: string | null;
  readonly listeners: Listeners;
  /** One for all channels of a process. */
  readonly bearerChecks: BearerChecks;
  readonly http: HttpClient;
  readonly events: Events;
  readonly deadlines: Deadlines;
  /** The version of this program, for the user agent. */
  readonly version: string;
};

/** `boundPort()` is the real port, of use when port 0 was asked for; 0 before `open`. */
export type WebhookChannel = Channel & { boundPort(): number };

/** Makes the channel; nothing is bound before `open`. */
export function createWebhookChannel(deps: WebhookDeps): WebhookChannel {
  return new Webhook(deps);
}

class Webhook implements WebhookChannel {
  readonly tellsSessions = true;
  readonly deliver: Deliver;
  readonly #deps: WebhookDeps;
  #held: Held | null = null;
  readonly #health: HealthState;

  constructor(deps: WebhookDeps) {
    const { config, outboundSecret: secret, signingKey, http, version, now, steady } = deps;
    this.#deps = deps;
    this.#health = new HealthState(deps);
    const { outboundUrl: url, mapping } = config;
    const rest = { http, version, now, steady };
    this.deliver = createDeliver({ url, mapping, secret, signingKey, ...rest });
  }

  async open(): Promise<Opened | ChannelProblem> {
    const { bind } = this.#deps.config;
    const taken = await this.#deps.listeners.take(bind);
    if (taken.kind === 'fault') {
      const problem = problemOf(bind, taken.code);
      this.#health.become('failed', problem.message);
      return problem;
    }
    this.#held = taken;
    return { kind: 'opened', key };
  }

  async run(receive: Receive, signal: AbortSignal): Promise<void> {
    if (this.#held === null) throw new Error('run() before open()');
    if (signal.aborted) return;
    const { config, secret, events, deadlines, bearerChecks } = this.#deps;
    const { path, mapping } = config;
    bearerChecks.set(key, createTokenCheck(secret));
    const bearerCheck = (): TokenCheck => bearerChecks.get(key)!;
    const rest = { path, mapping, bearerCheck, events, deadlines };
    this.#held.answer(createInboundHandler({ channel: key, receive, stopped: signal, ...rest }));
    this.#health.become('up');
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    this.#health.become('stopped');
    await this.#letGo();
  }

  health(): ChannelHealth {
    return this.#health.health;
  }

  boundPort(): number {
    return this.#held?.port ?? 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#letGo();
  }

  async #letGo(): Promise<void> {
    const held = this.#held;
    this.#held = null;
    await held?.release(releaseGraceMs);
  }
}

function problemOf(bind: ListenAddress, code: string): ChannelProblem {
  const remedy = describeUnbound(code, bind.port);
  const field = bind.byFlag?.name ?? 'webhook.bind';
  const message = `${field}: cannot listen on ${bind.text} (${code}); ${remedy}`;
  return { kind: 'problem', code: 'bind_failed', message };
}
