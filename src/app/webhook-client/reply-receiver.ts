/**
 * Listens at the address that the webhook's replies are POSTed to. It answers 401 to a request that
 * is not svc's, as far as the configuration allows a check. It answers 503 to a reply that it does
 * not take, so svc keeps it and tries again.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Mapping } from '../../config/config.ts';
import { bearerOf, createTokenCheck, type TokenCheck } from '../../lib/bearer.ts';
import { endsWithin } from '../../lib/lifetime.ts';
import { createServer } from '../../lib/node-http.ts';
import { isSigned, signingKeyBytes } from '../../lib/webhook-signature.ts';

export type ReceivedReply = {
  readonly conversation: string;
  readonly text: string;
  /** The brain's name. */
  readonly from: string;
  /** The same in all tries of one reply; null: the reply has none. */
  readonly id: string | null;
  /** The id of the message that it answers; null: the reply has none. */
  readonly inReplyTo: string | null;
  /** The whole POSTed body. */
  readonly body: Readonly<Record<string, unknown>>;
};

/** The secrets that prove that svc sends the POST; null: no check. */
export type ReplyChecks = { readonly secret: string | null; readonly signingKey: string | null };

export type ReceiverOptions = {
  readonly host: string;
  readonly port: number;
  readonly mapping: Mapping;
  readonly checks: ReplyChecks;
  /** Called with each reply; true confirms it, false makes svc keep it. Never rejects. */
  readonly take: (reply: ReceivedReply) => boolean | Promise<boolean>;
};

export interface ReplyReceiver extends AsyncDisposable {
  readonly port: number;
}

/** `code`: the system's name of the error, such as EADDRINUSE. */
export type NotListening = { readonly kind: 'problem'; readonly code: string };

/** A reply is a model's answer, so it is not larger than an answer that svc reads. */
const bodyBytesMax = 16 * 1024 * 1024;
const connectionsMax = 64;
/** How long to wait at the end for answers under way. */
const closeMs = 1_000;

export async function openReplyReceiver(
  options: ReceiverOptions,
): Promise<ReplyReceiver | NotListening> {
  const isFromSvc = createCheck(options.checks);
  const server = createServer({ requestTimeout: 15_000, headersTimeout: 5_000 });
  server.maxConnections = connectionsMax;
  server.on('request', (request, response) => {
    void answer(request, response, options, isFromSvc);
  });
  try {
    server.listen({ host: options.host, port: options.port });
    await once(server, 'listening');
  } catch (error) {
    return { kind: 'problem', code: (error as NodeJS.ErrnoException).code ?? 'unknown error' };
  }
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => close(server),
  };
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  if (!(await endsWithin(closed, closeMs))) server.closeAllConnections();
  await closed;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { mapping, take }: ReceiverOptions,
  isFromSvc: (request: IncomingMessage, body: string) => boolean,
): Promise<void> {
  const end = (status: number): void => void response.writeHead(status).end();
  if (request.method !== 'POST') return end(405);
  const body = await bodyOf(request);
  if (body === 'broken') return;
  if (body === 'too_large') return end(413);
  if (!isFromSvc(request, body.text)) return end(401);
  const reply = replyIn(body.text, mapping);
  if (reply === null) return end(400);
  end((await take(reply)) ? 204 : 503);
}

async function bodyOf(
  request: IncomingMessage,
): Promise<{ readonly text: string } | 'broken' | 'too_large'> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes <= bodyBytesMax) parts.push(part);
    }
  } catch {
    return 'broken';
  }
  return bytes > bodyBytesMax ? 'too_large' : { text: Buffer.concat(parts).toString('utf8') };
}

function createCheck({ secret, signingKey }: ReplyChecks) {
  const isSecret: TokenCheck = secret === null ? () => true : createTokenCheck(secret);
  const key = signingKey === null ? null : signingKeyBytes(signingKey);
  return (request: IncomingMessage, body: string): boolean => {
    if (secret !== null && !isSecret(bearerOf(request) ?? '')) return false;
    if (key === null) return true;
    const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
      String(request.headers[`webhook-${name}`] ?? ''),
    ) as [string, string, string];
    return isSigned({ id, timestamp, body }, signatures, key, Date.now());
  };
}

function replyIn(text: string, mapping: Mapping): ReceivedReply | null {
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null;
  const field = (key: string): string | null => {
    const value = Object.hasOwn(body, key) ? body[key] : null;
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
  };
  const replyText = field(mapping.text);
  if (replyText === null) return null;
  // A configured field name holds the mapped value, and not svc's own.
  const own = (name: string): string | null =>
    Object.values(mapping).includes(name) ? null : field(name);
  return {
    conversation: field(mapping.conversation_id) ?? '',
    text: replyText,
    from: field(mapping.sender_name) ?? field(mapping.sender_id) ?? '',
    id: own('message_id'),
    inReplyTo: own('in_reply_to'),
    body,
  };
}
