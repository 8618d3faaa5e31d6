/**
 * Answers the webhook's requests. The checks have one order, and the first failed check gives the
 * answer: path, method, bearer, content type, declared length, room, body, UTF-8, JSON, fields. A
 * check before the body answers at once (early-answer.ts). If the secret has changed by the end of
 * the body, svc checks the bearer once more.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Mapping } from '../../config/config.ts';
import type { Events } from '../../domain/event.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { bearerOf, type TokenCheck } from '../../lib/bearer.ts';
import { collectBody, isJsonType, isUncompressed } from '../../lib/collect-body.ts';
import type { Peer } from '../../lib/connection.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import {
  answerEarly,
  sendAnswer,
  type Exchange as EarlyExchange,
  type ShortAnswer,
} from '../../lib/early-answer.ts';
import { pathOf, type Handler } from '../../lib/listener.ts';
import { problemText, problemType } from '../../lib/problem.ts';
import type { Receive } from '../channel.ts';
import { methodNotAllowed, unavailable, type Refusal } from '../refusals.ts';
import { bodyBytesMax, idReused, refusals } from './refusals.ts';
import { parseInbound, type WireMessage } from './wire.ts';
import type { Inbound } from '../../domain/message.ts';
import { nodeCrypto } from '../../lib/node-http.ts';

export type InboundDeps = {
  readonly channel: ChannelKey;
  readonly path: string;
  readonly mapping: Mapping;
  /** The current check of the bearer. */
  readonly bearerCheck: () => TokenCheck;
  readonly receive: Receive;
  /** Once aborted, every message is refused with `shutting_down`; nothing else changes. */
  readonly stopped: AbortSignal;
  readonly events: Events;
  readonly deadlines: Deadlines;
};

/** Makes the handler for the listener. */
export function createInboundHandler(deps: InboundDeps): Handler {
  const handler = new InboundHandler(deps);
  return (request, response, peer) => handler.answer(request, response, peer);
}

class InboundHandler {
  readonly #deps: InboundDeps;

  constructor(deps: InboundDeps) {
    this.#deps = deps;
  }

  answer(request: IncomingMessage, response: ServerResponse, peer: Peer): void | Promise<void> {
    const path = pathOf(request.url ?? '');
    if (path === '/healthz' && (request.method === 'GET' || request.method === 'HEAD')) {
      sendAnswer(response, { status: 200, type: jsonType, body: '{"status":"ok"}' });
      return;
    }
    const refusal = this.#checkTarget(path, request.method);
    if (refusal !== null) return this.#refuse(request, response, refusal);
    const token = bearerOf(request);
    const check = this.#deps.bearerCheck();
    const exchange = { request, response, peer };
    if (token === null) return this.#turnAway(exchange, 'missing');
    if (!check(token)) return this.#turnAway(exchange, 'wrong');
    peer.known(response);
    const refused = this.#checkContent(request.headers);
    if (refused !== null) return this.#refuse(request, response, refused);
    return this.#read(exchange, token, check);
  }

  #checkTarget(path: string, method: string | undefined): Refusal | null {
    if (path === '/healthz') return methodNotAllowed('GET, HEAD');
    if (path !== this.#deps.path) return refusals.notFound;
    return method === 'POST' ? null : methodNotAllowed('POST');
  }

