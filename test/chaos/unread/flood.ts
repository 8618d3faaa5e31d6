/** Many connections that pipeline small requests, as fast as svc takes them, and read nothing. */
import { connect, type Socket } from 'node:net';
import { anotherHost } from '../../fake/many-hosts.ts';

export type Flood = {
  readonly port: number;
  readonly connections: number;
  /** Of one connection. */
  readonly requests: number;
  /** Another connection comes for each that is closed. */
  readonly again: boolean;
  readonly ms: number;
};
export type Flooded = {
  readonly connections: number;
  readonly requests: number;
  readonly closed: number;
};

/** 26 to 40 bytes each. */
const smallRequests = ['/ a', '/healthz a', '/healthz svc.home'].map((one) => {
  const [path, host] = one.split(' ');
  return `GET ${path} HTTP/1.1\r\nhost:${host}\r\n\r\n`;
});
const inOneWrite = 2_000;
const bursts = smallRequests.map((request) => Buffer.from(request.repeat(inOneWrite)));

export async function flood({ port, connections, requests, again, ms }: Flood): Promise<Flooded> {
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
      socket.write(burst, (error) => {
        if (error) return;
        sent += inOneWrite;
        write(left - inOneWrite);
      });
    };
    write(requests);
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
