/**
 * Listening sockets that outlive their users: the socket stays open while its handler is replaced,
 * so that a new configuration answers on the same address without one refused connection.
 *
 * A request with `Expect: 100-continue` comes to the handler like any other, before its body: a
 * handler that wants the body calls `response.writeContinue()`.
 */
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { createServer, STATUS_CODES } from './node-http.ts';
import { problemText, problemType } from './problem.ts';

export interface Listeners {
  /** Binds the address, or shares the listener that is bound there already. */
  take(address: { readonly host: string; readonly port: number }): Promise<Held | ListenFault>;
  /** Connections that are open on all listeners. */
  readonly connections: number;
  /** Where they are bound at this moment, with their real ports. */
  readonly places: readonly BoundPlace[];
}

/** `address` is a literal; `0.0.0.0` and `::` stand for every address of this machine. */
export type BoundPlace = { readonly address: string; readonly port: number };

export type Held = {
  readonly kind: 'held';
  /** The real port; of use when port 0 was asked for. */
  readonly port: number;
  /** From now on this handler answers; the previous one finishes the requests that it has begun. */
  answer(handler: RequestListener): void;
  /** The last one to let go closes the socket, after the answers under way, at most `graceMs`. */
  release(graceMs: number): Promise<void>;
};

/** `code` is the system's: EADDRINUSE, EACCES, EADDRNOTAVAIL, ENOTFOUND … */
export type ListenFault = { readonly kind: 'fault'; readonly code: string };

export type ListenLimits = {
  /** From the first moment of a connection, or of a request on it, to the end of its head. */
  readonly headersMs: number;
  /** From the same moment to the end of the body. */
  readonly requestMs: number;
  /** Between two requests; longer than reverse proxies keep theirs, so that they let go first. */
  readonly keepAliveMs: number;
  /** How often the two limits on a request are checked. */
  readonly checkMs: number;
  readonly headerBytesMax: number;
  /** A connection beyond this number is closed at once. */
  readonly connectionsMax: number;
};

export const listenLimits: ListenLimits = {
  headersMs: 5_000,
  requestMs: 10_000,
  keepAliveMs: 65_000,
  checkMs: 500,
  headerBytesMax: 16 * 1024,
  connectionsMax: 1_024,
};

/**
 * Makes an empty set of listeners. Those on port 0 are never shared.
 * @param dropped is told of each connection that was closed since there were too many
 */
export function createListeners(
  limits: Partial<ListenLimits> = {},
  dropped: () => void = () => {},
): Listeners {
  const shared = new Map<string, Listener>();
  const all = new Set<Listener>();
  const sockets = new Set<Duplex>();
  const watch = (socket: Duplex): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  const make = (host: string, port: number): Listener =>
    new Listener(host, port, { ...listenLimits, ...limits }, { connected: watch, dropped });
  return {
    get connections() {
      return sockets.size;
    },
    get places() {
      return [...all].flatMap((listener) => listener.place ?? []);
    },
    async take({ host, port }) {
      const key = `${host.toLowerCase()} ${port}`;
      const listener = shared.get(key) ?? make(host, port);
      if (port !== 0) shared.set(key, listener);
      all.add(listener);
      const forget = (): void => {
        all.delete(listener);
        if (shared.get(key) === listener) shared.delete(key);
      };
      return listener.take(forget);
    },
  };
}

class Listener {
  readonly #server: Server;
  readonly #bound: Promise<string | null>;
  /** The answer under way on each connection, so that a broken request is not answered twice. */
  readonly #answers = new WeakMap<Duplex, ServerResponse>();
  #handler: RequestListener = answerNotYet;
  #holders = 0;

  constructor(
    host: string,
    port: number,
    limits: ListenLimits,
    { connected, dropped }: { connected: (socket: Duplex) => void; dropped: () => void },
  ) {
    this.#server = createServer({
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: limits.checkMs,
      maxHeaderSize: limits.headerBytesMax,
      noDelay: true,
    });
    this.#server.maxConnections = limits.connectionsMax;
    this.#server.on('connection', connected);
    this.#server.on('drop', dropped);
    const handle: RequestListener = (request, response) => {
      this.#answers.set(request.socket, response);
      this.#handler(request, response);
    };
    this.#server.on('request', handle);
    this.#server.on('checkContinue', handle);
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      answerBroken(error.code, socket, this.#answers.get(socket));
    });
    this.#bound = new Promise((resolve) => {
      this.#server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'UNKNOWN'));
      this.#server.listen(host === '' ? { port } : { port, host }, () => resolve(null));
    });
  }

  /** null: not bound, or no more. */
  get place(): BoundPlace | null {
    const bound = this.#server.address();
    return typeof bound === 'object' ? bound : null;
  }

  /** @param forget called when nobody may share it any more, before the socket closes */
  async take(forget: () => void): Promise<Held | ListenFault> {
    this.#holders++;
    const code = await this.#bound;
    if (code !== null) {
      forget();
      return { kind: 'fault', code };
    }
    let held = true;
    return {
      kind: 'held',
      port: this.place?.port ?? 0,
      answer: (handler) => {
        this.#handler = handler;
      },
      release: async (graceMs) => {
        if (!held) return;
        held = false;
        this.#holders--;
        if (this.#holders > 0) return;
        forget();
        await close(this.#server, graceMs);
      },
    };
  }
}

/** Waits for the answers under way; a connection is let go as soon as it has none. */
function close(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), 20);
    const end = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(end);
      resolve();
    });
  });
}

const broken: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'The head of the request is too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'body_too_large', 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request did not come in time.'],
};

/** Gives a small answer to what cannot be read as HTTP, unless one has begun, and closes. */
function answerBroken(
  code: string | undefined,
  socket: Duplex,
  answer: ServerResponse | undefined,
): void {
  const begun = answer !== undefined && answer.headersSent && !answer.writableFinished;
  if (!socket.writable || begun) {
    socket.destroy();
    return;
  }
  const fallback = [400, 'bad_request', 'This could not be read as an HTTP request.'] as const;
  const [status, name, detail] = broken[code ?? ''] ?? fallback;
  const body = problemText(status, name, detail);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${problemType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** A listener that is bound before its first handler is there. */
const answerNotYet: RequestListener = (_request, response) => {
  const body = problemText(503, 'starting', 'The service is starting; try again in a moment.');
  response.writeHead(503, {
    'content-type': problemType,
    'content-length': Buffer.byteLength(body),
    'retry-after': '1',
    connection: 'close',
  });
  response.end(body);
};
