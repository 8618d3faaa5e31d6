/**
 * The channel of each thread, since a route may name it. A thread has an id of its own, and so has
 * a post in a forum, which is a thread. No thread ever moves to another channel.
 *
 * With the intent GUILDS the gateway tells the channels of threads: GUILD_CREATE and
 * THREAD_LIST_SYNC list the active ones, THREAD_CREATE and THREAD_UPDATE have one each
 * (https://discord.com/developers/docs/events/gateway-events#thread-create). An interaction has its
 * channel, and a message the type of its channel (`channel_type`). A resumed session repeats no
 * list. So svc asks for a thread that it does not know:
 * https://discord.com/developers/docs/resources/channel#get-channel
 */
import { fullJitter, pause } from '../../lib/backoff.ts';
import { fieldsOf, listOf } from '../../lib/json.ts';
import type { Api, Result } from './api.ts';
import { idOf } from './wire.ts';
import { setNewest } from '../../lib/cache.ts';

/** Announcement threads, public and private threads. */
const threadTypes: ReadonlySet<unknown> = new Set([10, 11, 12]);
/** The oldest ones are forgotten, and asked for again. */
const placesMax = 10_000;
const triesMax = 4;

export class Threads {
  readonly #api: Api;
  /** Null: the place is no thread, or the bot may not see it. */
  readonly #channelOf = new Map<string, string | null>();

  constructor(api: Api) {
    this.#api = api;
  }

  /** Learns from the `d` of an event. */
  note(name: string, data: unknown): void {
    const fields = fieldsOf(data);
    switch (name) {
      case 'GUILD_CREATE':
      case 'THREAD_LIST_SYNC':
        for (const thread of listOf(fields['threads'])) this.#note(thread);
        return;
      case 'THREAD_CREATE':
      case 'THREAD_UPDATE':
        return this.#note(data);
      case 'INTERACTION_CREATE':
        return this.#note(fields['channel']);
      case 'MESSAGE_CREATE':
      case 'MESSAGE_UPDATE':
        return this.#note({ id: fields['channel_id'], type: fields['channel_type'] });
      default:
    }
  }

  /**
   * @returns null: the place is no thread. undefined: Discord did not tell, so nobody knows which
   *   routes the place fits
   */
  async channelOf(place: string, signal: AbortSignal): Promise<string | null | undefined> {
    for (let attempt = 0; attempt < triesMax && !signal.aborted; attempt++) {
      const known = this.#channelOf.get(place);
      if (known !== undefined) return known;
      const result = await this.#api.call('GET', `/channels/${place}`, { signal });
      if (result.kind === 'ok') this.#note(result.body);
      if (result.kind === 'ok' || isFinal(result)) {
        if (!this.#channelOf.has(place)) setNewest(this.#channelOf, place, null, placesMax);
        continue;
      }
      const askedMs = result.kind === 'refused' ? result.retryAfterMs : null;
      const jitterMs = fullJitter(attempt, { baseMs: 500, capMs: 4_000 });
      await pause(Math.min(askedMs ?? jitterMs, 30_000), signal);
    }
    return this.#channelOf.get(place);
  }

  #note(channel: unknown): void {
    const fields = fieldsOf(channel);
    const [id, parent] = [fields['id'], fields['parent_id']].map(idOf);
    const { type } = fields;
    if (!id || typeof type !== 'number') return;
    if (!threadTypes.has(type)) setNewest(this.#channelOf, id, null, placesMax);
    else if (parent) setNewest(this.#channelOf, id, parent, placesMax);
  }
}

/** The channel is gone, or the bot may not see it. A firewall's page has no code and no text. */
function isFinal(result: Result): boolean {
  if (result.kind !== 'refused' || (result.code === null && result.description === ''))
    return false;
  return result.status === 403 || result.status === 404;
}
