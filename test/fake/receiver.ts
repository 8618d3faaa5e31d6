/** The receiver of the webhook channel's replies: a real server that keeps the requests. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export type Received = {
  readonly body: Record<string, unknown>;
  /** The body as it came. */
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  readonly path: string;
  /** The receiver answered with a plain 200. */
  readonly confirmed: boolean;
  /** Milliseconds since 1970. */
  readonly at: number;
};

/**
 * The answer to a request. A status has a body, as from nearly all receivers. `raw`: these bytes
 * and an end. `hang`: no answer. `reset`: a broken connection. `cut`: a body that breaks off in the
 * middle. `drip`: a body that never ends.
 */
export type Answer =
  | number
  | { readonly raw: string }
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | 'hang'
  | 'reset'
  | 'cut'
  | 'drip';

export type Receiver = AsyncDisposable & {
  readonly url: string;
  /** Every request whose body came whole, whatever its answer. */
  readonly received: readonly Received[];
  /** TCP connections ever opened. */
  readonly connections: number;
  /** The answers to the next requests, one each; after them 200. */
  readonly script: Answer[];
  /** Resolves when n requests have come. */
  waitFor(n: number): Promise<readonly Received[]>;
};

/** Starts one on a free port of 127.0.0.1. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const script: Answer[] = [];
  const waiters: { n: number; resolve: () => void }[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await textOf(request);
    if (text === null) return;
    const body = JSON.parse(text) as Record<string, unknown>;
    const { headers, url: path = '' } = request;
    const how = script.shift() ?? 200;
    received.push({ body, text, headers, path, confirmed: how === 200, at: Date.now() });
    answer(how, response);
    for (const waiter of waiters) if (received.length >= waiter.n) waiter.resolve();
  };
  const server = createServer((request, response) => void receive(request, response));
  let connections = 0;
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    get connections() {
      return connections;
    },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/replies`,
    received,
    script,
    async waitFor(n) {
      await new Promise<void>((resolve) => {
        if (received.length >= n) resolve();
        else waiters.push({ n, resolve });
      });
      return received;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      // A second close only reports that the server is closed.
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = [];
  try {
    for await (const part of request) parts.push(part as Buffer);
  } catch {
    return null;
  }
  return Buffer.concat(parts).toString('utf8');
}

const usual = '{"ok":true}';

function answer(how: Answer, response: ServerResponse): void {
  if (how === 'hang') return;
  if (how === 'reset') {
    response.socket?.resetAndDestroy();
  } else if (how === 'cut') {
    response.writeHead(200, { 'content-length': '100' }).write('half');
    setImmediate(() => response.destroy());
  } else if (how === 'drip') {
    response.writeHead(200).write('one');
  } else if (typeof how === 'object' && 'raw' in how) {
    response.socket?.end(how.raw);
  } else {
    const all = typeof how === 'number' ? { status: how, body: usual } : how;
    const { status, headers = {}, body = '' } = all;
    response.writeHead(status, headers).end(body);
  }
}
