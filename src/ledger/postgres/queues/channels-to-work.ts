/** Of which channels an instance may take lanes. */
import { messengerTypes } from '../../../channels/registry.ts';
import { channelTypeOf, type ChannelKey } from '../../../domain/ids.ts';
import type { WorkingSet } from '../../engine/order/working-set.ts';
import type { Peers } from '../../../cluster/peers.ts';
import { janitorLease } from '../peers/peers.ts';
import type { Taking } from './moves.ts';

/** The post of the one that tries suspects. */
export const crashIsolationLease = 'quarantine';

/** So many rows of channels that are not served are in hand at most. */
const unservedMax = 5_000;

/**
 * A messenger's lanes are worked where its post is; the keeper has those that nobody serves. Nobody
 * else may try a messenger's suspects, so they are tried there as well, whoever tries the others.
 * @param served null: nobody has said yet
 */
export function channelsToWork(
  served: readonly ChannelKey[] | null,
  peers: Pick<Peers, 'share' | 'holds'>,
  rows: Pick<WorkingSet, 'backlog'>,
): Pick<Taking, 'channels' | 'allBut' | 'suspectsOf'> {
  const triesAll = peers.holds(crashIsolationLease);
  if (served === null) {
    const allBut = peers.share() === 1 ? [] : null;
    return { channels: [], allBut, suspectsOf: triesAll ? 'all' : [] };
  }
  const channels = served.filter((channel) => !isLease(channel) || peers.holds(channel));
  const others = rows.backlog().filter(({ channel }) => !served.includes(channel));
  const unserved = others.reduce((sum, { inbox, outbox }) => sum + inbox + outbox, 0);
  const takesOthers = peers.holds(janitorLease) && unserved < unservedMax;
  const suspectsOf = triesAll ? 'all' : channels.filter(isLease);
  return { channels, allBut: takesOthers ? served : null, suspectsOf };
}

/**
 * A messenger's lanes are another's that has its post; those that are not served here are the
 * keeper's, or belong to whoever serves them.
 * @param served as for `channelsToWork`
 * @returns whether a channel is one of those
 */
export function channelsOfOthers(
  served: readonly ChannelKey[] | null,
  peers: Pick<Peers, 'id' | 'share' | 'holds'>,
  leases: readonly { readonly name: string; readonly owner: number | null }[],
): (channel: ChannelKey) => boolean {
  const theirs = leases.filter(({ owner }) => owner !== null && owner !== peers.id);
  const had = new Set(theirs.flatMap(({ name }) => (isLease(name) ? [name] : [])));
  const own = peers.share() === 1 || peers.holds(janitorLease) ? null : served;
  return (channel) => had.has(channel) || own?.includes(channel) === false;
}

/** Whether one instance alone works that channel: the one with the post of its name. */
export function isLease(channel: string): boolean {
  return (messengerTypes as readonly string[]).includes(channelTypeOf(channel as ChannelKey));
}
