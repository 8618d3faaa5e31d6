/** Binds a server to an address. */
import net, { type Server } from 'node:net';
import type { ListenPlace } from './listener.ts';

/**
 * As `server.listen({ port, host })`, but an IPv4 address is not looked up: for that Node compiles
 * its pattern of IPv6 addresses, a tenth of a start. What fails is the server's `error`.
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
