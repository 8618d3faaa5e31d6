/** The cluster of the instances on one database, by what the database gives them. */
import { revisionOf } from '../config/inspect.ts';
import type { Clock } from '../lib/clock.ts';
import { AgreedConfigStore } from './agreed-config.ts';
import { ConfigsFailed, type Peers, type SharedConfigs, type SharedView } from './backend.ts';
import type { Cluster } from './cluster.ts';
import { openView } from './view.ts';

export type SeveralDeps = Clock & {
  readonly peers: Peers;
  readonly configs: SharedConfigs;
  readonly view: SharedView;
  /** The version of this program. */
  readonly version: string;
};

/** The cluster closes `configs` and `view`, and leaves `peers` to its caller. */
export function createCluster(deps: SeveralDeps & { readonly configs: AsyncDisposable }): Cluster {
  const { peers, configs, view } = deps;
  /** The number of the configuration that this process started with. */
  let n = 0;
  return {
    ...peers,
    async beginConfig(text) {
      const revision = revisionOf(text);
      try {
        const current = await configs.begin({ revision, text, by: 'start' });
        n = current.n;
        return { kind: current.revision === revision ? 'begun' : 'moved' };
      } catch (error) {
        return failureOf(error);
      }
    },
    openConfigStore: (local) => new AgreedConfigStore({ ...deps, local, n }),
    async replaceConfig(text) {
      try {
        const before = await configs.replace({ revision: revisionOf(text), text, by: 'command' });
        return { kind: 'replaced', before: before ?? '' };
      } catch (error) {
        return failureOf(error);
      }
    },
    openView: (source) => openView({ ...deps, ...source }),
    async [Symbol.asyncDispose]() {
      await using opened = new AsyncDisposableStack();
      opened.use(view);
      opened.use(configs);
    },
  };
}

function failureOf(error: unknown): { readonly kind: 'failed'; readonly message: string } {
  if (!(error instanceof ConfigsFailed)) throw error;
  return { kind: 'failed', message: error.message };
}
