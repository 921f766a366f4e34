/** The instance types of the region, as each NodeClass sees them. */
import type { EC2Client, InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '../../api/ec2nodeclass.ts';
import { PLACEMENT_GROUP_ID_LABEL, PLACEMENT_GROUP_PARTITION_LABEL } from '../../api/labels.ts';
import type { InstanceType, Requirement } from '../../engine/model.ts';
import { type Clock, monotonicMs } from '../../kube/clock.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import type { Logger } from '../../observe/logger.ts';
import { familyOf } from '../amis/families.ts';
import { fingerprint, setFingerprint } from '../fingerprint.ts';
import type { AwsMetrics } from '../metrics.ts';
import { factsOf, type Reserved, resolveReserved, withMaxPods } from '../nodeclass/expressions.ts';
import { type Kubelet, parseKubelet } from '../nodeclass/kubelet.ts';
import {
  baseEntries,
  type Entry,
  expandPartitions,
  type OfferingContext,
  reservedEntries,
} from '../offerings/offerings.ts';
import type { UnavailableOfferings } from '../offerings/unavailable.ts';
import type { PlacementGroup, PlacementGroups } from '../placementgroups/placementgroups.ts';
import type { OverlayPrices } from '../pricing/overlay.ts';
import type { Pricing } from '../pricing/pricing.ts';
import type { Reservations } from '../reservations/reservations.ts';
import { TtlCache } from '../ttlcache.ts';
import type { ShiftedZones } from '../zonalshift/zonalshift.ts';
import { capacityOf, estimatedMemory } from './capacity.ts';
import { canLaunch } from './compatibility.ts';
import { fetchTypes, fetchZones } from './discovery.ts';
import { typeRequirements } from './labels.ts';
import { overheadOf } from './overhead.ts';
import { eniLimitedPods, familyPods, podLimit } from './pods.ts';
import { type Zone, zonesOf } from './zones.ts';

const REFRESH_MS = 12 * 3_600_000;
const RESOLVED_TTL_MS = 5 * 60_000;
const OFFERINGS_TTL_MS = 5 * 60_000;
const LISTED_TTL_MS = 1_000;
const DISCOVERED_MEMORY_TTL_MS = 60 * 24 * 3_600_000;
const MIB = 2 ** 20;

type Resolved = Omit<InstanceType, 'offerings'>;

/** An instance type with its offerings, placement group partitions not told apart. */
export interface Surveyed {
  readonly type: InstanceType;
  readonly entries: readonly Entry[];
}

/** A NodeClass while its types are listed. */
interface View {
  readonly nodeClass: EC2NodeClass;
  readonly group: PlacementGroup | undefined;
  readonly zones: readonly Zone[];
  /** Stands for everything of the NodeClass that offerings depend on. */
  readonly scope: string;
}

export interface InstanceTypesOptions {
  readonly ec2: EC2Client;
  readonly region: string;
  readonly memoryOverheadPercent: number;
  readonly reservedEnis: number;
  readonly reservedCapacity: boolean;
  /** Whether kubelet settings may be expressions. */
  readonly nodeClassCel: boolean;
  readonly pricing: Pricing;
  readonly unavailable: UnavailableOfferings;
  readonly reservations: Reservations;
  readonly placementGroups: PlacementGroups;
  readonly shifts: ShiftedZones;
  readonly overlayPrice: OverlayPrices | undefined;
  readonly metrics: AwsMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

export class InstanceTypes {
  readonly #options: InstanceTypesOptions;
  #infos: ReadonlyMap<string, InstanceTypeInfo> = new Map();
  #offeredIn: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  #allZones: readonly string[] = [];
  /** By `monotonicMs`. */
  #refreshedMs = Number.NEGATIVE_INFINITY;
  readonly #resolved: TtlCache<string, readonly Resolved[]>;
  readonly #offerings: TtlCache<string, { sequence: string; type: InstanceType }>;
  readonly #discoveredMemory: TtlCache<string, number>;
  /** For launches that come together. */
  readonly #listed: TtlCache<
    string,
    { version: string; resolved: readonly Resolved[]; types: readonly InstanceType[] }
  >;

  constructor(options: InstanceTypesOptions) {
    this.#options = options;
    this.#resolved = new TtlCache(options.clock, RESOLVED_TTL_MS);
    this.#offerings = new TtlCache(options.clock, OFFERINGS_TTL_MS);
    this.#discoveredMemory = new TtlCache(options.clock, DISCOVERED_MEMORY_TTL_MS);
    this.#listed = new TtlCache(options.clock, LISTED_TTL_MS);
  }

  /** False until AWS has told the types. */
  get loaded(): boolean {
    return this.#infos.size > 0;
  }

  get zones(): readonly string[] {
    return this.#allZones;
  }

  /** Changes whenever some offering may have. */
  get offeringsVersion(): string {
    const { unavailable, pricing, shifts } = this.#options;
    unavailable.sweep();
    return [unavailable.version, pricing.version, this.#refreshedMs, ...shifts.active()].join('/');
  }

  info(name: string): InstanceTypeInfo | undefined {
    return this.#infos.get(name);
  }

  /** Asks AWS for types and zones anew. A failure leaves what is known. */
  async refresh(): Promise<void> {
    await Promise.all([this.#refreshTypes(), this.#refreshZones()]);
    this.#refreshedMs = monotonicMs(this.#options.clock);
  }

  /** Milliseconds until what is known is old; the start of the process has just asked. */
  get freshForMs(): number {
    return Math.max(0, this.#refreshedMs + REFRESH_MS - monotonicMs(this.#options.clock));
  }

  async #refreshTypes(): Promise<void> {
    const infos = await fetchTypes(this.#options.ec2);
    if (this.loaded && fingerprint([...infos]) === fingerprint([...this.#infos])) return;
    this.#infos = infos;
    this.#resolved.clear();
    this.#offerings.clear();
    this.#options.log.debug('discovered instance types', { count: infos.size });
  }

  async #refreshZones(): Promise<void> {
    const offeredIn = await fetchZones(this.#options.ec2);
    const plain = (map: ReadonlyMap<string, ReadonlySet<string>>): unknown =>
      [...map].map(([type, zones]) => [type, [...zones]]);
    if (this.#offeredIn.size > 0 && fingerprint(plain(offeredIn)) === fingerprint(plain(this.#offeredIn))) return;
    this.#offeredIn = offeredIn;
    this.#allZones = [...new Set([...offeredIn.values()].flatMap((zones) => [...zones]))].sort();
    this.#resolved.clear();
    this.#offerings.clear();
    this.#options.log.debug('discovered offerings for instance types', { 'instance-type-count': offeredIn.size });
    this.#options.log.debug('discovered zones', { zones: this.#allZones });
  }

  /** Remembers the least memory that nodes of a type with these images reported, in bytes. True when that is new. */
  discoverMemory(instanceType: string, nodeClass: EC2NodeClass, bytes: number): boolean {
    const key = memoryKey(instanceType, nodeClass);
    const known = this.#discoveredMemory.get(key);
    if (known !== undefined && bytes > known) return false;
    this.#discoveredMemory.set(key, bytes);
    return known === undefined || bytes < known;
  }

  /**
   * Every known type, also those that cannot be bought now.
   * @throws Error when types are not known yet, the NodeClass has no subnets, or its kubelet block is invalid
   */
  async list(nodeClass: EC2NodeClass): Promise<readonly InstanceType[]> {
    if (this.#infos.size === 0) throw new Error('no instance types found');
    if (this.#offeredIn.size === 0) throw new Error('no instance types offerings found');
    if ((nodeClass.status?.subnets ?? []).length === 0) throw new Error('no subnets found');
    const group = await this.#options.placementGroups.current(nodeClass);
    const key = classKey(nodeClass);
    let resolved = this.#resolved.get(key);
    if (resolved === undefined) {
      const kubelet = parseKubelet(nodeClass.spec.kubelet);
      resolved = [...this.#infos.values()].map((info) => this.#resolve(info, nodeClass, kubelet));
      this.#resolved.set(key, resolved);
    }
    const zones = zonesOf(nodeClass);
    const shifted = zones.filter(({ id }) => this.#options.shifts.until(id) !== undefined).map(({ id }) => id);
    const { connectionTracking, cpuOptions } = nodeClass.spec;
    const scope = fingerprint([key, connectionTracking, cpuOptions, group, shifted]);
    const version = this.offeringsVersion;
    const last = this.#listed.get(scope);
    if (last?.version === version && last.resolved === resolved) return last.types;
    this.#offerings.sweep();
    const types = resolved.map((type) => this.#withOfferings(type, { nodeClass, group, zones, scope }));
    this.#listed.sweep();
    // What is left in reservations may change with every launch.
    if ((nodeClass.status?.capacityReservations ?? []).length === 0)
      this.#listed.set(scope, { version, resolved, types });
    return types;
  }

  /** Every offering of the NodeClass with what stands in the way of buying it. @throws as `list` does */
  async survey(nodeClass: EC2NodeClass): Promise<readonly Surveyed[]> {
    const types = await this.list(nodeClass);
    const group = await this.#options.placementGroups.current(nodeClass);
    return types.map((type) => {
      const info = this.#infos.get(type.name) ?? {};
      const context = this.#offeringContext(info, { nodeClass, group, zones: zonesOf(nodeClass) });
      return { type, entries: [...baseEntries(info, context), ...this.#reservedEntries(info, nodeClass, context)] };
    });
  }

  #reservedEntries(info: InstanceTypeInfo, { status }: EC2NodeClass, context: OfferingContext): readonly Entry[] {
    const { reservations, reservedCapacity } = this.#options;
    const selected = reservedCapacity ? (status?.capacityReservations ?? []) : [];
    return reservedEntries(info, selected, (id) => reservations.available(id), context);
  }

  /**
   * How many pods a node of the type holds, and what its kubelet is told to reserve.
   * @throws ExpressionError
   */
  #density(info: InstanceTypeInfo, nodeClass: EC2NodeClass, kubelet: Kubelet): { pods: number; reserved: Reserved } {
    const { reservedEnis, nodeClassCel } = this.#options;
    const limits = { family: familyOf(nodeClass), reservedEnis };
    if (!nodeClassCel) {
      const reserved = resolveReserved(kubelet);
      return { pods: podLimit(info, nodeClass, kubelet, limits), reserved };
    }
    const numeric = withMaxPods(kubelet, factsOf(info, familyPods(info, nodeClass, limits)));
    const pods = podLimit(info, nodeClass, numeric, limits);
    return { pods, reserved: resolveReserved(kubelet, factsOf(info, pods)) };
  }

  /** The first expression of the NodeClass that has no usable value for some type, in words. */
  expressionFailure(nodeClass: EC2NodeClass): string | undefined {
    const kubelet = parseKubelet(nodeClass.spec.kubelet);
    for (const [name, info] of this.#infos)
      try {
        this.#density(info, nodeClass, kubelet);
      } catch (error) {
        return `${(error as Error).message} (instance-type=${name})`;
      }
    return undefined;
  }

  /** What the kubelet of a node of the type is told to reserve by the NodeClass; quantities only. */
  reservedFor(nodeClass: EC2NodeClass, name: string): Reserved {
    return this.#density(this.#infos.get(name) ?? {}, nodeClass, parseKubelet(nodeClass.spec.kubelet)).reserved;
  }

  #resolve(info: InstanceTypeInfo, nodeClass: EC2NodeClass, kubelet: Kubelet): Resolved {
    const { metrics, memoryOverheadPercent, region, reservedCapacity } = this.#options;
    const name = info.InstanceType ?? '';
    const family = familyOf(nodeClass);
    const { pods, reserved } = this.#density(info, nodeClass, kubelet);
    const discoveredMemory = this.#discoveredMemory.get(memoryKey(name, nodeClass));
    const capacity = capacityOf(info, nodeClass, { family, pods, memoryOverheadPercent, discoveredMemory });
    const vcpus = info.VCpuInfo?.DefaultVCpus ?? 0;
    metrics.instanceTypeCpu.set({ instance_type: name }, vcpus);
    metrics.instanceTypeMemory.set({ instance_type: name }, (info.MemoryInfo?.SizeInMiB ?? 0) * MIB);
    return {
      name,
      requirements: typeRequirements(info, {
        region,
        family,
        zones: zonesOf(nodeClass),
        offeredIn: this.#offeredIn.get(name) ?? new Set(),
        reservations: reservedCapacity
          ? (nodeClass.status?.capacityReservations ?? []).filter((each) => each.instanceType === name)
          : [],
      }),
      capacity,
      overhead: overheadOf(
        kubelet,
        {
          vcpus,
          pods: family.eniLimitedMemory ? eniLimitedPods(info, nodeClass, 0) : pods,
          memory: estimatedMemory(info, memoryOverheadPercent),
          ephemeralStorage: capacity['ephemeral-storage'] ?? 0,
        },
        reserved,
      ),
    };
  }

  /** The same object as before where nothing changed, so that what solvers derive from a type stays valid. */
  #withOfferings(type: Resolved, view: View): InstanceType {
    const { pricing, unavailable } = this.#options;
    const info = this.#infos.get(type.name) ?? {};
    const context = this.#offeringContext(info, view);
    const cacheKey = `${type.name}:${view.scope}`;
    // Shortages and prices that changed make what is cached wrong.
    const sequence = `${unavailable.sequence(type.name)}/${pricing.version}`;
    let cached = this.#offerings.get(cacheKey);
    if (cached === undefined || cached.sequence !== sequence) {
      const base = baseEntries(info, context).map(({ offering }) => offering);
      const offerings = expandPartitions(base, view.group);
      const requirements = [...type.requirements, ...groupRequirements(view.group)];
      cached = { sequence, type: { ...type, requirements, offerings } };
      this.#offerings.set(cacheKey, cached);
    }
    const reserved = this.#reservedEntries(info, view.nodeClass, context).map(({ offering }) => offering);
    if (reserved.length === 0) return cached.type;
    return { ...cached.type, offerings: [...cached.type.offerings, ...expandPartitions(reserved, view.group)] };
  }

  #offeringContext(info: InstanceTypeInfo, { nodeClass, group, zones }: Omit<View, 'scope'>): OfferingContext {
    const { pricing, unavailable, shifts, overlayPrice } = this.#options;
    return {
      allZones: this.#allZones,
      zones,
      offeredIn: this.#offeredIn.get(info.InstanceType ?? '') ?? new Set(),
      launchable: canLaunch(info, nodeClass, familyOf(nodeClass), group),
      placementGroup: group,
      onDemandPrice: (name) => pricing.onDemandPrice(name),
      spotPrice: (name, zone) => pricing.spotPrice(name, zone),
      overlayPrice,
      shortage: (offering, subnetIds) => unavailable.shortage(offering, subnetIds),
      shiftedUntil: (zoneId) => shifts.until(zoneId),
    };
  }
}

function groupRequirements(group: PlacementGroup | undefined): readonly Requirement[] {
  if (group === undefined) return [];
  const partitions = Array.from({ length: group.partitions }, (_, at) => String(at + 1));
  return [
    { key: PLACEMENT_GROUP_ID_LABEL, operator: 'In', values: [group.id] },
    ...(partitions.length === 0
      ? []
      : [{ key: PLACEMENT_GROUP_PARTITION_LABEL, operator: 'In' as const, values: partitions }]),
  ];
}

/** Fingerprints of lists of images: a list is asked about once for every instance type. */
const imageSets = new WeakMap<object, string>();

function imageSetOf({ status }: EC2NodeClass): string {
  const images = status?.amis ?? [];
  const known = imageSets.get(images);
  if (known !== undefined) return known;
  const made = setFingerprint(images);
  imageSets.set(images, made);
  return made;
}

const memoryKey = (instanceType: string, nodeClass: EC2NodeClass): string => `${instanceType}:${imageSetOf(nodeClass)}`;

/** What of a NodeClass its instance types depend on. */
const classKey = ({ spec, status, ...nodeClass }: EC2NodeClass): string =>
  fingerprint([
    setFingerprint(status?.amis ?? []),
    setFingerprint(zonesOf({ spec, status: status ?? {}, ...nodeClass })),
    spec.kubelet,
    setFingerprint(spec.blockDeviceMappings),
    (status?.capacityReservations ?? []).map(({ endTime: _, ...reservation }) => reservation),
    setFingerprint(spec.networkInterfaces),
    spec.instanceStorePolicy,
    familyOf({ spec, ...nodeClass }).name,
  ]);

export function instanceTypesController(types: InstanceTypes): Singleton {
  return {
    name: 'providers.instancetype',
    singleton: true,
    async reconcile() {
      if (types.freshForMs === 0) await types.refresh();
      return after(types.freshForMs);
    },
  };
}
