/**
 * Discord's REST interface, by `@discordjs/rest` over our own HTTP client, which reports whether a
 * request may have arrived. The library knows the rate limits of the routes; `BotRateLimiter` knows
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
import { retryAfterMs } from '../../lib/backoff.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import { fieldsOf, parseJson, textOf } from '../../lib/json.ts';
import { stopOf } from '../../lib/stop.ts';
import type { HttpResult } from '../../lib/http-client/exchange.ts';
import type { ClientDeps } from '../messenger/messenger.ts';
import type { CallResult, Refusal } from '../messenger/platform.ts';
import { BotRateLimiter, type BotRates } from '../messenger/rate-limits.ts';

/**
 * Discord takes 50 requests a second of a bot, in windows that begin with the first request to
 * arrive: https://discord.com/developers/docs/topics/rate-limits#global-rate-limit.
 */
export const botRates: BotRates = {
  limit: { everyMs: 30, burst: 8 },
  reserved: { first: 1, other: 4 },
  // Answers to interactions do not count.
  uncounted: /\/v10\/(?:interactions|webhooks)\//,
};

/** `code`: Discord's number of the fault; null: none. `names`: those of faults in fields. */
export type Refused = Refusal & {
  readonly code: number | null;
  readonly names: readonly string[];
  readonly unasked: boolean;
};

export type Result = CallResult<Refused>;

type Answer = Extract<HttpResult, { kind: 'answer' }>;

/** How much of an error's body is read, in characters. */
const namedMax = 4_000;

/** The fields of an error's body. */
type WireError = { readonly code: number; readonly message: string; readonly names: string[] };

const noError: WireError = { code: 0, message: '', names: [] };

/**
 * The firewall before Discord answers in JSON, too (nirn-proxy#14, discord-api-docs#6473): that is
 * a proxy's page to svc.
 */
const firewallCode = 40_333;

/** @param errorBody of `errorOf`; without a JSON body the library passes another object */
export function refusal(status: number, errorBody: object | null = null): Refused {
  const isRead = errorBody !== null && 'names' in errorBody;
  const read = isRead ? (errorBody as WireError) : noError;
  const { code, names, message: description } = read.code === firewallCode ? noError : read;
  const details = { code: code === 0 ? null : code, names, description };
  return { kind: 'refused', status, ...details, retryAfterMs: null, unasked: false };
}

/** A 429. @param unasked svc sent nothing, since it knows the limit */
export function limited(ms: number, unasked: boolean): Refused {
  return { ...refusal(429), retryAfterMs: Math.max(0, Math.ceil(ms)), unasked };
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
  const { code, message } = fieldsOf(parseJson(body));
  // A fault in a field has a name in capitals: { "errors": { field: { "_errors": … } } }.
  const named = body.slice(0, namedMax).matchAll(/"code": ?"([A-Z_]+)"/g);
  return {
    code: typeof code === 'number' ? code : 0,
    message: textOf(message).slice(0, namedMax),
    names: Array.from(named, ([, name]) => name!),
  };
}

function parsedBody(body: string): object {
  const value = parseJson(body);
  return typeof value === 'object' && value !== null ? value : {};
}

/**
 * Carries a result through the library, and keeps it from waiting after a 429 and from retrying.
 * The library's own errors hold requests.
 */
class Thrown extends Error {
  readonly result: Result;

  constructor(result: Result) {
    super('caught around the call');
    this.result = result;
  }
}

/** A body from `multipart` in lib/pinned-client.ts. */
type Form = { readonly contentType: string; readonly body: Uint8Array };

type CallOptions = {
  /** JSON. */
  readonly body?: unknown;
  readonly form?: Form;
  readonly signal?: AbortSignal | undefined;
  /** The call has its place already, and waits for no limit. */
  readonly isAdmitted?: boolean;
};

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const callMs = 15_000;
/** A call waits for a limit that ends within this time. */
const callWaitMsMax = 1_500;
/** Set during a best-effort call: the library passes no mark of ours on to `rejectOnRateLimit`. */
const bestEffortScope = new AsyncLocalStorage<true>();
const waitMsMaxNow = (): number => (bestEffortScope.getStore() === true ? 0 : callWaitMsMax);
const limitedMsMax = dayMs;
/** The pause after a 429 that names no time. */
const bannedMs = 60_000;
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

type Library = typeof discordRest;

/** Loads the library, which takes some 80 ms, and makes the client. */
export async function createApi(deps: ClientDeps): Promise<Api> {
  const library = await import('@discordjs/rest');
  return new Api(library, deps);
}

export class Api {
  readonly #library: Library;
  readonly #rest: discordRest.REST;
  readonly #deps: ClientDeps;
  readonly #rateLimiter: BotRateLimiter;
  /** How far this machine's time of day was ahead of the steady clock at the last call. */
  #aheadMs: number;
  /** The end of Discord's limit on all requests. */
  #limitedUntil: SteadyTime;

