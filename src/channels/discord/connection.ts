/**
 * One connection to Discord's gateway, by a shard of `@discordjs/ws`. The shard sends heartbeats,
 * identifies, resumes and reconnects by itself. This class supervises it: it never uses the shard's
 * own sequence, ends a shard that makes no progress, catches everything that it throws, and keeps
 * an ended shard from doing anything more.
 *
 * Format: https://discord.com/developers/docs/events/gateway (API version 10, JSON).
 *
 * States: connecting → ready ⇄ connecting → ended. `ended` resolves once with the reason.
 */
import type * as discordWs from '@discordjs/ws';
import { pause } from '../../lib/backoff.ts';
import type { Clock, SteadyTime } from '../../lib/clock.ts';
import type { HealthState } from '../channel.ts';
import { contain } from './contained-shard.ts';
import type { IdentifyBudget } from './identify-budget.ts';
import { PingMonitor, type PingMonitorLimits } from './ping-monitor.ts';
import { refusalOf } from './refusals.ts';
import type { Sessions } from './session.ts';
import { isGatewayUrl, type GatewayInfo } from './wire.ts';

/** `refused`: for good; `message` names the remedy. */
export type ConnectionEnd =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'waits'; readonly ms: number }
  | { readonly kind: 'no_room'; readonly retryAfterMs: number }
  | { readonly kind: 'shutting_down' }
  | { readonly kind: 'broken'; readonly reason: string; readonly wasReady: boolean };

export type ConnectionLimits = PingMonitorLimits & {
  /** From the start to READY or RESUMED. */
  readonly connectMs: number;
  /** The platform wants a heartbeat about every 41 s. */
  readonly silentMs: number;
  /** Timers that fire this late mean that the process, or the machine, stood still. */
  readonly stalledMs: number;
  /** After so many closes within a minute without READY between them, the connection ends. */
  readonly closesMax: number;
};

export const connectionLimits: ConnectionLimits = {
  connectMs: 60_000,
  silentMs: 150_000,
  stalledMs: 60_000,
  tickMs: 5_000,
  quietMs: 9_000,
  closesMax: 5,
};

export type Dispatch = { readonly name: string; readonly sequence: number; readonly data: unknown };

export type ConnectionDeps = Clock & {
  readonly token: string;
  /** The name of the token's variable, for messages to people. */
  readonly tokenName: string;
  readonly info: GatewayInfo;
  readonly sessions: Sessions;
  readonly budget: IdentifyBudget;
  readonly keepBudget: () => Promise<void>;
  readonly health: HealthState;
  /** Called with every event of the session, in order; returns at once. */
  readonly dispatched: (dispatch: Dispatch) => void;
  /** Called when a session begins or resumes, before its first event. */
  readonly entered: () => void;
  readonly faulted: (error: unknown) => void;
  readonly limits: ConnectionLimits;
};

/** Guilds, GuildMessages, DirectMessages and the privileged MessageContent. */
const intents = (1 << 0) | (1 << 9) | (1 << 12) | (1 << 15);
/** A code that allows a resume: 1000 would end the session. */
const resumableCode = 4200;
const closeMs = 2_000;

export class Connection {
  readonly #deps: ConnectionDeps;
  readonly #shard: discordWs.WebSocketShard;
  readonly #end = Promise.withResolvers<ConnectionEnd>();
  readonly #ticker: NodeJS.Timeout;
  readonly #pingMonitor: PingMonitor;
  readonly #closes: SteadyTime[] = [];
  #isEnded = false;
  #hasHello = false;
  #ready = false;
  #everReady = false;
  #connectingSince: SteadyTime;
  /** By the time of day, which goes on while the machine is suspended. */
  #tickedAt: number;
  #lastSignAt: SteadyTime;

