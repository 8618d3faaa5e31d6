/** The database, opened by a command that owns it for as long as it takes. */
import type { Config } from '../../config/config.ts';
import { createIdSource } from '../../domain/ids.ts';
import { FollowingClock } from '../../lib/clock.ts';
import { programVersion } from '../../lib/program.ts';
import {
  openLedger,
  type OpenStore,
  type StorageAt,
  type StoreProblem,
} from '../../app/storage.ts';

export type OwnLedger = OpenStore & {
  /** Its time of day, in milliseconds since 1970: a server's, where it is kept on one. */
  readonly now: () => number;
};

/** @param failed is told when the storage fails later */
export async function openOwnLedger(
  config: Config,
  at: StorageAt,
  failed: (error: unknown) => void,
): Promise<OwnLedger | StoreProblem> {
  const clock = new FollowingClock();
  const { now, steady } = clock;
  const store = await openLedger({
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
  return 'kind' in store ? store : { ...store, now };
}
