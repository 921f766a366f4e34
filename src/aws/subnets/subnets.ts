/** The subnets that a NodeClass selects, and how many addresses each has left. */
import { type EC2Client, paginateDescribeSubnets, type Subnet } from '@aws-sdk/client-ec2';
import type { EC2NodeClass, SubnetSelectorTerm, SubnetStatus } from '../../api/ec2-nodeclass.ts';
import { CAPACITY_TYPE_LABEL, ZONE_LABEL } from '../../api/labels.ts';
import { compatibleOfferings } from '../../engine/instance-types.ts';
import type { InstanceType } from '../../engine/model.ts';
import { Requirements } from '../../engine/requirements.ts';
import type { Clock } from '../../lib/clock.ts';
import { defined } from '../../lib/defined.ts';
import { type Freshness, LoadingCache, TtlCache } from '../../lib/ttl-cache.ts';
import { pagesOf } from '../pages.ts';
import { tagFilters } from '../tags.ts';

interface AwsFilter {
  readonly Name: string;
  readonly Values: string[];
}

/** One set of filters per call: each term with tags, then all ids together. */
export function subnetQueries(terms: readonly SubnetSelectorTerm[]): readonly AwsFilter[][] {
  const byTags = terms.filter((term) => term.id === undefined).map((term) => tagFilters(term.tags));
  const ids = terms.flatMap((term) => (term.id === undefined ? [] : [term.id]));
  return ids.length === 0 ? byTags : [...byTags, [{ Name: 'subnet-id', Values: ids }]];
}

/** The subnet chosen for a launch in a zone. */
export interface ZonalSubnet extends SubnetStatus {
  /** Free addresses as last described, at the time of the choice. */
  readonly describedIps: number;
  /** Addresses that the launch is expected to take. */
  readonly predictedIps: number;
}

const MIN_IP_TTL_MS = 5 * 60_000;
const IP_TTL_MARGIN_MS = 4 * 60_000;

export class Subnets {
  readonly #ec2: EC2Client;
  /** Subnets by queries, so that NodeClasses with the same selectors share the requests. */
  readonly #cache: LoadingCache<readonly Subnet[]>;
  readonly #ips: TtlCache<string, number>;
  /** Whether instances in the subnet get a public address by themselves. */
  readonly #public: TtlCache<string, boolean>;
  /** Free addresses less those that launches since the last description are expected to take. */
  readonly #inFlight = new Map<string, number>();

  constructor(ec2: EC2Client, clock: Clock, refreshMs: number) {
    this.#ec2 = ec2;
    this.#cache = new LoadingCache(clock, refreshMs);
    this.#ips = new TtlCache(clock, Math.max(MIN_IP_TTL_MS, refreshMs + IP_TTL_MARGIN_MS));
    this.#public = new TtlCache(clock, Math.max(MIN_IP_TTL_MS, refreshMs + IP_TTL_MARGIN_MS));
  }

  /** As the NodeClass's status lists them: most free addresses first, then by id. */
  async list(nodeClass: EC2NodeClass, { anew = false }: Freshness = {}): Promise<readonly SubnetStatus[]> {
    const queries = subnetQueries(nodeClass.spec.subnetSelectorTerms);
    const key = JSON.stringify(queries);
    if (anew) this.#cache.delete(key);
    const subnets = await this.#cache.get(key, () => this.#describe(queries));
    return [...subnets]
      .sort((a, b) => {
        const ips = (b.AvailableIpAddressCount ?? 0) - (a.AvailableIpAddressCount ?? 0);
        return ips !== 0 ? ips : (a.SubnetId ?? '') < (b.SubnetId ?? '') ? -1 : 1;
      })
      .map((subnet) => ({
        id: subnet.SubnetId ?? '',
        zone: subnet.AvailabilityZone ?? '',
        ...defined({ zoneID: subnet.AvailabilityZoneId }),
      }));
  }

  async #describe(queries: readonly AwsFilter[][]): Promise<readonly Subnet[]> {
    const found = new Map<string, Subnet>();
    await Promise.all(
      queries.map(async (Filters) => {
        for await (const page of pagesOf(
          'DescribeSubnets',
          paginateDescribeSubnets({ client: this.#ec2 }, { Filters, MaxResults: 500 }),
        ))
          for (const subnet of page.Subnets ?? []) found.set(subnet.SubnetId ?? '', subnet);
      }),
    );
    for (const [id, subnet] of found) {
      this.#ips.set(id, subnet.AvailableIpAddressCount ?? 0);
      this.#inFlight.delete(id);
      this.#public.set(id, subnet.MapPublicIpOnLaunch ?? false);
    }
    return [...found.values()];
  }

  /** The part of the NodeClass's subnets of which it is known that instances get a public address in them. */
  publicShare({ status }: EC2NodeClass): number {
    const subnets = status?.subnets ?? [];
    const open = subnets.filter(({ id }) => this.#public.get(id) === true).length;
    return subnets.length === 0 ? 0 : open / subnets.length;
  }

  #free(id: string): number {
    return this.#inFlight.get(id) ?? this.#ips.get(id) ?? 0;
  }

  /** Picks the subnet with the most free addresses in each zone and reserves what the launch is expected to take. */
  chooseForLaunch(
    nodeClass: EC2NodeClass,
    types: readonly InstanceType[],
    capacityType: string,
  ): ReadonlyMap<string, ZonalSubnet> {
    const chosen = new Map<string, SubnetStatus>();
    for (const subnet of nodeClass.status?.subnets ?? []) {
      const current = chosen.get(subnet.zone);
      if (current === undefined || this.#free(subnet.id) > this.#free(current.id)) chosen.set(subnet.zone, subnet);
    }
    const result = new Map<string, ZonalSubnet>();
    for (const [zone, subnet] of chosen) {
      const predictedIps = leastPods(types, capacityType, zone);
      result.set(zone, { ...subnet, describedIps: this.#ips.get(subnet.id) ?? 0, predictedIps });
      this.#inFlight.set(subnet.id, this.#free(subnet.id) - predictedIps);
    }
    return result;
  }

  /** Gives back what was reserved in subnets that the launch did not use. */
  releaseUnused(requested: readonly ZonalSubnet[], usedIds: ReadonlySet<string>): void {
    for (const { id, describedIps, predictedIps } of requested) {
      const reserved = this.#inFlight.get(id);
      // Described anew since the choice: the reservation is gone already.
      if (usedIds.has(id) || reserved === undefined || this.#ips.get(id) !== describedIps) continue;
      this.#inFlight.set(id, reserved + predictedIps);
    }
  }

  /** AWS found no free address in the subnet. */
  exhausted(id: string): void {
    this.#ips.set(id, 0);
    this.#inFlight.delete(id);
  }
}

function leastPods(types: readonly InstanceType[], capacityType: string, zone: string): number {
  const wanted = Requirements.fromLabels({ [CAPACITY_TYPE_LABEL]: capacityType, [ZONE_LABEL]: zone });
  const pods = types
    .filter((type) => compatibleOfferings(type, wanted).length > 0)
    .map((type) => type.capacity.pods ?? 0);
  return pods.length === 0 ? 0 : Math.min(...pods);
}
