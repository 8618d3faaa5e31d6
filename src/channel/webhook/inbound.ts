/**
 * Answers the webhook's requests. Each is checked in one order, and the first check that fails is
 * the answer: path, method, bearer, content type, declared length, room, body, UTF-8, JSON, fields.
 * What fails before the body is read is answered at once, and the body is then thrown away for a
 * while, so that a client that writes everything before it reads still gets its answer.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Mapping } from '../../config/config.ts';
import type { Events } from '../../domain/event.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { bearerOf, createTokenCheck, type TokenCheck } from '../../lib/bearer.ts';
import { isJsonType } from '../../lib/content-type.ts';
import type { Peer } from '../../lib/connection.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { Handler } from '../../lib/listener.ts';
import { problemText, problemType } from '../../lib/problem.ts';
import type { Receive, Handled } from '../channel.ts';
import { bodyBytesMax, idReused, methodNotAllowed, refusals, unavailable } from './refusals.ts';
import type { Refusal } from './refusals.ts';
import { resendIdOf, resendKeyOf, type ResendId } from './resend.ts';
import { parseInbound } from './wire.ts';
import type { WireMessage } from './wire.ts';

export type InboundParts = {
  readonly channel: ChannelKey;
  readonly path: string;
  readonly mapping: Mapping;
  readonly secret: string;
  readonly receive: Receive;
  /** Aborted: every message is refused with `shutting_down`, the rest goes on. */
  readonly stopped: AbortSignal;
  readonly events: Events;
  readonly deadlines: Deadlines;
  /** How much of a body is thrown away after an early answer, and for how long. */
  readonly discard?: { readonly bytesMax: number; readonly ms: number };
};

/** Makes the handler to put behind the listener. */
export function createInboundHandler(parts: InboundParts): Handler {
  const handler = new InboundHandler(parts);
  return (request, response, peer) => handler.answer(request, response, peer);
}

class InboundHandler {
  readonly #parts: InboundParts;
  readonly #matches: TokenCheck;

  constructor(parts: InboundParts) {
    this.#parts = parts;
    this.#matches = createTokenCheck(parts.secret);
  }

