/**
 * The way out over HTTP to addresses that the operator wrote; what a model wrote goes through
 * lib/pinned-client.ts. It follows no redirect, reads no proxy setting from the environment, and
 * bounds time and size, also of what comes beside the body (lib/answer-body.ts). A reply of any
 * status is an answer; a fault is only what kept an answer from coming whole.
 *
 * Format: HTTP/1.1 by undici's `dispatch` with an Agent of our own. Its handler is given the body
 * as it comes, which costs less than a stream and tells whether the request was ever begun.
 */
import type { Socket } from 'node:net';
import { Agent, Client, Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { AnswerBody } from './answer-body.ts';
import type { SteadyTime } from './clock.ts';
import type { Deadline, Deadlines } from './deadlines.ts';
import { createNearConnector } from './near-connector.ts';
import type { Stop } from './stop.ts';

export interface HttpClient {
  send(request: HttpRequest, stop?: Stop): Promise<HttpResult>;
  /** Ends every call under way and closes the connections. */
  close(): Promise<void>;
}

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Nothing else stops a body that drips. */
  readonly deadlineAt: SteadyTime;
  /** A longer body is read no further. */
  readonly bodyBytesMax: number;
  /**
   * For a caller that needs no body: the body is thrown away, and once the status is there nothing
   * that happens to the body makes the answer a fault.
   */
  readonly discardBody?: boolean;
  /**
   * Only to this machine and private networks, as `isNear` says of the address that is connected
   * to; elsewhere it is `connect_failed` with `farAddressCode`, and no connection is begun.
   */
  readonly nearOnly?: boolean;
};

export type HttpResult =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: Readonly<Record<string, string | string[] | undefined>>;
      readonly body: string;
    }
  | {
      readonly kind: 'fault';
      readonly fault: HttpFault;
      /** The request may have reached the other side. */
      readonly sent: boolean;
      /** The system's name of the error (ECONNREFUSED, …), or null; no address, no secret. */
      readonly code: string | null;
    };

export type HttpFault =
  | 'connect_failed'
  | 'connect_timeout'
  | 'connection_lost'
  | 'timeout'
  | 'answer_too_large'
  | 'cancelled';

/** @param options `connections` is the most per origin */
export function createHttpClient(
  deadlines: Deadlines,
  options: { connections?: number; connectMs?: number } = {},
): HttpClient {
  const timeout = options.connectMs ?? 5_000;
  const shared = {
    connections: options.connections ?? 1024,
    pipelining: 1,
    // Many servers close an idle connection after 5 s without saying so beforehand.
    keepAliveTimeout: 4_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 64 * 1024,
    factory: (origin: string | URL, all: object) => {
      return new Pool(origin, { ...(all as Pool.Options), factory: meteredClient });
    },
  };
  const anywhere = new Agent({ ...shared, connect: { timeout } });
  // Its connections are its own: whatever a request of `nearOnly` goes over was judged.
  const near = new Agent({ ...shared, connect: createNearConnector(timeout) });
  return {
    send(request, stop) {
      if (stop?.stopped === true) return Promise.resolve(cancelledUnsent);
      return new Promise((resolve) => {
        const exchange = new Exchange(request, stop, resolve);
        exchange.watch(deadlines);
        const agent = request.nearOnly === true ? near : anywhere;
        const asked: Asked = {
          origin: request.url.origin,
          path: request.url.pathname + request.url.search,
          method: request.method,
          headers: request.headers as Record<string, string>,
          body: request.body,
          exchange,
        };
        agent.dispatch(asked, exchange);
      });
    },
    close: async () => {
      await Promise.all([anywhere.destroy(), near.destroy()]);
    },
  };
}

type Asked = Dispatcher.DispatchOptions & { readonly exchange: Exchange };

/** A client of a pool has one connection at a time, and on it one exchange at a time. */
function meteredClient(origin: URL, options: Pool.Options): Dispatcher {
  const meter = new ConnectionMeter();
  const { connect } = options;
  if (typeof connect !== 'function') throw new Error('a pool makes the connector');
  const client = new Client(origin, {
    ...options,
    connect: (where, done) => {
      connect(where, (...connected) => {
        // With an error, undici leaves the socket out.
        if (connected[0] === null) meter.watch(connected[1]);
        done(...connected);
      });
    },
  });
  const dispatch = client.dispatch.bind(client);
  client.dispatch = (asked, handler) => {
    meter.begin((asked as Asked).exchange);
    return dispatch(asked, handler);
  };
  return client;
}

