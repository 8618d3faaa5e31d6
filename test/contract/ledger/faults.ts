/**
 * Eight faults of a ledger, each wrapped around a sound one. The contract's cases must notice every
 * one of them over each backend.
 */
import type { Acceptance } from '../../../src/channels/channel.ts';
import type { Box } from '../../../src/domain/event.ts';
import type { ChannelKey } from '../../../src/domain/ids.ts';
import type { Inbound } from '../../../src/domain/message.ts';
import type { Claim, Ledger } from '../../../src/ledger/ledger.ts';
import type { Plant } from './backends.ts';

export const faults: Readonly<Record<string, Plant>> = {
  'wrong order': (ledger) =>
    altered(ledger, {
      /** Accepts the last message of a batch first. */
      async accept(batch, ...cursors) {
        const acceptance = await ledger.accept([...batch].reverse(), ...cursors);
        if (acceptance.kind === 'refused') return acceptance;
        return { ...acceptance, receipts: [...acceptance.receipts].reverse() };
      },
    }),
  'lost wake-up': (ledger) =>
    altered(ledger, {
      /** Loses every fourth wake. */
      onReady(wake) {
        let wakes = 0;
        return ledger.onReady((box, channel) => {
          if (++wakes % 4 > 0) wake(box, channel);
        });
      },
    }),
  'missing dedupe': (ledger) =>
    altered(ledger, {
      accept: (batch, ...cursors) =>
        ledger.accept(
          batch.map((inbound) => ({ ...inbound, dedupeKey: null })),
          ...cursors,
        ),
    }),
  'double claim': (ledger) => {
    let last: readonly Claim[] = [];
    const claim = async (box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> => {
      const claims = await (box === 'in'
        ? ledger.claim(box, channel, n)
        : ledger.claim(box, channel, n));
      const again = last;
      last = claims;
      return claims.length === 0 && again[0]?.box === box ? again.slice(0, n) : claims;
    };
    return altered(ledger, { claim: claim as Ledger['claim'] });
  },
  'torn effects': (ledger) =>
    altered(ledger, {
      /** Keeps only the first of several replies. */
      complete: (claim, effects) =>
        ledger.complete(claim, { ...effects, replies: effects.replies.slice(0, 1) }),
    }),
  'lost release': (ledger) => altered(ledger, { release: () => Promise.resolve() }),
  'unbounded queue': (ledger) => {
    const refused: (readonly Inbound[])[] = [];
    /** Keeps a refused batch all the same, and reports it as accepted. */
    const accept: Ledger['accept'] = async (batch, ...cursors) => {
      const acceptance = await ledger.accept(batch, ...cursors);
      if (acceptance.kind === 'accepted' || acceptance.reason !== 'full') return acceptance;
      refused.push(batch);
      const receipts: Acceptance = { kind: 'accepted', receipts: [] };
      return receipts;
    };
    return altered(ledger, { accept });
  },
  'stale completion': (ledger) =>
    altered(ledger, {
      /** Reports each completion as counted. */
      async complete(claim, effects) {
        await ledger.complete(claim, effects);
        return true;
      },
    }),
};

/** The ledger with some methods replaced. */
function altered(ledger: Ledger, other: Partial<Ledger>): Ledger {
  return new Proxy(ledger, {
    get(_, name) {
      const own: unknown = Reflect.get(other, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(ledger, name, ledger);
      return typeof value === 'function' ? value.bind(ledger) : value;
    },
  });
}
