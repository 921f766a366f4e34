/** Instances for kubelet tests. */
import type {
  InstanceListener,
  InstanceState,
  LocalInstance,
  LocalInstances,
} from '../../../../../src/local/aws/types.ts';

interface HardwareShape {
  readonly vcpus?: number;
  readonly memoryMib?: number;
  readonly diskGb?: number;
}

/** Hardware of an m5.large by default. */
export const hardware = ({ vcpus = 2, memoryMib = 8192, diskGb }: HardwareShape = {}): LocalInstance['hardware'] => ({
  VCpuInfo: { DefaultVCpus: vcpus },
  MemoryInfo: { SizeInMiB: memoryMib },
  NetworkInfo: {
    MaximumNetworkInterfaces: 3,
    Ipv4AddressesPerInterface: 10,
    DefaultNetworkCardIndex: 0,
    NetworkCards: [{ NetworkCardIndex: 0, MaximumNetworkInterfaces: 3 }],
  },
  ...(diskGb === undefined ? {} : { InstanceStorageInfo: { TotalSizeInGB: diskGb } }),
});

export const instance = (more: Partial<LocalInstance> = {}): LocalInstance => ({
  id: 'i-1',
  type: 'm5.large',
  hardware: hardware(),
  zone: 'us-west-2a',
  zoneId: 'usw2-az1',
  capacityType: 'on-demand',
  state: 'running',
  boots: 0,
  launchedAt: 0,
  imageId: 'ami-1',
  imageName: 'amazon-eks-node-al2023',
  architecture: 'x86_64',
  platform: 'linux',
  userData: '',
  subnetId: 'subnet-1',
  vpcId: 'vpc-1',
  privateIp: '10.0.0.5',
  privateDnsName: 'ip-10-0-0-5.us-west-2.compute.internal',
  securityGroupIds: [],
  instanceProfile: '',
  volumes: [{ id: 'vol-1', deviceName: '/dev/xvda', sizeGiB: 20, volumeType: 'gp3' }],
  interfaces: [{ type: 'interface' }],
  tags: {},
  usdPerHour: 0.1,
  joins: true,
  bootDelayMs: 0,
  ...more,
});

/** Instances with states that a test sets. */
export function instanceBoard(): LocalInstances & { set(change: Partial<LocalInstance>): void } {
  const all = new Map<string, LocalInstance>();
  const listeners = new Set<InstanceListener>();
  return {
    list: () => [...all.values()],
    get: (id) => all.get(id),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set(change) {
      const before = all.get(change.id ?? 'i-1');
      const previous: InstanceState | undefined = before?.state;
      // Mutates the record like EC2.
      const now = before ? Object.assign(before, change) : instance(change);
      all.set(now.id, now);
      for (const listener of listeners) listener(now, previous);
    },
  };
}