  #turnAway({ request, response, peer }: Exchange, bearer: 'missing' | 'wrong'): void {
    const refuse = (): void => this.#refuse(request, response, refusals.unauthorized);
    peer.turnAway(bearer, response, refuse);
  }

  /** All other checks that need no body. */
  #checkContent(headers: IncomingHttpHeaders): Refusal | null {
    if (!isJsonType(headers['content-type'])) return refusals.unsupportedMediaType;
    if (!isUncompressed(headers['content-encoding'])) return refusals.compressed;
    if (Number(headers['content-length']) > bodyBytesMax) return refusals.bodyTooLarge;
    if (this.#deps.stopped.aborted) return unavailable('shutting_down', 1_000);
    if (this.#deps.receive.room() <= 0) return unavailable('full', 1_000);
    return null;
  }

  /** @param check the check that the bearer has passed */
  async #read(exchange: Exchange, token: string, check: TokenCheck): Promise<void> {
    const { request, response } = exchange;
    const end = await collectBody(request, response, bodyBytesMax);
    if (end.kind === 'broken_off') return;
    if (end.kind === 'too_large') {
      return this.#refuse(request, response, refusals.bodyTooLarge, end.count);
    }
    const checkNow = this.#deps.bearerCheck();
    if (checkNow !== check && !checkNow(token)) return this.#turnAway(exchange, 'wrong');
    const parsed = this.#parse(end.bytes, request.headers);
    if ('status' in parsed) this.#refuse(request, response, parsed);
    else sendAnswer(response, await this.#accept(parsed));
  }

  #parse(body: Buffer, headers: IncomingHttpHeaders): ValidRequest | Refusal {
    if (!isUtf8(body)) return refusals.notUtf8;
    const wire = parseInbound(body.toString('utf8'), this.#deps.mapping);
    if (wire.kind === 'problem') return { status: 400, ...wire };
    const resend = resendIdOf(headers);
    return resend !== null && 'status' in resend ? resend : { wire, resend };
  }

  async #accept({ wire, resend }: ValidRequest): Promise<ShortAnswer> {
    const { channel, receive, events } = this.#deps;
    const { conversation, sender, text, media, target } = wire;
    const address = { channel, target };
    const key = resend === null ? { dedupeKey: null } : resendKeyOf(wire, resend.id);
    const message = { channel, conversation, sender, text, media, address, ...key };
    try {
      const acceptance = await receive([message]);
      if (acceptance.kind === 'refused') {
        const { reason, retryAfterMs } = acceptance;
        return this.#answerOf(unavailable(reason, retryAfterMs));
      }
      const { id, duplicate, keyReused } = acceptance.receipts[0]!;
      if (keyReused) return this.#answerOf(idReused(resend!.header));
      const more = duplicate ? ',"duplicate":true' : '';
      const ids = `"message_id":"${id}","conversation_id":${target}`;
      return { status: 200, type: jsonType, body: `{"status":"accepted",${ids}${more}}` };
    } catch (error) {
      events.faulted({ where: 'webhook', error });
      return this.#answerOf(refusals.fault);
    }
  }

  #answerOf({ status, code, detail, headers }: Refusal): ShortAnswer {
    this.#deps.events.messageRefused({ channel: this.#deps.channel, code });
    return { status, type: problemType, headers, body: problemText(status, code, detail) };
  }

  /** @param bytes how much of the body has arrived already */
  #refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal, bytes = 0): void {
    const { deadlines } = this.#deps;
    const body = { deadlines, bodyBytesMax, bytes };
    answerEarly({ request, response }, this.#answerOf(refusal), body);
  }
}

type Exchange = EarlyExchange & { readonly peer: Peer };

/** A valid message, and the id under which the sender may send it again. */
type ValidRequest = { readonly wire: WireMessage; readonly resend: ResendId | null };

const jsonType = 'application/json';

// A sender marks a resend by an id in a header. Many senders may post here, so an id counts only
// within its conversation and sender. A message with a known id but different content is no resend.

const idCharactersMax = 256;

type ResendId = { readonly header: string; readonly id: string };

/** The first header with an id. Null: no header has one. A refusal: the id is too long. */
function resendIdOf(headers: IncomingHttpHeaders): ResendId | Refusal | null {
  for (const header of ['webhook-id', 'idempotency-key']) {
    const id = headers[header];
    if (typeof id !== 'string' || id === '') continue;
    if (id.length <= idCharactersMax) return { header, id };
    const detail = `The header ${header} has more than ${idCharactersMax} characters.`;
    return { status: 400, code: 'invalid_field', detail };
  }
  return null;
}

/**
 * The key begins with the id, so rising ids lie together on the disk. Digests stand for the rest:
 * the key stays short and reveals no content.
 */
export function resendKeyOf(
  { conversation, sender, text, media }: WireMessage,
  id: string,
): Pick<Inbound, 'dedupeKey' | 'keyCheck'> {
  const dedupeKey = `${id} ${digest([conversation, sender.id])}`;
  const content = [dedupeKey, sender.name, text, media?.reference ?? null, media?.type ?? null];
  return { dedupeKey, keyCheck: { fingerprint: digest(content), formerKey: id } };
}

/** 128 bits of SHA-256. */
function digest(parts: readonly (string | null)[]): string {
  return nodeCrypto().hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 22);
}
