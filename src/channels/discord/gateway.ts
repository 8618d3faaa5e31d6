/**
 * Keeps the gateway connected while the channel runs: one connection after another, with growing
 * pauses. It also holds the state that outlives a connection: the session, the known channels and
 * the budget of new sessions.
 */
import type { AccessConfig } from '../../config/config.ts';
import type { Events } from '../../domain/event.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { fullJitter, pause } from '../../lib/backoff.ts';
import type { Clock } from '../../lib/clock.ts';
import { aborted } from '../../lib/stop.ts';
import type { Receive, HealthState } from '../channel.ts';
import type { RecentQuestions } from '../messenger/recent-questions.ts';
import type { Api } from './api.ts';
import {
  Connection,
  connectionLimits,
  tokenRefused,
  type ConnectionEnd,
  type ConnectionLimits,
} from './connection.ts';
import type { Deferrals } from './interactions.ts';
import { cursorNames, Intake, KnownChannels, type Refusal } from './intake.ts';
import { discord } from './kind.ts';
import { IdentifyBudget, identifyLimits, Sessions, type IdentifyLimits } from './session.ts';
import { parseGatewayInfo, type GatewayInfo } from './wire.ts';

export type GatewayLimits = ConnectionLimits &
  IdentifyLimits & { readonly pauseMs: number; readonly pauseMsMax: number };

export const gatewayLimits: GatewayLimits = {
  ...connectionLimits,
  ...identifyLimits,
  pauseMs: 5_000,
  pauseMsMax: 600_000,
};

export type GatewayDeps = Clock & {
  readonly key: ChannelKey;
  readonly self: string;
  readonly token: string;
  /** The name of the token's variable, for messages to people. */
  readonly tokenName: string;
  readonly groups: AccessConfig['groups'];
  /** Null: the channel ignores edits. */
  readonly questions: RecentQuestions | null;
  readonly api: Api;
  readonly health: HealthState;
  readonly deferrals: Deferrals;
  readonly events: Events;
  readonly random: () => number;
  readonly limits: GatewayLimits;
};

const budgetName = 'identifies';

/** Runs until the signal aborts. After a final refusal it waits for the signal. */
export async function runGateway(
  deps: GatewayDeps,
  receive: Receive,
  signal: AbortSignal,
): Promise<void> {
  const { health, random, limits } = deps;
  const gateway = new Gateway(deps, receive, signal, {
    sessions: new Sessions(await receive.cursor(cursorNames.session)),
    places: new KnownChannels(await receive.cursor(cursorNames.places)),
    budget: new IdentifyBudget(await receive.cursor(budgetName), deps, limits),
  });
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

type StoredState = {
  readonly sessions: Sessions;
  readonly places: KnownChannels;
  readonly budget: IdentifyBudget;
};

class Gateway {
  readonly #deps: GatewayDeps;
  readonly #receive: Receive;
  readonly #signal: AbortSignal;
  readonly #stored: StoredState;
  readonly #intake: Intake;
  #connection: Connection | null = null;

  constructor(deps: GatewayDeps, receive: Receive, signal: AbortSignal, stored: StoredState) {
    this.#deps = deps;
    this.#receive = receive;
    this.#signal = signal;
    this.#stored = stored;
    this.#intake = new Intake({
      ...deps,
      ...stored,
      receive,
      signal,
      acceptsOverheard: deps.groups === 'all',
      refused: (refusal) => this.#refused(refusal),
      faulted: (error) => this.#faulted(error),
    });
  }

  /** Runs from Get Gateway Bot to the connection's end, and until the intake is idle. */
  async connectOnce(): Promise<ConnectionEnd> {
    const { WebSocket } = await import('ws');
    const info = await this.#fetchInfo();
    if ('kind' in info) return info;
    if (this.#signal.aborted) return { kind: 'stopped' };
    const { budget } = this.#stored;
    const connection = new Connection({
      ...this.#deps,
      ...this.#stored,
      WebSocket,
      info,
      keepBudget: async () =>
        void (await this.#receive([], { name: budgetName, value: budget.text })),
      dispatched: (dispatch) => this.#intake.dispatched(dispatch),
      entered: () => this.#intake.entered(),
      faulted: (error) => this.#faulted(error),
    });
    this.#connection = connection;
    const stop = (): void => connection.end({ kind: 'stopped' });
    this.#signal.addEventListener('abort', stop);
    const end = await connection.ended;
    this.#signal.removeEventListener('abort', stop);
    if (this.#signal.aborted) this.#intake.clear();
    await this.#intake.settled();
    this.#connection = null;
    return end;
  }

  async #fetchInfo(): Promise<GatewayInfo | ConnectionEnd> {
    const broken = (reason: string): ConnectionEnd => ({ kind: 'broken', reason, wasReady: false });
    const answer = await this.#deps.api.call('GET', '/gateway/bot', { signal: this.#signal });
    if (answer.kind === 'fault') return broken(`Discord could not be reached (${answer.fault})`);
    if (answer.kind === 'refused') {
      const { status, retryAfterMs } = answer;
      if (status === 401) return { kind: 'refused', message: tokenRefused(this.#deps.tokenName) };
      if (status === 429) return { kind: 'waits', ms: retryAfterMs ?? 0 };
      return broken(`Discord answered ${status} when it was asked for its gateway`);
    }
    return parseGatewayInfo(answer.body) ?? broken('Discord did not say where its gateway is');
  }

  #refused({ reason, retryAfterMs }: Refusal): void {
    const kind = reason === 'shutting_down' ? reason : 'no_room';
    this.#connection?.end({ kind, retryAfterMs });
  }

  #faulted(error: unknown): void {
    this.#deps.events.faulted({ where: `the gateway of ${discord.type}`, error });
    const reason = 'something went wrong in svc itself; it connects again';
    this.#connection?.end({ kind: 'broken', reason, wasReady: false });
  }
}
