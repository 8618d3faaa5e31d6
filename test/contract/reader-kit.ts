/** How the reader's tests make what is to be read. */
import type { InClaim } from '../../src/store/store.ts';
import { accept, answer, oneIn, said } from './ledger/kit.ts';
import type { It } from './reader.ts';

export async function arrive(it: It): Promise<string> {
  const [receipt] = await accept(it, said('ada', 'hello'));
  return receipt!.id;
}

/** One message, and `hi` as the answer to it. */
export async function answered(it: It): Promise<InClaim> {
  await arrive(it);
  const claim = await oneIn(it);
  await answer(it, claim, 'hi');
  return claim;
}
