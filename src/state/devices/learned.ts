/** Learns the devices of new nodes from slices of living nodes. */
import { EFA_DRIVER } from '#api/devices';
import { INSTANCE_TYPE_LABEL, isTrue, NODEPOOL_LABEL, type NodeClaim, type ResourceSlice } from '#api/objects';
import { type DeviceSample, type DriverTemplate, haveSameShape, learnedTemplate } from '#engine/devices';
import type { StateNode } from '#engine/model';
import { sameItems, timeOf } from '#lib';
import type { LearnedTemplate } from './memory.ts';

/** Time for which slices must be unchanged, because a driver may publish them one by one. */
const STABLE_MS = 30_000;
const EFA_RESOURCE = 'vpc.amazonaws.com/efa';
/** Number of samples that are compared. */
const MOST_SAMPLES = 5;

interface Observed {
  readonly slices: readonly ResourceSlice[];
  readonly sinceMs: number;
}

interface Learned {
  readonly samples: readonly (readonly ResourceSlice[])[];
  readonly template: DriverTemplate;
}

/** Templates by NodePool, instance type and driver. */
export type LearnedTemplates = ReadonlyMap<string, ReadonlyMap<string, DriverTemplate>>;

export const learnedKey = (nodePool: string, type: string): string => JSON.stringify([nodePool, type]);

interface LearnOptions {
  /** Time for which slices must be unchanged. */
  readonly stableMs?: number | undefined;
  /** Called once if nodes of a type have different devices of a driver. */
  readonly onOtherShape?: ((driver: string) => void) | undefined;
  /** Returns the hash of the NodeClass at the launch of a NodeClaim. */
  readonly launchHash?: ((claim: NodeClaim) => string | undefined) | undefined;
  readonly onLearned?: ((learned: LearnedTemplate) => void) | undefined;
}

export class LearnedDevices {
  #observed = new Map<string, Observed>();
  #learned = new Map<string, Learned>();
  /** Number of nodes with other devices than the newest node. */
  #others = new Map<string, number>();
  readonly #options: LearnOptions;

  constructor(options: LearnOptions) {
    this.#options = options;
  }

  /** Returns the templates. @param nowMs monotonic */
  current(
    nodes: readonly StateNode[],
    slicesOf: (node: string) => readonly ResourceSlice[],
    nowMs: number,
  ): LearnedTemplates {
    const { stableMs = STABLE_MS } = this.#options;
    const observed = new Map<string, Observed>();
    const samples = new Map<string, Samples>();
    for (const node of nodes) {
      const { [NODEPOOL_LABEL]: nodePool, [INSTANCE_TYPE_LABEL]: type } = node.labels;
      if (nodePool === undefined || type === undefined || !isSample(node)) continue;
      const own = Map.groupBy(slicesOf(node.name), ({ spec }) => spec.driver);
      for (const [driver, slices] of own) {
        const seen = this.#observe(JSON.stringify([node.providerId, driver]), slices, nowMs);
        observed.set(JSON.stringify([node.providerId, driver]), seen);
        if (nowMs - seen.sinceMs < stableMs || !isWhole(node, driver, slices)) continue;
        const key = learnedKey(nodePool, type);
        const id = JSON.stringify([key, driver]);
        const known = samples.get(id) ?? { nodePool, type, driver, all: [] };
        known.all.push({ node, slices: seen.slices });
        samples.set(id, known);
      }
    }
    this.#observed = observed;
    return this.#templates(samples);
  }

  #observe(id: string, slices: readonly ResourceSlice[], nowMs: number): Observed {
    const known = this.#observed.get(id);
    return known !== undefined && sameItems(known.slices, slices) ? known : { slices, sinceMs: nowMs };
  }

  #templates(samples: ReadonlyMap<string, Samples>): LearnedTemplates {
    const learned = new Map<string, Learned>();
    const templates = new Map<string, Map<string, DriverTemplate>>();
    const odd = new Map<string, number>();
    for (const [id, { nodePool, type, driver, all }] of samples) {
      const newest = all.toSorted((a, b) => createdMs(b) - createdMs(a));
      const [first] = newest;
      if (first === undefined) continue;
      const alike = newest.filter((sample) => haveSameShape(sample, first));
      const others = newest.length - alike.length;
      const one = this.#learnedFrom(id, driver, [first, ...alike.slice(1, MOST_SAMPLES)]);
      if (others > (this.#others.get(id) ?? 0)) this.#options.onOtherShape?.(driver);
      if (others > 0) odd.set(id, others);
      learned.set(id, one);
      const nodeClassHash = first.node.nodeClaim && this.#options.launchHash?.(first.node.nodeClaim);
      this.#options.onLearned?.({ nodePool, type, template: one.template, nodeClassHash });
      const key = learnedKey(nodePool, type);
      templates.set(key, (templates.get(key) ?? new Map<string, DriverTemplate>()).set(driver, one.template));
    }
    this.#learned = learned;
    this.#others = odd;
    return templates;
  }

  /** Returns the same template for the same samples, so that it is compiled once. */
  #learnedFrom(id: string, driver: string, samples: readonly [DeviceSample, ...DeviceSample[]]): Learned {
    const known = this.#learned.get(id);
    const slices = samples.map((sample) => sample.slices);
    if (known !== undefined && sameItems(known.samples, slices)) return known;
    return { samples: slices, template: learnedTemplate(driver, samples) };
  }
}

/** Samples of a driver on the nodes of an instance type of a NodePool. */
interface Samples {
  readonly nodePool: string;
  readonly type: string;
  readonly driver: string;
  readonly all: Sampled[];
}

interface Sampled {
  readonly node: StateNode;
  readonly slices: readonly ResourceSlice[];
}

const createdMs = ({ node: { nodeClaim, node } }: Sampled): number =>
  timeOf((nodeClaim ?? node)?.metadata.creationTimestamp) || 0;

const isSample = ({ initialized, markedForDeletion, nodeClaim }: StateNode): boolean =>
  initialized &&
  !markedForDeletion &&
  nodeClaim !== undefined &&
  nodeClaim.metadata.deletionTimestamp === undefined &&
  !isTrue(nodeClaim, 'Drifted');

/** Returns true if all pools of a driver are complete, local to the node, and contain all devices of the node. */
function isWhole(node: StateNode, driver: string, slices: readonly ResourceSlice[]): boolean {
  const isComplete = [...Map.groupBy(slices, ({ spec }) => spec.pool.name).values()].every((pool) => {
    const generation = pool[0]?.spec.pool.generation;
    return pool.every(
      ({ spec }) => spec.pool.generation === generation && spec.pool.resourceSliceCount === pool.length,
    );
  });
  const isLocal = slices.every(({ spec }) => spec.nodeName === node.name);
  if (!isComplete || !isLocal) return false;
  // only attached interfaces are published
  const wanted = driver === EFA_DRIVER ? (node.capacity[EFA_RESOURCE] ?? 0) : 0;
  return slices.reduce((count, { spec }) => count + (spec.devices ?? []).length, 0) >= wanted;
}
