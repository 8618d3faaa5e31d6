/**
 * Lets the requests of an HTTP API through to its routes, or refuses them. It knows nothing about
 * the API but its paths and the form of its errors. The checks have one order, and the first failed
 * check gives the answer: host name (421), path (404), method (405), bearer (401), number of
 * requests (429), compression (415), room (503), body (413, 400), and the bearer once more if it
 * has changed meanwhile.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { bearerOf, type TokenCheck } from '../../lib/bearer.ts';
import { collectBody, isUncompressed } from '../../lib/collect-body.ts';
import type { Peer } from '../../lib/connection.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import { answerEarly, sendAnswer, type Exchange } from '../../lib/early-answer.ts';
import type { ByteSemaphore } from '../../lib/fair-queue.ts';
import { isKnownHost } from '../../lib/known-host.ts';
import { pathOf, type Handler } from '../../lib/listener.ts';
import { Stopper, type Stop } from '../../lib/stop.ts';

/** `code` null: the API has none for it. `param`: the field at fault; absent: none. */
export type ApiRefusal = {
  readonly status: number;
  readonly code: string | null;
  readonly message: string;
  readonly param?: string;
  readonly headers?: Readonly<Record<string, string>>;
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
  readonly bearerCheck: () => TokenCheck;
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
  unknownHost: {
    status: 421,
    code: 'unknown_host',
    message:
      'This host name is not known here. Use 127.0.0.1 or localhost, or list the name in ' +
      'observability.allowed_hosts.',
  },
  unauthorized: {
    status: 401,
    code: 'invalid_api_key',
    message: 'The API key is missing or wrong. Send it as "Authorization: Bearer <key>".',
    headers: { 'www-authenticate': 'Bearer' },
  },
  /** Format: RFC 9110, section 15.5.16. */
  compressed: {
    status: 415,
    code: 'unsupported_media_type',
    message: 'Send the body uncompressed, without "Content-Encoding".',
    headers: { 'accept-encoding': 'identity' },
  },
  bodyTooLarge: {
    status: 413,
    code: 'body_too_large',
    message: `The body may have ${bodyBytesMax} bytes.`,
  },
  notJson: { status: 400, code: 'invalid_json', message: 'The body is not valid JSON in UTF-8.' },
} as const satisfies Record<string, ApiRefusal>;

function methodNotAllowed(allow: string): ApiRefusal {
  const message = `This path answers ${allow} only.`;
  return { status: 405, code: 'method_not_allowed', message, headers: { allow } };
}

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
    const token = bearerOf(request);
    const check = this.#deps.bearerCheck();
    if (token === null) return this.#turnAway(exchange, peer, 'missing');
    if (!check(token)) return this.#turnAway(exchange, peer, 'wrong');
    peer.known(response);
    if (method === 'GET') return this.#get(exchange, route.answer());
    const isCurrent = (): boolean => {
      const checkNow = this.#deps.bearerCheck();
      return checkNow === check || checkNow(token);
    };
    return this.#post(exchange, route.take, () => {
      if (isCurrent()) return true;
      this.#turnAway(exchange, peer, 'wrong');
      return false;
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
    if (end.kind === 'too_large') {
      this.#refuse(exchange, refusals.bodyTooLarge, end.count);
      return null;
    }
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(end.bytes);
      return { value: JSON.parse(text) as unknown };
    } catch {
      this.#refuse(exchange, refusals.notJson);
      return null;
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

/** Sends an error in place of an answer that a route has promised. */
export function sendRefusal(response: ServerResponse, refusal: ApiRefusal, body: string): void {
  const { status, headers } = refusal;
  sendAnswer(response, { status, type: jsonType, headers, body });
}

export function sendJson(response: ServerResponse, body: string): void {
  sendAnswer(response, { status: 200, type: jsonType, body });
}
