/** The cluster of the instances on a PostgreSQL database, beside the ledger of one of them. */
import { AgreedConfigStore } from '../../cluster/agreed-config.ts';
import {
  ConfigsFailed,
  type Peers,
  type SharedConfigs,
  type SharedView,
} from '../../cluster/backend.ts';
import type { Cluster, ClusterFailed } from '../../cluster/cluster.ts';
import { openView } from '../../cluster/view.ts';
import { revisionOf } from '../../config/inspect.ts';
import type { Clock } from '../../lib/clock.ts';
import { PostgresConfigs } from './configs/shared-configs.ts';
import { connect } from './server/connect.ts';
import { PostgresView } from './view/shared-view.ts';

/** `version`: of this program. */
type Options = Clock & { readonly version: string };

/** How long a connection may take to open. */
const timeoutMs = 5_000;

/** It connects when it is first used. @param store holds the ledger; close it first */
export function openCluster(
  { peers }: { readonly peers: Peers },
  { url, ...options }: Options & { readonly url: string },
): Cluster {
  const configs = new PostgresConfigs(() => connect(url, { timeoutMs }), { instance: peers.id });
  const view = new PostgresView((signal) => connect(url, { signal, timeoutMs }));
  return createCluster({ ...options, peers, configs, view });
}

type Parts = Options & {
  readonly peers: Peers;
  readonly configs: SharedConfigs & AsyncDisposable;
  readonly view: SharedView;
};

/** The cluster closes `configs` and `view`, and leaves `peers` to its caller. */
export function createCluster(deps: Parts): Cluster {
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

function failureOf(error: unknown): ClusterFailed {
  if (!(error instanceof ConfigsFailed)) throw error;
  return { kind: 'failed', message: error.message };
}
