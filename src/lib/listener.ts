/**
 * Listening sockets that outlive their users. The socket stays open while its handler is replaced,
 * so a new configuration answers on the same address without one refused connection. Several users
 * share one socket if each answers at a path of its own.
 *
 * The handler gets a request with `Expect` before its body, like any other request. A handler that
 * wants the body calls `response.writeContinue()` if the client expects 100-continue.
 */
import type {
  IncomingMessage,
  RequestListener,
  Server as HttpServer,
  ServerResponse,
} from 'node:http';
import net, { createServer as createNetServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { steadyNow, type SteadyTime } from './clock.ts';
import {
  ConnectionTable,
  type ConnectionDeps,
  type Connection,
  type ConnectionLimits,
  type Peer,
} from './connection.ts';
import { createDeadlines, type Deadlines } from './deadlines.ts';
import { createServer, STATUS_CODES } from './node-http.ts';
import { problemText, problemType } from './problem.ts';
import { RequestStream, TimeSlices } from './request-stream.ts';
import { WrongBearers } from './bearer.ts';
import { holderOfPort, describeHolder } from './holders.ts';
import { readFileSync } from 'node:fs';
import type { HttpClient } from './http-client.ts';

/**
 * Answers a request, and reports to its peer whether it brought the right bearer token. If the
 * handler throws or rejects, only the connection ends.
 */
export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  peer: Peer,
) => void | Promise<void>;

export interface Listeners {
  /** Binds the address, or shares the listener that is bound there already. */
  take(address: ListenPlace): Promise<ListenerHandle | ListenFault>;
  /** Binds the address for this caller alone. Any later caller finds the address in use. */
  takeAlone(address: ListenPlace): Promise<ListenerHandle | ListenFault>;
  /** The number of open connections on all listeners. */
  readonly connections: number;
  /** The addresses that are bound now, with their real ports. */
  readonly places: readonly BoundPlace[];
}

export type ListenPlace = { readonly host: string; readonly port: number };

/** `address` is a literal; `0.0.0.0` and `::` mean every address of this machine. */
export type BoundPlace = { readonly address: string; readonly port: number };

export type ListenerHandle = {
  readonly kind: 'held';
  /** The real port, useful if the caller asked for port 0. */
  readonly port: number;
  /**
   * From now on this handler answers. The previous handler finishes the requests that it has begun.
   * @param path the handler does not replace the handlers of other paths; it answers at a path that
   *   has none, too
   */
  answer(handler: Handler, path?: string): void;
  /**
   * The last release closes the socket, after the answers under way, at most after `graceMs`. A
   * second call of the same handle can shorten that time.
   */
  release(graceMs: number): Promise<void>;
};

/** `code` is the system's error code: EADDRINUSE, EACCES, EADDRNOTAVAIL, ENOTFOUND … */
export type ListenFault = { readonly kind: 'fault'; readonly code: string };

export type ListenLimits = ConnectionLimits & {
  readonly headerBytesMax: number;
  /** The number of wrong bearer tokens of one address that are answered without delay. */
  readonly wrongBearersFree: number;
};

export type ListenDeps = {
  readonly deadlines: Deadlines;
  readonly steady: () => SteadyTime;
  readonly dropped: () => void;
  /** Called with the error of a handler. If absent, the error ends the process. */
  readonly fault: (error: unknown) => void;
};

export const listenLimits: ListenLimits = {
  headersMs: 5_000,
  requestMs: 10_000,
  keepAliveMs: 65_000,
  untakenMs: 60_000,
  halfClosedMs: 2_000,
  checkMs: 500,
  headerBytesMax: 16 * 1024,
  connectionsMax: 1_024,
  strangerRequestsMax: 1_000,
  wrongBearersFree: 20,
};

/**
 * Makes an empty set of listeners. Listeners on port 0 are never shared.
 * @param deps `dropped` is called for each connection that was closed unanswered because there was
 *   no room
 */
export function createListeners(
  limits: Partial<ListenLimits> = {},
  deps: Partial<ListenDeps> = {},
): Listeners {
  const shared = new Map<string, Listener>();
  const bound = new Set<Listener>();
  let connections = 0;
  const watch = (socket: Socket): void => {
    connections++;
    socket.once('close', () => connections--);
  };
  const allLimits = { ...listenLimits, ...limits };
  const { deadlines = createDeadlines(), steady = steadyNow, dropped = () => {} } = deps;
  const { fault = throwLater } = deps;
  const brakes: ConnectionDeps = {
    wrongBearers: new WrongBearers(allLimits.wrongBearersFree, steady),
    slices: new TimeSlices(),
    deadlines,
    steady,
    dropped,
    fault,
  };
  const make = (host: string, port: number): Listener =>
    new Listener({ host, port }, allLimits, brakes, watch);
  return {
    get connections() {
      return connections;
    },
    get places() {
      return [...bound].flatMap((listener) => listener.place ?? []);
    },
    async take({ host, port }) {
      const key = `${host.toLowerCase()} ${port}`;
      const listener = shared.get(key) ?? make(host, port);
      if (port !== 0) shared.set(key, listener);
      bound.add(listener);
      const forget = (): void => {
        bound.delete(listener);
        if (shared.get(key) === listener) shared.delete(key);
      };
      return listener.take(forget);
    },
    takeAlone({ host, port }) {
      const listener = make(host, port);
      bound.add(listener);
      return listener.take(() => bound.delete(listener));
    },
  };
}

