/**
 * Lets the requests of an HTTP API through to its routes, or refuses them. It knows nothing about
 * the API but its paths, its key and the form of its errors. The checks have one order, and the
 * first failed check gives the answer: host name (421), path (404), method (405), key (401), number
 * of requests (429), compression (415), room (503), body (413, 400), and the key once more if it
 * has changed meanwhile. The content type does not matter: no page of another site knows the key.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TokenCheck } from '../lib/bearer.ts';
import { collectBody, isUncompressed } from '../lib/collect-body.ts';
import type { Peer } from '../lib/connection.ts';
import type { Deadlines } from '../lib/deadlines.ts';
import { answerEarly, sendAnswer, type Exchange } from '../lib/early-answer.ts';
import type { ByteSemaphore } from '../lib/fair-queue.ts';
import { isKnownHost } from '../lib/known-host.ts';
import { pathOf, type Handler } from '../lib/listener.ts';
import { Stopper, type Stop } from '../lib/stop.ts';
import { bodyTooLarge, methodNotAllowed, sharedRefusals, type Refusal } from './refusals.ts';

/** `code` null: the API has none for it. `param`: the field at fault; absent: none. */
export type ApiRefusal = Omit<Refusal, 'code'> & {
  readonly code: string | null;
  readonly param?: string;
};

/** A route without a bearer is open to everybody. */
export type ApiRoute =
  | { readonly method: 'GET'; readonly isOpen?: true; readonly answer: () => string | ApiRefusal }
  | {
      readonly method: 'POST';
      /**
       * Answers a request.
       * @param body the JSON of its body
       * @returns a promise that resolves once the memory of a large body is free
       */
      readonly take: (call: ApiCall, body: unknown) => Promise<void>;
    };

/** One request to a POST route. */
export type ApiCall = Exchange & {
  /** Stops when the client hangs up before the answer is finished. */
  readonly gone: Stop;
  readonly refuse: (refusal: ApiRefusal) => void;
};

export type ApiDeps = {
  /** @returns a refusal: there is nothing at this path */
  readonly route: (path: string) => ApiRoute | ApiRefusal;
  /** The body of an error, as JSON text. */
  readonly errorText: (refusal: ApiRefusal) => string;
  /** The host names that are allowed beside those of loopback; null: any name. */
  readonly hosts: () => readonly string[] | null;
  /** The key that the client sends; null: none. */
  readonly keyOf: (request: IncomingMessage) => string | null;
  readonly keyCheck: () => TokenCheck;
  /**
   * Counts a request to a POST route until its response closes.
   * @returns the refusal of one more; null: it may begin
   */
  readonly enter: (response: ServerResponse) => ApiRefusal | null;
  /** Whether there is room for a message; null: there is. */
  readonly unavailable: () => ApiRefusal | null;
  readonly refused: (code: string) => void;
  readonly bodies: ByteSemaphore;
  readonly deadlines: Deadlines;
};

export const bodyBytesMax = 32 * 1_048_576;
/** A shorter body does not wait for room. */
const smallBytes = 64 * 1024;

const jsonType = 'application/json';

const refusals = {
  ...sharedRefusals,
  bodyTooLarge: bodyTooLarge(bodyBytesMax),
  unknownHost: {
    status: 421,
    code: 'unknown_host',
    detail:
      'This host name is not known here. Use 127.0.0.1 or localhost, or list the name in ' +
      'observability.allowed_hosts.',
  },
  unauthorized: {
    status: 401,
    code: 'invalid_api_key',
    detail: 'The API key is missing or wrong. Send it as "Authorization: Bearer <key>".',
    headers: { 'www-authenticate': 'Bearer' },
  },
  notJson: { status: 400, code: 'invalid_json', detail: 'The body is not valid JSON in UTF-8.' },
} as const satisfies Record<string, ApiRefusal>;

/** Makes the handler for the listener. */
export function createApiHandler(deps: ApiDeps): Handler {
  const frame = new ApiFrame(deps);
  return (request, response, peer) => frame.answer(request, response, peer);
}

class ApiFrame {
  readonly #deps: ApiDeps;

  constructor(deps: ApiDeps) {
    this.#deps = deps;
  }

