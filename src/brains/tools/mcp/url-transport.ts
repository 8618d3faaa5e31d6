/**
 * The transport to a server at a url: each message is one POST over svc's own client, with no
 * redirect, no proxy and no other origin. An answer is JSON, or a stream of events that are read as
 * they come. A server's request in the middle is passed on at once. The requested result counts as
 * soon as it is there, however long the stream stays open. The stream of a server's own messages
 * (GET) is not opened.
 *
 * The caller decides how long an answer may take: it sends `notifications/cancelled`, and then the
 * request is given up.
 *
 * Source: MCP 2025-11-25, basic/transports, "Streamable HTTP".
 */
import { createParser, type EventSourceParser } from 'eventsource-parser';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { later, type SteadyTime } from '../../../lib/clock.ts';
import type { HttpClient } from '../../../lib/http-client.ts';
import type { AnswerHeaders, HttpRequest, HttpResult } from '../../../lib/http-client/exchange.ts';
import { Stopper } from '../../../lib/stop.ts';
import { isAnswer, isIdOf } from './message-guard.ts';
import { faultOfAnswer, faultOfClient, faultOfStatus, faultOfType, UrlFault } from './url-fault.ts';

export type UrlOptions = {
  readonly url: URL;
  readonly token: string | null;
  readonly nearOnly: boolean;
  /** For messages without an answer: a notification, and the answer to a server's request. */
  readonly timeoutMs: number;
  readonly http: HttpClient;
  readonly steady: () => SteadyTime;
  readonly version: string;
};

const bodyBytesMax = 1024 * 1024;
/** In one answer: each of them is examined. */
const messagesMax = 256;
/** Longer than every timeout of a caller: two equal ones would race. */
const requestMsMax = 900_000;
/** How long the server may take to end a stream by itself, which keeps its connection. */
const lingerMs = 1_000;

export class UrlTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  sessionId: string | undefined;
  /** Why the last request was not answered; null: it was. */
  fault: UrlFault | null = null;
  readonly #options: UrlOptions;
  readonly #running = new Map<string | number, Stopper>();
  readonly #stops = new Set<Stopper>();
  #protocolVersion: string | null = null;
  #isClosed = false;

  constructor(options: UrlOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
  }

  /** Resolves with the answer of a request. @throws UrlFault when there is none */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new Error('the connection is closed');
    const id = idOf(message);
    if (id === null) this.#giveUp(message);
    const stop = new Stopper();
    this.#stops.add(stop);
    if (id !== null) this.#running.set(id, stop);
    try {
      await this.#exchange(message, id, stop);
      this.fault = null;
    } catch (error) {
      if (error instanceof UrlFault && !stop.stopped) this.fault = error;
      throw error;
    } finally {
      this.#stops.delete(stop);
      if (id !== null) this.#running.delete(id);
    }
  }

  close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      for (const stop of this.#stops) stop.stop();
      this.onclose?.();
    }
    return Promise.resolve();
  }

  /** The caller waits no longer: its request is stopped, and nothing more of the answer is read. */
  #giveUp(message: JSONRPCMessage): void {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return;
    const { requestId } = (message.params ?? {}) as { requestId?: string | number };
    if (requestId !== undefined) this.#running.get(requestId)?.stop();
  }

  async #exchange(message: JSONRPCMessage, id: string | number | null, stop: Stopper) {
    const { url, token, http } = this.#options;
    const isFirst = 'method' in message && message.method === 'initialize';
    const session = isFirst ? undefined : this.sessionId;
    const answer = new Answer(id, stop, {
      began: (headers) => isFirst && (this.sessionId = sessionOf(headers)),
      message: (one) => this.onmessage?.(one),
    });
    const request = this.#requestOf(message, session, id === null);
    const result = await http.send({ ...request, heard: answer.onPart }, stop);
    if (answer.isWhole) return;
    if (answer.fault !== null) throw answer.fault;
    const asked = { url, hasToken: token !== null, hasSession: session !== undefined };
    if (result.kind === 'fault') throw faultOfClient(result, asked);
    if (result.status < 200 || result.status >= 300) {
      const fault = faultOfStatus(result, asked);
      // Nothing depends on a notification: outline#13775, hyperdx#2686.
      if (id === null && !fault.hasForgotten) return;
      // Some servers send the error of a request with an error status. A session that ended with
      // 404 has no such error. After a 400 the body decides: a call that is repeated wrongly would
      // run the tool twice.
      const isOver = fault.hasForgotten && result.status !== 400;
      if (isOver || !isJson(result.headers)) throw fault;
      answer.take(result.body);
      if (!answer.isWhole) throw fault;
      return;
    }
    if (id !== null) answer.end(result);
  }

  #requestOf(message: JSONRPCMessage, session: string | undefined, isShort: boolean): HttpRequest {
    const { url, token, nearOnly, timeoutMs, steady, version } = this.#options;
    return {
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'accept-encoding': 'identity',
        'user-agent': `svc/${version}`,
        ...(session !== undefined && { 'mcp-session-id': session }),
        ...(this.#protocolVersion !== null && { 'mcp-protocol-version': this.#protocolVersion }),
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(message),
      deadlineAt: later(steady(), isShort ? timeoutMs : requestMsMax),
      bodyBytesMax,
      nearOnly,
    };
  }
}

