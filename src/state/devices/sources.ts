/**
 * Devices of new nodes by instance type, from several sources. For each driver, one source decides: declared by users, learned
 * from living nodes, or static tables of the provider. Without a source, the nodes have no devices of the driver.
 */
import { LRUCache } from 'lru-cache';
import type { NodeClaim, NodePool, ResourceSlice } from '#api/objects';
import { combinedTemplates, type DeviceTemplates, type DriverTemplate, type SuspendedDriver } from '#engine/devices';
import type { InstanceType, PoolInput } from '#engine/model';
import type { Store } from '#kube/client';
import { sameItems } from '#lib';
import { monotonicMs, type Timepiece } from '#lib/clock';
import type { ClusterState } from '../cluster.ts';
import { type Declarations, declaredFor } from './declared.ts';
import { LearnedDevices, type LearnedTemplates, learnedKey } from './learned.ts';
import type { LearnedTemplate, TemplateMemory } from './memory.ts';
import { DeviceSuspensions } from './suspensions.ts';

interface SourceParts {
  readonly cluster: Pick<ClusterState, 'nodes'>;
  /** Static tables of the provider. */
  readonly cloud: { deviceTemplates?(nodePool: NodePool, type: InstanceType): readonly DriverTemplate[] };
  readonly clock: Timepiece;
  readonly slices: Pick<Store<ResourceSlice>, 'list'>;
  readonly declared: { current(): Promise<Declarations> };
  /** Called if nodes of a type have different devices of a driver. */
  readonly onOtherShape?: (driver: string) => void;
  readonly memory?: TemplateMemory;
  /** Returns the hash of the NodeClass of a NodePool, or undefined if it is unknown. */
  readonly nodeClassHash?: (nodePool: NodePool) => string | undefined;
  /** Returns the hash of the NodeClass at the launch of a NodeClaim, or undefined if it is unknown. */
  readonly launchHash?: (claim: NodeClaim) => string | undefined;
  /** Time for which slices must be unchanged before they are learned. Default: 30 seconds. */
  readonly stableMs?: number;
}

interface Given {
  readonly parts: readonly unknown[];
  readonly templates: ReadonlyMap<string, DeviceTemplates>;
  /** Number of types by driver and source. */
  readonly counts: readonly SourceCount[];
}

/** Knowledge of the devices of a NodePool. */
interface Known {
  readonly declarations: Declarations;
  readonly learned: LearnedTemplates;
  /** Hash of the NodeClass, or undefined if it is unknown. */
  readonly hash: string | undefined;
}

/** Number of instance types of a NodePool with devices of a driver from this source. */
export interface SourceCount {
  readonly driver: string;
  readonly source: string;
  readonly types: number;
}

/** Templates of several drivers, and suspended drivers. */
interface Combined {
  readonly parts: readonly object[];
  readonly all: DeviceTemplates;
}

/** Maximum number of NodePools with known templates, including deleted ones. */
const MOST_POOLS = 1_000;
/** Maximum number of combinations that are kept for the template of one driver. */
const MOST_COMBINED = 8;

export class DeviceSources {
  readonly suspensions: DeviceSuspensions;
  readonly #parts: SourceParts;
  readonly #learned: LearnedDevices;
  readonly #given = new LRUCache<string, Given>({ max: MOST_POOLS });
  readonly #combined = new WeakMap<object, Combined[]>();

  constructor(parts: SourceParts) {
    this.#parts = parts;
    const { memory, onOtherShape, launchHash, stableMs } = parts;
    const onLearned = (learned: LearnedTemplate): void => memory?.remember(learned);
    this.#learned = new LearnedDevices({ stableMs, onOtherShape, launchHash, onLearned });
    this.suspensions = new DeviceSuspensions(parts.clock);
  }

  /** Returns the devices of new nodes of a type, as in the last solve. */
  promised(nodePool: string, type: string): DeviceTemplates | undefined {
    return this.#given.get(nodePool)?.templates.get(type);
  }

