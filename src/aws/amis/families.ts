/** AMI families with their bootstrap method, image lookup and kubelet defaults. */
import type { AmiFamily as AmiFamilyName, EC2NodeClass } from '#api/objects';

export interface AmiFamily {
  readonly name: AmiFamilyName;
  /** Volumes of nodes if the NodeClass does not specify volumes. */
  readonly blockDevices: readonly { readonly deviceName: string; readonly size: string }[];
  /** Device name of the volume that holds the kubelet's root directory. It is absent if the images are unknown. */
  readonly ephemeralDevice?: string;
  /** True if kube-reserved memory is computed from the ENI-limited number of pods, even if maxPods is set. */
  readonly eniLimitedMemory: boolean;
  readonly podsPerCore: boolean;
  /** True if network interfaces limit the number of pods. Otherwise the limit is a constant. */
  readonly eniLimitedPods: boolean;
  /** True if every kubelet field can be configured on the node. */
  readonly anyKubeletField: boolean;
  /** True if nodes need the service CIDR of the cluster to join it. */
  readonly needsServiceCidr: boolean;
  /** Prefixes of the instance types on which the images do not run. */
  readonly excludedTypes: readonly string[];
  readonly windowsBuild?: string;
}

const linux = {
  blockDevices: [{ deviceName: '/dev/xvda', size: '20Gi' }],
  ephemeralDevice: '/dev/xvda',
  eniLimitedMemory: true,
  podsPerCore: true,
  eniLimitedPods: true,
  anyKubeletField: false,
  needsServiceCidr: false,
  excludedTypes: [],
} as const;

const windows = (name: AmiFamilyName, windowsBuild: string): AmiFamily => ({
  name,
  blockDevices: [{ deviceName: '/dev/sda1', size: '50Gi' }],
  ephemeralDevice: '/dev/sda1',
  eniLimitedMemory: false,
  podsPerCore: true,
  eniLimitedPods: false,
  anyKubeletField: false,
  needsServiceCidr: false,
  excludedTypes: [],
  windowsBuild,
});

const FAMILIES: Readonly<Record<AmiFamilyName, AmiFamily>> = {
  AL2: { name: 'AL2', ...linux },
  AL2023: { name: 'AL2023', ...linux, anyKubeletField: true, needsServiceCidr: true, excludedTypes: ['a1.'] },
  Bottlerocket: {
    name: 'Bottlerocket',
    blockDevices: [
      { deviceName: '/dev/xvda', size: '4Gi' },
      { deviceName: '/dev/xvdb', size: '20Gi' },
    ],
    ephemeralDevice: '/dev/xvdb',
    eniLimitedMemory: false,
    podsPerCore: false,
    eniLimitedPods: true,
    anyKubeletField: false,
    needsServiceCidr: false,
    excludedTypes: [],
  },
  Custom: {
    name: 'Custom',
    blockDevices: [],
    eniLimitedMemory: true,
    podsPerCore: true,
    eniLimitedPods: true,
    anyKubeletField: true,
    needsServiceCidr: false,
    excludedTypes: [],
  },
  Windows2019: windows('Windows2019', '10.0.17763'),
  Windows2022: windows('Windows2022', '10.0.20348'),
  Windows2025: windows('Windows2025', '10.0.26100'),
};

export interface Alias {
  readonly family: AmiFamilyName;
  readonly version: string;
}

/** Returns the alias of the NodeClass's AMI terms, for example `al2023@latest`. */
export function aliasOf(nodeClass: EC2NodeClass): Alias | undefined {
  const text = nodeClass.spec.amiSelectorTerms.find((term) => (term.alias ?? '') !== '')?.alias;
  if (text === undefined) return undefined;
  const [name = '', version = ''] = text.split(/@(.*)/s);
  const family = Object.values(FAMILIES).find((each) => each.name.toLowerCase() === name.toLowerCase());
  return { family: family?.name ?? 'Custom', version };
}

/** Returns the family for bootstrapping nodes: `spec.amiFamily`, the family of the alias, or Custom. */
export function familyOf(nodeClass: EC2NodeClass): AmiFamily {
  const given = nodeClass.spec.amiFamily;
  if (given !== undefined) return FAMILIES[given];
  return FAMILIES[aliasOf(nodeClass)?.family ?? 'Custom'];
}

export const isWindows = (family: AmiFamily): boolean => family.windowsBuild !== undefined;
