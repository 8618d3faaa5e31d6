/** The demo's own listeners on loopback: a wished port when it is free, any free one otherwise. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import {
  createServer as createSocketServer,
  type AddressInfo,
  type Server as Sockets,
} from 'node:net';

const host = '127.0.0.1';

/** @returns the port that the server listens on now */
export async function listenNear(server: Sockets, wished: number): Promise<number> {
  const port = (await tryListen(server, wished)) ?? (await tryListen(server, 0));
  if (port === null) throw new Error(`no port can be listened on at ${host}`);
  return port;
}

/** A port that was free a moment ago: the wished one, or when `strict` is false any other. */
export async function findPort(wished: number, strict: boolean): Promise<number | null> {
  const probe = createSocketServer();
  const port = (await tryListen(probe, wished)) ?? (strict ? null : await tryListen(probe, 0));
  await closeServer(probe);
  return port;
}

/** Resolves with the port, or null when the system refuses this one. */
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

export type Reply = { readonly conversation: string; readonly from: string; readonly text: string };

const replyBytesMax = 4 * 1024 * 1024;

/**
 * What stands at the other end of the webhook: it takes replies and hands them on.
 * @param secret the bearer that a reply must carry
 */
export function createReceiver(secret: string, take: (reply: Reply) => void): Server {
  return createServer((request, response) => {
    if (request.headers.authorization !== `Bearer ${secret}`) {
      response.writeHead(401).end();
      return;
    }
    const parts: Buffer[] = [];
    let bytes = 0;
    request.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes <= replyBytesMax) parts.push(part);
    });
    request.on('end', () => {
      const reply = bytes > replyBytesMax ? null : readReply(Buffer.concat(parts).toString());
      response.writeHead(reply === null ? 400 : 204).end();
      if (reply !== null) take(reply);
    });
  });
}

function readReply(body: string): Reply | null {
  try {
    const reply = JSON.parse(body) as Record<string, unknown>;
    const { conversation_id: conversation, sender_name: from, text } = reply;
    return { conversation: String(conversation), from: String(from), text: String(text) };
  } catch {
    return null;
  }
}