type AnswerEvents = {
  /** Called before the first message. */
  readonly began: (headers: AnswerHeaders) => void;
  readonly message: (message: JSONRPCMessage) => void;
};

/** The answer to one request. */
class Answer {
  /** The requested result or error has come. */
  isWhole = false;
  fault: UrlFault | null = null;
  readonly #id: string | number | null;
  readonly #stop: Stopper;
  readonly #events: AnswerEvents;
  readonly #decoder = new TextDecoder();
  #parser: EventSourceParser | null = null;
  #messages = 0;

  /** @param id of the request; null: the message is no request */
  constructor(id: string | number | null, stop: Stopper, events: AnswerEvents) {
    this.#id = id;
    this.#stop = stop;
    this.#events = events;
  }

  readonly onPart = (status: number, part: Buffer, headers: AnswerHeaders): void => {
    if (status < 200 || status >= 300 || !isStream(headers) || this.#id === null) return;
    if (this.#parser === null) this.#events.began(headers);
    this.#parser ??= createParser({
      onEvent: ({ event = 'message', data }) => {
        if (event === 'message' && data !== '') this.take(data);
      },
    });
    this.#parser.feed(this.#decoder.decode(part, { stream: true }));
  };

  /** Takes one message, or several in a list, as older revisions of the protocol allow. */
  take(text: string): void {
    let value: unknown;
    try {
      value = JSON.parse(text.replace(/^\uFEFF/, ''));
    } catch {
      this.fault ??= faultOfAnswer('no_json');
      return;
    }
    for (const one of Array.isArray(value) ? value : [value]) {
      if (this.fault !== null || this.#stop.stopped) return;
      if (++this.#messages > messagesMax) {
        this.fault = faultOfAnswer('too_many');
        this.#stop.stop();
      } else if (typeof one === 'object' && one !== null) this.#forward(one as JSONRPCMessage);
    }
  }

  /** @throws UrlFault when the answer is not complete */
  end({ headers, body }: Extract<HttpResult, { kind: 'answer' }>): void {
    if (!isStream(headers)) {
      const type = headers['content-type'];
      // Some name no type, or plain text (helidon-mcp#97, dify-plugin-agent-mcp_sse#79).
      const mayBeJson = isJson(headers) || /^\uFEFF?\s*[{[]/.test(body);
      if (!mayBeJson) throw faultOfType(typeof type === 'string' ? type : null);
      this.#events.began(headers);
      this.take(body);
    }
    if (!this.isWhole) throw this.fault ?? faultOfAnswer('no_result');
  }

  #forward(message: JSONRPCMessage): void {
    this.#events.message(message);
    if (this.#id === null || !isAnswer(message) || !isIdOf(message, this.#id)) return;
    this.isWhole = true;
    if (this.#parser !== null) setTimeout(() => this.#stop.stop(), lingerMs).unref();
  }
}

/** The id of a request, which gets an answer; null: it is a notification or an answer itself. */
function idOf(message: JSONRPCMessage): string | number | null {
  return 'method' in message && 'id' in message ? message.id : null;
}

const isStream = (headers: AnswerHeaders): boolean => hasType(headers, 'text/event-stream');
const isJson = (headers: AnswerHeaders): boolean => hasType(headers, 'application/json');

function hasType(headers: AnswerHeaders, type: string): boolean {
  const given = headers['content-type'];
  return typeof given === 'string' && given.split(';', 1)[0]!.trim().toLowerCase() === type;
}

/** The protocol allows visible ASCII. */
function sessionOf(headers: AnswerHeaders): string | undefined {
  const id = headers['mcp-session-id'];
  return typeof id === 'string' && /^[\x21-\x7e]{1,1024}$/.test(id) ? id : undefined;
}
