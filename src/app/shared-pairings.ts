/** Pairings of which every instance on a ledger hears when an operator has changed them. */
import type { Deps } from '../pipeline/deps.ts';
import { Pairings, type FillRandom } from '../pipeline/pairing/pairing.ts';
import type { Peers } from '../cluster/peers.ts';

/** What is told: a messenger's type. */
const changed = 'pairings_changed';

type Options = Pick<Deps, 'ledger' | 'now'>;
type Shared = { readonly fillRandom: FillRandom; readonly peers: Peers };

export function sharedPairings({ ledger, now }: Options, { fillRandom, peers }: Shared): Pairings {
  const pairings = new Pairings(ledger, now, fillRandom, (type) => peers.tell(changed, type));
  peers.on(changed, (type) => pairings.doubt(type));
  return pairings;
}
