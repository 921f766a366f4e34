/** Capacity and allocatable resources of a machine, as computed by EC2's images and the kubelet. */

import { DAEMON_SET } from '#api/objects';
import { formatQuantity, parseQuantity } from '#api/values';
import { own } from '#lib';
import type { LocalInstance } from '../../aws/types.ts';
import type { ObjectClient } from '../../client.ts';
import type { RunContainer } from './container-timing.ts';
import type { KubeletOptions } from './options.ts';
import { wholeNumber } from './userdata/config.ts';
import { options } from './userdata/flags.ts';
import type { KubeletConfig } from './userdata/index.ts';

export type ResourceTexts = Readonly<Record<string, string>>;

const MIB = 2 ** 20;
const GIB = 2 ** 30;

export interface KubeletAmounts {
  readonly capacity: ResourceTexts;
  readonly allocatable: ResourceTexts;
}

/**
 * Returns the maximum number of pods for the addresses of the first network card: one per secondary address, and two on
 * the host network.
 */
function maxPodsOfNetwork({ NetworkInfo: network }: LocalInstance['hardware']): number {
  const card = network?.NetworkCards?.[network.DefaultNetworkCardIndex ?? 0];
  const interfaces = card?.MaximumNetworkInterfaces ?? network?.MaximumNetworkInterfaces ?? 0;
  return interfaces > 0 ? interfaces * ((network?.Ipv4AddressesPerInterface ?? 1) - 1) + 2 : 110;
}

/**
 * Returns the CPU that EKS images reserve for the system, in millicores: 6 %, 1 %, 0.5 % and 0.25 % of successive
 * cores.
 */
function reservedCpuMilli(cores: number): number {
  const tiers = [
    [1, 60],
    [1, 10],
    [2, 5],
    [Number.POSITIVE_INFINITY, 2.5],
  ] as const;
  let left = cores;
  let milli = 0;
  for (const [width, perCore] of tiers) {
    const used = Math.min(left, width);
    milli += Math.trunc(used * perCore);
    left -= used;
  }
  return milli;
}

/** Parses an eviction threshold: a percentage of the capacity or an amount. 100 % disables it. */
function threshold(text: string | undefined, capacity: number, fallback: number): number {
  if (text === undefined) return fallback;
  if (!text.endsWith('%')) return parseQuantity(text);
  const percent = Number(text.slice(0, -1));
  return percent === 100 ? 0 : Math.ceil((capacity / 100) * percent);
}

function storageBytes(instance: LocalInstance, config: KubeletConfig, raid0Overhead: number): number {
  const local = instance.hardware.InstanceStorageInfo?.TotalSizeInGB;
  if (config.raid0 && local) return Math.floor(local * 1e9 * (1 - raid0Overhead));
  const data = instance.volumes.find(({ deviceName }) => deviceName === config.dataDevice) ?? instance.volumes[0];
  return (data?.sizeGiB ?? 20) * GIB;
}

/** Returns device counts by their resource names. */
export function devices({ hardware, interfaces }: Pick<LocalInstance, 'hardware' | 'interfaces'>): ResourceTexts {
  const { GpuInfo, NeuronInfo } = hardware;
  const counts: Record<string, number> = {};
  const fabric = interfaces.filter(({ type }) => type.startsWith('efa')).length;
  if (fabric > 0) counts['vpc.amazonaws.com/efa'] = fabric;
  const names: Readonly<Record<string, string>> = {
    NVIDIA: 'nvidia.com/gpu',
    AMD: 'amd.com/gpu',
    Habana: 'habana.ai/gaudi',
  };
  for (const { Manufacturer = '', Count = 0 } of GpuInfo?.Gpus ?? []) {
    const name = names[Manufacturer];
    if (name) counts[name] = (own(counts, name) ?? 0) + Count;
  }
  for (const { Count = 0, CoreInfo } of NeuronInfo?.NeuronDevices ?? []) {
    counts['aws.amazon.com/neuron'] = (counts['aws.amazon.com/neuron'] ?? 0) + Count;
    counts['aws.amazon.com/neuroncore'] = (counts['aws.amazon.com/neuroncore'] ?? 0) + Count * (CoreInfo?.Count ?? 0);
  }
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, String(count)]));
}

