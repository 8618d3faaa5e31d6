/**
 * Keeps the gateway connected while the channel runs: one connection after another, with growing
 * pauses. It also holds the state that outlives a connection: the session, the known channels and
 * the budget of new sessions.
 */
import { fullJitter, pause } from '../../lib/backoff.ts';
import { aborted } from '../../lib/stop.ts';
import type { MessengerDeps } from '../messenger/messenger.ts';
import type { Intake as MessengerIntake } from '../messenger/platform.ts';
import type { Api } from './api.ts';
import {
  Connection,
  connectionLimits,
  tokenRefused,
  type ConnectionEnd,
  type ConnectionLimits,
} from './connection.ts';
import type { Deferrals } from './interactions.ts';
import { Intake, KnownChannels, type Refusal } from './intake.ts';
import { discord } from './kind.ts';
import {
  cursorNames,
  IdentifyBudget,
  identifyLimits,
  Sessions,
  type GatewayDeps,
  type IdentifyLimits,
} from './session.ts';
import { Threads } from './threads.ts';
import { parseGatewayInfo, type GatewayInfo, type Target } from './wire.ts';

export type GatewayLimits = ConnectionLimits &
  IdentifyLimits & { readonly pauseMs: number; readonly pauseMsMax: number };

export const gatewayLimits: GatewayLimits = {
  ...connectionLimits,
  ...identifyLimits,
  pauseMs: 5_000,
  pauseMsMax: 600_000,
};

type Own = { readonly api: Api; readonly deferrals: Deferrals; readonly limits: GatewayLimits };

/** Runs until the signal aborts. After a final refusal it waits for the signal. */
export async function runGateway(
  deps: MessengerDeps & MessengerIntake<Target> & Own,
  signal: AbortSignal,
): Promise<void> {
  const { health, random, limits, receive } = deps;
  const gateway = new Gateway(
    {
      ...deps,
      sessions: new Sessions(await receive.cursor(cursorNames.session)),
      budget: new IdentifyBudget(await receive.cursor(cursorNames.budget), deps, limits),
    },
    new KnownChannels(await receive.cursor(cursorNames.places)),
    signal,
  );
  for (let attempt = 0; !signal.aborted;) {
    const end = await gateway.connectOnce();
    if (signal.aborted) return;
    switch (end.kind) {
      case 'stopped':
        break;
      case 'refused':
        health.become('failed', end.message);
        return aborted(signal);
      case 'waits':
        health.become('degraded', 'too many new sessions were begun; it waits before the next');
        await pause(end.ms, signal);
        break;
      case 'shutting_down':
        return aborted(signal);
      case 'no_room':
        health.become('degraded', 'there is no room for more messages; it goes on when there is');
        await pause(end.retryAfterMs, signal);
        await receive.whenRoom(signal);
        break;
      case 'broken': {
        if (end.wasReady) attempt = 0;
        health.become('degraded', end.reason);
        const { pauseMs: baseMs, pauseMsMax: capMs } = limits;
        await pause(fullJitter(attempt++, { baseMs, capMs }, random), signal);
        break;
      }
      default:
        end satisfies never;
    }
  }
}

class Gateway {
  readonly #deps: GatewayDeps & Own;
  readonly #signal: AbortSignal;
  readonly #intake: Intake;
  #connection: Connection | null = null;

  constructor(
    deps: Omit<GatewayDeps, 'faulted'> & Own,
    places: KnownChannels,
    signal: AbortSignal,
  ) {
    this.#deps = { ...deps, faulted: (error) => this.#faulted(error) };
    this.#signal = signal;
    const refused = (refusal: Refusal): void => this.#refused(refusal);
    const threads = new Threads(deps.api);
    this.#intake = new Intake({ ...this.#deps, places, threads, signal, refused });
  }

  /** Runs from Get Gateway Bot to the connection's end, and until the intake is idle. */
  async connectOnce(): Promise<ConnectionEnd> {
    const { WebSocket } = await import('ws');
    const info = await this.#fetchInfo();
    if ('kind' in info) return info;
    if (this.#signal.aborted) return { kind: 'stopped' };
    const intake = this.#intake;
    const connection = new Connection({ ...this.#deps, WebSocket, info, intake });
    this.#connection = connection;
    const stop = (): void => connection.end({ kind: 'stopped' });
    this.#signal.addEventListener('abort', stop);
    const end = await connection.ended;
    this.#signal.removeEventListener('abort', stop);
    if (this.#signal.aborted) intake.clear();
    await intake.settled();
    this.#connection = null;
    return end;
  }

  async #fetchInfo(): Promise<GatewayInfo | ConnectionEnd> {
    const broken = (reason: string): ConnectionEnd => ({ kind: 'broken', reason, wasReady: false });
    const answer = await this.#deps.api.call('GET', '/gateway/bot', { signal: this.#signal });
    if (answer.kind === 'fault') return broken(`Discord could not be reached (${answer.fault})`);
    if (answer.kind === 'refused') {
      const { status, retryAfterMs } = answer;
      if (status === 401)
        return { kind: 'refused', message: tokenRefused(this.#deps.config.tokenEnv) };
      if (status === 429) {
        return { kind: 'waits', ms: Math.max(retryAfterMs ?? 0, this.#deps.limits.pauseMs) };
      }
      return broken(`Discord answered ${status} when it was asked for its gateway`);
    }
    return parseGatewayInfo(answer.body) ?? broken('Discord did not say where its gateway is');
  }

  #refused({ reason, retryAfterMs }: Refusal): void {
    if (reason === 'unanswered') {
      const unknown = 'Discord did not name the channel of a thread; svc asks again';
      return this.#connection?.end({ kind: 'broken', reason: unknown, wasReady: false });
    }
    const kind = reason === 'shutting_down' ? reason : 'no_room';
    this.#connection?.end({ kind, retryAfterMs });
  }

  #faulted(error: unknown): void {
    this.#deps.events.faulted({ where: `the gateway of ${discord.type}`, error });
    const reason = 'something went wrong in svc itself; it connects again';
    this.#connection?.end({ kind: 'broken', reason, wasReady: false });
  }
}
