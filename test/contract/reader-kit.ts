/** How the reader's tests make the rows to read. */
import type { InClaim, OutClaim } from '../../src/ledger/ledger.ts';
import { accept, answer, hook, oneIn, said, until } from './ledger/kit.ts';
import type { It } from './reader.ts';

export async function arrive(it: It): Promise<string> {
  const [receipt] = await accept(it, said('ada', 'hello'));
  return receipt!.id;
}

/** One message, with the answer `hi`. */
export async function answered(it: It): Promise<InClaim> {
  await arrive(it);
  const claim = await oneIn(it);
  await answer(it, claim, 'hi');
  return claim;
}

/** The one reply that is due, or soon will be. */
export async function dueOut(it: It): Promise<OutClaim> {
  const claims: OutClaim[] = [];
  await until('a reply is due', async () => {
    claims.push(...(await it.ledger.claim('out', hook, 1)));
    return claims.length === 1;
  });
  return claims[0]!;
}
