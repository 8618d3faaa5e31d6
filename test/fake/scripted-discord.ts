/**
 * A small Discord that a test controls: a gateway that follows the test, and a REST interface with
 * scripted answers. Without a script it answers that all is well.
 *
 * The gateway refuses what the real one refuses. Pages: https://discord.com/developers/docs/
 * events/gateway (version and encoding, also of a resume; payloads of 4,096 bytes at most, 120 in a
 * minute; a close with 1000 or 1001 ends the session) and topics/opcodes-and-status-codes (4001,
 * 4002, 4005, 4008, 4012).
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { until } from '../support/waiting.ts';

export const botId = '1203948576201938475';
export const botToken = `${btoa(botId).replaceAll('=', '')}.GaBcDe.a-token-that-only-tests-have`;

type Fields = Record<string, unknown>;
type LiveEvent = { op: number; d: Fields; s?: number; t?: string };
export type RestCall = { method: string; path: string; body: Fields; headers: Fields };
export type RestAnswer = { status: number; body?: unknown; headers?: Record<string, string> };

/**
 * The answer to an IDENTIFY or a RESUME; a number is a close code. `brief`: all is well, and the
 * connection closes at once.
 */
type Welcome = 'well' | 'brief' | 'invalid' | 'resumable' | 'silence' | number;

