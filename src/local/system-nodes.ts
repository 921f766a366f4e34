/** Nodes that no autoscaler manages, like those of a managed node group. */

import { standardZones } from './aws/open-account.ts';
import type { LocalAws } from './aws/server.ts';
import type { LocalInstance } from './aws/types.ts';

const TYPE = 'm5.large';

/** Returns instances that EC2 does not list. Their kubelets join immediately. */
export function systemInstances(
  count: number,
  aws: LocalAws,
  endpoint: string,
  launchedAt: number,
): readonly LocalInstance[] {
  const hardware = aws.catalogue.types.find(({ InstanceType }) => InstanceType === TYPE);
  if (!hardware) throw new RangeError(`Cannot create system nodes: the catalogue has no ${TYPE}`);
  const zones = aws.catalogue.zonesOf(TYPE);
  const zoneIds = new Map(standardZones(aws.region).map(({ name, id }) => [name, id]));
  const userData = userDataFor(aws.clusterName, endpoint);
  return Array.from({ length: count }, (_, index): LocalInstance => {
    const zone = zones[index % zones.length] ?? `${aws.region}a`;
    const privateIp = `10.255.0.${index + 10}`;
    return {
      id: `i-5ec5${index.toString(16).padStart(13, '0')}`,
      type: TYPE,
      hardware,
      zone,
      zoneId: zoneIds.get(zone) ?? '',
      capacityType: 'on-demand',
      state: 'running',
      launchedAt,
      imageId: '',
      imageName: 'amazon-eks-node-al2023',
      architecture: 'x86_64',
      platform: 'linux',
      userData,
      subnetId: '',
      vpcId: '',
      privateIp,
      privateDnsName: `ip-${privateIp.replaceAll('.', '-')}.${aws.region}.compute.internal`,
      securityGroupIds: [],
      instanceProfile: '',
      interfaces: [{ type: 'interface' }],
      volumes: [{ id: `vol-5ec5${index}`, deviceName: '/dev/xvda', sizeGiB: 20, volumeType: 'gp3' }],
      tags: {},
      usdPerHour: 0,
      joins: true,
      // The instances ran before the world started.
      bootDelayMs: Number.NEGATIVE_INFINITY,
    };
  });
}

function userDataFor(clusterName: string, endpoint: string): string {
  const nodeConfig = {
    apiVersion: 'node.eks.aws/v1alpha1',
    kind: 'NodeConfig',
    spec: {
      cluster: { name: clusterName, apiServerEndpoint: endpoint },
      kubelet: { flags: ['--node-labels=eks.amazonaws.com/nodegroup=system'] },
    },
  };
  return [
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="//"',
    '',
    '--//',
    'Content-Type: application/node.eks.aws',
    '',
    JSON.stringify(nodeConfig),
    '--//--',
    '',
  ].join('\n');
}
