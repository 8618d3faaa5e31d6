/**
 * The cluster of one process that has the ledger to itself. It gets every lease at once, hears its
 * own broadcasts, gets each limit whole, and answers from its own report. Its configuration is in
 * its own file.
 */
import type { Cluster, StatusView } from './cluster.ts';

type Listener = (body: string) => void | Promise<void>;

export function createAlone(): Cluster {
  const listeners = new Listeners();
  return {
    async withLease(_lease, run, until) {
      if (!until.aborted) await run(until);
    },
    holds: () => true,
    broadcast: (kind, body) => listeners.notify(kind, body),
    onBroadcast: (kind, listener) => listeners.on(kind, listener),
    limitShare: () => 1,
    onChange: () => () => {},
    beginConfig: async () => ({ kind: 'begun' }),
    openConfigStore: (_local, inFile) => inFile(),
    async replaceConfig() {
      return { kind: 'failed', message: 'The configuration in use is that of the file.' };
    },
    openView: () => ({ ...viewAlone, [Symbol.dispose]() {} }),
    async [Symbol.asyncDispose]() {},
  };
}

export const viewAlone: StatusView = {
  async read(ownReport) {
    const own = { id: null, report: ownReport() };
    return { own, members: [], reports: [own], deciding: [own], rows: null, asOf: null };
  },
};

/** The listeners of one process, by the kind of broadcast. */
export class Listeners {
  readonly #byKind = new Map<string, Set<Listener>>();

  /**
   * Resolves when all listeners of that kind have heard the broadcast.
   * @throws the error of a listener, which must not fail, once the other listeners have ended
   */
  async notify(kind: string, body: string): Promise<void> {
    const all = [...(this.#byKind.get(kind) ?? [])];
    const results = await Promise.allSettled(all.map(async (one) => one(body)));
    const failed = results.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** @returns ends the subscription */
  on(kind: string, listener: Listener): () => void {
    const all = this.#byKind.get(kind) ?? new Set();
    this.#byKind.set(kind, all);
    // A function that subscribes twice is called twice.
    const own: Listener = (body) => listener(body);
    all.add(own);
    return () => void all.delete(own);
  }
}
