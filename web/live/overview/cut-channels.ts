/** Channels that take no messages in, each with its reason. */
import type { ChannelStatus, Status } from '../../../src/admin/admin.ts';
import { channelName } from '../../../src/channels/registry.ts';
import { visible } from '../../kit/visible.ts';
import { nameOf } from '../channels.ts';

/** A platform often closes a connection, and svc opens it again at once: that is not reported. */
const cutAfterMs = 5_000;

/** Channels that a person should know about at once. */
export function cutChannels(
  status: Pick<Status, 'channels' | 'startedAt' | 'uptimeMs'>,
): readonly ChannelStatus[] {
  // Uses the clock of svc, since the browser's may differ.
  const now = status.startedAt + status.uptimeMs;
  return status.channels.filter(({ state, since, brain }) => {
    if (brain === null) return false;
    return state === 'failed' || (state === 'degraded' && now - (since ?? now) >= cutAfterMs);
  });
}

/** Words for the headline. */
export function describeCut(channel: ChannelStatus): string {
  const { state, reason } = channel;
  const what = state === 'failed' ? 'failed' : 'takes no messages in';
  const why = reason === null ? '' : ` (${visible(reason)})`;
  return `channel ${channelName(nameOf(channel))} ${what}${why}`;
}