export class ScriptedDiscord {
  readonly frames: LiveEvent[] = [];
  readonly closeCodes: number[] = [];
  readonly calls: RestCall[] = [];
  /** Taken from the front, one a call of that kind; `cut` resets the connection. */
  readonly posts: (RestAnswer | 'cut')[] = [];
  readonly gets: RestAnswer[] = [];
  readonly gatewayAnswers: RestAnswer[] = [];
  readonly selfAnswers: RestAnswer[] = [];
  /** The answers to requests that open a direct chat. */
  readonly directAnswers: RestAnswer[] = [];
  /** Answers to IDENTIFY and RESUME, one each, before those in `always`. */
  readonly welcomes: Welcome[] = [];
  always: Welcome = 'well';
  /** Messages by channel, for requests over REST. */
  readonly history = new Map<string, Fields[]>();
  greets = true;
  /** Gateway connections are cut before they open. */
  unreachable = false;
  /** So are only those to the address for a resume. */
  resumeUnreachable = false;
  /** Gateway connections never open. */
  hangs = false;
  /** The paths of the gateway connections that opened. */
  readonly paths: string[] = [];
  refusedSockets = 0;
  acknowledges = true;
  /** Pings received; no ping has an answer while `pongs` is false. */
  pings = 0;
  pongs = true;
  heartbeatMs = 60_000;
  sessionsLeft = 1_000;
  sessions = 0;
  sockets: WebSocket[] = [];
  /** Connections opened, greeted or not. */
  connections = 0;
  /** The events of this session, which a RESUME repeats. */
  #events: LiveEvent[] = [];
  #isSessionOver = false;
  /** A client killed in the middle of a request leaves half of it. */
  #server = createServer((request, response) => {
    this.#rest(request, response).catch(() => response.destroy());
  });
  #gateway = new WebSocketServer({ noServer: true, autoPong: false });
  #hanging: Duplex[] = [];

  static async start(): Promise<ScriptedDiscord> {
    const discord = new ScriptedDiscord();
    discord.#server.on('upgrade', (request, socket, head) => {
      const isLost = discord.resumeUnreachable && request.url?.startsWith('/resume') === true;
      if (discord.unreachable || isLost) {
        discord.refusedSockets++;
        socket.destroy();
        return;
      }
      if (discord.hangs) {
        discord.#hanging.push(socket);
        discord.refusedSockets++;
        return;
      }
      discord.#gateway.handleUpgrade(request, socket, head, (made) => {
        discord.#greet(made, request.url ?? '');
      });
    });
    await new Promise<void>((resolve) => discord.#server.listen(0, '127.0.0.1', resolve));
    return discord;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  framesOf(op: number): LiveEvent[] {
    return this.frames.filter((frame) => frame.op === op);
  }

  postsTo(ending: string): RestCall[] {
    return this.calls.filter(({ method, path }) => method === 'POST' && path.endsWith(ending));
  }

  /** Sends an event with the next sequence number; clients without a connection lose it. */
  dispatch(name: string, data: Fields): number {
    const frame: LiveEvent = { op: 0, t: name, s: this.#events.length + 1, d: data };
    this.#events.push(frame);
    this.send(frame);
    return frame.s!;
  }

  send(frame: unknown): void {
    this.sendText(JSON.stringify(frame));
  }

  sendText(text: string): void {
    for (const socket of this.sockets) socket.send(text);
  }

  closeAll(code: number): void {
    for (const socket of this.sockets.splice(0)) socket.close(code);
  }

  /** Cuts all connections, as a failing network does. */
  cutAll(): void {
    for (const socket of this.sockets.splice(0)) socket.terminate();
  }

  /** Keeps connections open, but reads and answers nothing until they are resumed. */
  holdAll(): void {
    for (const socket of this.sockets) socket.pause();
  }

  goOn(): void {
    for (const socket of this.sockets) socket.resume();
  }

  /** Resolves when that holds. */
  async until(holds: () => boolean): Promise<void> {
    await until(String(holds), holds);
  }

  /** Breaks off the connections that never opened. */
  breakHanging(): void {
    for (const socket of this.#hanging.splice(0)) (socket as Socket).resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#gateway.clients) socket.terminate();
    for (const socket of this.#hanging) socket.destroy();
    this.#gateway.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #greet(socket: WebSocket, address: string): void {
    const say = (frame: unknown): void => socket.send(JSON.stringify(frame));
    const [path = '', query] = address.split('?');
    this.paths.push(path);
    this.connections++;
    let hasEntered = false;
    const sentAt: number[] = [];
    socket.on('error', () => {});
    socket.on('ping', () => {
      this.pings++;
      if (this.pongs) socket.pong();
    });
    socket.on('close', (code) => {
      // A connection that the test closes is no longer in the list.
      const isByClient = this.sockets.includes(socket);
      this.sockets = this.sockets.filter((one) => one !== socket);
      this.closeCodes.push(code);
      if (isByClient && (code === 1_000 || code === 1_001)) this.#isSessionOver = true;
    });
    if (query !== 'v=10&encoding=json') return socket.close(4_012);
    socket.on('message', (data: Buffer) => {
      const now = Date.now();
      sentAt.push(now);
      if (sentAt.filter((at) => now - at < 60_000).length > 120) return socket.close(4_008);
      if (data.length > 4_096) return socket.close(4_002);
      const frame = JSON.parse(data.toString()) as LiveEvent;
      this.frames.push(frame);
      if (frame.op === 1 && this.acknowledges) say({ op: 11 });
      if (![1, 2, 6].includes(frame.op)) return socket.close(4_001);
      if (frame.op === 1) return;
      if (hasEntered) return socket.close(4_005);
      hasEntered = true;
      this.#welcome(socket, frame, say);
    });
    if (this.greets) say({ op: 10, d: { heartbeat_interval: this.heartbeatMs } });
  }

  #welcome(socket: WebSocket, { op, d }: LiveEvent, say: (frame: unknown) => void): void {
    const how = this.welcomes.shift() ?? this.always;
    if (typeof how === 'number') return socket.close(how);
    if (how === 'silence') return;
    const isWelcome = how === 'well' || how === 'brief';
    if (!isWelcome) return say({ op: 9, d: how === 'resumable' });
    const isTheirs = d['session_id'] === `session-${this.sessions}` && !this.#isSessionOver;
    const isKnown = op === 2 || isTheirs;
    if (!isKnown) return say({ op: 9, d: false });
    if (op === 2) {
      this.sessions++;
      this.#isSessionOver = false;
      const ready = {
        session_id: `session-${this.sessions}`,
        resume_gateway_url: `ws://127.0.0.1:${this.port}/resume`,
        user: { id: botId, username: 'helper' },
      };
      this.#events = [{ op: 0, t: 'READY', s: 1, d: ready }];
      say(this.#events[0]);
    } else {
      for (const event of this.#events.slice(Number(d['seq']))) say(event);
      say({ op: 0, t: 'RESUMED', s: this.#events.length, d: {} });
    }
    if (how === 'brief') return socket.close(4_000);
    this.sockets.push(socket);
  }

  async #rest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = text === '' ? {} : (JSON.parse(text) as Fields);
    const path = request.url ?? '';
    const method = request.method ?? '';
    this.calls.push({ method, path, body, headers: request.headers });
    const isMessage = method === 'POST' && path.endsWith('/messages');
    let scripted: RestAnswer | 'cut' | undefined;
    if (isMessage) scripted = this.posts.shift();
    else if (path.includes('?after=')) scripted = this.gets.shift();
    else if (path === '/v10/users/@me') scripted = this.selfAnswers.shift();
    else if (path === '/v10/users/@me/channels') scripted = this.directAnswers.shift();
    else if (path === '/v10/gateway/bot') scripted = this.gatewayAnswers.shift();
    if (scripted === 'cut') return void request.socket.resetAndDestroy();
    const answer = scripted ?? this.#answer(method, path);
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.body === undefined ? '' : JSON.stringify(answer.body));
  }

  #answer(method: string, path: string): RestAnswer {
    if (path === '/v10/gateway/bot') {
      const limit = { total: 1_000, remaining: this.sessionsLeft, reset_after: 60_000 };
      const url = `ws://127.0.0.1:${this.port}/gateway`;
      return { status: 200, body: { url, shards: 1, session_start_limit: limit } };
    }
    if (path === '/v10/users/@me') return { status: 200, body: { id: botId, username: 'helper' } };
    const asked = /^\/v10\/channels\/(\d+)\/messages\?after=(\d+)&limit=(\d+)$/.exec(path);
    if (asked !== null) {
      const [, place, after, limit] = asked;
      const later = (this.history.get(place!) ?? []).filter(
        ({ id }) => BigInt(id as string) > BigInt(after!),
      );
      return { status: 200, body: later.slice(0, Number(limit)).reverse() };
    }
    if (method === 'POST' && path.endsWith('/typing')) return { status: 204 };
    if (method === 'POST') return { status: 200, body: { id: '1' } };
    return { status: 404, body: { code: 0, message: '404: Not Found' } };
  }
}
