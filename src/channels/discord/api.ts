/**
 * Discord's REST interface, by `@discordjs/rest` over our own HTTP client, which reports whether a
 * request may have arrived. The library knows the rate limits of the routes; rate-limits.ts knows
 * the limit of all requests together. A call that would reach a limit waits a moment. If the wait
 * would be longer, svc does not make the call (`unasked`). Nothing here retries, and nothing
 * throws: a 429 is an answer like any other. The library's errors hold requests, so none of them
 * leaves this file.
 *
 * Format: https://discord.com/developers/docs/reference (API version 10).
 */
import { dayMs } from '../../lib/durations.ts';
import { AsyncLocalStorage } from 'node:async_hooks';
import type * as discordRest from '@discordjs/rest';
import { retryAfterMs, pause } from '../../lib/backoff.ts';
import { later, type Clock, type SteadyTime } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { HttpClient } from '../../lib/http-client.ts';
import { stopOf } from '../../lib/stop.ts';
import type { HttpFault, HttpResult } from '../../lib/http-client/exchange.ts';
import {
  fullAfterOne,
  msUntilOne,
  LowPriorityQueue,
  type RateLimit,
} from '../messenger/rate-limits.ts';

/**
 * When the bot may send its next request. Discord takes 50 a second of a bot, in windows that begin
 * with the first request to arrive. svc sends evenly and below that limit, so no window has too
 * many, even if some requests arrive late. Page:
 * https://discord.com/developers/docs/topics/rate-limits#global-rate-limit.
 */
const botLimit: RateLimit = { everyMs: 30, burst: 8 };
/**
 * The places that stay free for replies: beside a first preview, and beside other best-effort
 * calls.
 */
const reserved = { first: 1, other: 4 } as const;
/** Answers to interactions do not count. */
const uncountedPath = /\/v10\/(?:interactions|webhooks)\//;

export class BotRateLimiter {
  readonly #steady: () => SteadyTime;
  /** When the bot's limit is full again. */
  #full: SteadyTime;

  readonly #bestEffortQueue: LowPriorityQueue;

  constructor(steady: () => SteadyTime, deadlines: Deadlines) {
    this.#steady = steady;
    this.#full = steady();
    this.#bestEffortQueue = new LowPriorityQueue(deadlines, (isFirst) => {
      const spare = isFirst ? reserved.first : reserved.other;
      return msUntilOne(this.#full, botLimit, steady(), spare);
    });
  }

  /**
   * Waits for a place; places go out in the order of asking.
   * @param waitMsMax the longest wait, in milliseconds
   * @returns null: the request may go, unless the signal has aborted; else the milliseconds until
   *   the next try
   */
  async admit(url: string, waitMsMax: number, signal?: AbortSignal | null): Promise<number | null> {
    if (uncountedPath.test(url)) return null;
    const now = this.#steady();
    const ms = msUntilOne(this.#full, botLimit, now);
    if (ms > waitMsMax) return ms;
    this.#full = fullAfterOne(this.#full, botLimit, now);
    if (ms > 0) await pause(ms, signal ?? new AbortController().signal);
    return null;
  }

  /**
   * Takes a place for a best-effort call, and leaves some free.
   * @param isFirst whether it is for the first preview of a reply, which goes before the others
   * @returns false: the signal aborted first
   */
  spare(signal: AbortSignal, isFirst = false): Promise<boolean> {
    const take = (): boolean => {
      this.#full = fullAfterOne(this.#full, botLimit, this.#steady());
      return true;
    };
    return this.#bestEffortQueue.next(take, signal, isFirst);
  }
}

// The answers of Discord's REST interface, in the form that svc reads.

/**
 * The result of a call. `code` is Discord's own number of the fault, if it gave one, and `names`
 * are its names of faults in fields. `message` is Discord's text, for upstream-words.ts: it goes
 * into no log. `unasked`: svc sent nothing, since it knows that a limit is reached.
 */
export type ApiResult =
  | { readonly kind: 'ok'; readonly body: unknown }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly code: number | null;
      readonly names: readonly string[];
      readonly message: string;
      readonly retryAfterMs: number | null;
      readonly unasked: boolean;
    }
  | { readonly kind: 'fault'; readonly fault: HttpFault; readonly sent: boolean };

type Answer = Extract<HttpResult, { kind: 'answer' }>;

/** How much of an error's body is read, in characters. */
const namedMax = 4_000;

/** The fields of an error's body. */
type WireError = {
  readonly code: number;
  readonly message: string;
  readonly names: string[];
};

