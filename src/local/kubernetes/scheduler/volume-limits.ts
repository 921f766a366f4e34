import type { Pod } from '../../../api/kubernetes.ts';
import type { ClusterView, Filter } from './view.ts';
import { claimUses } from './volumes.ts';

/**
 * Returns identities of the CSI volumes that a pod mounts, with their drivers. Unprovisioned volumes are identified by
 * their claim.
 */
function csiVolumes(pod: Pod, cluster: ClusterView): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const namespace = pod.metadata.namespace ?? '';
  for (const { name } of claimUses(pod)) {
    const claim = cluster.claim(namespace, name);
    const volume = claim?.spec.volumeName ? cluster.volume(claim.spec.volumeName) : undefined;
    if (volume?.spec.csi) found.set(`${volume.spec.csi.driver}/${volume.metadata.name}`, volume.spec.csi.driver);
    else if (claim && !volume) {
      const driver = cluster.storageClass(claim.spec.storageClassName ?? '')?.provisioner;
      if (driver) found.set(`${driver}/${namespace}/${name}`, driver);
    }
  }
  return found;
}

/** Attach limits that the node's CSI drivers report. Volumes that are already in use on the node do not count again. */
export const volumeLimits: Filter = (pod, cluster) => {
  const wanted = csiVolumes(pod, cluster);
  if (wanted.size === 0) return undefined;
  return ({ name, pods }) => {
    const drivers = cluster.csiNode(name)?.spec.drivers ?? [];
    const all = new Map(wanted);
    for (const other of pods) for (const [volume, driver] of csiVolumes(other, cluster)) all.set(volume, driver);
    const exceeded = [...new Set(wanted.values())].some((driver) => {
      const limit = drivers.find((one) => one.name === driver)?.allocatable?.count;
      return limit !== undefined && [...all.values()].filter((one) => one === driver).length > limit;
    });
    return exceeded ? ['node(s) exceed max volume count'] : undefined;
  };
};