  answer(request: IncomingMessage, response: ServerResponse, peer: Peer): void {
    const path = pathOf(request.url ?? '');
    if (path === '/healthz' && (request.method === 'GET' || request.method === 'HEAD')) {
      send(response, 200, '{"status":"ok"}');
      return;
    }
    const refusal = this.#check(path, request, response, peer);
    if (refusal === refusals.unauthorized) {
      const bearer = bearerOf(request) === null ? 'missing' : 'wrong';
      peer.turnAway(bearer, response, () => this.#refuse(request, response, refusal));
      return;
    }
    if (refusal !== null) {
      this.#refuse(request, response, refusal);
      return;
    }
    if (request.headers.expect !== undefined) response.writeContinue();
    this.#read(request, response);
  }

  /** Everything that is known before the body. */
  #check(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    peer: Peer,
  ): Refusal | null {
    if (path === '/healthz') return methodNotAllowed('GET, HEAD');
    if (path !== this.#parts.path) return refusals.notFound;
    if (request.method !== 'POST') return methodNotAllowed('POST');
    const token = bearerOf(request);
    if (token === null || !this.#matches(token)) return refusals.unauthorized;
    peer.known(response);
    if (!isJsonType(request.headers['content-type'])) return refusals.unsupportedMediaType;
    if (Number(request.headers['content-length']) > bodyBytesMax) return refusals.bodyTooLarge;
    if (this.#parts.stopped.aborted) return unavailable('shutting_down', 1_000);
    if (this.#parts.receive.room() <= 0) return unavailable('full', 1_000);
    return null;
  }

  #read(request: IncomingMessage, response: ServerResponse): void {
    const parts: Buffer[] = [];
    let bytes = 0;
    request.on('data', (part: Buffer) => {
      const before = bytes;
      bytes += part.length;
      if (bytes <= bodyBytesMax) {
        parts.push(part);
      } else if (before <= bodyBytesMax) {
        parts.length = 0;
        this.#refuse(request, response, refusals.bodyTooLarge, bytes);
      }
    });
    request.on('end', () => {
      if (bytes > bodyBytesMax) return;
      this.#take(parts.length === 1 ? parts[0]! : Buffer.concat(parts), request, response);
    });
  }

  #take(body: Buffer, request: IncomingMessage, response: ServerResponse): void {
    if (!isUtf8(body)) {
      this.#refuse(request, response, refusals.notUtf8);
      return;
    }
    const wire = parseInbound(body.toString('utf8'), this.#parts.mapping);
    if (wire.kind === 'problem') {
      this.#refuse(request, response, { status: 400, ...wire });
      return;
    }
    const resend = resendIdOf(request);
    if (resend !== null && 'status' in resend) {
      this.#refuse(request, response, resend);
      return;
    }
    void this.#accept(wire, resend, request, response);
  }

  async #accept(
    wire: WireMessage,
    resend: ResendId | null,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { channel, receive, events } = this.#parts;
    const { conversation, sender, text, media, target } = wire;
    const address = { channel, target };
    const key = resend === null ? { dedupeKey: null } : resendKeyOf(wire, resend.id);
    const message = { channel, conversation, sender, text, media, address, ...key };
    try {
      const acceptance = await receive([message]);
      const isReused = acceptance.kind === 'accepted' && acceptance.receipts[0]!.keyReused;
      if (isReused) this.#refuse(request, response, idReused(resend!.header));
      else this.#acknowledge(acceptance, wire, request, response);
    } catch (error) {
      events.faulted({ where: 'webhook', error });
      if (!response.headersSent) this.#refuse(request, response, refusals.fault);
    }
  }

  #acknowledge(
    acceptance: Handled,
    wire: WireMessage,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    if (acceptance.kind === 'refused') {
      const { reason, retryAfterMs } = acceptance;
      this.#refuse(request, response, unavailable(reason, retryAfterMs));
      return;
    }
    const { id, duplicate } = acceptance.receipts[0]!;
    const more = duplicate ? ',"duplicate":true' : '';
    const ids = `"message_id":"${id}","conversation_id":${wire.target}`;
    send(response, 200, `{"status":"accepted",${ids}${more}}`);
  }

  /** @param bytes how much of the body has come already */
  #refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal, bytes = 0): void {
    const { status, code, detail } = refusal;
    this.#parts.events.messageRefused({ channel: this.#parts.channel, code });
    const body = problemText(status, code, detail);
    const headers: Record<string, string | number> = {
      'content-type': problemType,
      'content-length': Buffer.byteLength(body),
      ...refusal.headers,
    };
    if (request.complete || !hasBody(request)) {
      response.writeHead(status, headers).end(body);
      return;
    }
    if (!isShort(request)) headers['connection'] = 'close';
    response.writeHead(status, headers).write(body);
    this.#discard(request, response, bytes);
  }

  /** The answer is out. The connection closes with the response's end, which waits for the body. */
  #discard(request: IncomingMessage, response: ServerResponse, already: number): void {
    const { deadlines, discard = discardLimits } = this.#parts;
    let bytes = already;
    const deadline = deadlines.after(discard.ms, () => request.destroy());
    request.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > discard.bytesMax) request.destroy();
    });
    request.on('end', () => response.end());
    request.on('close', () => deadline.cancel());
  }
}

const discardLimits = { bytesMax: 8 * 1_048_576, ms: 5_000 };

function send(response: ServerResponse, status: number, body: string): void {
  const length = Buffer.byteLength(body);
  response.writeHead(status, ['content-type', 'application/json', 'content-length', length]);
  response.end(body);
}

/** Without the query; also of the absolute form that proxies may send. */
function pathOf(url: string): string {
  if (!url.startsWith('/')) return URL.parse(url)?.pathname ?? '';
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;
}

/** Whether the body is announced, and short enough to be worth keeping the connection for. */
function isShort({ headers }: IncomingMessage): boolean {
  return headers.expect === undefined && Number(headers['content-length']) <= bodyBytesMax;
}