  /** Returns the sources of the devices of a NodePool, as in the last solve. */
  counts(nodePool: string): readonly SourceCount[] {
    return this.#given.get(nodePool)?.counts ?? [];
  }

  /** Returns the devices of new nodes of a NodePool. Returns the same object until they change. */
  async forPool(nodePool: NodePool, types: readonly InstanceType[]): Promise<Pick<PoolInput, 'deviceTemplates'>> {
    const declarations = await this.#parts.declared.current();
    const known = { declarations, learned: this.#learnedNow(), hash: this.#parts.nodeClassHash?.(nodePool) };
    const { name } = nodePool.metadata;
    const used: DriverTemplate[] = [];
    const found = types.flatMap((type) => {
      const all = this.#driversOf(nodePool, type, known);
      const place = { nodePool: name, type: type.name };
      const suspended = all.flatMap(({ driver }) => this.suspensions.of({ ...place, driver }) ?? []);
      used.push(...all.filter(({ driver }) => suspended.every((each) => each.driver !== driver)));
      return all.length === 0 ? [] : [[type.name, this.#combine(all, suspended)] as const];
    });
    const parts = found.flat();
    const given = this.#given.get(name);
    if (given !== undefined && sameItems(given.parts, parts)) return { deviceTemplates: given.templates };
    const templates = new Map(found);
    this.#given.set(name, { parts, templates, counts: countsOf(used) });
    return { deviceTemplates: templates };
  }

  #learnedNow(): LearnedTemplates {
    const { cluster, clock, slices } = this.#parts;
    const byNode = Map.groupBy(slices.list(), ({ spec }) => spec.nodeName ?? '');
    return this.#learned.current(cluster.nodes(), (node) => byNode.get(node) ?? [], monotonicMs(clock));
  }

  /** Returns one template per driver, sorted by driver. */
  #driversOf(
    nodePool: NodePool,
    type: InstanceType,
    { declarations, learned, hash }: Known,
  ): readonly DriverTemplate[] {
    const { cloud, memory } = this.#parts;
    const { name } = nodePool.metadata;
    const byDriver = new Map<string, DriverTemplate>();
    for (const template of cloud.deviceTemplates?.(nodePool, type) ?? []) byDriver.set(template.driver, template);
    // devices of types without nodes
    for (const template of memory?.of(name, type.name, hash) ?? []) byDriver.set(template.driver, template);
    for (const [driver, template] of learned.get(learnedKey(name, type.name)) ?? []) byDriver.set(driver, template);
    for (const [driver, template] of declaredFor(declarations, nodePool, type)) byDriver.set(driver, template);
    return [...byDriver.values()]
      .filter(({ pools }) => pools.length > 0)
      .sort((a, b) => (a.driver < b.driver ? -1 : 1));
  }

  /** Returns the same object for the same templates, so that it is compiled once. */
  #combine(drivers: readonly DriverTemplate[], suspended: readonly SuspendedDriver[]): DeviceTemplates {
    const parts = [...drivers, ...suspended];
    const first = parts[0] as DriverTemplate | SuspendedDriver;
    const known = this.#combined.get(first) ?? [];
    const same = known.find((each) => sameItems(each.parts, parts));
    if (same !== undefined) return same.all;
    const all = { ...combinedTemplates(drivers), ...(suspended.length > 0 && { suspended }) };
    this.#combined.set(first, [...known, { parts, all }].slice(-MOST_COMBINED));
    return all;
  }
}

function countsOf(used: readonly DriverTemplate[]): readonly SourceCount[] {
  const groups = Map.groupBy(used, ({ driver, source }) => JSON.stringify([driver, kindOf(source)]));
  return [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [{ driver: first.driver, source: kindOf(first.source), types: others.length + 1 }],
  );
}

/** Returns the kind of a source. The sources of declarations contain the name of a document. */
const kindOf = (source: string): string => (source === 'learned' || source === 'static' ? source : 'declared');
