/** Subnets that a NodeClass selects, with the number of free addresses. */
import { type EC2Client, paginateDescribeSubnets, type Subnet } from '@aws-sdk/client-ec2';
import {
  CAPACITY_TYPE_LABEL,
  type EC2NodeClass,
  type SubnetSelectorTerm,
  type SubnetStatus,
  ZONE_LABEL,
} from '#api/objects';
import { compatibleOfferings, type InstanceType, Requirements } from '#engine/model';
import { defined } from '#lib';
import { type Clock, type Freshness, LoadingCache, TtlCache } from '#lib/clock';
import { pagesOf } from '../pages.ts';
import { tagFilters } from '../tags.ts';

interface AwsFilter {
  readonly Name: string;
  readonly Values: string[];
}

/** Returns the filters of each call: one call per term with tags, and one call for all IDs. */
export function subnetQueries(terms: readonly SubnetSelectorTerm[]): readonly AwsFilter[][] {
  const byTags = terms.filter((term) => term.id === undefined).map((term) => tagFilters(term.tags));
  const ids = terms.flatMap((term) => (term.id === undefined ? [] : [term.id]));
  return ids.length === 0 ? byTags : [...byTags, [{ Name: 'subnet-id', Values: ids }]];
}

/** Subnet for a launch in a zone. */
export interface ZonalSubnet extends SubnetStatus {
  /** Number of free addresses in the last description before the choice. */
  readonly describedIps: number;
  /** Number of addresses that the launch is expected to use. */
  readonly predictedIps: number;
}

/** Subnet with few free addresses. */
export interface ScarceSubnet {
  readonly id: string;
  readonly zone: string;
  readonly free: number;
  readonly total: number;
}

/** Share of free addresses below which a subnet is scarce. */
const SCARCE_SHARE = 0.1;
/** Addresses of each subnet that AWS reserves. */
const RESERVED_ADDRESSES = 5;

/** Returns the number of addresses of a block such as `10.0.0.0/24` that interfaces can have, or undefined without a block. */
function addressesIn(cidr: string | undefined): number | undefined {
  const [, prefix] = /\/(\d+)$/.exec(cidr ?? '') ?? [];
  return prefix === undefined ? undefined : 2 ** (32 - Number(prefix)) - RESERVED_ADDRESSES;
}

/** Returns a text such as `subnet-1 in us-west-2a has 12 of 251 addresses left`. */
export const scarceText = ({ id, zone, free, total }: ScarceSubnet): string =>
  `${id} in ${zone} has ${free} of ${total} addresses left`;

const MIN_IP_TTL_MS = 5 * 60_000;
const IP_TTL_MARGIN_MS = 4 * 60_000;

export class Subnets {
  readonly #ec2: EC2Client;
  /** Subnets by query, so that NodeClasses with the same selectors share requests. */
  readonly #cache: LoadingCache<readonly Subnet[]>;
  readonly #ips: TtlCache<string, number>;
  /** True if instances in this subnet receive a public address by default. */
  readonly #public: TtlCache<string, boolean>;
  /** Number of addresses that interfaces can have. */
  readonly #sizes: TtlCache<string, number>;
  /** Free addresses minus the expected use by launches since the last description. */
  readonly #inFlight = new Map<string, number>();

  constructor(ec2: EC2Client, clock: Clock, refreshMs: number) {
    this.#ec2 = ec2;
    this.#cache = new LoadingCache(clock, refreshMs);
    this.#ips = new TtlCache(clock, Math.max(MIN_IP_TTL_MS, refreshMs + IP_TTL_MARGIN_MS));
    this.#sizes = new TtlCache(clock, Math.max(MIN_IP_TTL_MS, refreshMs + IP_TTL_MARGIN_MS));
    this.#public = new TtlCache(clock, Math.max(MIN_IP_TTL_MS, refreshMs + IP_TTL_MARGIN_MS));
  }

  /** Returns the subnets in the order of the NodeClass status: by most free addresses, then by ID. */
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
      const size = addressesIn(subnet.CidrBlock);
      if (size !== undefined) this.#sizes.set(id, size);
      this.#public.set(id, subnet.MapPublicIpOnLaunch ?? false);
    }
    return [...found.values()];
  }

  /** Returns the share of the NodeClass's subnets that are known to assign public addresses by default. */
  publicShare({ status }: EC2NodeClass): number {
    const subnets = status?.subnets ?? [];
    const open = subnets.filter(({ id }) => this.#public.get(id) === true).length;
    return subnets.length === 0 ? 0 : open / subnets.length;
  }

  /** Returns the subnets with less than a tenth of their addresses free, in the order of `subnets`. */
  scarce(subnets: readonly SubnetStatus[]): readonly ScarceSubnet[] {
    return subnets.flatMap(({ id, zone }) => {
      const total = this.#sizes.get(id);
      const free = Math.max(0, this.#free(id));
      return total !== undefined && free < total * SCARCE_SHARE ? [{ id, zone, free, total }] : [];
    });
  }

  #free(id: string): number {
    return this.#inFlight.get(id) ?? this.#ips.get(id) ?? 0;
  }

  /**
   * Chooses the subnet with the most free addresses in each zone, and reserves the addresses that the launch is
   * expected to use.
   */
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

  /** Releases reserved addresses in subnets that the launch did not use. */
  releaseUnused(requested: readonly ZonalSubnet[], usedIds: ReadonlySet<string>): void {
    for (const { id, describedIps, predictedIps } of requested) {
      const reserved = this.#inFlight.get(id);
      // A new description since the choice has already removed the reservation.
      if (usedIds.has(id) || reserved === undefined || this.#ips.get(id) !== describedIps) continue;
      this.#inFlight.set(id, reserved + predictedIps);
    }
  }

  /** Records that AWS found no free address in the subnet. */
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
