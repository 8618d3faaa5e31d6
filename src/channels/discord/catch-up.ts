/**
 * Fetches the messages that svc missed after a lost session. It reads each known channel over REST,
 * oldest message first, up to a cap, and counts the messages beyond the cap.
 *
 * Ids are snowflakes. So one mark, the newest stored message, is the starting point for every
 * channel. Fetching begins a few seconds before the mark, since messages of different channels may
 * arrive out of order. The ledger recognises a stored message by its id.
 */
import { fullJitter, pause } from '../../lib/backoff.ts';
import type { ReceiveResult } from '../channel.ts';
import type { Api } from './api.ts';
import type { KnownChannel, KnownChannels } from './known-channels.ts';
import { laterOf } from './session.ts';
import { isLater, parseMessage, snowflakeAt, timeOfSnowflake, type WireMessage } from './wire.ts';

const overlapMs = 5_000;
/** The platform's own maximum. */
const pageMax = 100;
const messagesOfPlaceMax = 300;
const messagesMax = 2_000;
const triesMax = 4;
const limitedMsMax = 30_000;

export type Refusal = Extract<ReceiveResult, { kind: 'refused' }>;

export type CatchUpDeps = {
  readonly api: Api;
  readonly places: KnownChannels;
  readonly self: string;
  /** Null: nothing was ever stored, so nothing is missing. */
  readonly newest: string | null;
  readonly signal: AbortSignal;
  readonly store: (
    messages: readonly WireMessage[],
  ) => Promise<{ kind: 'stored'; fresh: number } | Refusal>;
};

export type CaughtUp =
  | {
      readonly kind: 'done';
      readonly stored: number;
      /** How many messages were fetched beyond the cap; there may be more. */
      readonly skipped: number;
      /** How many channels could not be read. */
      readonly unread: number;
      readonly newest: string | null;
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'aborted' };

export async function catchUp(deps: CatchUpDeps): Promise<CaughtUp> {
  const { places, newest, signal } = deps;
  const sum = { stored: 0, skipped: 0, unread: 0, newest };
  if (newest === null) return { kind: 'done', ...sum };
  const from = snowflakeAt(timeOfSnowflake(newest) - overlapMs);
  for (const place of places.all) {
    const read = await readPlace(deps, place, from, messagesMax - sum.stored);
    if (signal.aborted) return { kind: 'aborted' };
    if (read.kind === 'refused') return { kind: 'refused', refusal: read };
    sum.stored += read.stored;
    sum.skipped += read.skipped;
    sum.unread += read.unread ? 1 : 0;
    sum.newest = laterOf(sum.newest, read.newest);
  }
  return { kind: 'done', ...sum };
}

type Read = {
  readonly kind: 'read';
  readonly stored: number;
  readonly skipped: number;
  readonly unread: boolean;
  readonly newest: string | null;
};

async function readPlace(
  deps: CatchUpDeps,
  place: KnownChannel,
  from: string,
  mostMessages: number,
): Promise<Read | Refusal> {
  const { store, self } = deps;
  let [after, fetched, stored] = [from, 0, 0];
  let newest: string | null = null;
  for (;;) {
    const page = await fetchPage(deps, place, after);
    const soFar = { kind: 'read', stored, newest } as const;
    if (page === null) return { ...soFar, skipped: 0, unread: true };
    const messages = page
      .map((wire) => parseMessage(wire, self, place.direct))
      .filter((message) => message !== null)
      .sort((a, b) => (isLater(a.id, b.id) ? 1 : -1));
    if (fetched >= messagesOfPlaceMax || stored >= mostMessages) {
      return { ...soFar, skipped: messages.length, unread: false };
    }
    const result = await store(messages);
    if (result.kind === 'refused') return result;
    fetched += page.length;
    stored += result.fresh;
    for (const wire of page) {
      const { id } = wire as { id?: unknown };
      if (typeof id === 'string' && isLater(id, after)) after = id;
    }
    newest = after === from ? newest : after;
    if (page.length < pageMax) return { ...soFar, stored, newest, skipped: 0, unread: false };
  }
}

/** @returns null: svc cannot read the channel */
async function fetchPage(
  { api, places, signal }: CatchUpDeps,
  { id }: KnownChannel,
  after: string,
): Promise<readonly unknown[] | null> {
  for (let attempt = 0; attempt < triesMax && !signal.aborted; attempt++) {
    const route = `/channels/${id}/messages?after=${after}&limit=${pageMax}` as const;
    const result = await api.call('GET', route, { signal });
    if (result.kind === 'ok') return Array.isArray(result.body) ? result.body : null;
    const status = result.kind === 'refused' ? result.status : 0;
    if (status === 403 || status === 404) {
      // The channel is gone, or the bot may no longer read it.
      places.remove(id);
      return null;
    }
    const limitedMs = result.kind === 'refused' ? result.retryAfterMs : null;
    const waitMs = limitedMs ?? 500 + fullJitter(attempt, { baseMs: 500, capMs: 4_000 });
    await pause(Math.min(waitMs, limitedMsMax), signal);
  }
  return null;
}