const noError: WireError = { code: 0, message: '', names: [] };

/** @param said an object of `errorOf`; without a JSON body the library passes another object */
export function refusal(status: number, errorBody: object | null = null): ApiResult {
  const { code, names, message } =
    errorBody !== null && 'names' in errorBody ? (errorBody as WireError) : noError;
  const details = { code: code === 0 ? null : code, names, message };
  return { kind: 'refused', status, ...details, retryAfterMs: null, unasked: false };
}

export function limited(ms: number, unasked: boolean): ApiResult {
  const retryAfterMs = Math.max(0, Math.ceil(ms));
  return {
    kind: 'refused',
    status: 429,
    code: null,
    names: [],
    message: '',
    retryAfterMs,
    unasked,
  };
}

/**
 * The part of an answer that the library reads. A body that is no JSON object or list counts as
 * empty.
 */
function responseOf({ status, headers, body }: Answer) {
  const header = (name: string): string | null => {
    const value = headers[name.toLowerCase()];
    return (Array.isArray(value) ? value[0] : value) ?? null;
  };
  return {
    status,
    statusText: '',
    ok: status >= 200 && status < 300,
    bodyUsed: false,
    body: null,
    headers: { get: header, has: (name: string) => header(name) !== null },
    json: () => Promise.resolve(status < 400 ? parsedBody(body) : errorOf(body)),
    text: () => Promise.resolve(body),
    arrayBuffer: () => Promise.resolve(new ArrayBuffer(0)),
  };
}

/** The library fails on other shapes of an error. */
function errorOf(body: string): WireError {
  const { code, message } = parsedBody(body) as { code?: unknown; message?: unknown };
  // A fault in a field has a name in capitals: { "errors": { field: { "_errors": … } } }.
  const names = Array.from(
    body.slice(0, namedMax).matchAll(/"code": ?"([A-Z_]+)"/g),
    ([, name]) => {
      return name!;
    },
  );
  return {
    code: typeof code === 'number' ? code : 0,
    message: typeof message === 'string' ? message.slice(0, namedMax) : '',
    names,
  };
}

function parsedBody(body: string): object {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

// Errors that svc throws through the library and catches around the call. The library's own errors
// hold requests.

/** Keeps the library from waiting after a 429 and from retrying. `unasked`: nothing was sent. */
class Limited extends Error {
  readonly retryAfterMs: number;
  readonly unasked: boolean;

  constructor(ms: number, unasked: boolean) {
    super('429');
    this.retryAfterMs = ms;
    this.unasked = unasked;
  }
}

class Fault extends Error {
  readonly fault: HttpFault;
  readonly sent: boolean;

  constructor(fault: HttpFault, sent: boolean) {
    super(fault);
    this.fault = fault;
    this.sent = sent;
  }
}

class Redirect extends Error {
  readonly status: number;

  constructor(status: number) {
    super('a redirect is not followed');
    this.status = status;
  }
}

/**
 * `spare`: a best-effort call. It takes a place that no reply needs, waits moments for its turn,
 * and waits for no other limit. `admitted`: the call already has its place.
 */
type CallMode = { readonly spare?: 'in_turn' | 'admitted' };

/** A body from `multipart` in lib/pinned-client.ts. */
type Form = { readonly contentType: string; readonly body: Uint8Array };

type Write = (
  route: `/${string}`,
  body: unknown,
  signal?: AbortSignal,
  mode?: CallMode,
) => Promise<ApiResult>;

export interface Api {
  /** @param route with its leading slash and its query, if any */
  get(route: `/${string}`, signal?: AbortSignal): Promise<ApiResult>;
  readonly post: Write;
  sendForm(
    method: 'POST' | 'PATCH',
    route: `/${string}`,
    form: Form,
    signal?: AbortSignal,
  ): Promise<ApiResult>;
  readonly put: Write;
  readonly patch: Write;
  delete(route: `/${string}`, signal?: AbortSignal): Promise<ApiResult>;
  /**
   * Takes a place for a best-effort call.
   * @param isFirst whether it is for the first preview of a reply, which goes before the others
   * @returns false: the signal aborted first
   */
  spare(signal: AbortSignal, isFirst?: boolean): Promise<boolean>;
  close(): void;
}

export type ApiDeps = Clock & {
  readonly token: string;
  /** The part of the URL before `/v10`; null: Discord's own address. */
  readonly baseUrl: string | null;
  readonly http: HttpClient;
  readonly deadlines: Deadlines;
};

const callMs = 15_000;
/** A call waits for a limit that ends within this time. */
const apiWaitMsMax = 1_500;
/** Set during a best-effort call: the library passes no mark of ours on to `rejectOnRateLimit`. */
const bestEffortScope = new AsyncLocalStorage<true>();
const waitMsMaxNow = (): number => (bestEffortScope.getStore() === true ? 0 : apiWaitMsMax);
const limitedMsMax = dayMs;
const uncountedMax = 1_000_000;
/** If the time of day is set back by less than this, nothing happens. */
const clockSlackMs = 1_000;
const bodyBytesMax = 4 * 1024 * 1024;
const discordApi = 'https://discord.com/api';

/** The request as the library passes it. The library's own type belongs to its own HTTP client. */
type Init = {
  readonly method?: string;
  readonly headers: Record<string, string>;
  readonly body?: string | null;
  readonly signal?: AbortSignal | null;
};

/** A request in the form that the library takes. */
type Call = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly fullRoute: `/${string}`;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly passThroughBody?: true;
};

