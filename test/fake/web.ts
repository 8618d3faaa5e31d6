/** A web server with scripted pages, including some that no decent server would send. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

export type Page = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
};

/** A page, or a function of the bare connection once the request's head has come. */
export type Show = Page | ((socket: Socket) => void);

export type Visit = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export interface Web extends AsyncDisposable {
  readonly port: number;
  /** With the address as host. */
  readonly origin: string;
  /** By path with query; other paths get 404. */
  readonly pages: Map<string, Show>;
  /** Requests whose body came whole. */
  readonly visits: readonly Visit[];
  /** TCP connections ever opened. */
  readonly connections: number;
  /** TCP connections that are open now. */
  readonly open: number;
}

export async function startWeb(
  pages: Readonly<Record<string, Show>> = {},
  where: {
    readonly host?: string;
    readonly port?: number;
    readonly tls?: { readonly key: string; readonly cert: string };
  } = {},
): Promise<Web> {
  const { host = '127.0.0.1', port = 0, tls } = where;
  const shown = new Map(Object.entries(pages));
  const visits: Visit[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const listener: RequestListener = (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('error', () => {});
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      visits.push({ method, path, headers, body: Buffer.concat(parts).toString() });
      const show = shown.get(path) ?? { status: 404, body: 'not here' };
      if (typeof show === 'function') return show(request.socket);
      const { status = 200, body = '' } = show;
      response.writeHead(status, { 'content-type': 'text/plain', ...show.headers }).end(body);
    });
  };
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  server.listen(port, host);
  await once(server, 'listening');
  const bound = (server.address() as AddressInfo).port;
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    port: bound,
    origin: `${tls === undefined ? 'http' : 'https'}://${name}:${bound}`,
    pages: shown,
    visits,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A redirect to that location. */
export function redirectTo(location: string, status = 302): Page {
  return { status, headers: { location } };
}

/**
 * Raw bytes, over and over, until the client ends.
 * @param flows called once, when some pieces have followed the head
 */
export function endless(head: string, again: string, everyMs = 0, flows = (): void => {}): Show {
  return (socket) => {
    let pieces = 0;
    socket.write(head);
    const go = (): void => {
      if (socket.destroyed) return;
      const taken = socket.write(again);
      if (++pieces === 5) flows();
      if (everyMs > 0 || taken) setTimeout(go, everyMs);
      else socket.once('drain', go);
    };
    go();
  };
}
