/** Reads volumes at most once per reader, and only if a pod has volumes. */
import { Volumes } from '#engine/model';
import { takeSnapshot } from '#planner';
import type { ClusterState } from '#state';

/** Empty inputs for a snapshot that only provides volumes. */
const NOTHING = { nowMs: 0, pools: [], nodes: [], overdue: [], pendingPods: [] };

export function volumeReader(cluster: ClusterState): () => Volumes {
  let volumes: Volumes | undefined;
  return () => {
    volumes ??= new Volumes(takeSnapshot(cluster, NOTHING));
    return volumes;
  };
}
