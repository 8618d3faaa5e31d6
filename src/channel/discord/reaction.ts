/**
 * Eyes on a message of a server that was said to us, when work on it begins. That it may not, or
 * that it fails or is left out, changes nothing. It takes nothing that a reply may need, and after
 * a 429 there are none for as long as that says.
 * Format: https://discord.com/developers/docs/resources/message#create-reaction.
 */
import type { FirstTimes } from '../first-times.ts';
import type { Holds } from '../holds.ts';
import type { Api } from './api.ts';
import type { Target } from './wire.ts';

const spare = { spare: 'in_turn' } as const;
const reactMs = 5_000;
const eyes = encodeURIComponent('👀');

type ReactionParts = {
  readonly api: Api;
  /** Messages that have it. */
  readonly known: FirstTimes;
  readonly holds: Holds<'reaction'>;
};

/** Never rejects. */
export async function showSeen(
  { api, known, holds }: ReactionParts,
  { place, message, acknowledged }: Target,
): Promise<void> {
  if (acknowledged !== true || message === null || holds.holds('reaction')) return;
  if (!known.isFirst(`${place}/${message}`)) return;
  const route = `/channels/${place}/messages/${message}/reactions/${eyes}/@me` as const;
  const result = await api.put(route, undefined, AbortSignal.timeout(reactMs), spare);
  if (result.kind !== 'refused' || result.status !== 429 || result.unasked) return;
  holds.hold('reaction', result.retryAfterMs ?? 0);
}
