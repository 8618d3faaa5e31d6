/** Opens the cluster of the instances on a PostgreSQL database, beside the ledger of one of them. */
import type { Peers } from '../../cluster/backend.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { createCluster } from '../../cluster/several.ts';
import type { Clock } from '../../lib/clock.ts';
import { createPostgresConfigs } from './configs/shared-configs.ts';
import { connect } from './server/connect.ts';
import { createSharedView } from './view/shared-view.ts';

export type ClusterOptions = Clock & {
  readonly url: string;
  /** The version of this program. */
  readonly version: string;
};

/** How long a connection may take to open. */
const timeoutMs = 5_000;

/** It connects when it is asked for the first time. @param peers until their ledger is closed */
export function openCluster(peers: Peers, { url, ...options }: ClusterOptions): Cluster {
  const configs = createPostgresConfigs(() => connect(url, { timeoutMs }), { instance: peers.id });
  const view = createSharedView((signal) => connect(url, { signal, timeoutMs }));
  return createCluster({ ...options, peers, configs, view });
}
