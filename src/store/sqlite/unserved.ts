import { Unroutable } from '../unroutable.ts';
import type { Deliveries } from './deliveries.ts';
import type { DurableParts } from './parts.ts';
import { unroutableCursor, type Recollection } from './recollection.ts';
import type { Turns } from './turns.ts';

type Watch = ConstructorParameters<typeof Unroutable>[0];

/** What waits in vain; since when is kept over restarts. */
export function watchUnroutable(
  parts: DurableParts,
  recollection: Recollection,
  { turns, deliveries }: { readonly turns: Turns; readonly deliveries: Deliveries },
  bury: Watch['bury'],
): Unroutable {
  return new Unroutable({
    ...parts,
    read: (channel) => recollection.unroutableSince(channel),
    keep: (channel, since) => {
      parts.journal.add(['cursor', channel, unroutableCursor, since === null ? '' : String(since)]);
      parts.journal.flush(() => {});
    },
    take: (box, channel) =>
      box === 'in' ? turns.claimUnserved(channel) : deliveries.claim(channel),
    bury,
  });
}
