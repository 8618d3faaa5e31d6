/** Of which channels an instance may take lanes. */
import { messengerTypes } from '../../../channel/kinds.ts';
import { channelTypeOf, type ChannelKey } from '../../../domain/ids.ts';
import type { WorkingSet } from '../../order/working-set.ts';
import type { Peers } from '../../peers.ts';
import { keeperPost } from '../peers/peers.ts';
import type { Taking } from './moves.ts';

/** So many rows of channels that are not served are in hand at most. */
const unservedMax = 5_000;

/**
 * A messenger's lanes are worked where its post is; the keeper has those that nobody serves.
 * @param served null: nobody has said yet
 */
export function channelsToWork(
  served: readonly ChannelKey[] | null,
  peers: Pick<Peers, 'share' | 'holds'>,
  rows: Pick<WorkingSet, 'backlog'>,
): Pick<Taking, 'channels' | 'allBut'> {
  if (served === null) return { channels: [], allBut: peers.share() === 1 ? [] : null };
  const channels = served.filter((channel) => !isPost(channel) || peers.holds(channel));
  const others = rows.backlog().filter(({ channel }) => !served.includes(channel));
  const unserved = others.reduce((sum, { inbox, outbox }) => sum + inbox + outbox, 0);
  const takesOthers = peers.holds(keeperPost) && unserved < unservedMax;
  return { channels, allBut: takesOthers ? served : null };
}

/** Whether one instance alone works that channel: the one with the post of its name. */
export function isPost(channel: string): boolean {
  return (messengerTypes as readonly string[]).includes(channelTypeOf(channel as ChannelKey));
}
