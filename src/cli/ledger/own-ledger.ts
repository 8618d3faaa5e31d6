/** The database, opened by a command that owns it for as long as it takes. */
import type { Config } from '../../config/config.ts';
import { createIdSource } from '../../domain/ids.ts';
import { FollowingClock } from '../../lib/clock.ts';
import { programVersion } from '../../lib/program.ts';
import { openLedger, type StorageAt } from '../../storage.ts';

/** @param failed is told when the storage fails later */
export function openOwnLedger(
  config: Config,
  at: StorageAt,
  failed: (error: unknown) => void,
): ReturnType<typeof openLedger> {
  const clock = new FollowingClock();
  const { now, steady } = clock;
  return openLedger({
    storage: config.storage,
    at,
    version: programVersion(),
    publicNow: null,
    ids: createIdSource(now, (bytes) => void crypto.getRandomValues(bytes)),
    now,
    steady,
    follow: (reading) => void clock.follow(reading),
    failed,
    news: {},
  });
}
