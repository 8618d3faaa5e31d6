/** Many connections that send costly requests as fast as svc takes them, and read nothing. */
import { connect, type Socket } from 'node:net';
import { anotherHost } from '../../fake/many-hosts.ts';

export type Flood = {
  readonly port: number;
  readonly connections: number;
  /** Of one connection. */
  readonly requests: number;
  /** A new connection replaces each closed one. */
  readonly again: boolean;
  readonly ms: number;
};
export type Flooded = {
  readonly connections: number;
  readonly requests: number;
  readonly closed: number;
};

const inOneWrite = 2_000;

/** The bytes of a connection: `first` once, then `again` up to its number of requests. */
type Burst = { readonly first: string; readonly again: Buffer; readonly requests: number };

/** 26 to 67 bytes each; the last is the most costly one that anybody may send. */
const requests = ['/ a', '/healthz a', '/healthz svc.home', '/api/v1/openapi.json 127.0.0.1'].map(
  (one) => {
    const [path, host] = one.split(' ');
    return `GET ${path} HTTP/1.1\r\nhost:${host}\r\n\r\n`;
  },
);
const post = 'POST /webhook HTTP/1.1\r\nhost:a\r\ntransfer-encoding: chunked\r\n\r\n';
const events = 'GET /api/v1/events HTTP/1.1\r\nhost:127.0.0.1\r\n\r\n';
const bursts: readonly Burst[] = [
  ...requests.map((request): Burst => {
    return { first: '', again: Buffer.from(request.repeat(inOneWrite)), requests: inOneWrite };
  }),
  // The largest number of unanswered requests.
  { first: requests.at(-1)!.repeat(16), again: Buffer.alloc(0), requests: 0 },
  { first: post, again: Buffer.from('1\r\nx\r\n'.repeat(10_000)), requests: 0 },
  // Unreadable bytes behind an answer that does not end.
  { first: `${events}\0`, again: Buffer.alloc(65_536), requests: 0 },
];

export async function flood({ port, connections, again, ms, ...order }: Flood): Promise<Flooded> {
  const sockets = new Set<Socket>();
  let [opened, sent, closed] = [0, 0, 0];
  let over = false;
  const open = (): void => {
    const burst = bursts[opened++ % bursts.length]!;
    const socket = connect({ host: '127.0.0.1', port, localAddress: anotherHost() });
    sockets.add(socket);
    socket.pause();
    socket.on('error', () => {});
    const write = (left: number): void => {
      if (left <= 0 || over) return;
      socket.write(burst.again, (error) => {
        if (error) return;
        sent += burst.requests;
        write(left - inOneWrite);
      });
    };
    socket.write(burst.first);
    write(order.requests);
    socket.once('close', () => {
      sockets.delete(socket);
      if (over) return;
      closed++;
      if (again) open();
    });
  };
  for (let i = 0; i < connections; i++) open();
  await new Promise((resolve) => setTimeout(resolve, ms));
  over = true;
  await Promise.all(
    [...sockets].map((socket) => {
      return new Promise<unknown>((resolve) => socket.once('close', resolve).destroy());
    }),
  );
  return { connections: opened, requests: sent, closed };
}
