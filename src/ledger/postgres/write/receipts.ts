/** What a sender is told of a message that came before. */
import type { Receipt } from '../../../channels/channel.ts';
import type { MessageId } from '../../../domain/ids.ts';
import type { Arrival } from '../../engine/storage.ts';
import type { First } from './statement.ts';

/** What has landed outlives the process. */
export const safe = Promise.resolve();

/** Without a fingerprint on either side there is nothing to compare. */
export function receiptOf({ id, fingerprint }: First, { keyCheck }: Arrival): Receipt {
  const own = keyCheck?.fingerprint ?? null;
  const reused = own !== null && fingerprint !== null && own !== fingerprint;
  return { id: id as MessageId, duplicate: !reused, keyReused: reused, safe };
}