/** Tells the exchange under way how much its connection has brought since it began. */
class ConnectionMeter {
  #socket: Socket | null = null;
  #bytesBefore = 0;
  #exchange: Exchange | null = null;

  watch(socket: Socket): void {
    this.#socket = socket;
    this.#bytesBefore = 0;
    socket.on('readable', () => this.#exchange?.read(socket.bytesRead - this.#bytesBefore));
  }

  begin(exchange: Exchange): void {
    this.#bytesBefore = this.#socket?.bytesRead ?? 0;
    this.#exchange = exchange;
    exchange.meter = this;
  }

  end(exchange: Exchange): void {
    if (this.#exchange === exchange) this.#exchange = null;
  }
}

const cancelledUnsent: HttpResult = { kind: 'fault', fault: 'cancelled', sent: false, code: null };

/**
 * One request and its answer. Waiting for a connection → begun (`connection` is there) → settled,
 * once, by the end of the body, an error, the deadline or the stop. When it is settled early the
 * connection is closed, or never used if there was none yet.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest;
  readonly #stop: Stop | undefined;
  readonly #resolve: (result: HttpResult) => void;
  #connection: Dispatcher.DispatchController | null = null;
  #deadline: Deadline | null = null;
  /** Of the connection that it is sent on; null: it has none yet. */
  meter: ConnectionMeter | null = null;
  #settled = false;
  #status = 0;
  #headers: Readonly<Record<string, string | string[] | undefined>> = {};
  readonly #body = new AnswerBody();

  constructor(request: HttpRequest, stop: Stop | undefined, resolve: (result: HttpResult) => void) {
    this.#request = request;
    this.#stop = stop;
    this.#resolve = resolve;
  }

  watch(deadlines: Deadlines): void {
    this.#deadline = deadlines.at(this.#request.deadlineAt, () => this.#fail('timeout', null));
    this.#stop?.listen(this.#cancel);
  }

  onRequestStart(connection: Dispatcher.DispatchController): void {
    this.#connection = connection;
    if (this.#settled) connection.abort(givenUp);
  }

  onResponseStart(
    _connection: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) {
      if (this.#body.addInterim()) this.#fail('answer_too_large', null);
      return;
    }
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_connection: Dispatcher.DispatchController, part: Buffer): void {
    if (this.#settled) return;
    if (this.#body.bytes + part.length > this.#request.bodyBytesMax) {
      this.#fail('answer_too_large', null);
    } else {
      this.#body.add(part, this.#request.discardBody !== true);
    }
  }

  /** @param bytes what the connection has brought since the request began */
  read(bytes: number): void {
    if (this.#body.isFlooded(bytes)) this.#fail('answer_too_large', null);
  }

  onResponseEnd(): void {
    const bytes = this.#body.read();
    this.#settle(this.#answer(bytes.toString('utf8')));
  }

  onResponseError(_connection: Dispatcher.DispatchController | undefined, error: Error): void {
    const code = codeOf(error);
    if (code === 'UND_ERR_DESTROYED') return this.#fail('cancelled', code);
    if (this.#connection !== null) return this.#fail('connection_lost', code);
    const late = code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT';
    this.#fail(late ? 'connect_timeout' : 'connect_failed', code);
  }

  readonly #cancel = (): void => this.#fail('cancelled', null);

  #fail(fault: HttpFault, code: string | null): void {
    if (this.#settled) return;
    const enough = this.#request.discardBody === true && this.#status >= 200;
    const sent = this.#connection !== null;
    this.#settle(enough ? this.#answer('') : { kind: 'fault', fault, sent, code });
    this.#connection?.abort(givenUp);
  }

  #answer(body: string): HttpResult {
    return { kind: 'answer', status: this.#status, headers: this.#headers, body };
  }

  #settle(result: HttpResult): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#deadline?.cancel();
    this.#stop?.unlisten(this.#cancel);
    this.#body.clear();
    this.meter?.end(this);
    this.#resolve(result);
  }
}

const givenUp = new Error('given up');

/** The system's name of an error, or undici's own; never its message, which holds the address. */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, cause } = error as Error & { code?: unknown };
  if (typeof code === 'string') return code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return cause === undefined ? null : codeOf(cause);
}
