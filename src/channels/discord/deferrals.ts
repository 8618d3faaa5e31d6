/**
 * Responses to slash commands: one is put off within 3 s, which shows that svc is at it, and the
 * first reply completes it. Format:
 * https://discord.com/developers/docs/interactions/receiving-and-responding (API version 10).
 *
 * What this process put off itself it completes at once. Of another it asks first whether it still
 * waits, so that a later reply to the same command takes the place of none, and one that it shows
 * already is not sent again. Where it has run out, the reply is a message like any other.
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
/** A callback type: a message comes later. */
const deferredMessage = 5;
/** A flag of a message: its text is waited for. */
const loading = 1 << 7;
const openMax = 1_000;

export class Deferrals {
  /** By its token: resolves to false where the platform refused to have it put off. */
  readonly #open = new Map<string, Promise<boolean>>();

  /** Puts the response off. That it fails changes nothing: the reply is a message then. */
  defer(api: Api, { id, token }: Deferral): void {
    if (this.#open.has(token)) return;
    const route = `/interactions/${id}/${token}/callback` as const;
    const signal = AbortSignal.timeout(deferMs);
    const deferring = api.post(route, { type: deferredMessage }, signal);
    this.#open.set(
      token,
      deferring.then(({ kind }) => kind !== 'refused'),
    );
    const [oldest] = this.#open.keys();
    if (this.#open.size > openMax && oldest !== undefined) this.#open.delete(oldest);
  }

  /**
   * @param bot its token, which is told nowhere
   * @returns null: the reply is to go as a message
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
    const asked = await this.#asked(api, deferred, signal);
    if (asked !== null && isOver(asked)) return null;
    if (asked !== null && asked.kind !== 'ok') return outcomeOf(asked, bot, reply);
    if (asked !== null && !isLoading(asked.body)) {
      return isShown(asked.body, reply) ? { kind: 'delivered' } : null;
    }
    const { content, allowed_mentions, flags } = toWire(reply, target);
    const body = { content, allowed_mentions, flags, ...componentsOf(reply) };
    const [route, { file }] = [routeOf(deferred), reply];
    const result = await (file === undefined
      ? api.patch(route, body, signal)
      : putFile(api, 'PATCH', route, file.name, body, signal));
    if (isOver(result)) {
      this.#open.delete(deferred.token);
      return null;
    }
    if (result.kind === 'ok') this.#open.delete(deferred.token);
    return outcomeOf(result, bot, reply);
  }

  /** What the platform says of it; null: this process put it off, and has not completed it. */
  async #asked(api: Api, deferred: Deferred, signal: AbortSignal): Promise<ApiResult | null> {
    const own = this.#open.get(deferred.token);
    if (own !== undefined && (await own)) return null;
    return api.get(routeOf(deferred), signal);
  }
}

/** It waits for its text. */
function isLoading(original: unknown): boolean {
  return (Number(fieldsOf(original)['flags']) & loading) !== 0;
}

/** An end of the process came before anybody here knew that the reply has arrived. */
function isShown(original: unknown, reply: Reply): boolean {
  const { content, attachments } = fieldsOf(original);
  if (!isFirstPart(reply)) return false;
  if (reply.file === undefined) return textOf(content) === reply.text.trim();
  return listOf(attachments).some((one) => fieldsOf(one)['filename'] === reply.file?.name);
}

/** Refused in a way that no later try changes. */
function isOver(result: ApiResult): boolean {
  if (result.kind !== 'refused') return false;
  return result.status >= 400 && result.status < 500 && result.status !== 429;
}

function routeOf({ application, token }: Deferred) {
  return `/webhooks/${application}/${token}/messages/@original` as const;
}
