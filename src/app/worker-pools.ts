/** What moves the messages and the replies of one channel. */
import type { WorkerPool } from '../pipeline/worker-pool.ts';
import type { InClaim, OutClaim } from '../ledger/ledger.ts';

export type Pair = { readonly in: WorkerPool<InClaim>; readonly out: WorkerPool<OutClaim> };

/** How many turns and how many deliveries one channel may have under way. */
export const slots = { in: 1_000, out: 128 } as const;

export function stop(pair: Pair): void {
  pair.in.stop();
  pair.out.stop();
}