/** Without `fault`, an error ends the process, so that a test sees it. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/**
 * A server of `node:net` owns the sockets. `node:http` reads requests and writes answers over
 * streams that svc gives it (connection.ts). Node's HTTP server binds nothing itself, so its own
 * time limits have no effect.
 */
class Listener {
  readonly #server: Server;
  readonly #bound: Promise<string | null>;
  readonly #connections: ConnectionTable;
  /** Answers at every path that has no handler of its own. */
  #handler: Handler = answerNotYet;
  readonly #byPath = new Map<string, Handler>();
  /** Handlers of paths that were released last. They answer while the listener closes. */
  readonly #released = new Map<string, Handler>();
  #holders = 0;
  /** null: it is open. */
  #closed: Promise<void> | null = null;

  constructor(
    { host, port }: ListenPlace,
    limits: ListenLimits,
    brakes: ConnectionDeps,
    connected: (socket: Socket) => void,
  ) {
    const http = this.#httpServer(limits);
    this.#connections = new ConnectionTable(limits, brakes, {
      handOver: (stream) => http.emit('connection', stream),
      timedOut: (connection) => answerUnreadable('ERR_HTTP_REQUEST_TIMEOUT', connection),
    });
    this.#server = createNetServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      connected(socket);
      this.#connections.admit(socket);
    });
    this.#bound = new Promise((resolve) => {
      this.#server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'UNKNOWN'));
      listenAt(this.#server, { host, port }, () => resolve(null));
    });
  }

  #httpServer({ keepAliveMs, headerBytesMax }: ListenLimits): HttpServer {
    const server = createServer({
      keepAliveTimeout: keepAliveMs,
      maxHeaderSize: headerBytesMax,
      // Node's own 400 would bypass the count of unanswered requests; svc's own does not.
      requireHostHeader: false,
    });
    const handle: RequestListener = (request, response) => {
      const connection = connectionOf(request.socket);
      if (!connection.begin(request, response)) return;
      const handler = hasHost(request) ? this.#handlerOf(request) : refuseWithoutHost;
      connection.guard(() => handler(request, response, connection));
    };
    for (const name of ['request', 'checkContinue', 'checkExpectation']) server.on(name, handle);
    server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
      answerUnreadable(error.code, connectionOf(stream));
    });
    return server;
  }

  #handlerOf({ url = '' }: IncomingMessage): Handler {
    const byPath = this.#byPath;
    return (byPath.size < 2 ? undefined : byPath.get(pathOf(url))) ?? this.#handler;
  }

  /** null: not bound, or no longer bound. */
  get place(): BoundPlace | null {
    const bound = this.#server.address();
    return typeof bound === 'object' ? bound : null;
  }

  /** @param forget called when nobody may share the listener any more, before the socket closes */
  async take(forget: () => void): Promise<ListenerHandle | ListenFault> {
    this.#holders++;
    const code = await this.#bound;
    if (code !== null) {
      forget();
      return { kind: 'fault', code };
    }
    let held = true;
    let own: PathHandler | null = null;
    return {
      kind: 'held',
      port: this.place?.port ?? 0,
      answer: (handler, path) => {
        this.#released.clear();
        this.#handler = handler;
        if (path === undefined) return;
        own = { path, handler };
        this.#byPath.set(path, handler);
      },
      release: async (graceMs) => {
        if (held) {
          held = false;
          this.#holders--;
          if (own !== null) this.#leave(own);
          if (this.#holders === 0) {
            for (const [path, handler] of this.#released) this.#byPath.set(path, handler);
            forget();
            this.#closed = this.#close();
          }
        }
        if (this.#closed === null) return;
        const end = setTimeout(() => this.#connections.destroy(), graceMs);
        await this.#closed;
        clearTimeout(end);
      },
    };
  }

  /** Ends the answers of this handler at its path, unless a newer one answers there already. */
  #leave({ path, handler }: PathHandler): void {
    if (this.#byPath.get(path) !== handler) return;
    this.#byPath.delete(path);
    this.#released.set(path, handler);
    if (this.#handler !== handler) return;
    for (const other of this.#byPath.values()) this.#handler = other;
  }

  /** Waits for the answers under way. A connection closes as soon as it has none. */
  #close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#connections.close();
    });
  }
}

type PathHandler = { readonly path: string; readonly handler: Handler };

/** The path without the query. Proxies may send a URL in its absolute form. */
export function pathOf(url: string): string {
  if (!url.startsWith('/')) return URL.parse(url)?.pathname ?? '';
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

/** Only connections make streams. */
function connectionOf(stream: Duplex): Connection {
  if (!(stream instanceof RequestStream)) throw new Error('a stream of nobody');
  return stream.owner as Connection;
}

const brokenRequestAnswers: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'The head of the request is too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'body_too_large', 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request did not come in time.'],
};

