/**
 * Puts eyes on a server's message that was said to the bot, when work on it begins. Nothing else
 * changes if this fails, is dropped or is not allowed. It uses only requests that no reply needs,
 * waits some moments for one, and stops for the duration of a 429. Format:
 * https://discord.com/developers/docs/resources/message#create-reaction.
 */
import type { Deadlines } from '../../lib/deadlines.ts';
import type { FirstSeen } from '../messenger/recent-questions.ts';
import type { BackoffWindows } from '../messenger/rate-limits.ts';
import type { Api } from './api.ts';
import type { Target } from './wire.ts';

const spare = { spare: 'in_turn' } as const;
const reactMs = 5_000;
const triesMax = 5;
const waitMsMax = 1_000;
const eyes = encodeURIComponent('👀');

type ReactionDeps = {
  readonly api: Api;
  /** The messages that have the reaction. */
  readonly known: FirstSeen;
  readonly backoff: BackoffWindows<'reaction'>;
  readonly deadlines: Deadlines;
};

/** Never rejects. */
export async function showEyes(
  { api, known, backoff, deadlines }: ReactionDeps,
  { place, message, acknowledged }: Target,
): Promise<void> {
  if (acknowledged !== true || message === null || backoff.isActive('reaction')) return;
  if (!known.isFirst(`${place}/${message}`)) return;
  const route = `/channels/${place}/messages/${message}/reactions/${eyes}/@me` as const;
  for (let tries = 1; tries <= triesMax; tries++) {
    const result = await api.put(route, undefined, AbortSignal.timeout(reactMs), spare);
    if (result.kind !== 'refused' || result.status !== 429) return;
    const pauseMs = result.retryAfterMs ?? 0;
    if (!result.unasked) return backoff.start('reaction', pauseMs);
    if (pauseMs > waitMsMax) return;
    await new Promise<void>((next) => deadlines.after(pauseMs, next));
  }
}
