/** The receipt for a duplicate. */
import type { Receipt } from '../../../channels/channel.ts';
import type { MessageId } from '../../../domain/ids.ts';
import type { Arrival } from '../../engine/storage.ts';
import type { First } from './statement.ts';

/** `Receipt.safe` of this backend: a committed message is safe at once. */
export const safe = Promise.resolve();

/** `keyReused` is true only where both messages have a fingerprint and the two differ. */
export function receiptOf({ id, fingerprint }: First, { keyCheck }: Arrival): Receipt {
  const own = keyCheck?.fingerprint ?? null;
  const reused = own !== null && fingerprint !== null && own !== fingerprint;
  return { id: id as MessageId, duplicate: !reused, keyReused: reused, safe };
}
