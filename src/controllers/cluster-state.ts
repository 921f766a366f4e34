/** Creates the cluster state for the settings and the cloud provider. */
import type { CloudProvider } from '../cloud/provider.ts';
import type { Informers } from '../kube/client.ts';
import type { Clock } from '../lib/clock.ts';
import type { Settings } from '../process/settings.ts';
import { ClusterState } from '../state/cluster.ts';

interface ClusterParts {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly cloud: Pick<CloudProvider, 'nodeClassKinds'>;
  readonly settings: Settings;
}

export const openClusterState = ({ informers, clock, cloud, settings }: ClusterParts): ClusterState =>
  new ClusterState({
    informers,
    clock,
    manages: ({ group, kind }) => cloud.nodeClassKinds.some((served) => served.group === group && served.kind === kind),
    defaultSpread: settings.defaultTopologySpreadConstraints,
    devices: !settings.ignoreDraRequests,
  });