  constructor(library: Library, deps: ClientDeps) {
    this.#library = library;
    this.#deps = deps;
    this.#limitedUntil = deps.steady();
    this.#rateLimiter = new BotRateLimiter(deps.steady, deps.deadlines, botRates);
    this.#aheadMs = Date.now() - this.#limitedUntil;
    this.#rest = new library.REST({
      // The address is the part before `/v10`.
      api: deps.config.baseUrl ?? discordApi,
      version: '10',
      retries: 0,
      // The HTTP client's own deadline comes first.
      timeout: callMs + 5_000,
      hashSweepInterval: 0,
      // `BotRateLimiter` counts all requests of the bot. The library learns this limit only from
      // a 429.
      globalRequestsPerSecond: uncountedMax,
      rejectOnRateLimit: ({ timeToReset }) => timeToReset > waitMsMaxNow(),
      makeRequest: (url, init) => this.#send(url, init as Init),
    });
  }

  /** As `spare` of `BotRateLimiter`. */
  spare(signal: AbortSignal, isFirst?: boolean): Promise<boolean> {
    return this.#rateLimiter.spare(signal, isFirst);
  }

  close(): void {
    this.#rest.clearHandlerSweeper();
  }

  /** @param route with its leading slash and its query, if any */
  call(method: Method, route: `/${string}`, options: CallOptions = {}): Promise<Result> {
    if (options.isAdmitted !== true) return this.#call(method, route, options);
    return bestEffortScope.run(true, () => this.#call(method, route, options));
  }

  async #call(
    method: Method,
    fullRoute: `/${string}`,
    { body, form, signal }: CallOptions,
  ): Promise<Result> {
    this.#noteClock();
    // During a limit on all requests the library would hold a timer until its end.
    const limitedMs = this.#rest.globalReset - Date.now();
    if (this.#rest.globalRemaining <= 0 && limitedMs > callWaitMsMax) {
      return limited(limitedMs, true);
    }
    // The library forgets the token at the first 401.
    this.#rest.setToken(this.#deps.token);
    const headers = { 'content-type': form?.contentType ?? '' };
    const content = form && { body: form.body, headers, passThroughBody: true };
    // The library leaves a listener on its signal, and a caller's may last as long as the channel.
    const own = new AbortController();
    const stop = (): void => own.abort();
    if (signal?.aborted === true) stop();
    signal?.addEventListener('abort', stop);
    try {
      const answer = await this.#rest.request({
        method: method as discordRest.RequestMethod,
        fullRoute,
        ...(content ?? { body }),
        signal: own.signal,
      });
      return { kind: 'ok', body: answer };
    } catch (error) {
      return this.#resultOf(error);
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  /**
   * The library stores the ends of limits in this machine's time of day, even if svc follows the
   * time of a server. If that time is set back, limits would last longer by as much. So svc clears
   * them, except the limit of all requests.
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

  #resultOf(error: unknown): Result {
    const { DiscordAPIError, HTTPError, RateLimitError } = this.#library;
    if (error instanceof Thrown) return error.result;
    if (error instanceof RateLimitError) {
      return limited(Math.max(error.retryAfter, error.timeToReset), true);
    }
    if (error instanceof DiscordAPIError) {
      return refusal(error.status, error.rawError);
    }
    if (error instanceof HTTPError) return refusal(error.status);
    // The signal aborted while the call waited for the request before it.
    const isAbort = error instanceof Error && error.name === 'AbortError';
    if (isAbort) return { kind: 'fault', fault: 'cancelled', sent: false };
    return { kind: 'fault', fault: 'connection_lost', sent: true };
  }

  /**
   * Discord bans an address by a 429 without a time or a code in its body, which holds for all
   * requests (discord-api-docs#1463, #5810, openclaw#74489). An early request makes the ban longer.
   * A ban at the addresses of interactions holds for these alone (discord-api-docs#5385, #7040).
   */
  #limitedBy(url: string, { headers, body }: Answer): Refused {
    const { now, steady } = this.#deps;
    const { retry_after: seconds, code = 0 } = fieldsOf(parseJson(body));
    const bodyMs = typeof seconds === 'number' ? Math.min(seconds * 1_000, limitedMsMax) : null;
    const ms = retryAfterMs(headers['retry-after'], now(), limitedMsMax) ?? bodyMs ?? bannedMs;
    const isBanned = bodyMs === null && code === 0 && !botRates.uncounted.test(url);
    if (headers['x-ratelimit-global'] !== undefined || isBanned) {
      this.#limitedUntil = later(steady(), ms);
      this.#rest.globalRemaining = 0;
      this.#rest.globalReset = Date.now() + ms;
    }
    return limited(ms, false);
  }

  /** @throws Thrown unless the platform did it, or refused it in its own words */
  async #send(url: string, { method = 'GET', headers, body, signal }: Init) {
    const { http, steady } = this.#deps;
    const isAdmitted = bestEffortScope.getStore() === true;
    const ms = isAdmitted ? null : await this.#rateLimiter.admit(url, callWaitMsMax, signal);
    if (ms !== null) throw new Thrown(limited(ms, true));
    if (signal?.aborted) throw new Thrown({ kind: 'fault', fault: 'cancelled', sent: false });
    const result = await http.send(
      {
        method: method as Method,
        url: new URL(url),
        headers,
        body: body ?? null,
        deadlineAt: later(steady(), callMs),
        bodyBytesMax,
      },
      signal ? stopOf(signal) : undefined,
    );
    if (result.kind === 'fault') throw new Thrown(result);
    if (result.status === 429) throw new Thrown(this.#limitedBy(url, result));
    // The library treats an answer as a success if it is neither a success nor an error.
    if (result.status < 200 || (result.status >= 300 && result.status < 400)) {
      throw new Thrown(refusal(result.status));
    }
    return responseOf(result) as unknown as discordRest.ResponseLike;
  }
}
