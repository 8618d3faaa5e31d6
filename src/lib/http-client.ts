/**
 * The way out over HTTP to addresses that the operator wrote; what a model wrote goes through
 * lib/pinned-client.ts. It follows no redirect, reads no proxy setting from the environment, and
 * bounds time and size, also of what comes beside the body (lib/answer-body.ts). A reply of any
 * status is an answer; a fault is only what kept an answer from coming whole.
 *
 * Format: HTTP/1.1 by undici, which is loaded with the first request: a start does not wait for it.
 */
import type { SteadyTime } from './clock.ts';
import type { Deadlines } from './deadlines.ts';
import { Connections } from './http-client/connections.ts';
import { Exchange, type Connection } from './http-client/exchange.ts';
import { LoadOnce } from './load-once.ts';
import type { Stop } from './stop.ts';

export { codeOf } from './http-client/exchange.ts';

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
  const { connections = 1024, connectMs = 5_000 } = options;
  const undici = new LoadOnce(() => import('./http-client/undici-connection.ts'));
  const origins = new Map<string, Connections>();
  let closed = false;

  const connectionsOf = ({ url, nearOnly = false }: HttpRequest): Connections => {
    const { origin } = url;
    // Its connections are its own: whatever a request of `nearOnly` goes over was judged.
    const key = nearOnly ? `near ${origin}` : origin;
    const known = origins.get(key);
    if (known !== undefined) return known;
    const { UndiciConnection, connectorTo } = undici.value!;
    const connect = connectorTo(nearOnly, connectMs);
    const open = (): Connection => new UndiciConnection(origin, connect, all);
    const all = new Connections(connections, open, () => origins.delete(key));
    origins.set(key, all);
    return all;
  };
  const begin = (exchange: Exchange): void => {
    if (closed) exchange.destroyed();
    else connectionsOf(exchange.request).take(exchange);
  };
  return {
    send(request, stop) {
      return new Promise((resolve) => {
        const exchange = new Exchange(request, stop, resolve);
        exchange.watch(deadlines);
        if (exchange.settled) return;
        if (undici.value !== null) return begin(exchange);
        undici.get().then(
          () => begin(exchange),
          (error: unknown) => exchange.failed(error),
        );
      });
    },
    close: async () => {
      closed = true;
      await Promise.all(Array.from(origins.values(), (all) => all.close()));
    },
  };
}