/**
 * Sends a short answer to bytes that are no HTTP, if the client can still relate it, and closes.
 */
function answerUnreadable(code: string | undefined, connection: Connection): void {
  const { output, mayRefuse } = connection;
  if (!output.writable || !mayRefuse) {
    if (!connection.closeAfterAnswers()) output.destroy();
    return;
  }
  const fallback = [400, 'bad_request', 'This could not be read as an HTTP request.'] as const;
  const [status, name, detail] = brokenRequestAnswers[code ?? ''] ?? fallback;
  const body = problemText(status, name, detail);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${problemType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  output.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => output.destroy());
}

/** https://www.rfc-editor.org/rfc/rfc9112#section-3.2 */
function hasHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host !== undefined || httpVersion === '1.0';
}

const refuseWithoutHost: Handler = (_request, response) => {
  const body = problemText(400, 'bad_request', 'The request has no header Host.');
  response.writeHead(400, {
    'content-type': problemType,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
  response.end(body);
};

/** Answers on a listener that is bound before its first handler exists. */
const answerNotYet: Handler = (_request, response) => {
  const body = problemText(503, 'starting', 'The service is starting; try again in a moment.');
  response.writeHead(503, {
    'content-type': problemType,
    'content-length': Buffer.byteLength(body),
    'retry-after': '1',
    connection: 'close',
  });
  response.end(body);
};

// Binding a server to an address.

/**
 * Like `server.listen({ port, host })`, but without looking up an IPv4 address. For that look-up
 * Node compiles its pattern of IPv6 addresses, which is a tenth of a start. An error is the
 * server's `error` event.
 * @param place `host` is empty for every address of this machine
 */
export function listenAt(server: Server, { host, port }: ListenPlace, bound: () => void): void {
  // As of Node 26.4.
  const BoundSocket: typeof net.BoundSocket | undefined = net.BoundSocket;
  if (BoundSocket === undefined || !net.isIPv4(host)) {
    server.listen(host === '' ? { port } : { port, host }, bound);
    return;
  }
  try {
    server.listen(new BoundSocket({ host, port }), bound);
  } catch (error) {
    process.nextTick(() => server.emit('error', error));
  }
}

const remedies: Readonly<Record<string, string>> = {
  EACCES: 'this user may not listen there: choose a port from 1024 up',
  EADDRNOTAVAIL: 'this machine does not have that address: write one that it has, or 127.0.0.1',
  ENOTFOUND: 'that name is not known here: write an address, or 127.0.0.1',
};

/**
 * Why svc cannot listen on an address, and what to do about it.
 * @param code the system's error code
 */
export function describeBindError(code: string, port: number): string {
  if (code === 'EADDRINUSE') {
    const holder = `the program that listens there${describeHolder(holderOfPort(port))}`;
    return `the address is taken: stop ${holder}, or choose another port`;
  }
  return remedies[code] ?? 'write an address on which this machine can listen';
}

// The limit of open files of a process; each connection is one. If a listener has none left, libuv
// closes new connections without any report. So a listener takes fewer connections than that.

/** With this limit, open files never slow svc down. */
export const openFilesMin = 4_096;

/** For the program itself: its code, its database, its log. */
const ownFiles = 48;

/**
 * Reads the limit of open files.
 * @param pid absent: this process
 * @returns null: this system does not report it. Format: proc_pid_limits(5)
 */
export function openFilesMax(pid: number | 'self' = 'self'): number | null {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    const max = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return max === undefined ? null : Number(max);
  } catch {
    return null;
  }
}

/**
 * The most connections for each of two listeners, so that as many connections can go out as come
 * in.
 */
export function connectionsWithin(openFiles: number): number {
  return Math.max(4, Math.floor((openFiles - ownFiles) / 4));
}

/**
 * The same client.
 * @param onShortage called whenever it could open no connection for lack of files
 */
export function reportFileShortage(http: HttpClient, onShortage: () => void): HttpClient {
  return {
    async send(request, stop) {
      const result = await http.send(request, stop);
      if (result.kind === 'fault' && (result.code === 'EMFILE' || result.code === 'ENFILE'))
        onShortage();
      return result;
    },
    close: () => http.close(),
  };
}
