/**
 * Listeners for this machine only: at the wished port if it is free, otherwise at any free port.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer, type AddressInfo, type Server as Sockets } from 'node:net';

const host = '127.0.0.1';

/** @returns the port that the server now listens on */
export async function listenOnLoopback(server: Sockets, wished: number): Promise<number> {
  const port = (await tryListen(server, wished)) ?? (await tryListen(server, 0));
  if (port === null) throw new Error(`no port can be listened on at ${host}`);
  return port;
}

/** A port that was free a moment ago: the wished one, or any other if `strict` is false. */
export async function findPort(wished: number, strict: boolean): Promise<number | null> {
  const probe = createServer();
  const port = (await tryListen(probe, wished)) ?? (strict ? null : await tryListen(probe, 0));
  await closeServer(probe);
  return port;
}

/** Resolves with the port; null: the system refuses it. */
async function tryListen(server: Sockets, port: number): Promise<number | null> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  } catch {
    return null;
  }
}

export async function closeServer(server: Server | Sockets): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  if ('closeAllConnections' in server) server.closeAllConnections();
  await closed;
}
