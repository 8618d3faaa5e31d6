/** Channels of the status by their registered names. */
import type { ChannelStatus, Status } from '../../src/admin/admin.ts';

/** The registered name. A service that is older than names has one channel of a type. */
export function nameOf({ name, type }: Pick<ChannelStatus, 'name' | 'type'>): string {
  return name ?? type;
}

/** The type of the channel with this registered name; of a channel that is gone, its name. */
export function typeOf({ channels }: Pick<Status, 'channels'>, name: string): string {
  return channels.find((one) => nameOf(one) === name)?.type ?? name;
}
