/** Metrics that show if decisions can be made. While the cluster state is not synced, provisioning and disruption do not run. */
import { monotonicMs } from '../../lib/clock.ts';
import type { Logger } from '../../observe/logger.ts';
import {
  CLUSTER_STATE_NODE_COUNT,
  CLUSTER_STATE_SYNCED,
  CLUSTER_STATE_UNSYNCED_TIME_SECONDS,
} from '../../observe/metrics/nodes.ts';
import type { Deps } from '../deps.ts';

/** Time without sync after which an error is logged, and the interval between such errors. */
const PATIENCE_MS = 30_000;
const REPEAT_MS = 10_000;

/** Returns a function to call every few seconds with the number of nodes. */
export function clusterStateMetrics({ clock, cluster, metrics }: Deps): (nodes: number, log: Logger) => void {
  const count = metrics.gauge(CLUSTER_STATE_NODE_COUNT);
  const synced = metrics.gauge(CLUSTER_STATE_SYNCED);
  const unsynced = metrics.gauge(CLUSTER_STATE_UNSYNCED_TIME_SECONDS);
  let syncedMs = monotonicMs(clock);
  let loggedMs = Number.NEGATIVE_INFINITY;

  return (nodes, log) => {
    const nowMs = monotonicMs(clock);
    const isSynced = cluster.synced();
    if (isSynced) syncedMs = nowMs;
    count.set(nodes);
    synced.set(isSynced ? 1 : 0);
    unsynced.set((nowMs - syncedMs) / 1_000);
    if (nowMs - syncedMs <= PATIENCE_MS || nowMs - loggedMs < REPEAT_MS) return;
    loggedMs = nowMs;
    log.error('cluster state is not synced, no decisions are made', {
      error: `not synced for ${Math.round((nowMs - syncedMs) / 1_000)}s`,
      remedy: 'look for NodeClaims that are not launched and for kinds that cannot be listed',
    });
  };
}