  constructor(library: typeof discordWs, deps: ConnectionDeps) {
    this.#deps = deps;
    this.#tickedAt = deps.now();
    this.#connectingSince = deps.steady();
    this.#lastSignAt = this.#connectingSince;
    this.#shard = new library.WebSocketShard(
      {
        options: optionsOf(library, deps),
        retrieveSessionInfo: () => this.#sessionInfo(),
        updateSessionInfo: (_id, info) => this.#sessionChanged(info),
        waitForIdentify: (_id, signal) => this.#mayIdentify(signal),
      },
      0,
    );
    contain(this.#shard, (error) => {
      deps.faulted(error);
      this.#break('its gateway sent something unreadable');
    });
    this.#pingMonitor = new PingMonitor(deps.steady, deps.limits, (ms) => this.#silenceChanged(ms));
    this.#listen();
    this.#ticker = setInterval(() => this.#tick(), deps.limits.tickMs);
    this.#ticker.unref();
    // The promise rejects when the platform refuses; the close codes report the same.
    this.#shard.connect().catch(() => {});
  }

  get ended(): Promise<ConnectionEnd> {
    return this.#end.promise;
  }

  /** Ends the connection so that its session can be resumed; the first reason counts. */
  end(end: ConnectionEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#ticker);
    void this.#close().then(() => this.#end.resolve(end));
  }

  #break(reason: string): void {
    if (this.#isEnded) return;
    // An unreachable platform says nothing about the session. Here the platform had answered before
    // the connection began, and the connection failed. So the failure counts against the session.
    if (!this.#ready) this.#deps.sessions.resumeFailed();
    this.end({ kind: 'broken', reason, wasReady: this.#everReady });
  }

  #listen(): void {
    const { sessions, health, entered, dispatched, steady } = this.#deps;
    const shard = this.#shard;
    const noteSign = (): void => {
      this.#lastSignAt = steady();
      this.#pingMonitor.noteSign();
      health.seen();
    };
    const ready = (): void => {
      if (this.#isEnded) return;
      noteSign();
      this.#ready = true;
      this.#everReady = true;
      this.#closes.length = 0;
      sessions.resumed();
      health.become('up');
      entered();
    };
    shard.on('hello', () => (this.#hasHello = true));
    shard.on('ready', ready);
    shard.on('resumed', ready);
    shard.on('heartbeat', noteSign);
    shard.on('dispatch', ({ t: name, s: sequence, d: data }) => {
      this.#pingMonitor.noteSign();
      if (!this.#isEnded) dispatched({ name, sequence, data });
    });
    shard.on('closed', (code) => this.#closed(code));
    // Without a listener an error would end the process; `closed` follows both events.
    shard.on('error', () => {});
    shard.on('socketError', () => {});
  }

  #closed(code: number): void {
    if (this.#isEnded) return;
    const { sessions, health, steady, tokenName, limits } = this.#deps;
    const message = refusalOf(code, tokenName);
    if (message !== null) return this.end({ kind: 'refused', message });
    // Invalid sequence: the session cannot be resumed.
    if (code === 4007) sessions.lose();
    if (!this.#ready) {
      if (this.#hasHello) sessions.resumeFailed();
      const at = steady();
      this.#closes.push(at);
      while (at - this.#closes[0]! > 60_000) this.#closes.shift();
      if (this.#closes.length >= limits.closesMax) {
        return this.#break(`its gateway closed the connection ${limits.closesMax} times (${code})`);
      }
    }
    this.#ready = false;
    this.#hasHello = false;
    this.#connectingSince = steady();
    health.become('degraded', `the connection was closed (${code}); it is made again`);
  }

  #tick(): void {
    const { now, steady, limits } = this.#deps;
    const time = now();
    const at = steady();
    // Setting the clock forward also costs a new connection.
    const isLate = time - this.#tickedAt > limits.tickMs + limits.stalledMs;
    this.#tickedAt = time;
    if (isLate) return this.#break('the process stood still, so the connection is made anew');
    if (!this.#ready && at - this.#connectingSince > limits.connectMs) {
      return this.#break(`its gateway was not ready within ${limits.connectMs / 1_000} s`);
    }
    if (this.#ready && at - this.#lastSignAt > limits.silentMs) {
      return this.#break(`no heartbeat was answered for ${limits.silentMs / 1_000} s`);
    }
    if (this.#ready) this.#pingMonitor.heartbeat(this.#shard['connection']);
  }

  /**
   * Reports silence, or its end, as health. A connection that failed meanwhile shows later: by a
   * close, or by unanswered heartbeats.
   */
  #silenceChanged(silentForMs: number | null): void {
    if (this.#isEnded || !this.#ready) return;
    const { health } = this.#deps;
    if (silentForMs === null) health.become('up');
    else health.become('degraded', 'its gateway is silent: check the network', silentForMs);
  }

  #sessionInfo() {
    // An ended shard may still be in a pause of its own; it then waits here for ever.
    if (this.#isEnded) return new Promise<null>(() => {});
    const session = this.#deps.sessions.current;
    if (session === null) return null;
    const { id: sessionId, resumeUrl: resumeURL, sequence } = session;
    return { sessionId, resumeURL, sequence, shardId: 0, shardCount: 1 };
  }

  /**
   * Called with the session that the library would store. Only two cases count: a new session, and
   * a session that Discord declared invalid.
   */
  #sessionChanged(info: { sessionId: string; resumeURL: string; sequence: number } | null): void {
    if (this.#isEnded) return;
    const { sessions } = this.#deps;
    if (info === null) {
      // The library also calls this after a network failure or a timeout.
      const declaredInvalid = this.#hasHello;
      if (declaredInvalid) sessions.lose();
      return;
    }
    const { sessionId, resumeURL, sequence } = info;
    if (sessionId === sessions.current?.id) return;
    const resumeUrl = isGatewayUrl(resumeURL) ? resumeURL : this.#deps.info.url;
    sessions.begin(sessionId, resumeUrl, sequence);
  }

  /** Resolves when a new session may begin. If that takes too long, the connection ends. */
  async #mayIdentify(signal: AbortSignal): Promise<void> {
    const { budget, keepBudget, info, limits } = this.#deps;
    let ms = info.sessionsLeft > 0 ? budget.take() : info.resetMs;
    if (ms !== null && ms < limits.connectMs / 4) {
      await pause(ms, signal);
      ms = budget.take();
    }
    if (ms !== null) {
      this.end({ kind: 'waits', ms });
      // The library would identify both after a resolve and after a rejection.
      return new Promise(() => {});
    }
    await keepBudget();
  }

  async #close(): Promise<void> {
    const socket = this.#shard['connection'];
    if (socket?.readyState === 0) socket.terminate();
    const closing = this.#shard.destroy({ code: resumableCode, reason: 'svc resumes later' });
    const closed = new AbortController();
    await Promise.race([closing, pause(closeMs, closed.signal)]);
    closed.abort();
    socket?.terminate();
  }
}

function optionsOf(library: typeof discordWs, { token, info }: ConnectionDeps) {
  const limit = { total: 1_000, remaining: info.sessionsLeft, reset_after: 0, max_concurrency: 1 };
  const name = 'svc';
  return {
    token,
    intents,
    version: '10',
    encoding: library.Encoding.JSON,
    compression: null,
    useIdentifyCompression: false,
    identifyProperties: { os: process.platform, browser: name, device: name },
    initialPresence: null,
    largeThreshold: null,
    handshakeTimeout: 30_000,
    helloTimeout: 30_000,
    readyTimeout: 30_000,
    shardCount: 1,
    gatewayInformation: { url: info.url, shards: 1, session_start_limit: limit },
  };
}
