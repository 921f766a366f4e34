/** Instance types of the region, resolved for each NodeClass. */
import { isDeepStrictEqual } from 'node:util';
import type { EC2Client, InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { type EC2NodeClass, PLACEMENT_GROUP_ID_LABEL, PLACEMENT_GROUP_PARTITION_LABEL } from '#api/objects';
import { amountsOf, type InstanceType, type Requirement, sharedType, type TypeTerms } from '#engine/model';
import { after, type Singleton } from '#kube/reconcilers';
import { defined } from '#lib';
import { type Clock, inSlices, monotonicMs, TtlCache } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { familyOf, isWindows } from '../amis/families.ts';
import { type Kubelet, parseKubelet } from '../kubelet/block.ts';
import type { Reserved } from '../kubelet/expressions.ts';
import type { AwsMetrics } from '../metrics.ts';
import {
  baseEntries,
  expandPartitions,
  type OfferingContext,
  type OfferingEntry,
  reservedEntries,
  type Surveyed,
} from '../offerings/offerings.ts';
import type { UnavailableOfferings } from '../offerings/unavailable.ts';
import type { PlacementGroup, PlacementGroups } from '../placementgroups.ts';
import type { OverlayPrices } from '../pricing/overlay.ts';
import type { PriceBookFile } from '../pricing/price-book-file.ts';
import type { Pricing } from '../pricing/pricing.ts';
import type { Reservations } from '../reservations/reservations.ts';
import type { SpotRisk } from '../spot-risk/spot-risk.ts';
import { type Zone, zonesOf } from '../subnets/zones.ts';
import type { ShiftedZones } from '../zonalshift/zonalshift.ts';
import { capacityKey, classKey, offeringKey } from './class-keys.ts';
import { canLaunch } from './compatibility.ts';
import { cpuCreditsOf } from './cpu-credits.ts';
import { Densities } from './densities.ts';
import { confirmTypes, fetchTypes, fetchZones } from './discovery.ts';
import { typeRequirements } from './labels.ts';
import { NodeCapacities } from './node-capacities.ts';
import type { CapacityReport } from './stored-capacities.ts';
import { TypeLists, UNUSED_MS } from './type-lists.ts';
import { typeTerms } from './type-terms.ts';

const REFRESH_MS = 12 * 3_600_000;
const MIB = 2 ** 20;

const NO_INFO: InstanceTypeInfo = {};

/** An instance type without offerings. */
type Resolved = InstanceType;

/** Context for the listing of a NodeClass's types. */
interface View {
  readonly nodeClass: EC2NodeClass;
  readonly group: PlacementGroup | undefined;
  readonly zones: readonly Zone[];
}

interface InstanceTypesOptions {
  readonly ec2: EC2Client;
  readonly region: string;
  readonly memoryOverheadPercent: number;
  readonly reservedEnis: number;
  /** Expected part of the requested CPU that pods use. Default: 0, so that surplus CPU credits do not count. */
  readonly cpuUtilization?: number;
  readonly reservedCapacity: boolean;
  /** True if kubelet settings may be expressions. */
  readonly nodeClassCel: boolean;
  readonly pricing: Pricing;
  /** If undefined, AWS's list prices apply. */
  readonly priceBook?: Pick<PriceBookFile, 'version' | 'discounted'>;
  readonly unavailable: UnavailableOfferings;
  /** If undefined, spot prices include no interruption risk. */
  readonly spotRisk?: Pick<SpotRisk, 'version' | 'sequence' | 'partOf'>;
  readonly reservations: Reservations;
  readonly placementGroups: PlacementGroups;
  readonly shifts: ShiftedZones;
  readonly overlayPrices: OverlayPrices | undefined;
  readonly metrics: AwsMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

export class InstanceTypes {
  /** Capacities that nodes reported. */
  readonly capacities: NodeCapacities;
  readonly #options: InstanceTypesOptions;
  #infos: ReadonlyMap<string, InstanceTypeInfo> = new Map();
  #offeredIn: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  #allZones: readonly string[] = [];
  /** Time of the last refresh, by `monotonicMs`. */
  #refreshedMs = Number.NEGATIVE_INFINITY;
  readonly #resolved: TtlCache<string, { readonly sequence: number; readonly types: readonly Resolved[] }>;
  /** Resolutions in progress, by class key. */
  readonly #resolving = new Map<string, Promise<readonly Resolved[]>>();
  readonly #lists: TypeLists;
  readonly #densities: Densities;

  constructor(options: InstanceTypesOptions) {
    this.#options = options;
    this.#resolved = new TtlCache(options.clock, UNUSED_MS);
    this.#densities = new Densities(options);
    const { unavailable, spotRisk } = options;
    // both sequences only increase, so their sum changes if one of them changes
    this.#lists = new TypeLists(options.clock, (name) => unavailable.sequence(name) + (spotRisk?.sequence(name) ?? 0));
    this.capacities = new NodeCapacities(options.clock);
  }

  /** False until the instance types have been loaded. */
  get loaded(): boolean {
    return this.#infos.size > 0;
  }

  get zones(): readonly string[] {
    return this.#allZones;
  }

  /** Changes if an offering may have changed. */
  get offeringsVersion(): string {
    const { unavailable, spotRisk, shifts } = this.#options;
    unavailable.sweep();
    return [
      unavailable.version,
      spotRisk?.version ?? '',
      this.#pricesVersion,
      this.#refreshedMs,
      ...shifts.active(),
    ].join('/');
  }

  get #pricesVersion(): string {
    const { pricing, priceBook, overlayPrices } = this.#options;
    return [pricing.version, priceBook?.version ?? '', overlayPrices?.version ?? ''].join('/');
  }

  info(name: string): InstanceTypeInfo | undefined {
    return this.#infos.get(name);
  }

  /** Reloads instance types and zones from AWS. If a request fails, the previous data is kept. */
  async refresh(): Promise<void> {
    await Promise.all([this.#refreshTypes(), this.#refreshZones()]);
    this.#refreshedMs = monotonicMs(this.#options.clock);
  }

  /** Milliseconds until the data must be refreshed. The start of the process has already loaded it. */
  get freshForMs(): number {
    return Math.max(0, this.#refreshedMs + REFRESH_MS - monotonicMs(this.#options.clock));
  }

  async #refreshTypes(): Promise<void> {
    const infos = await confirmTypes(this.#infos, () => this.#fetchTypes());
    if (this.loaded && isDeepStrictEqual(infos, this.#infos)) return;
    this.#infos = infos;
    this.#resolved.clear();
    this.#lists.clear();
    this.#options.log.debug('discovered instance types', { count: infos.size });
  }

  /**
   * Keeps the previous data of unusable types. If an unusable type has no name, keeps the previous data of all types
   * that are missing.
   */
  async #fetchTypes(): Promise<ReadonlyMap<string, InstanceTypeInfo>> {
    const { ec2, log } = this.#options;
    const unusable = new Set<unknown>();
    const found = await fetchTypes(ec2, (error, items) => {
      log.error('ignoring invalid instance types', { error });
      for (const item of items) unusable.add((item as Partial<InstanceTypeInfo> | null)?.InstanceType || undefined);
    });
    const isKept = (name: string): boolean => unusable.has(name) || unusable.has(undefined);
    const kept = [...this.#infos].filter(([name]) => isKept(name) && !found.has(name));
    return kept.length === 0 ? found : new Map([...found, ...kept].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  async #refreshZones(): Promise<void> {
    const offeredIn = await confirmTypes(this.#offeredIn, () => fetchZones(this.#options.ec2));
    if (this.#offeredIn.size > 0 && isDeepStrictEqual(offeredIn, this.#offeredIn)) return;
    this.#offeredIn = offeredIn;
    this.#allZones = [...new Set([...offeredIn.values()].flatMap((zones) => [...zones]))].sort();
    this.#resolved.clear();
    this.#lists.clear();
    this.#options.log.debug('discovered offerings for instance types', { 'instance-type-count': offeredIn.size });
    this.#options.log.debug('discovered zones', { zones: this.#allZones });
  }

  /** Records the capacity that a node of a type reported. Returns true if the node is new. */
  recordCapacity(instanceType: string, nodeClass: EC2NodeClass, report: CapacityReport): boolean {
    return this.capacities.add(capacityKey(instanceType, nodeClass), report);
  }

  /**
   * Lists every known type, including types that cannot be launched now.
   * @throws Error if types are not loaded yet, the NodeClass has no subnets, or its kubelet block is invalid
   */
  async list(nodeClass: EC2NodeClass): Promise<readonly InstanceType[]> {
    if (this.#infos.size === 0) throw new Error('no instance types found');
    if (this.#offeredIn.size === 0) throw new Error('no instance types offerings found');
    if ((nodeClass.status?.subnets ?? []).length === 0) throw new Error('no subnets found');
    const group = await this.#options.placementGroups.current(nodeClass);
    const key = classKey(nodeClass);
    const resolved = await this.#resolvedFor(key, nodeClass);
    const zones = zonesOf(nodeClass);
    const shifted = zones.filter(({ id }) => this.#options.shifts.until(id) !== undefined).map(({ id }) => id);
    const scope = `${offeringKey(nodeClass)} ${JSON.stringify([group, shifted])}`;
    const view = { nodeClass, group, zones };
    const reservations = nodeClass.status?.capacityReservations ?? [];
    return this.#lists.of(scope, {
      version: this.offeringsVersion,
      prices: this.#pricesVersion,
      resolved,
      reserved: new Set(reservations.map(({ instanceType }) => instanceType)),
      withOfferings: (type) => this.#withOfferings(type, view),
      withReserved: (type) => this.#withReserved(type, view),
    });
  }

  async #resolvedFor(key: string, nodeClass: EC2NodeClass): Promise<readonly Resolved[]> {
    const known = this.#resolved.get(key);
    if (known?.sequence === this.capacities.sequence) {
      this.#resolved.set(key, known);
      this.#resolved.sweep();
      return known.types;
    }
    const resolving = this.#resolving.get(key) ?? inSlices(this.#resolutionSteps(key, nodeClass), this.#options.clock);
    this.#resolving.set(key, resolving);
    return resolving.finally(() => this.#resolving.delete(key));
  }

  /** Resolves a known type again only if nodes have reported their capacity since. */
  *#resolutionSteps(key: string, nodeClass: EC2NodeClass): Generator<undefined, readonly Resolved[]> {
    const { types: known, sequence: before = 0 } = this.#resolved.get(key) ?? {};
    const [infos, offeredIn] = [this.#infos, this.#offeredIn];
    const { sequence } = this.capacities;
    const kubelet = parseKubelet(nodeClass.spec.kubelet);
    const resolve = (info: InstanceTypeInfo): Resolved => this.#resolve(info, nodeClass, kubelet);
    const isCurrent = (type: Resolved): boolean =>
      this.capacities.changeOf(capacityKey(type.name, nodeClass)) <= before;
    const types: Resolved[] = [];
    for (const item of known ?? infos.values()) {
      if ('name' in item) types.push(isCurrent(item) ? item : resolve(infos.get(item.name) ?? {}));
      else types.push(resolve(item));
      // kubelet expressions may take a millisecond per type
      yield;
    }
    // a refresh during the resolution makes the types outdated
    if (infos === this.#infos && offeredIn === this.#offeredIn) this.#resolved.set(key, { sequence, types });
    return types;
  }

  /**
   * Returns every offering of the NodeClass, with the obstacle that prevents its launch.
   * @throws as `list` does
   */
  async survey(nodeClass: EC2NodeClass): Promise<readonly Surveyed[]> {
    const types = await this.list(nodeClass);
    const group = await this.#options.placementGroups.current(nodeClass);
    return types.map((type) => {
      const info = this.#infos.get(type.name) ?? {};
      const context = this.#offeringContext(info, { nodeClass, group, zones: zonesOf(nodeClass) });
      return { type, entries: [...baseEntries(info, context), ...this.#reservedEntries(info, nodeClass, context)] };
    });
  }

  #reservedEntries(
    info: InstanceTypeInfo,
    { status }: EC2NodeClass,
    context: OfferingContext,
  ): readonly OfferingEntry[] {
    const { reservations, reservedCapacity } = this.#options;
    const selected = reservedCapacity ? (status?.capacityReservations ?? []) : [];
    return reservedEntries(info, selected, (id) => reservations.available(id), context);
  }

  /** Describes the first expression of the NodeClass that has no usable value for an instance type. */
  expressionFailure(nodeClass: EC2NodeClass): Promise<string | undefined> {
    return this.#densities.failure(nodeClass, this.#infos);
  }

  /** Returns the resources that the kubelet reserves on a node of the type, as quantities. */
  reservedFor(nodeClass: EC2NodeClass, name: string): Reserved {
    return this.#densities.of(nodeClass, this.#infos.get(name) ?? NO_INFO).reserved;
  }

  #resolve(info: InstanceTypeInfo, nodeClass: EC2NodeClass, kubelet: Kubelet): Resolved {
    const { metrics, region, reservedCapacity, cpuUtilization = 0 } = this.#options;
    const name = info.InstanceType ?? '';
    const family = familyOf(nodeClass);
    const { capacity, overhead, volumeLimits } = amountsOf(this.#termsOf(info, nodeClass, kubelet));
    const vcpus = info.VCpuInfo?.DefaultVCpus ?? 0;
    const labels = { instance_type: name };
    metrics.instanceTypeCpu.set(name, [{ labels, value: vcpus }]);
    metrics.instanceTypeMemory.set(name, [{ labels, value: (info.MemoryInfo?.SizeInMiB ?? 0) * MIB }]);
    return sharedType({
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
      overhead,
      volumeLimits,
      offerings: [],
      ...defined({ cpuBurst: cpuCreditsOf(info, isWindows(family), cpuUtilization) }),
    });
  }

  #termsOf(info: InstanceTypeInfo, nodeClass: EC2NodeClass, kubelet: Kubelet): TypeTerms {
    const { memoryOverheadPercent, reservedEnis } = this.#options;
    return typeTerms(info, nodeClass, {
      family: familyOf(nodeClass),
      kubelet,
      reservedEnis,
      memoryOverheadPercent,
      ...this.#densities.of(nodeClass, info),
      learned: (predicted) => this.capacities.learned(capacityKey(info.InstanceType ?? '', nodeClass), predicted),
    });
  }

  /** Returns the computation of the amounts of a type. @throws Error if the kubelet block is invalid */
  terms(nodeClass: EC2NodeClass, name: string): TypeTerms | undefined {
    const info = this.#infos.get(name);
    return info && this.#termsOf(info, nodeClass, parseKubelet(nodeClass.spec.kubelet));
  }

  #withOfferings(type: Resolved, view: View): InstanceType {
    const info = this.#infos.get(type.name) ?? {};
    const base = baseEntries(info, this.#offeringContext(info, view)).map(({ offering }) => offering);
    const offerings = expandPartitions(base, view.group);
    const ofGroup = groupRequirements(view.group);
    const requirements = ofGroup.length === 0 ? type.requirements : [...type.requirements, ...ofGroup];
    return sharedType({ ...type, requirements, offerings });
  }

  #withReserved(type: InstanceType, view: View): InstanceType {
    const info = this.#infos.get(type.name) ?? {};
    const reserved = this.#reservedEntries(info, view.nodeClass, this.#offeringContext(info, view));
    if (reserved.length === 0) return type;
    const offerings = expandPartitions(
      reserved.map(({ offering }) => offering),
      view.group,
    );
    return sharedType({ ...type, offerings: [...type.offerings, ...offerings] });
  }

  #offeringContext(info: InstanceTypeInfo, { nodeClass, group, zones }: View): OfferingContext {
    const { pricing, priceBook, unavailable, spotRisk, shifts, overlayPrices } = this.#options;
    return {
      allZones: this.#allZones,
      zones,
      offeredIn: this.#offeredIn.get(info.InstanceType ?? '') ?? new Set(),
      launchable: canLaunch(info, nodeClass, familyOf(nodeClass), group),
      placementGroup: group,
      onDemandPrice: (name) => pricing.onDemandPrice(name),
      spotPrice: (name, zone) => pricing.spotPrice(name, zone),
      discounted: priceBook?.discounted,
      spotRisk: spotRisk && ((name, zone) => spotRisk.partOf(name, zone)),
      overlayPrice: (name) => overlayPrices?.of(name),
      shortage: (offering, subnetIds) => unavailable.shortage(offering, subnetIds),
      shiftedUntil: (zoneId) => shifts.until(zoneId),
    };
  }
}

/** Defines the missing labels explicitly, because an undefined label would match any value. */
const NO_GROUP: readonly Requirement[] = [PLACEMENT_GROUP_ID_LABEL, PLACEMENT_GROUP_PARTITION_LABEL].map((key) => ({
  key,
  operator: 'DoesNotExist',
}));

function groupRequirements(group: PlacementGroup | undefined): readonly Requirement[] {
  if (group === undefined) return NO_GROUP;
  const values = Array.from({ length: group.partitions }, (_, at) => String(at + 1));
  return [
    { key: PLACEMENT_GROUP_ID_LABEL, operator: 'In', values: [group.id] },
    values.length === 0
      ? { key: PLACEMENT_GROUP_PARTITION_LABEL, operator: 'DoesNotExist' }
      : { key: PLACEMENT_GROUP_PARTITION_LABEL, operator: 'In', values },
  ];
}

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
