/**
 * Deferred responses to slash commands. svc defers a response within 3 s, which shows that it works
 * on it, and the first reply completes the response. Format:
 * https://discord.com/developers/docs/interactions/receiving-and-responding (API version 10).
 *
 * svc completes its own deferred response at once. For a response of a former process it first asks
 * whether the response still waits. So a later reply to the same command replaces nothing, and a
 * reply that already arrived is not sent again. If the response has expired, the reply is a message
 * like any other.
 */
import { isFirstPart, type DeliveryOutcome, type Reply } from '../../domain/reply.ts';
import type { Api, ApiResult } from './api.ts';
import { componentsOf } from './interactions.ts';
import { outcomeOf } from './outbound.ts';
import { putFile } from './place-reply.ts';
import type { Deferral } from './slash-commands.ts';
import { fieldsOf, listOf, textOf } from './fields.ts';
import { toWire, type Deferred, type Target } from './wire.ts';

const deferMs = 3_000;
/** A callback type: the message follows later. */
const deferredMessage = 5;
/** A flag of a message: its text is still to come. */
const loading = 1 << 7;
const ownMax = 1_000;

export class Deferrals {
  /** By the token of the response: resolves to false if the platform refused to defer it. */
  readonly #own = new Map<string, Promise<boolean>>();

  /** Defers the response. After a failure the reply goes as a message. */
  defer(api: Api, { id, token }: Deferral): void {
    if (this.#own.has(token)) return;
    const route = `/interactions/${id}/${token}/callback` as const;
    const signal = AbortSignal.timeout(deferMs);
    const deferring = api.post(route, { type: deferredMessage }, signal);
    this.#own.set(
      token,
      deferring.then(({ kind }) => kind !== 'refused'),
    );
    const [oldest] = this.#own.keys();
    if (this.#own.size > ownMax && oldest !== undefined) this.#own.delete(oldest);
  }

  /**
   * @param bot the bot's token, which must not leak
   * @returns null: the reply must go as a message
   */
  async complete(
    api: Api,
    reply: Reply,
    target: Target,
    bot: string,
    signal: AbortSignal,
  ): Promise<DeliveryOutcome | null> {
    const { deferred } = target;
    if (deferred === undefined) return null;
    const state = await this.#stateOf(api, deferred, signal);
    if (state !== null && isFinalRefusal(state)) return null;
    if (state !== null && state.kind !== 'ok') return outcomeOf(state, bot, reply);
    if (state !== null && !isLoading(state.body)) {
      return isShown(state.body, reply) ? { kind: 'delivered' } : null;
    }
    const { content, allowed_mentions, flags } = toWire(reply, target);
    const body = { content, allowed_mentions, flags, ...componentsOf(reply) };
    const route = routeOf(deferred);
    const { file } = reply;
    const result = await (file === undefined
      ? api.patch(route, body, signal)
      : putFile(api, 'PATCH', route, file.name, body, signal));
    if (isFinalRefusal(result)) {
      this.#own.delete(deferred.token);
      return null;
    }
    if (result.kind === 'ok') this.#own.delete(deferred.token);
    return outcomeOf(result, bot, reply);
  }

  /**
   * The platform's state of the response; null: this process deferred it and has not completed it.
   */
  async #stateOf(api: Api, deferred: Deferred, signal: AbortSignal): Promise<ApiResult | null> {
    const deferring = this.#own.get(deferred.token);
    if (deferring !== undefined && (await deferring)) return null;
    return api.get(routeOf(deferred), signal);
  }
}

/** The response waits for its text. */
function isLoading(original: unknown): boolean {
  return (Number(fieldsOf(original)['flags']) & loading) !== 0;
}

/** Whether a former process already sent this reply, but ended before it knew. */
function isShown(original: unknown, reply: Reply): boolean {
  const { content, attachments } = fieldsOf(original);
  if (!isFirstPart(reply)) return false;
  if (reply.file === undefined) return textOf(content) === reply.text.trim();
  return listOf(attachments).some((one) => fieldsOf(one)['filename'] === reply.file?.name);
}

/** Whether this refusal is final for every later try. */
function isFinalRefusal(result: ApiResult): boolean {
  if (result.kind !== 'refused') return false;
  return result.status >= 400 && result.status < 500 && result.status !== 429;
}

function routeOf({ application, token }: Deferred) {
  return `/webhooks/${application}/${token}/messages/@original` as const;
}
