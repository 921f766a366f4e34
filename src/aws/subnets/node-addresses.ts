/** Addresses that nodes take from their subnets when they start, by the settings of the CNI plugin. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { DAEMON_SET, type EC2NodeClass } from '#api/objects';
import { type AddressNeeds, amountIn, type InstanceType } from '#engine/model';
import type { KubeClient } from '#kube/client';
import { remembering } from '#lib';
import { type Clock, TtlCache } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { defaultCardInterfaces } from '../kubelet/pod-limit.ts';

/** Settings of the Amazon VPC CNI plugin. */
export interface CniSettings {
  /** True if pods get addresses of /28 prefixes. */
  readonly prefixes: boolean;
  readonly warmInterfaces: number;
  readonly warmPrefixes: number;
  /** Number of addresses that are free in addition to those of pods. Replaces the two settings above. */
  readonly warmAddresses?: number;
  readonly leastAddresses?: number;
}

/** DaemonSet of the plugin, whose container has the same name. */
const PLUGIN = { namespace: 'kube-system', name: 'aws-node' } as const;
const PREFIX_SIZE = 16;

interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
}

/** Returns undefined if pods take no addresses of the node's subnet. Defaults are those of the plugin. */
export function cniSettings(environment: readonly EnvironmentVariable[]): CniSettings | undefined {
  const values = new Map(environment.map(({ name, value = '' }) => [name, value]));
  const isOn = (name: string): boolean => values.get(name) === 'true';
  if (isOn('AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG') || isOn('ENABLE_IPv6')) return undefined;
  const count = (name: string): number | undefined => {
    const text = values.get(name) ?? '';
    return /^\d+$/.test(text) ? Number(text) : undefined;
  };
  const [warmAddresses, leastAddresses] = [count('WARM_IP_TARGET'), count('MINIMUM_IP_TARGET')];
  return {
    prefixes: isOn('ENABLE_PREFIX_DELEGATION'),
    warmInterfaces: count('WARM_ENI_TARGET') ?? 1,
    warmPrefixes: count('WARM_PREFIX_TARGET') ?? 1,
    ...(warmAddresses !== undefined && { warmAddresses }),
    ...(leastAddresses !== undefined && { leastAddresses }),
  };
}

/** Returns the addresses that a node with its first pod takes. @param pods maximum number of pods */
export function addressesOfNode(info: InstanceTypeInfo, pods: number, cni: CniSettings | undefined): number {
  const slots = (info.NetworkInfo?.Ipv4AddressesPerInterface ?? 0) - 1;
  if (cni === undefined || slots < 1) return 1;
  const interfaces = Math.max(1, defaultCardInterfaces(info));
  const most = Math.max(1, pods);
  const { warmAddresses, leastAddresses, warmInterfaces, warmPrefixes } = cni;
  const isByAddress = warmAddresses !== undefined || leastAddresses !== undefined;
  const wanted = Math.min(Math.max((warmAddresses ?? 0) + 1, leastAddresses ?? 0), most);
  const withInterfaces = (used: number): number => Math.ceil(Math.min(used, slots * interfaces) / slots);
  if (cni.prefixes && info.Hypervisor !== 'xen') {
    const prefixes = isByAddress ? Math.ceil(wanted / PREFIX_SIZE) : 1 + warmPrefixes;
    const taken = Math.min(prefixes, Math.ceil(most / PREFIX_SIZE), slots * interfaces);
    return taken * PREFIX_SIZE + withInterfaces(taken);
  }
  if (!isByAddress) return Math.min(1 + warmInterfaces, interfaces) * (slots + 1);
  return Math.min(wanted, slots * interfaces) + withInterfaces(wanted);
}

interface NodeAddressesOptions {
  readonly client: Pick<KubeClient, 'find'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly infoOf: (instanceType: string) => InstanceTypeInfo | undefined;
}

const REFRESH_MS = 5 * 60_000;

export class NodeAddresses {
  readonly #options: NodeAddressesOptions;
  /** Contains one entry while the settings are current. */
  readonly #fresh: TtlCache<'settings', true>;
  /** Undefined until the DaemonSets could be read. */
  #settings: { readonly cni: CniSettings | undefined; readonly id: string } | undefined;

  constructor(options: NodeAddressesOptions) {
    this.#options = options;
    this.#fresh = new TtlCache(options.clock, REFRESH_MS);
  }

  /** Reads the settings of the plugin. If they cannot be read, the known settings are kept. */
  async refresh(): Promise<void> {
    if (this.#fresh.has('settings')) return;
    this.#fresh.set('settings', true);
    try {
      const plugin = await this.#options.client.find(DAEMON_SET, PLUGIN);
      const container = plugin?.spec.template.spec.containers.find(({ name }) => name === PLUGIN.name);
      // the API server returns more fields than the operator keeps
      const { env = [] } = (container ?? {}) as { readonly env?: readonly EnvironmentVariable[] };
      const cni = plugin === undefined ? undefined : cniSettings(env);
      const id = JSON.stringify(cni) ?? 'node';
      if (id !== this.#settings?.id) this.#settings = { cni, id };
    } catch (error) {
      this.#options.log.debug('cannot read the settings of the CNI plugin', { error });
    }
  }

  /** Returns undefined until the settings could be read. */
  of({ spec }: EC2NodeClass, types: readonly InstanceType[]): AddressNeeds | undefined {
    if (this.#settings === undefined) return undefined;
    const { cni, id } = this.#settings;
    const { ipPrefixCount = 0 } = spec;
    const key = `${id} ${ipPrefixCount}`;
    const known = this.#needsOf(types);
    const needs = known.get(key) ?? {
      id: key,
      byType: new Map(
        types.map(({ name, capacity }) => {
          const addresses = addressesOfNode(this.#options.infoOf(name) ?? {}, amountIn(capacity, 'pods'), cni);
          return [name, Math.max(addresses, ipPrefixCount * PREFIX_SIZE + 1)];
        }),
      ),
    };
    if (!known.has(key)) known.clear();
    known.set(key, needs);
    return needs;
  }

  readonly #needsOf = remembering((_types: readonly InstanceType[]): Map<string, AddressNeeds> => new Map());
}
