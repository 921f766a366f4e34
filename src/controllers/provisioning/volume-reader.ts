/** What is known of volumes, read at most once for as long as it is used, and only for pods with volumes. */
import { Volumes } from '../../engine/volumes.ts';
import type { ClusterState } from '../../state/cluster.ts';
import { takeSnapshot } from '../../state/snapshot.ts';

/** For a snapshot of which only volumes are needed. */
const NOTHING = { nowMs: 0, pools: [], nodes: [], overdue: [], pendingPods: [] };

export function volumeReader(cluster: ClusterState): () => Volumes {
  let volumes: Volumes | undefined;
  return () => {
    volumes ??= new Volumes(takeSnapshot(cluster, NOTHING));
    return volumes;
  };
}
