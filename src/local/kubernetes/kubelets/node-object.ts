/** The Node object that a kubelet registers. */
import {
  ARCH_LABEL,
  type Condition,
  type CSINode,
  HOSTNAME_LABEL,
  INSTANCE_TYPE_LABEL,
  type Node,
  OS_LABEL,
  REGION_LABEL,
  type Taint,
  ZONE_ID_LABEL,
  ZONE_LABEL,
} from '#api/objects';
import { timestamp } from '#lib';
import type { LocalInstance } from '../../aws/types.ts';
import type { KubeletAmounts } from './capacity.ts';
import type { KubeletConfig } from './userdata/index.ts';

const EBS_DRIVER = 'ebs.csi.aws.com';
const EBS_ZONE_LABEL = 'topology.ebs.csi.aws.com/zone';

/** Initial taint of every node. It is removed when the node is Ready. */
export const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

export const providerIdOfInstance = (instance: LocalInstance): string => `aws:///${instance.zone}/${instance.id}`;

/** Returns the boot ID, which each boot of the machine changes. */
export const bootIdOf = ({ id, boots }: LocalInstance): string => (boots === 0 ? id : `${id}-${boots}`);

export interface Registration {
  readonly instance: LocalInstance;
  readonly config: KubeletConfig;
  readonly resources: KubeletAmounts;
  readonly region: string;
  readonly kubeletVersion: string;
  readonly now: number;
  readonly reportsAddresses?: boolean;
}

/** Returns the node conditions that the kubelet reports. */
export function nodeConditions(ready: boolean, message: string): readonly Omit<Condition, 'lastTransitionTime'>[] {
  const fine = (type: string, reason: string, text: string) =>
    ({ type, status: 'False', reason, message: text }) as const;
  return [
    fine('MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
    fine('DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
    fine('PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
    ready
      ? { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
      : { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message },
  ];
}

/** Returns the conditions with the times that node conditions have. */
export const addTimes = (conditions: readonly Condition[], now: number): readonly Condition[] =>
  conditions.map((one) => ({
    ...one,
    lastHeartbeatTime: timestamp(now),
    lastTransitionTime: one.lastTransitionTime ?? timestamp(now),
  }));

function osImage({ imageName, platform }: LocalInstance): string {
  if (platform === 'windows') return 'Windows Server';
  if (/bottlerocket/i.test(imageName)) return 'Bottlerocket OS';
  if (/al2023|amazon-linux-2023/i.test(imageName)) return 'Amazon Linux 2023';
  return /ubuntu/i.test(imageName) ? 'Ubuntu' : 'Amazon Linux 2';
}

export function nodeObject(registration: Registration): Node {
  const { instance, config, resources, region, kubeletVersion, now, reportsAddresses = true } = registration;
  const name = instance.privateDnsName;
  const arch = instance.architecture === 'arm64' ? 'arm64' : 'amd64';
  const conditions = nodeConditions(false, 'container runtime network not ready: NetworkReady=false');
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        ...config.labels,
        [HOSTNAME_LABEL]: name,
        [ARCH_LABEL]: arch,
        [OS_LABEL]: instance.platform,
        'beta.kubernetes.io/arch': arch,
        'beta.kubernetes.io/os': instance.platform,
        'beta.kubernetes.io/instance-type': instance.type,
        'failure-domain.beta.kubernetes.io/region': region,
        'failure-domain.beta.kubernetes.io/zone': instance.zone,
        [INSTANCE_TYPE_LABEL]: instance.type,
        [REGION_LABEL]: region,
        [ZONE_LABEL]: instance.zone,
        [ZONE_ID_LABEL]: instance.zoneId,
        [EBS_ZONE_LABEL]: instance.zone,
      },
    },
    spec: {
      providerID: providerIdOfInstance(instance),
      taints: [...config.taints.filter(({ key }) => key !== NOT_READY.key), NOT_READY],
    },
    status: {
      ...resources,
      conditions: addTimes(conditions, now),
      addresses: [
        ...(reportsAddresses
          ? [
              { type: 'InternalIP', address: instance.ipv6Address ?? instance.privateIp },
              { type: 'InternalDNS', address: name },
            ]
          : []),
        { type: 'Hostname', address: name },
      ],
      nodeInfo: nodeInfoOf(instance, arch, kubeletVersion),
    },
  };
}

const nodeInfoOf = (instance: LocalInstance, architecture: string, kubeletVersion: string) => ({
  architecture,
  operatingSystem: instance.platform,
  osImage: osImage(instance),
  kubeletVersion,
  kubeProxyVersion: '',
  kernelVersion: '6.1.0',
  containerRuntimeVersion: 'containerd://2.1.0',
  machineID: instance.id,
  systemUUID: instance.id,
  bootID: bootIdOf(instance),
});

/** Returns the object that the EBS CSI driver on the node registers. */
export function csiNode(node: Node, instance: LocalInstance, volumeLimit: number): CSINode {
  const driver = {
    name: EBS_DRIVER,
    nodeID: instance.id,
    topologyKeys: [EBS_ZONE_LABEL, ZONE_LABEL],
    allocatable: { count: volumeLimit },
  };
  const { name, uid = '' } = node.metadata;
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
    spec: { drivers: [driver] },
  };
}