type Library = typeof discordRest;

/** Loads the library, which takes some 80 ms, and makes the client. */
export async function createApi(deps: ApiDeps): Promise<Api> {
  const library = await import('@discordjs/rest');
  return new LimitedApi(library, deps);
}

class LimitedApi implements Api {
  readonly #library: Library;
  readonly #rest: discordRest.REST;
  readonly #deps: ApiDeps;
  readonly #rateLimiter: BotRateLimiter;
  /** How far this machine's time of day was ahead of the steady clock at the last call. */
  #aheadMs: number;
  /** The end of Discord's limit on all requests. */
  #limitedUntil: SteadyTime;

  constructor(library: Library, deps: ApiDeps) {
    this.#library = library;
    this.#deps = deps;
    this.#limitedUntil = deps.steady();
    this.#rateLimiter = new BotRateLimiter(deps.steady, deps.deadlines);
    this.#aheadMs = Date.now() - this.#limitedUntil;
    this.#rest = new library.REST({
      api: deps.baseUrl ?? discordApi,
      version: '10',
      retries: 0,
      // The HTTP client's own deadline comes first.
      timeout: callMs + 5_000,
      hashSweepInterval: 0,
      // rate-limits.ts counts all requests of the bot. The library learns this limit only from a
      // 429.
      globalRequestsPerSecond: uncountedMax,
      rejectOnRateLimit: ({ timeToReset }) => timeToReset > waitMsMaxNow(),
      makeRequest: (url, init) => this.#send(url, init as Init),
    });
  }

  get(route: `/${string}`, signal?: AbortSignal): Promise<ApiResult> {
    return this.#call({ method: 'GET', fullRoute: route }, signal);
  }

  post(
    route: `/${string}`,
    body: unknown,
    signal?: AbortSignal,
    mode?: CallMode,
  ): Promise<ApiResult> {
    return this.#callInMode({ method: 'POST', fullRoute: route, body }, signal, mode);
  }

  sendForm(
    method: 'POST' | 'PATCH',
    route: `/${string}`,
    { contentType, body }: Form,
    signal?: AbortSignal,
  ): Promise<ApiResult> {
    const headers = { 'content-type': contentType };
    const form = { body, headers, passThroughBody: true } as const;
    return this.#call({ method, fullRoute: route, ...form }, signal);
  }

  patch(
    route: `/${string}`,
    body: unknown,
    signal?: AbortSignal,
    mode?: CallMode,
  ): Promise<ApiResult> {
    return this.#callInMode({ method: 'PATCH', fullRoute: route, body }, signal, mode);
  }

  delete(route: `/${string}`, signal?: AbortSignal): Promise<ApiResult> {
    return this.#call({ method: 'DELETE', fullRoute: route }, signal);
  }

  put(
    route: `/${string}`,
    body: unknown,
    signal?: AbortSignal,
    mode?: CallMode,
  ): Promise<ApiResult> {
    return this.#callInMode({ method: 'PUT', fullRoute: route, body }, signal, mode);
  }

  spare(signal: AbortSignal, isFirst?: boolean): Promise<boolean> {
    return this.#rateLimiter.spare(signal, isFirst);
  }

  close(): void {
    this.#rest.clearHandlerSweeper();
  }

  async #callInMode(
    call: Call,
    signal?: AbortSignal,
    { spare }: CallMode = {},
  ): Promise<ApiResult> {
    if (spare === undefined) return this.#call(call, signal);
    if (spare === 'in_turn') {
      const giveUp = new AbortController();
      const deadline = this.#deps.deadlines.after(apiWaitMsMax, () => giveUp.abort());
      const stop = AbortSignal.any([giveUp.signal, ...(signal === undefined ? [] : [signal])]);
      const hasTurn = await this.spare(stop);
      deadline.cancel();
      if (!hasTurn) return limited(apiWaitMsMax, true);
    }
    return bestEffortScope.run(true, () => this.#call(call, signal));
  }

  async #call(call: Call, signal?: AbortSignal): Promise<ApiResult> {
    this.#noteClock();
    // During a limit on all requests the library would hold a timer until its end.
    const limitedMs = this.#rest.globalReset - Date.now();
    if (this.#rest.globalRemaining <= 0 && limitedMs > apiWaitMsMax)
      return limited(limitedMs, true);
    // The library forgets the token at the first 401.
    this.#rest.setToken(this.#deps.token);
    try {
      const answer = await this.#rest.request({
        ...call,
        method: call.method as discordRest.RequestMethod,
        ...(signal === undefined ? {} : { signal }),
      });
      return { kind: 'ok', body: answer };
    } catch (error) {
      return this.#resultOf(error);
    }
  }

  /**
   * The library stores the ends of limits in this machine's time of day, even if all instances
   * follow a shared time. If that time is set back, limits would last longer by as much. So svc
   * clears them, except the limit of all requests.
   */
  #noteClock(): void {
    const { steady } = this.#deps;
    const aheadMs = Date.now() - steady();
    const setBack = aheadMs < this.#aheadMs - clockSlackMs;
    this.#aheadMs = aheadMs;
    if (!setBack) return;
    this.#rest.handlers.clear();
    this.#rest.globalReset = Date.now() + Math.max(0, this.#limitedUntil - steady());
  }

  #resultOf(error: unknown): ApiResult {
    const { DiscordAPIError, HTTPError, RateLimitError } = this.#library;
    if (error instanceof Fault) return { kind: 'fault', fault: error.fault, sent: error.sent };
    if (error instanceof RateLimitError) {
      return limited(Math.max(error.retryAfter, error.timeToReset), true);
    }
    if (error instanceof Redirect) return refusal(error.status);
    if (error instanceof Limited) return limited(error.retryAfterMs, error.unasked);
    if (error instanceof DiscordAPIError) {
      return refusal(error.status, error.rawError);
    }
    if (error instanceof HTTPError) return refusal(error.status);
    // The signal aborted while the call waited for the request before it.
    const isAbort = error instanceof Error && error.name === 'AbortError';
    if (isAbort) return { kind: 'fault', fault: 'cancelled', sent: false };
    return { kind: 'fault', fault: 'connection_lost', sent: true };
  }

  #limitedBy({ headers }: Answer): Limited {
    const { now, steady } = this.#deps;
    const ms = retryAfterMs(headers['retry-after'], now(), limitedMsMax) ?? 0;
    if (headers['x-ratelimit-global'] !== undefined) {
      this.#limitedUntil = later(steady(), ms);
      this.#rest.globalRemaining = 0;
      this.#rest.globalReset = Date.now() + ms;
    }
    return new Limited(ms, false);
  }

  /** @throws Limited if no place is free among the bot's requests */
  async #admitted(url: string, { signal }: Init): Promise<void> {
    const isBestEffort = bestEffortScope.getStore() === true;
    const ms = isBestEffort ? null : await this.#rateLimiter.admit(url, apiWaitMsMax, signal);
    if (ms !== null) throw new Limited(ms, true);
    if (signal?.aborted) throw new Fault('cancelled', false);
  }

  async #send(url: string, init: Init): Promise<discordRest.ResponseLike> {
    const { http, steady } = this.#deps;
    const method = (init.method ?? 'GET') as Call['method'];
    await this.#admitted(url, init);
    const result = await http.send(
      {
        method,
        url: new URL(url),
        headers: init.headers,
        body: init.body ?? null,
        deadlineAt: later(steady(), callMs),
        bodyBytesMax,
      },
      init.signal ? stopOf(init.signal) : undefined,
    );
    if (result.kind === 'fault') throw new Fault(result.fault, result.sent);
    if (result.status === 429) throw this.#limitedBy(result);
    // The library treats an answer as a success if it is neither a success nor an error.
    if (result.status < 200 || (result.status >= 300 && result.status < 400)) {
      throw new Redirect(result.status);
    }
    return responseOf(result) as unknown as discordRest.ResponseLike;
  }
}
