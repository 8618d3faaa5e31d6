/** How the channels of all instances stand, each as one. */
import { isListener, isMessenger } from '../../channels/registry.ts';
import type { ChannelConfig, Config } from '../../config/config.ts';
import type { ChannelState } from '../../domain/event.ts';
import type { ChannelStatus } from '../admin.ts';
import type { Viewer } from '../http/auth.ts';
import { listenerAddress } from './listener-address.ts';
import type { Report } from './report.ts';
import type { Told, Whole } from './whole.ts';

/** The gravest first. */
const order: readonly ChannelState[] = ['failed', 'degraded', 'stopped', 'starting', 'up'];

type Standing = Pick<ChannelStatus, 'state' | 'since' | 'reason' | 'lastSeenAt' | 'instance'>;
type Seen = { readonly id: number | null; readonly view: Report['channels'][number] };

/** @param config of the instance that is asked; all use the same, but for a moment */
export function channelsOf(
  whole: Whole,
  { channels, routes }: Pick<Config, 'channels' | 'routes'>,
  asker: Viewer,
): ChannelStatus[] {
  return channels.map((channel) => {
    const { type } = channel;
    const brain = routes.find((route) => route.channel === type)?.brain ?? null;
    const listens = { type, bind: '', path: '', ...listensAt(channel) };
    return {
      type,
      ...standingOf(whole, channel),
      brain,
      address: isListener(channel) ? listenerAddress(listens, asker) : null,
      addresses: addressesOf(whole, type, asker),
    };
  });
}

function listensAt(channel: ChannelConfig): { bind: string; path: string } | null {
  return isListener(channel) ? { bind: channel.bind.text, path: channel.path } : null;
}

function addressesOf(
  { members }: Whole,
  type: string,
  asker: Viewer,
): NonNullable<ChannelStatus['addresses']> {
  return members.flatMap(({ id, report }) =>
    (report?.listeners ?? [])
      .filter((one) => one.type === type)
      .map((one) => ({ instance: id, address: listenerAddress(one, asker) })),
  );
}

function standingOf(whole: Whole, channel: ChannelConfig): Standing {
  const seen = seenOf(whole.standing, channel.type);
  const own = seenOf([whole.own], channel.type)[0];
  if (own === undefined) {
    const reason = 'No route leads from it.';
    return { state: 'unrouted', since: null, reason, lastSeenAt: null, instance: null };
  }
  if (whole.members.length > 0 && isMessenger(channel)) return ofMessenger(whole, seen, own);
  return gravestOf(seen, own);
}

function seenOf(reports: readonly Told[], type: string): Seen[] {
  return reports.flatMap(({ id, report }) => {
    const view = report.channels.find((one) => one.type === type);
    return view === undefined ? [] : [{ id, view }];
  });
}

/** Who has the post of its connection has the connection; the others only wait for the post. */
function ofMessenger({ members, reports }: Whole, seen: readonly Seen[], own: Seen): Standing {
  for (const { id, posts, beganAt } of members) {
    const known = seenOf(reports, own.view.type).find((one) => one.id === id);
    const key = (known ?? own).view.key;
    if (key === null || !posts.includes(key)) continue;
    if (known !== undefined) return { ...toldOf(known), instance: id };
    return { state: 'starting', since: beganAt, reason: null, lastSeenAt: null, instance: id };
  }
  const gravest = gravestOf(seen, own);
  if (gravest.state === 'failed' || gravest.state === 'degraded') return gravest;
  const reason = 'No instance has its connection yet.';
  return { ...gravest, state: 'starting', reason, instance: null };
}

/** The instance is named where not all say the same. */
function gravestOf(seen: readonly Seen[], own: Seen): Standing {
  const graver = (one: Seen, other: Seen): Seen =>
    order.indexOf(other.view.state) < order.indexOf(one.view.state) ? other : one;
  const gravest = seen.reduce(graver, seen.find(({ id }) => id === own.id) ?? seen[0] ?? own);
  const isSame = seen.every(({ view }) => view.state === gravest.view.state);
  return { ...toldOf(gravest), instance: isSame ? null : gravest.id };
}

function toldOf({ view: { state, since, reason, lastSeenAt } }: Seen) {
  return { state, since, reason, lastSeenAt };
}
