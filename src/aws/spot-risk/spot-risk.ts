/** Spot risk: the additional cost of spot pools with recent interruptions, and the storage of their history. */

import { ConfigMapDocument, DocumentKeeper, type DocumentOptions, type Kept } from '#kube/reconcilers';
import { type Clock, TtlCache } from '#lib/clock';
import { expectedPart, interruptionsPerHour, type PoolCounts, steppedPart } from './rate.ts';
import { poolKey, type SpotPool, SpotPools } from './spot-pools.ts';

/** Name of the ConfigMap with the history, in the namespace of the operator. */
export const SPOT_RISK_NAME = 'karpenter-spot-risk';

/**
 * Weight of a rebalance recommendation relative to an interruption. If the instance is interrupted later, the
 * interruption counts with the remaining weight.
 */
const RECOMMENDATION = 0.25;
/** Period in which repeated messages about an instance are not counted again. */
const SAME_INSTANCE_MS = 3_600_000;

/** View of a pool for HTTP responses. This format is public. */
export interface SpotPoolView extends SpotPool, PoolCounts {
  /** Expected rate of one instance. */
  readonly interruptionsPerHour: number;
  /** Part of the price that is added for comparisons of prices. */
  readonly addedPart: number;
}

export class SpotRisk implements Kept {
  readonly #weight: number;
  readonly #pools: SpotPools;
  /** Fractions of the price that are added as spot risk, by pool. Contains positive fractions only. */
  #parts: ReadonlyMap<string, number> = new Map();
  /** Number of changes of these fractions for the pools of a type. */
  readonly #sequences = new Map<string, number>();
  #version = 0;
  /** Part of an interruption that has been counted for an instance. */
  readonly #counted: TtlCache<string, number>;

  /** @param weight 0 disables additional costs */
  constructor(weight: number, clock: Clock) {
    this.#weight = weight;
    this.#pools = new SpotPools(clock);
    this.#counted = new TtlCache(clock, SAME_INSTANCE_MS);
  }

  get isOn(): boolean {
    return this.#weight > 0;
  }

  /** Changes if the part of a pool changes. */
  get version(): number {
    return this.#version;
  }

  /** Changes if the part of a pool of the type changes. */
  sequence(instanceType: string): number {
    return this.#sequences.get(instanceType) ?? 0;
  }

  /** Returns the part of the pool's price that is added to the price. */
  partOf(instanceType: string, zone: string): number {
    return this.#parts.size === 0 ? 0 : (this.#parts.get(poolKey({ instanceType, zone })) ?? 0);
  }

  /** Records an interruption or a rebalance recommendation. */
  interrupted(instanceId: string, pool: SpotPool, kind: 'interruption' | 'recommendation'): void {
    const share = kind === 'interruption' ? 1 : RECOMMENDATION;
    const counted = this.#counted.get(instanceId) ?? 0;
    if (!this.isOn || share <= counted) return;
    this.#counted.set(instanceId, share);
    this.#counted.sweep();
    this.#pools.add(pool, { interruptions: share - counted });
    this.refresh();
  }

  /** Records a launch without capacity. */
  capacityError(pool: SpotPool): void {
    if (!this.isOn) return;
    this.#pools.add(pool, { capacityErrors: 1 });
    this.refresh();
  }

  /** Records the running time of instances. */
  ran(pool: SpotPool, instanceHours: number): void {
    this.#pools.add(pool, { instanceHours });
  }

  /** Recomputes the effective parts. */
  refresh(): void {
    const parts = new Map<string, number>();
    const types = new Map<string, string>();
    for (const counts of this.#pools.all()) {
      const key = poolKey(counts);
      const part = steppedPart(expectedPart(counts, this.#weight), this.#parts.get(key) ?? 0);
      if (part > 0) parts.set(key, part);
      types.set(key, counts.instanceType);
    }
    const changed = [...new Set([...parts.keys(), ...this.#parts.keys()])].filter(
      (key) => parts.get(key) !== this.#parts.get(key),
    );
    if (changed.length === 0) return;
    this.#version++;
    for (const key of changed) {
      const type = types.get(key) ?? key.slice(0, key.lastIndexOf('/'));
      this.#sequences.set(type, this.sequence(type) + 1);
    }
    this.#parts = parts;
  }

  get changes(): number {
    return this.#pools.changes;
  }

  get lateChanges(): number {
    return this.#pools.lateChanges;
  }

  texts(): Iterable<string> {
    return this.#pools.texts();
  }

  restore(text: string): void {
    this.#pools.restore(text);
    this.refresh();
  }

  /** Lists the pools with events, highest risk first. */
  views(): readonly SpotPoolView[] {
    return this.#pools
      .all()
      .filter(({ interruptions, capacityErrors }) => interruptions + capacityErrors >= LEAST_SHOWN)
      .map((counts): SpotPoolView => {
        const { instanceType, zone } = counts;
        return {
          instanceType,
          zone,
          interruptions: roundCount(counts.interruptions),
          capacityErrors: roundCount(counts.capacityErrors),
          instanceHours: roundCount(counts.instanceHours),
          interruptionsPerHour: Number(interruptionsPerHour(counts).toFixed(6)),
          addedPart: this.partOf(instanceType, zone),
        };
      })
      .sort((a, b) => b.interruptionsPerHour - a.interruptionsPerHour || (poolKey(a) < poolKey(b) ? -1 : 1));
  }
}

const LEAST_SHOWN = 0.05;
const roundCount = (count: number): number => Number(count.toFixed(2));

/** Keeps the history of spot pools over restarts; undefined if there is no history, or if the namespace is unknown. */
export function spotRiskKeeper(
  { client, log, namespace }: Pick<DocumentOptions, 'client' | 'log'> & { readonly namespace?: string | undefined },
  risk: SpotRisk,
): DocumentKeeper | undefined {
  if (!risk.isOn || !namespace) return undefined;
  const document = new ConfigMapDocument({ client, log, namespace, name: SPOT_RISK_NAME });
  return new DocumentKeeper('spotrisk.memory', risk, document);
}
