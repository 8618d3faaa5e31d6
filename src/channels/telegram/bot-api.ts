/**
 * Calls of the Bot API (https://core.telegram.org/bots/api#making-requests). grammY's `Api` knows
 * the methods; our own HTTP client sends them. A call never throws, and its result never holds the
 * token: this file takes only the facts out of grammY's errors.
 */
import type { Api } from 'grammy';
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { HttpClient } from '../../lib/http-client.ts';
import { multipart } from '../../lib/pinned-client.ts';
import { stopOf } from '../../lib/stop.ts';
import type { CallResult, Refusal } from '../messenger/platform.ts';

type Raw = Api['raw'];
type Method =
  | ParameterlessMethod
  | 'deleteWebhook'
  | 'getUpdates'
  | 'getFile'
  | 'sendMessage'
  | 'sendMessageDraft'
  | 'sendChatAction'
  | 'setMessageReaction'
  | 'getMyCommands'
  | 'setMyCommands'
  | PressMethod
  | EditMethod;
/** Methods without parameters. */
type ParameterlessMethod = 'getMe' | 'getWebhookInfo';
/** Methods that follow a press. */
type PressMethod = 'answerCallbackQuery' | 'editMessageReplyMarkup';
/** Methods that change a message of the bot. */
type EditMethod = 'editMessageText' | 'deleteMessage';
export type Payload<M extends Method> = M extends ParameterlessMethod
  ? Record<string, never>
  : Parameters<Raw[Exclude<M, ParameterlessMethod>]>[0];

export interface BotApi {
  /** @param timeoutMs for the whole call, connecting included */
  call<M extends Method>(
    method: M,
    payload: Payload<M>,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Result>;
  /** Sends a file. Fields that are no text go as JSON. */
  sendDocument(
    fields: object,
    document: TextFile,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Result>;
}

type TextFile = { readonly name: string; readonly text: string };

export type Result = CallResult<Refused>;

/**
 * Whether Telegram itself refuses the token. A proxy's page has no description and does not count.
 */
export function refusesToken(result: Result): boolean {
  if (result.kind !== 'refused' || result.description === '') return false;
  return result.status === 401 || result.status === 404;
}

/** `migrateToChat`: the chat that the group became. */
export type Refused = Refusal & { readonly migrateToChat: number | null };

export const apiRoot = 'https://api.telegram.org';
/** Enough for a hundred updates with the longest texts and all their entities. */
const bodyBytesMax = 16 * 1024 * 1024;

export type BotApiDeps = {
  readonly token: string;
  /** Without a slash at its end; null: Telegram's own. */
  readonly baseUrl: string | null;
  readonly http: HttpClient;
  readonly deadlines: Deadlines;
  readonly steady: () => SteadyTime;
};

/** Loads grammY, so that only a service with this channel pays for it. */
export async function loadBotApi(deps: BotApiDeps): Promise<BotApi> {
  const { Api: GrammyApi } = await import('grammy');
  return new GrammyBotApi(deps, GrammyApi);
}

class GrammyBotApi implements BotApi {
  readonly #deps: BotApiDeps;
  readonly #create: typeof Api;

  constructor(deps: BotApiDeps, create: typeof Api) {
    this.#deps = deps;
    this.#create = create;
  }

  async call<M extends Method>(
    method: M,
    payload: Payload<M>,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Result> {
    const { token, baseUrl } = this.#deps;
    const carrier = new Carrier(this.#deps, timeoutMs, signal);
    const api = new this.#create(token, {
      apiRoot: baseUrl ?? apiRoot,
      fetch: carrier.fetch,
      // The carrier's own deadline comes first.
      timeoutSeconds: timeoutMs / 1_000 + 5,
    });
    const methods = api.raw as unknown as Record<Method, (given?: unknown) => Promise<unknown>>;
    try {
      const isParameterless = method === 'getMe' || method === 'getWebhookInfo';
      const result = await (isParameterless ? methods[method]() : methods[method](payload));
      return { kind: 'ok', body: result };
    } catch (error) {
      return carrier.failed ?? refusalOf(error);
    }
  }

  /** Without grammY, which reads files for its own transport. */
  async sendDocument(
    fields: object,
    { name, text }: TextFile,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Result> {
    const { token, baseUrl } = this.#deps;
    const form = multipart([
      ...Object.entries(fields).map(([key, value]) => {
        return { name: key, value: typeof value === 'string' ? value : JSON.stringify(value) };
      }),
      { name: 'document', value: text, file: { name, type: 'text/plain; charset=utf-8' } },
    ]);
    const carrier = new Carrier(this.#deps, timeoutMs, signal);
    try {
      const { json } = await carrier.fetch(`${baseUrl ?? apiRoot}/bot${token}/sendDocument`, form);
      const answer = (await json()) as { ok?: unknown; result?: unknown };
      if (answer.ok === true) return { kind: 'ok', body: answer.result };
      return refusalOf(answer);
    } catch (error) {
      return carrier.failed ?? refusalOf(error);
    }
  }
}

type CarriedAnswer = { readonly json: () => Promise<unknown> };
type Init = { readonly body?: string | Uint8Array; readonly contentType?: string };

/** Sends one call over HTTP, in the form of `fetch` that grammY expects. */
class Carrier {
  /** Why the Bot API gave no answer; null: it answered. */
  failed: Exclude<Result, { kind: 'ok' }> | null = null;
  readonly #deps: BotApiDeps;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal;

  constructor(deps: BotApiDeps, timeoutMs: number, signal: AbortSignal) {
    this.#deps = deps;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
  }

  readonly fetch = async (url: string, init: Init): Promise<CarriedAnswer> => {
    const { http, steady } = this.#deps;
    const request = {
      method: 'POST',
      url: new URL(url),
      headers: { 'content-type': init.contentType ?? 'application/json' },
      body: init.body ?? '{}',
      deadlineAt: later(steady(), this.#timeoutMs),
      bodyBytesMax,
    } as const;
    const result = await http.send(request, stopOf(this.#signal));
    if (result.kind === 'fault') {
      this.failed = { kind: 'fault', fault: result.fault, sent: result.sent };
      throw noAnswer;
    }
    const answer = parsedBody(result.body);
    if (answer === null) {
      // A proxy's page, for example: only its status has a meaning.
      const nothing = { description: '', retryAfterMs: null, migrateToChat: null };
      this.failed = { kind: 'refused', status: result.status, ...nothing };
      throw noAnswer;
    }
    return { json: () => Promise.resolve(answer) };
  };
}

const noAnswer = new Error('no answer of the Bot API');

function parsedBody(body: string): object | null {
  try {
    const answer: unknown = JSON.parse(body);
    return typeof answer === 'object' && answer !== null && 'ok' in answer ? answer : null;
  } catch {
    return null;
  }
}

/** The facts of a GrammyError. Any other error counts as a server error. */
function refusalOf(error: unknown): Refused {
  const { error_code, description, parameters } = error as {
    error_code?: unknown;
    description?: unknown;
    parameters?: { retry_after?: unknown; migrate_to_chat_id?: unknown };
  };
  const retryAfter = parameters?.retry_after;
  const migrateTo = parameters?.migrate_to_chat_id;
  return {
    kind: 'refused',
    status: typeof error_code === 'number' ? error_code : 500,
    description: typeof description === 'string' ? description : '',
    retryAfterMs: typeof retryAfter === 'number' ? retryAfter * 1_000 : null,
    migrateToChat: typeof migrateTo === 'number' ? migrateTo : null,
  };
}
