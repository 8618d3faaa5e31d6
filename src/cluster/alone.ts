/**
 * The implementation of `Peers` for one instance that has the ledger to itself. It gets every lease
 * at once, hears its own broadcasts, and gets each limit whole.
 */
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

/** The listeners of one instance, by the kind of broadcast. */
export class Ears {
  readonly #ears = new Map<string, Set<Heard>>();

  /**
   * Resolves when all listeners of that kind have heard the broadcast.
   * @throws the error of a listener, which must not fail, once the other listeners have ended
   */
  async tell(kind: string, body: string): Promise<void> {
    const all = [...(this.#ears.get(kind) ?? [])];
    const heard = await Promise.allSettled(all.map(async (one) => one(body)));
    const failed = heard.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** @returns ends the subscription */
  on(kind: string, heard: Heard): () => void {
    const all = this.#ears.get(kind) ?? new Set();
    this.#ears.set(kind, all);
    // A function that subscribes twice is called twice.
    const own: Heard = (body) => heard(body);
    all.add(own);
    return () => void all.delete(own);
  }
}
