/** Channels on which messages wait long for an answer. */
import { nameOf } from '../channels.ts';
import type { Status } from '../../../src/admin/admin.ts';

/** A message that waits longer than this may need a person. */
export const longWaitMs = 60_000;

/**
 * Channels on which messages wait long for an answer, by the clock of the service, since a hanging
 * call fails only after minutes. Messages that wait for a person or for a route do not count.
 */
export function longWaits(status: Status): readonly string[] {
  const { backlog, channels, held, startedAt, uptimeMs } = status;
  if ((held ?? 0) > 0) return [];
  const before = startedAt + uptimeMs - longWaitMs;
  const routed = new Set<string>(
    channels.flatMap((one) => (one.brain === null ? [] : [nameOf(one)])),
  );
  return backlog.flatMap(({ channel, inbox, outbox, unroutable, oldestAt }) => {
    const isLong = oldestAt !== null && oldestAt < before && inbox > outbox && unroutable === 0;
    return isLong && routed.has(channel) ? [channel] : [];
  });
}
