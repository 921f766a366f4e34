/** The AMI families: what each bootstraps with, where its images are found, and how its kubelet counts. */
import type { AmiFamily as AmiFamilyName, EC2NodeClass } from '../../api/ec2-nodeclass.ts';

export interface AmiFamily {
  readonly name: AmiFamilyName;
  /** Volumes of nodes whose NodeClass names none. */
  readonly blockDevices: readonly { readonly deviceName: string; readonly size: string }[];
  /** The volume that backs the kubelet's root. */
  readonly ephemeralDevice?: string;
  /** Kube-reserved memory follows the ENI-limited number of pods, whatever maxPods says. */
  readonly eniLimitedMemory: boolean;
  readonly podsPerCore: boolean;
  /** Pods are limited by network interfaces; else by a constant. */
  readonly eniLimitedPods: boolean;
  /** Any kubelet field reaches the node. */
  readonly anyKubeletField: boolean;
  readonly windowsBuild?: string;
}

const linux = {
  blockDevices: [{ deviceName: '/dev/xvda', size: '20Gi' }],
  ephemeralDevice: '/dev/xvda',
  eniLimitedMemory: true,
  podsPerCore: true,
  eniLimitedPods: true,
  anyKubeletField: false,
} as const;

const windows = (name: AmiFamilyName, windowsBuild: string): AmiFamily => ({
  name,
  blockDevices: [{ deviceName: '/dev/sda1', size: '50Gi' }],
  ephemeralDevice: '/dev/sda1',
  eniLimitedMemory: false,
  podsPerCore: true,
  eniLimitedPods: false,
  anyKubeletField: false,
  windowsBuild,
});

const FAMILIES: Readonly<Record<AmiFamilyName, AmiFamily>> = {
  AL2: { name: 'AL2', ...linux },
  AL2023: { name: 'AL2023', ...linux, anyKubeletField: true },
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
  },
  Custom: {
    name: 'Custom',
    blockDevices: [],
    eniLimitedMemory: true,
    podsPerCore: true,
    eniLimitedPods: true,
    anyKubeletField: true,
  },
  Windows2019: windows('Windows2019', '10.0.17763'),
  Windows2022: windows('Windows2022', '10.0.20348'),
  Windows2025: windows('Windows2025', '10.0.26100'),
};

export interface Alias {
  readonly family: AmiFamilyName;
  readonly version: string;
}

/** The alias of the NodeClass's AMI terms, such as `al2023@latest`. */
export function aliasOf(nodeClass: EC2NodeClass): Alias | undefined {
  const text = nodeClass.spec.amiSelectorTerms.find((term) => (term.alias ?? '') !== '')?.alias;
  if (text === undefined) return undefined;
  const [name = '', version = ''] = text.split(/@(.*)/s);
  const family = Object.values(FAMILIES).find((each) => each.name.toLowerCase() === name.toLowerCase());
  return { family: family?.name ?? 'Custom', version };
}

/** The family that nodes bootstrap with: the one given, else the alias's, else Custom. */
export function familyOf(nodeClass: EC2NodeClass): AmiFamily {
  const given = nodeClass.spec.amiFamily;
  if (given !== undefined) return FAMILIES[given];
  return FAMILIES[aliasOf(nodeClass)?.family ?? 'Custom'];
}

export const isWindows = (family: AmiFamily): boolean => family.windowsBuild !== undefined;
