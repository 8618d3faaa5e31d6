/** The only instance on its ledger: it has every post, hears itself, and shares nothing. */
import type { Peers } from './peers.ts';

type Heard = (body: string) => void | Promise<void>;

export function createAlone(): Peers {
  const ears = new Map<string, Set<Heard>>();
  return {
    async hold(_post, run, until) {
      if (!until.aborted) await run(until);
    },
    async tell(kind, body) {
      await Promise.all([...(ears.get(kind) ?? [])].map(async (heard) => heard(body)));
    },
    on(kind, heard) {
      const all = ears.get(kind) ?? new Set();
      ears.set(kind, all);
      // One that listens twice hears it twice.
      const own: Heard = (body) => heard(body);
      all.add(own);
      return () => void all.delete(own);
    },
    share: () => 1,
  };
}
