/**
 * The HTTP client for addresses that the operator wrote. Addresses from a model go through
 * lib/pinned-client.ts. The client follows no redirect and reads no proxy setting from the
 * environment. It limits the time and the size of an answer, also of bytes outside the body
 * (lib/collect-body.ts). An answer of any status is an answer; a fault is only a reason why no
 * whole answer came.
 *
 * Format: HTTP/1.1. Plain requests go over svc's own connections; all others go through undici,
 * which is loaded with the first request that needs it.
 */
import type { Deadlines } from './deadlines.ts';
import {
  Connections,
  Exchange,
  type HttpRequest,
  type HttpResult,
  type Opener,
} from './http-client/exchange.ts';
import type { Undici } from './http-client/undici-connection.ts';
import { LoadOnce } from './load-once.ts';
import { plainOpener, writeRequest } from './plain-client/plain-connection.ts';
import type { Stop } from './stop.ts';

export { codeOf } from './http-client/exchange.ts';

export interface HttpClient {
  send(request: HttpRequest, stop?: Stop): Promise<HttpResult>;
  /** Ends every call under way and closes the connections. */
  close(): Promise<void>;
}

/**
 * @param options `connections` is the most per origin and kind. With `plain`, plain HTTP goes over
 *   svc's own connections (lib/plain-client/) while request and answer are plain.
 */
export function createHttpClient(
  deadlines: Deadlines,
  options: { connections?: number; connectMs?: number; plain?: boolean } = {},
): HttpClient {
  const { plain = usesOwnHttp(process.env) } = options;
  const undici = new LoadOnce(() => import('./http-client/undici-connection.ts'));
  const origins = new Origins(undici, options);
  return {
    send(request, stop) {
      return new Promise((resolve, reject) => {
        const exchange = new Exchange(request, stop, resolve, reject);
        exchange.watch(deadlines);
        if (exchange.isOver) return;
        if (plain) exchange.text = writeRequest(request);
        if (exchange.text !== null || undici.value !== null) return origins.take(exchange);
        undici.get().then(
          () => origins.take(exchange),
          (error: unknown) => exchange.failed(error),
        );
      });
    },
    close: () => origins.close(),
  };
}

class Origins {
  readonly #undici: LoadOnce<Undici>;
  readonly #connectionsMax: number;
  readonly #connectMs: number;
  /**
   * Never removed, with the experience of each origin. Operators write the origins, so they are
   * few.
   */
  readonly #all = new Map<string, Connections>();
  #closed = false;

  constructor(undici: LoadOnce<Undici>, options: { connections?: number; connectMs?: number }) {
    this.#undici = undici;
    this.#connectionsMax = options.connections ?? 1024;
    this.#connectMs = options.connectMs ?? 5_000;
  }

  /** Sends an exchange: a plain one at once, any other once undici is loaded. */
  take(exchange: Exchange): void {
    if (this.#closed) return exchange.destroyed();
    const { url, nearOnly = false } = exchange.request;
    const isPlain = exchange.text !== null;
    // Requests with `nearOnly` share no connection with others: svc has checked the address of
    // theirs.
    const key = `${nearOnly ? 'near' : 'any'} ${isPlain ? 'plain' : 'undici'} ${url.origin}`;
    let connections = this.#all.get(key);
    if (connections === undefined) {
      connections = new Connections(
        this.#connectionsMax,
        isPlain
          ? plainOpener(this.#undici, { url, nearOnly, connectMs: this.#connectMs })
          : this.#undiciOpener(url, nearOnly),
      );
      this.#all.set(key, connections);
    }
    connections.take(exchange);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(Array.from(this.#all.values(), (connections) => connections.close()));
  }

  #undiciOpener({ origin }: URL, nearOnly: boolean): Opener {
    const { UndiciConnection, connectorTo } = this.#undici.value!;
    const connect = connectorTo(nearOnly, this.#connectMs);
    return (owner) => new UndiciConnection(origin, connect, owner);
  }
}

/**
 * The switch for svc's own HTTP client. The client is on trial
 * (docs/decisions/0027-plain-client-on-trial.md). Without it all requests go through undici.
 */
export const ownHttpVariable = 'SVC_OWN_HTTP';

/** @returns false when the variable is "off" */
export function usesOwnHttp(env: Readonly<Record<string, string | undefined>>): boolean {
  return env[ownHttpVariable] !== 'off';
}
