/**
 * Eyes on a message of a server that was said to us, when work on it begins. That it may not, or
 * that it fails, changes nothing. Reactions have a limit of their own, apart from messages.
 * Format: https://discord.com/developers/docs/resources/message#create-reaction.
 */
import type { FirstTimes } from '../first-times.ts';
import type { Api } from './api.ts';
import type { Target } from './wire.ts';

const reactMs = 5_000;
const eyes = encodeURIComponent('👀');

/** @param known messages that have it */
export function showSeen(
  api: Api,
  { place, message, acknowledged }: Target,
  known: FirstTimes,
): void {
  if (acknowledged !== true || message === null || !known.isFirst(`${place}/${message}`)) return;
  const route = `/channels/${place}/messages/${message}/reactions/${eyes}/@me` as const;
  void api.put(route, undefined, AbortSignal.timeout(reactMs));
}
