/**
 * One connection to Discord's gateway: a client on the WebSocket package `ws`. It opens a socket,
 * identifies or resumes, sends heartbeats, and opens another socket when one closes. It ends when
 * that makes no progress, and when somebody ends it.
 *
 * Format: https://discord.com/developers/docs/events/gateway (API version 10, JSON, uncompressed).
 *
 * States: connecting → ready ⇄ connecting → ended. `ended` resolves once with the reason.
 */
import type * as ws from 'ws';
import { pause } from '../../lib/backoff.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import { fieldsOf, parseJson, textOf, type Fields } from '../../lib/json.ts';
import { PingMonitor, type PingMonitorLimits } from '../messenger/ping-monitor.ts';
import { cursorNames, type Dispatch, type GatewayDeps, type IdentifyLimits } from './session.ts';
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
  /** From the start, or from a close, to READY or RESUMED. */
  readonly connectMs: number;
  /** The platform wants a heartbeat about every 41 s. */
  readonly silentMs: number;
  /** Timers that fire this late mean that the process, or the machine, stood still. */
  readonly stalledMs: number;
  /**
   * After so many closes within a minute the connection ends. Some gateways close each connection
   * soon after READY (discord.js#4095, openclaw#111577).
   */
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

type ConnectionDeps = GatewayDeps & {
  readonly WebSocket: typeof ws.WebSocket;
  readonly info: GatewayInfo;
  readonly intake: {
    /** Called with every event of the session, in order; returns at once. */
    dispatched(dispatch: Dispatch): void;
    /** Called when a session begins or resumes, before its first event. */
    entered(): void;
  };
  readonly limits: ConnectionLimits & Pick<IdentifyLimits, 'spacingMs'>;
};

/** Format: https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway */
const op = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  reconnect: 7,
  invalidSession: 9,
  hello: 10,
  heartbeatAck: 11,
} as const;
/** Guilds, GuildMessages, DirectMessages and the privileged MessageContent. */
const intents = (1 << 0) | (1 << 9) | (1 << 12) | (1 << 15);
/** A code that allows a resume: 1000 and 1001 would end the session. */
const resumableCode = 4200;
/** The session cannot be resumed. The platform answers other lost sessions with op 9. */
const invalidSequenceCode = 4007;
/** Between the end of a socket and the next one. */
const againMs = 500;
/** The longest timer of Node. */
const intervalMsMax = 2 ** 31 - 1;
/** Beyond 120 payloads in a minute the platform closes the connection. */
const [sendsMax, sendsMs] = [115, 60_000];

/** Frames of 17 MB have been seen. The types of `ws` do not have `closeTimeout` yet. */
const socketOptions = {
  handshakeTimeout: 30_000,
  closeTimeout: 2_000,
  maxPayload: 64 * 1024 * 1024,
  perMessageDeflate: false,
};

export class Connection {
  readonly #deps: ConnectionDeps;
  readonly #end = Promise.withResolvers<ConnectionEnd>();
  readonly #ending = new AbortController();
  readonly #ticker: NodeJS.Timeout;
  readonly #closes: SteadyTime[] = [];
  #socket: ws.WebSocket;
  #pingMonitor: PingMonitor;
  #heartbeatTimer: NodeJS.Timeout | undefined;
  /** Whether the last heartbeat was answered. */
  #isAcked = true;
  #hasHello = false;
  /** svc has closed the socket; its further frames do not count. */
  #isLeaving = false;
  #isEnded = false;
  #ready = false;
  #everReady = false;
  /** Whether the last socket brought anything. If not, the next one avoids the resume URL. */
  #isReached = true;
  #againMs = againMs;
  #sentAt: readonly SteadyTime[] = [];
  readonly #begunAt: SteadyTime;
  #connectingSince: SteadyTime;
  /** By the time of day, which goes on while the machine is suspended. */
  #tickedAt: number;
  #lastSignAt: SteadyTime;

  constructor(deps: ConnectionDeps) {
    const { now, steady, limits } = deps;
    this.#deps = deps;
    this.#tickedAt = now();
    this.#begunAt = this.#connectingSince = steady();
    this.#lastSignAt = this.#connectingSince;
    this.#pingMonitor = this.#monitor();
    this.#socket = this.#open();
    this.#ticker = setInterval(() => this.#tick(), limits.tickMs);
    this.#ticker.unref();
  }

  get ended(): Promise<ConnectionEnd> {
    return this.#end.promise;
  }