  answer(request: IncomingMessage, response: ServerResponse, peer: Peer): void | Promise<void> {
    const exchange = { request, response };
    const allowed = this.#deps.hosts();
    if (allowed !== null && !isKnownHost(request.headers.host, allowed)) {
      return this.#refuse(exchange, refusals.unknownHost);
    }
    const route = this.#deps.route(pathOf(request.url ?? ''));
    if ('status' in route) return this.#refuse(exchange, route);
    const { method } = route;
    if (request.method !== method && !(method === 'GET' && request.method === 'HEAD')) {
      return this.#refuse(exchange, methodNotAllowed(method === 'GET' ? 'GET, HEAD' : method));
    }
    if (method === 'GET' && route.isOpen) return this.#get(exchange, route.answer());
    const token = this.#deps.keyOf(request);
    const check = this.#deps.keyCheck();
    if (token === null) return this.#turnAway(exchange, peer, 'missing');
    if (!check(token)) return this.#turnAway(exchange, peer, 'wrong');
    peer.known(response);
    if (method === 'GET') return this.#get(exchange, route.answer());
    return this.#post(exchange, route.take, () => {
      const checkNow = this.#deps.keyCheck();
      const mayContinue = checkNow === check || checkNow(token);
      if (!mayContinue) this.#turnAway(exchange, peer, 'wrong');
      return mayContinue;
    });
  }

  #get(exchange: Exchange, answer: string | ApiRefusal): void {
    if (typeof answer !== 'string') return this.#refuse(exchange, answer);
    const whole = { status: 200, type: jsonType, body: answer };
    answerEarly(exchange, whole, { deadlines: this.#deps.deadlines, bodyBytesMax, bytes: 0 });
  }

  #turnAway(exchange: Exchange, peer: Peer, bearer: 'missing' | 'wrong'): void {
    const refuse = (): void => this.#refuse(exchange, refusals.unauthorized);
    peer.turnAway(bearer, exchange.response, refuse);
  }

  /** @param mayContinue asks about the bearer again, after the body */
  async #post(
    exchange: Exchange,
    take: (call: ApiCall, body: unknown) => Promise<void>,
    mayContinue: () => boolean,
  ): Promise<void> {
    const { request, response } = exchange;
    // A request behind an unanswered one waits for its turn. Before that, nothing would tell svc
    // that its client has gone. If the turn never comes, nothing keeps this call in memory.
    if (response.socket === null) {
      await new Promise((resolve) => response.once('socket', resolve));
    }
    const refused = this.#deps.enter(response) ?? this.#checkContent(request);
    if (refused !== null) return this.#refuse(exchange, refused);
    const gone = new Stopper();
    response.once('close', () => {
      if (!response.writableFinished) gone.stop();
    });
    const refuse = (refusal: ApiRefusal): void => this.#refuse(exchange, refusal);
    const read = async (): Promise<void> => {
      const body = await this.#read(exchange);
      if (body !== null && mayContinue()) await take({ ...exchange, gone, refuse }, body.value);
    };
    const bytes = Number(request.headers['content-length'] ?? bodyBytesMax);
    if (bytes <= smallBytes) return read();
    await this.#deps.bodies.within({ bytes, whose: '' }, gone, read);
  }

  /** The checks that need no body. Its type says nothing: curl names that of a form. */
  #checkContent({ headers }: IncomingMessage): ApiRefusal | null {
    if (!isUncompressed(headers['content-encoding'])) return refusals.compressed;
    if (Number(headers['content-length']) > bodyBytesMax) return refusals.bodyTooLarge;
    return this.#deps.unavailable();
  }

  /** @returns null: the request is refused, or its client has gone */
  async #read(exchange: Exchange): Promise<{ readonly value: unknown } | null> {
    const end = await collectBody(exchange.request, exchange.response, bodyBytesMax);
    if (end.kind === 'broken_off') return null;
    const refuse = (refusal: ApiRefusal, bytes?: number): null => {
      this.#refuse(exchange, refusal, bytes);
      return null;
    };
    if (end.kind === 'too_large') return refuse(refusals.bodyTooLarge, end.count);
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(end.bytes);
      return { value: JSON.parse(text) as unknown };
    } catch {
      return refuse(refusals.notJson);
    }
  }

  /** @param bytes how much of the body has arrived already */
  #refuse(exchange: Exchange, refusal: ApiRefusal, bytes = 0): void {
    const { deadlines, errorText, refused } = this.#deps;
    refused(refusal.code ?? 'invalid_field');
    const { status, headers } = refusal;
    const answer = { status, type: jsonType, headers, body: errorText(refusal) };
    answerEarly(exchange, answer, { deadlines, bodyBytesMax, bytes });
  }
}

/** Sends an answer that a route has promised, or the error in its place. */
export function sendJson(response: ServerResponse, body: string, error?: ApiRefusal): void {
  const { status = 200, headers } = error ?? {};
  sendAnswer(response, { status, type: jsonType, headers, body });
}
