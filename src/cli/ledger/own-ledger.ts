/** The database, opened by a command that owns it for as long as it takes. */
import type { Config } from '../../config/config.ts';
import { createIdSource } from '../../domain/ids.ts';
import { systemClock } from '../../lib/clock.ts';
import { openLedger } from '../../storage.ts';

/** @param failed is told when the storage fails later */
export function openOwnLedger(
  config: Config,
  path: string,
  failed: (error: unknown) => void,
): ReturnType<typeof openLedger> {
  return openLedger({
    storage: config.storage,
    path,
    publicNow: null,
    ids: createIdSource(Date.now, (bytes) => void crypto.getRandomValues(bytes)),
    ...systemClock,
    failed,
    news: {},
  });
}