  /** Ends the connection so that its session can be resumed; the first reason counts. */
  end(end: ConnectionEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#ticker);
    this.#ending.abort();
    const socket = this.#socket;
    if (socket.readyState === socket.CLOSED) return this.#end.resolve(end);
    socket.once('close', () => this.#end.resolve(end));
    this.#leave();
  }

  #break(reason: string): void {
    if (this.#isEnded) return;
    // An unreachable platform says nothing about the session. Here the platform had answered before
    // the connection began, and the connection failed. So the failure counts against the session.
    if (!this.#ready) this.#deps.sessions.resumeFailed();
    this.end({ kind: 'broken', reason, wasReady: this.#everReady });
  }

  #open(): ws.WebSocket {
    const { WebSocket, info, sessions } = this.#deps;
    const resumeUrl = this.#isReached ? sessions.current?.resumeUrl : undefined;
    this.#isReached = false;
    const url = new URL(resumeUrl ?? info.url);
    url.search = 'v=10&encoding=json';
    url.hash = '';
    const socket = new WebSocket(url, socketOptions);
    // Without a listener an error would end the process; a close follows each one.
    socket.on('error', () => {});
    socket.on('message', (data, isBinary) => {
      if (isBinary || !Buffer.isBuffer(data)) return;
      this.#guard(() => this.#received(fieldsOf(parseJson(data.toString()))));
    });
    socket.on('close', (code) => this.#guard(() => this.#closed(code)));
    return socket;
  }

  #monitor(): PingMonitor {
    const { steady, limits } = this.#deps;
    return new PingMonitor(steady, limits, (ms) => this.#silenceChanged(ms));
  }

  /** What runs in a listener throws only if svc has a bug, which ends the connection alone. */
  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#deps.faulted(error);
    }
  }

  #received(frame: Fields): void {
    if (this.#isEnded || this.#isLeaving) return;
    this.#isReached = true;
    const data = frame['d'];
    switch (frame['op']) {
      case op.hello:
        return this.#greeted(fieldsOf(data)['heartbeat_interval']);
      case op.heartbeat:
        return this.#sendHeartbeat();
      case op.heartbeatAck:
        this.#isAcked = true;
        return this.#noteSign();
      case op.reconnect:
        return this.#leave();
      case op.invalidSession: {
        const { sessions, random, limits } = this.#deps;
        if (data !== true) sessions.lose();
        // Discord's pages named a pause of 1 to 5 s, in which the other side may recover.
        this.#againMs = Math.max(againMs, limits.spacingMs * (0.2 + 0.8 * random()));
        return this.#leave();
      }
      case op.dispatch:
        this.#pingMonitor.noteSign();
        return this.#dispatched(frame);
      default:
    }
  }

  #greeted(intervalMs: unknown): void {
    const isKnown = typeof intervalMs === 'number' && intervalMs > 0 && intervalMs < intervalMsMax;
    if (!isKnown) return this.#unreadable();
    if (this.#hasHello) return;
    this.#hasHello = true;
    const { sessions, token, random, faulted } = this.#deps;
    this.#heartbeatIn(random() * intervalMs, intervalMs);
    const session = sessions.current;
    if (session === null) return void this.#identify().catch(faulted);
    this.#send(op.resume, { token, seq: session.sequence, session_id: session.id });
  }

  #dispatched({ t: name, s: sequence, d: data }: Fields): void {
    const { sessions, info, intake } = this.#deps;
    if (typeof name !== 'string' || typeof sequence !== 'number') return this.#unreadable();
    if (name === 'READY') {
      const ready = fieldsOf(data);
      const id = textOf(ready['session_id']);
      const url = textOf(ready['resume_gateway_url']);
      if (id === '') return this.#unreadable();
      const resumeUrl = isGatewayUrl(url) ? url : info.url;
      if (id !== sessions.current?.id) sessions.begin(id, resumeUrl, sequence);
    }
    if (name === 'READY' || name === 'RESUMED') this.#enter();
    if (!this.#isEnded) intake.dispatched({ name, sequence, data });
  }

  #enter(): void {
    const { sessions, health, intake } = this.#deps;
    this.#noteSign();
    this.#ready = true;
    this.#everReady = true;
    sessions.resumed();
    health.become('up');
    intake.entered();
  }

  #noteSign(): void {
    this.#lastSignAt = this.#deps.steady();
    this.#pingMonitor.noteSign();
    this.#deps.health.seen();
  }

