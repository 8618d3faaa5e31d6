/** What stands at the other end of the demo's webhook. */
import type { Server } from 'node:http';
import { createServer } from '../../lib/node-http.ts';

export type Reply = { readonly conversation: string; readonly from: string; readonly text: string };

const replyBytesMax = 4 * 1024 * 1024;

/**
 * Takes replies and hands them on.
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
