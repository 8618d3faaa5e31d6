/** The only instance on its ledger: it has every post, hears itself, and shares nothing. */
import type { Peers } from './peers.ts';

type Heard = (body: string) => void | Promise<void>;

export function createAlone(): Peers {
  const ears = new Ears();
  return {
    id: 0,
    instances: () => [],
    async hold(_lease, run, until) {
      if (!until.aborted) await run(until);
    },
    holds: () => true,
    tell: (kind, body) => ears.tell(kind, body),
    on: (kind, heard) => ears.on(kind, heard),
    share: () => 1,
    onChange: () => () => {},
  };
}

/** Who in this instance hears what. */
export class Ears {
  readonly #ears = new Map<string, Set<Heard>>();

  /**
   * Resolves when all who hear that kind have heard it.
   * @throws what one of them throws, which it must not, once the others have heard it
   */
  async tell(kind: string, body: string): Promise<void> {
    const all = [...(this.#ears.get(kind) ?? [])];
    const heard = await Promise.allSettled(all.map(async (one) => one(body)));
    const failed = heard.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** @returns how to hear no more */
  on(kind: string, heard: Heard): () => void {
    const all = this.#ears.get(kind) ?? new Set();
    this.#ears.set(kind, all);
    // One that listens twice hears it twice.
    const own: Heard = (body) => heard(body);
    all.add(own);
    return () => void all.delete(own);
  }
}
