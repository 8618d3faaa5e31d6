/** Channels on which no messages come in: each says itself why, and what a person can do. */
import type { ChannelStatus, Status } from '../../../src/admin/admin.ts';
import { channelName } from '../../../src/channels/registry.ts';
import { visible } from '../../kit/visible.ts';

/** A platform often closes a connection that is made again at once: that cuts nobody off. */
const cutAfterMs = 5_000;

/** Those of which a person should know at once. */
export function cutChannels(
  status: Pick<Status, 'channels' | 'startedAt' | 'uptimeMs'>,
): readonly ChannelStatus[] {
  // By the clock of svc, whatever the browser's says.
  const now = status.startedAt + status.uptimeMs;
  return status.channels.filter(({ state, since, brain }) => {
    if (brain === null) return false;
    return state === 'failed' || (state === 'degraded' && now - (since ?? now) >= cutAfterMs);
  });
}

/** For the headline. */
export function describeCut({ type, state, reason }: ChannelStatus): string {
  const what = state === 'failed' ? 'failed' : 'takes no messages in';
  return `channel ${channelName(type)} ${what}${reason === null ? '' : ` (${visible(reason)})`}`;
}
