/**
 * Calls of the Bot API (https://core.telegram.org/bots/api#making-requests). A call never throws,
 * and its result never holds the token.
 */
import type { Opts } from '@grammyjs/types';
import { later } from '../../lib/clock.ts';
import { parseJson, recordOf, type Fields } from '../../lib/json.ts';
import { multipart } from '../../lib/pinned-client.ts';
import { stopOf } from '../../lib/stop.ts';
import type { ClientDeps } from '../messenger/messenger.ts';
import type { CallResult, Refusal } from '../messenger/platform.ts';
import { numberOf, string } from './wire.ts';

/** The payloads by their methods. No payload has a file: `sendDocument` below sends one. */
type Payloads = Opts<never>;

export type Result = CallResult<Refused>;

/** `migrateToChat`: the chat that the group became. */
export type Refused = Refusal & { readonly migrateToChat: number | null };

/**
 * Whether Telegram itself refuses the token. A proxy's page has no description and does not count.
 */
export function refusesToken(result: Result): boolean {
  if (result.kind !== 'refused' || result.description === '') return false;
  return result.status === 401 || result.status === 404;
}

export const apiRoot = 'https://api.telegram.org';
/** Enough for a hundred updates with the longest texts and all their entities. */
const bodyBytesMax = 16 * 1024 * 1024;

export class BotApi {
  readonly #deps: ClientDeps;

  constructor(deps: ClientDeps) {
    this.#deps = deps;
  }

  /** @param timeoutMs for the whole call, connecting included */
  call<M extends keyof Payloads>(
    method: M,
    payload: Payloads[M],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Result> {
    const json = { contentType: 'application/json', body: JSON.stringify(payload) };
    return this.#post(method, json, timeoutMs, signal);
  }

  /** Sends a file. Fields that are no text go as JSON. */
  sendDocument(
    fields: object,
    { name, text }: { readonly name: string; readonly text: string },
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Result> {
    const form = multipart([
      ...Object.entries(fields).map(([key, value]) => {
        return { name: key, value: typeof value === 'string' ? value : JSON.stringify(value) };
      }),
      { name: 'document', value: text, file: { name, type: 'text/plain; charset=utf-8' } },
    ]);
    return this.#post('sendDocument', form, timeoutMs, signal);
  }

  async #post(
    method: string,
    { contentType, body }: { readonly contentType: string; readonly body: string | Uint8Array },
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Result> {
    const { token, config, http, steady } = this.#deps;
    const request = {
      method: 'POST',
      url: new URL(`${config.baseUrl ?? apiRoot}/bot${token}/${method}`),
      headers: { 'content-type': contentType },
      body,
      deadlineAt: later(steady(), timeoutMs),
      bodyBytesMax,
    } as const;
    const result = await http.send(request, stopOf(signal));
    if (result.kind === 'fault') return { kind: 'fault', fault: result.fault, sent: result.sent };
    return resultOf(result.status, recordOf(parseJson(result.body)));
  }
}

/** https://core.telegram.org/bots/api#responseparameters, whose `retry_after` counts seconds */
function resultOf(status: number, answer: Fields | null): Result {
  // A proxy's page, for example: only its status has a meaning.
  if (answer?.['ok'] === undefined) {
    const nothing = { description: '', retryAfterMs: null, migrateToChat: null };
    return { kind: 'refused', status, ...nothing };
  }
  if (answer['ok'] === true) return { kind: 'ok', body: answer['result'] };
  const parameters = recordOf(answer['parameters']);
  const retryAfter = numberOf(parameters?.['retry_after']);
  return {
    kind: 'refused',
    status: numberOf(answer['error_code']) ?? 500,
    description: string(answer['description']) ?? '',
    retryAfterMs: retryAfter === null ? null : retryAfter * 1_000,
    migrateToChat: numberOf(parameters?.['migrate_to_chat_id']),
  };
}
