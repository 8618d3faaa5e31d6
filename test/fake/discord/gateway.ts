/**
 * The gateway: connections, sessions, their events, and faults on demand. Pages:
 * https://discord.com/developers/docs/events/gateway (connecting, heartbeats, identifying,
 * resuming, rate limiting), /events/gateway-events (hello, ready, resumed, reconnect, invalid
 * session), /topics/opcodes-and-status-codes#gateway-gateway-close-event-codes. JSON only: a client
 * that asks for ETF or compression is closed with 4002.
 */
import { randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';
import { intent, intentsKnown, op, type Snowflake, type User } from './wire.ts';

export type GatewayOptions = {
  readonly heartbeatMs: number;
  /** The most IDENTIFY in a day; beyond it the token is reset. */
  readonly sessionStarts: number;
  /** How long after a disconnect a client may resume its session. */
  readonly sessionMs: number;
  /** At most one IDENTIFY in this time ("5 seconds"). */
  readonly identifyGapMs: number;
  /** The privileged intents that the developer portal has switched on. */
  readonly allowedIntents: number;
};

/** What happens to a connection before it opens. */
export type ConnectionFault =
  | { readonly kind: 'no-hello' }
  /** The server answers the handshake with this status. */
  | { readonly kind: 'refuse'; readonly status: number }
  | { readonly kind: 'close'; readonly code: number; readonly when: 'hello' | 'identify' }
  | { readonly kind: 'reconnect' }
  | { readonly kind: 'invalid-session'; readonly resumable: boolean };

type Packet = {
  readonly op: number;
  readonly d: unknown;
  readonly s?: number;
  readonly t?: string;
};
type Session = {
  readonly id: string;
  readonly intents: number;
  readonly events: Packet[];
  sequence: number;
  socket: WebSocket | null;
  leftAt: number;
};

/** One connection, as a test sees it. */
export type Connection = {
  readonly path: string;
  readonly at: number;
  /** The port of its client. */
  readonly port: number;
  identify: Readonly<Record<string, unknown>> | null;
  resume: { readonly session_id: string; readonly seq: number } | null;
  /** The sequence numbers in its heartbeats. */
  readonly heartbeats: (number | null)[];
  /** The close code, and the side that closed. */
  closed: { readonly code: number; readonly by: 'client' | 'server' } | null;
};

type Live = {
  readonly socket: WebSocket;
  readonly seen: Connection;
  readonly fault: ConnectionFault | null;
  session: Session | null;
  sentAt: number[];
  heartbeatAt: number;
};

export type GatewayHost = {
  readonly options: GatewayOptions;
  readonly now: () => number;
  readonly bot: User;
  readonly isToken: (token: unknown) => boolean;
  readonly resetToken: () => void;
  readonly resumeUrl: () => string;
  readonly guilds: () => readonly { readonly id: Snowflake; readonly created: object }[];
  readonly changed: () => void;
};

const payloadBytesMax = 4_096;
const [eventsMax, eventsMs] = [120, 60_000];
const privileged = intent.guildMembers | intent.guildPresences | intent.messageContent;

export class Gateway {
  readonly connections: Connection[] = [];
  /** The heartbeat interval of connections that open from now on. */
  heartbeatMs: number;
  /** While false, the gateway acknowledges no heartbeat. */
  acknowledges = true;
  /** While true, the gateway sends nothing, and keeps events for a RESUME. */
  isFrozen = false;
  startsLeft: number;
  /** Called with the connection of each IDENTIFY and RESUME, before anything else. */
  onEnter: (connection: Connection) => void = () => {};
  readonly #live = new Set<Live>();
  readonly #sessions = new Map<string, Session>();
  readonly #planned: { fault: ConnectionFault; left: number }[] = [];
  readonly #host: GatewayHost;
  #identifiedAt = Number.NEGATIVE_INFINITY;
  readonly #timer: NodeJS.Timeout;

  constructor(host: GatewayHost) {
    this.#host = host;
    this.startsLeft = host.options.sessionStarts;
    this.heartbeatMs = host.options.heartbeatMs;
    this.#timer = setInterval(() => this.#endSilent(), this.heartbeatMs);
    this.#timer.unref();
  }

  get isReady(): boolean {
    return [...this.#sessions.values()].some(({ socket }) => socket !== null);
  }

  /** The next `times` connections get this fault. */
  plan(fault: ConnectionFault, times = 1): void {
    this.#planned.push({ fault, left: times });
  }

  nextFault(): ConnectionFault | null {
    const planned = this.#planned[0];
    if (planned === undefined) return null;
    if (--planned.left <= 0) this.#planned.shift();
    return planned.fault;
  }

  /** @param port of the client */
  accept(socket: WebSocket, url: URL, port: number, fault: ConnectionFault | null): void {
    const path = url.pathname + url.search;
    const at = this.#host.now();
    const seen: Connection = {
      path,
      at,
      port,
      identify: null,
      resume: null,
      heartbeats: [],
      closed: null,
    };
    const live: Live = { socket, seen, fault, session: null, sentAt: [], heartbeatAt: at };
    this.connections.push(seen);
    this.#live.add(live);
    socket.on('message', (data) => this.#take(live, data as Buffer));
    socket.on('close', (code) => this.#gone(live, code));
    socket.on('error', () => socket.terminate());
    if (url.searchParams.get('v') !== '10') return this.#end(live, 4_012, 'Invalid API version.');
    const plain = url.searchParams.get('encoding') === 'json' && !url.searchParams.has('compress');
    if (!plain) return this.#end(live, 4_002, 'This fake speaks plain JSON only.');
    if (fault?.kind === 'close' && fault.when === 'hello') return this.#end(live, fault.code);
    if (fault?.kind === 'no-hello') return this.#host.changed();
    if (fault?.kind === 'reconnect') return this.#put(live, { op: op.reconnect, d: null });
    this.#put(live, { op: op.hello, d: { heartbeat_interval: this.heartbeatMs, _trace: [] } });
    this.#host.changed();
  }

  /** Sends an event to every session whose intents have it, now or at its RESUME. */
  dispatch(event: string, needs: number, dataFor: (intents: number) => object): void {
    for (const session of this.#sessions.values()) {
      if (needs === 0 || (session.intents & needs) !== 0) {
        this.#tell(session, event, dataFor(session.intents));
      }
    }
  }

  /** Closes every connection with this code. Some codes end the session too. */
  closeAll(code: number): void {
    for (const live of this.#live) this.#end(live, code);
  }

  /** Breaks every connection without a close code. */
  drop(): void {
    for (const live of this.#live) live.socket.terminate();
  }

  /** "You should attempt to reconnect and resume immediately." */
  askToReconnect(): void {
    for (const live of this.#live) this.#put(live, { op: op.reconnect, d: null });
  }

  askForHeartbeat(): void {
    for (const live of this.#live) this.#put(live, { op: op.heartbeat, d: null });
  }

  /** Op 9 to all; unless `resumable`, the sessions are gone. */
  invalidate(resumable: boolean): void {
    for (const live of this.#live) {
      this.#put(live, { op: op.invalidSession, d: resumable });
      if (!resumable && live.session !== null) this.#sessions.delete(live.session.id);
      live.session = null;
    }
  }

  /** Ends the sessions of absent clients: none can be resumed. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  close(): void {
    clearInterval(this.#timer);
    for (const { socket } of this.#live) socket.terminate();
  }

  #take(live: Live, data: Buffer): void {
    const packet = packetOf(data);
    if (packet === null) return this.#end(live, 4_002, 'Error while decoding payload.');
    const now = this.#host.now();
    live.sentAt = [...live.sentAt.filter((at) => at > now - eventsMs), now];
    if (live.sentAt.length > eventsMax)
      return this.#end(live, 4_008, 'You are being rate limited.');
    switch (packet.op) {
      case op.heartbeat:
        live.heartbeatAt = now;
        live.seen.heartbeats.push(packet.d as number | null);
        if (this.acknowledges) this.#put(live, { op: op.heartbeatAck, d: null });
        break;
      case op.identify:
        this.#identify(live, packet.d);
        break;
      case op.resume:
        this.#resume(live, packet.d);
        break;
      case op.presenceUpdate:
      case op.voiceStateUpdate:
      case op.requestGuildMembers:
        if (live.session === null) return this.#end(live, 4_003, 'Not authenticated.');
        break;
      default:
        return this.#end(live, 4_001, 'Unknown opcode.');
    }
    this.#host.changed();
  }

  #identify(live: Live, data: unknown): void {
    const { fault, seen } = live;
    const { options, now } = this.#host;
    if (live.session !== null) return this.#end(live, 4_005, 'Already authenticated.');
    const given = (data ?? {}) as Record<string, unknown>;
    seen.identify = given;
    this.onEnter(seen);
    if (fault?.kind === 'close') return this.#end(live, fault.code);
    if (fault?.kind === 'invalid-session') return this.#refuseSession(live, fault.resumable);
    if (!this.#host.isToken(given['token']))
      return this.#end(live, 4_004, 'Authentication failed.');
    const { intents, shard = [0, 1] } = given;
    if (typeof intents !== 'number' || (intents & ~intentsKnown) !== 0) {
      return this.#end(live, 4_013, 'Invalid intent(s).');
    }
    if ((intents & privileged & ~options.allowedIntents) !== 0) {
      return this.#end(live, 4_014, 'Disallowed intent(s).');
    }
    const [shardId, shards] = shard as [number, number];
    if (!(shardId >= 0 && shardId < shards)) return this.#end(live, 4_010, 'Invalid shard.');
    if (now() - this.#identifiedAt < options.identifyGapMs) return this.#refuseSession(live, false);
    this.#identifiedAt = now();
    if (--this.startsLeft < 0) return this.#resetToken();
    const session: Session = {
      id: randomUUID().replaceAll('-', ''),
      intents,
      events: [],
      sequence: 0,
      socket: live.socket,
      leftAt: 0,
    };
    live.session = session;
    this.#sessions.set(session.id, session);
    this.#welcome(session, shard);
  }

  #welcome(session: Session, shard: unknown): void {
    const { bot, resumeUrl } = this.#host;
    const guilds = this.#host.guilds();
    this.#tell(session, 'READY', {
      v: 10,
      user: { ...bot, verified: true, mfa_enabled: false, email: null, flags: 0 },
      guilds: guilds.map(({ id }) => ({ id, unavailable: true })),
      session_id: session.id,
      resume_gateway_url: resumeUrl(),
      shard,
      application: { id: bot.id, flags: 0 },
      user_settings: {},
      private_channels: [],
      _trace: [],
    });
    if ((session.intents & intent.guilds) === 0) return;
    for (const { created } of guilds) this.#tell(session, 'GUILD_CREATE', created);
  }

  #resume(live: Live, data: unknown): void {
    const { fault, seen } = live;
    const given = (data ?? {}) as { token?: unknown; session_id: string; seq: number };
    seen.resume = { session_id: given.session_id, seq: given.seq };
    this.onEnter(seen);
    if (fault?.kind === 'close') return this.#end(live, fault.code);
    if (fault?.kind === 'invalid-session') return this.#refuseSession(live, fault.resumable);
    if (!this.#host.isToken(given.token)) return this.#end(live, 4_004, 'Authentication failed.');
    const session = this.#sessions.get(given.session_id);
    const tooLate = this.#host.now() - this.#host.options.sessionMs;
    if (session === undefined || (session.socket === null && session.leftAt < tooLate)) {
      return this.#refuseSession(live, false);
    }
    if (!Number.isInteger(given.seq) || given.seq > session.sequence) {
      this.#sessions.delete(session.id);
      return this.#end(live, 4_007, 'Invalid seq.');
    }
    session.socket?.terminate();
    session.socket = live.socket;
    live.session = session;
    for (const packet of session.events) {
      if ((packet.s ?? 0) > given.seq) this.#put(live, packet);
    }
    this.#tell(session, 'RESUMED', { _trace: [] });
  }

  #refuseSession(live: Live, resumable: boolean): void {
    this.#put(live, { op: op.invalidSession, d: resumable });
  }

  /**
   * "Upon hitting this limit, all active sessions for the app will be terminated, the bot token
   * will be reset."
   */
  #resetToken(): void {
    this.#host.resetToken();
    this.#sessions.clear();
    this.closeAll(4_004);
  }

  #tell(session: Session, event: string, data: object): void {
    const packet = { op: op.dispatch, d: data, s: ++session.sequence, t: event };
    session.events.push(packet);
    if (session.socket !== null && !this.isFrozen) session.socket.send(JSON.stringify(packet));
  }

  #put(live: Live, packet: Packet): void {
    if (!this.isFrozen) live.socket.send(JSON.stringify({ s: null, t: null, ...packet }));
  }

  #end(live: Live, code: number, reason = ''): void {
    live.seen.closed ??= { code, by: 'server' };
    // "Reconnect and start a new session": 4007 and 4009, and the codes that forbid a return.
    const over = code === 4_004 || code === 4_007 || code >= 4_009;
    if (over && live.session !== null) this.#sessions.delete(live.session.id);
    live.socket.close(code, reason);
  }

  #gone(live: Live, code: number): void {
    this.#live.delete(live);
    live.seen.closed ??= { code, by: 'client' };
    const { session } = live;
    if (session?.socket === live.socket) {
      session.socket = null;
      session.leftAt = this.#host.now();
      // "When you close the connection with close code 1000 or 1001, your session will be
      // invalidated."
      const byClient = live.seen.closed.by === 'client';
      if (byClient && (code === 1_000 || code === 1_001)) this.#sessions.delete(session.id);
    }
    this.#host.changed();
  }

  /**
   * "If your app fails to send a heartbeat event in time, your connection will be closed and you
   * will be forced to Resume". The page names no code.
   */
  #endSilent(): void {
    const oldest = this.#host.now() - 3 * this.#host.options.heartbeatMs;
    for (const live of this.#live) if (live.heartbeatAt < oldest) this.#end(live, 4_000);
  }
}

/** Null: no JSON, or more than 4,096 bytes. /events/gateway#sending-events */
function packetOf(data: Buffer): Packet | null {
  if (data.length > payloadBytesMax) return null;
  try {
    const packet = JSON.parse(data.toString('utf8')) as Packet | null;
    return typeof packet === 'object' && typeof packet?.op === 'number' ? packet : null;
  } catch {
    return null;
  }
}