/** Returns capacity and allocatable resources of a machine. */
export function kubeletResources(
  instance: LocalInstance,
  config: KubeletConfig,
  { memoryOverhead, raid0Overhead = 0 }: Pick<KubeletOptions, 'memoryOverhead'> & Partial<KubeletOptions>,
): KubeletAmounts {
  const { hardware } = instance;
  const cores = hardware.VCpuInfo?.DefaultVCpus ?? 1;
  const mib = (hardware.MemoryInfo?.SizeInMiB ?? 1024) - (instance.architecture === 'arm64' ? 64 : 0);
  const memory = (mib - Math.ceil(mib * memoryOverhead)) * MIB;
  const storage = storageBytes(instance, config, raid0Overhead);
  const networkPods = maxPodsOfNetwork(hardware);
  const wanted = config.maxPods ?? networkPods;
  const pods = config.podsPerCore ? Math.min(wanted, config.podsPerCore * cores) : wanted;
  // EKS images compute the reservation from the network's pod limit, Bottlerocket from its configured maximum.
  const reservedFor = config.dataDevice === undefined ? networkPods : pods;
  const reserved: Record<string, string> = {
    cpu: `${reservedCpuMilli(cores)}m`,
    memory: `${11 * reservedFor + 255}Mi`,
    'ephemeral-storage': '1Gi',
    ...config.kubeReserved,
  };
  const kept = (name: string): number =>
    parseQuantity(own(reserved, name) ?? 0) + parseQuantity(own(config.systemReserved, name) ?? 0);
  const pages = config.hugePages ?? { '2Mi': 0, '1Gi': 0 };
  // Huge pages reduce the available memory.
  const paged = pages['2Mi'] * 2 * MIB + pages['1Gi'] * GIB;
  const free = (name: string, capacity: number, evicted: number): number =>
    Math.max(0, capacity - kept(name) - evicted);

  const offeredMilli = Math.max(0, Math.round(1000 * (cores - kept('cpu'))));
  const evicted = threshold(config.evictionHard['memory.available'], memory, 100 * MIB);
  const offeredMemory = free('memory', memory, evicted + paged);
  const offeredStorage = free(
    'ephemeral-storage',
    storage,
    threshold(config.evictionHard['nodefs.available'], storage, Math.ceil(storage / 10)),
  );
  const common = {
    pods: String(pods),
    'hugepages-1Gi': pages['1Gi'] === 0 ? '0' : `${pages['1Gi']}Gi`,
    'hugepages-2Mi': pages['2Mi'] === 0 ? '0' : `${pages['2Mi'] * 2}Mi`,
  };
  return {
    capacity: {
      cpu: String(cores),
      memory: `${Math.floor(memory / 1024)}Ki`,
      'ephemeral-storage': `${Math.floor(storage / 1024)}Ki`,
      ...common,
    },
    allocatable: {
      cpu: offeredMilli % 1000 === 0 ? String(offeredMilli / 1000) : `${offeredMilli}m`,
      memory: `${Math.floor(offeredMemory / 1024)}Ki`,
      'ephemeral-storage': formatQuantity(Math.floor(offeredStorage)),
      ...common,
    },
  };
}

/** DaemonSet of the driver's chart. */
const DRIVER = { name: 'ebs-csi-node', namespace: 'kube-system' };

/** Returns the limit of the driver's own flags, otherwise the limit of the machine. */
export async function volumeLimitOf(client: ObjectClient, instance: LocalInstance): Promise<number> {
  const driver = await client.find(DAEMON_SET, DRIVER);
  const flags = options(
    driver?.spec.template.spec.containers.flatMap(({ args = [] }: RunContainer) => [...args]) ?? [],
  );
  const fixed = wholeNumber(flags.get('volume-attach-limit'));
  if (fixed !== undefined && fixed >= 0) return fixed;
  const reserved = wholeNumber(flags.get('reserved-volume-attachments')) ?? -1;
  const own = reserved < 0 ? Math.max(1, instance.volumes.length) : reserved;
  return Math.max(1, attachmentsOf(instance) - own);
}

/** Limits of machines without Nitro, and of Nitro machines with unknown hardware. */
const XEN_ATTACHMENTS = 39;
const DEFAULT_ATTACHMENTS = 27;

/** Returns the attachments that remain for volumes when the driver starts, while the machine has at most two interfaces. */
function attachmentsOf({ hardware, interfaces }: LocalInstance): number {
  const { EbsInfo, Hypervisor, InstanceType = '', NetworkInfo } = hardware;
  if (Hypervisor === 'xen') return XEN_ATTACHMENTS;
  const most = EbsInfo?.MaximumEbsAttachments ?? DEFAULT_ATTACHMENTS;
  if (EbsInfo?.AttachmentLimitType !== 'shared' || /\.metal-\d+xl$/.test(InstanceType)) return most;
  const attached = Math.max(interfaces.length, Math.min(2, NetworkInfo?.MaximumNetworkInterfaces ?? 1));
  return most - (attached - 1);
}