  #unreadable(): void {
    this.#break('its gateway sent something unreadable');
  }

  /** Sends heartbeats. A connection that has not answered the last one is dead: it is resumed. */
  #heartbeatIn(waitMs: number, everyMs: number): void {
    this.#heartbeatTimer = setTimeout(() => {
      if (!this.#isAcked) return this.#leave();
      this.#isAcked = false;
      this.#sendHeartbeat();
      this.#heartbeatIn(everyMs, everyMs);
    }, waitMs);
  }

  #sendHeartbeat(): void {
    this.#send(op.heartbeat, this.#deps.sessions.current?.sequence ?? null);
  }

  /** Sends nothing beyond the platform's limit, or on a socket that is not open. */
  #send(code: number, data: unknown): void {
    const now = this.#deps.steady();
    this.#sentAt = this.#sentAt.filter((at) => now - at < sendsMs);
    if (this.#socket.readyState !== this.#socket.OPEN || this.#sentAt.length >= sendsMax) return;
    this.#sentAt = [...this.#sentAt, now];
    this.#socket.send(JSON.stringify({ op: code, d: data }));
  }

  /** Identifies when a new session may begin. If that takes too long, the connection ends. */
  async #identify(): Promise<void> {
    const { budget, receive, info, limits, token, steady } = this.#deps;
    const socket = this.#socket;
    const isOpen = (): boolean => socket.readyState === socket.OPEN;
    // A resumed connection may be older than the platform's limit.
    const resetMs = info.sessionsLeft > 0 ? 0 : info.resetMs - (steady() - this.#begunAt);
    let ms = resetMs > 0 ? resetMs : budget.take();
    // A timer may be a moment early.
    while (ms !== null && ms < limits.connectMs / 4) {
      await pause(ms, this.#ending.signal);
      if (!isOpen()) return;
      ms = budget.take();
    }
    if (ms !== null) return this.end({ kind: 'waits', ms });
    await receive([], { name: cursorNames.budget, value: budget.text });
    if (!isOpen()) return;
    const properties = { os: process.platform, browser: 'svc', device: 'svc' };
    this.#send(op.identify, { token, properties, intents, compress: false, shard: [0, 1] });
  }

  /** Closes the socket so that the session can be resumed. */
  #leave(): void {
    this.#isLeaving = true;
    clearTimeout(this.#heartbeatTimer);
    this.#socket.close(resumableCode, 'svc resumes later');
  }

  #closed(wireCode: number): void {
    clearTimeout(this.#heartbeatTimer);
    if (this.#isEnded) return;
    const { sessions, health, steady, config, limits } = this.#deps;
    const code = this.#isLeaving ? resumableCode : wireCode;
    const message = refusalOf(code, config.tokenEnv);
    if (message !== null) return this.end({ kind: 'refused', message });
    if (code === invalidSequenceCode) sessions.lose();
    if (!this.#ready && this.#hasHello) sessions.resumeFailed();
    const at = steady();
    this.#closes.push(at);
    while (at - this.#closes[0]! > 60_000) this.#closes.shift();
    if (this.#closes.length >= limits.closesMax) {
      return this.#break(`its gateway closed the connection ${limits.closesMax} times (${code})`);
    }
    health.become('degraded', `the connection was closed (${code}); it is made again`);
    this.#connectingSince = at;
    this.#hasHello = false;
    this.#ready = false;
    void this.#openAgain();
  }

  async #openAgain(): Promise<void> {
    await pause(this.#againMs, this.#ending.signal);
    if (this.#isEnded) return;
    this.#againMs = againMs;
    this.#isAcked = true;
    this.#isLeaving = false;
    this.#sentAt = [];
    this.#pingMonitor = this.#monitor();
    this.#socket = this.#open();
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
    if (this.#ready) this.#pingMonitor.heartbeat(this.#socket);
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
}

// Final refusals of the platform, and the remedy for each.

export function tokenRefused(tokenName: string): string {
  return (
    `the token in ${tokenName} was refused; copy it anew from the developer portal ` +
    '(Bot → Reset Token), and restart'
  );
}

/**
 * Format: https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway
 * @param code the close code of the gateway
 * @returns null: another try may succeed
 */
function refusalOf(code: number, tokenName: string): string | null {
  switch (code) {
    case 4004:
      return tokenRefused(tokenName);
    case 4013:
    case 4014:
      return 'switch on MESSAGE CONTENT INTENT under Bot in the developer portal, and restart';
    case 4010:
    case 4011:
      return 'the bot is in more servers than one connection serves (2,500); take it out of some';
    case 4012:
      return 'the platform no longer speaks version 10 of its gateway; a newer svc is needed';
    default:
      return null;
  }
}
