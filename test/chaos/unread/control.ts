/** A bare HTTP server without an attack: a probe to it shows the delay of the machine itself. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveOrders } from './helper.ts';

export type ControlOrders = {
  /** Returns the port. */
  readonly listen: () => Promise<number>;
};

const orders: ControlOrders = {
  async listen() {
    const server = createServer((_request, response) => response.end('{"status":"ok"}'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  },
};

serveOrders(orders);
