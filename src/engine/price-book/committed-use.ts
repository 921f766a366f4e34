/** Computes the commitments that the nodes of a cluster use, and the part that becomes unused if some nodes are removed. */
import type { EngineNode, PoolInput } from '../model.ts';
import type { Commitment } from './commitment.ts';
import { coverGroups, groupsOf, type RunningInstance, usageOf } from './coverage.ts';
import { Ledger } from './ledger.ts';
import { runningInstances } from './running-instances.ts';

interface Covered {
  readonly usdPerHour: number;
  readonly ledger: Ledger;
}

export class CommittedUse {
  readonly #commitments: readonly Commitment[];
  readonly #groups: readonly (readonly RunningInstance[])[];
  /** Position of the group of each on-demand instance. */
  readonly #groupOf = new Map<string, number>();
  readonly #known = new Map<string, Covered>();

  constructor(commitments: readonly Commitment[], instances: readonly RunningInstance[]) {
    this.#commitments = commitments;
    this.#groups = groupsOf(instances);
    for (const [at, group] of this.#groups.entries()) for (const { id } of group) this.#groupOf.set(id, at);
  }

  /** Returns undefined if there are no commitments. Prices are then unchanged. */
  static of(
    commitments: readonly Commitment[] | undefined,
    nodes: readonly EngineNode[],
    pools: readonly PoolInput[],
  ): CommittedUse | undefined {
    if (commitments === undefined || commitments.length === 0) return undefined;
    return new CommittedUse(commitments, runningInstances(nodes, pools));
  }

  /**
   * Returns the part of the price of some nodes that their removal does not save, in USD per hour: the part that commitments
   * cover now and that would become unused. Never negative, so that savings are not overstated.
   */
  lost(providerIds: Iterable<string>): number {
    return Math.max(0, this.#without([]).usdPerHour - this.#without(providerIds).usdPerHour);
  }

  /** Returns the unused commitments after the removal of these nodes. */
  leftWithout(providerIds: Iterable<string>): Ledger {
    return this.#without(providerIds).ledger.copy();
  }

  /** Returns the coverage without some nodes. It depends only on the number of removed nodes in each group. */
  #without(providerIds: Iterable<string>): Covered {
    const gone = new Map<number, number>();
    for (const id of new Set(providerIds)) {
      const group = this.#groupOf.get(id);
      if (group !== undefined) gone.set(group, (gone.get(group) ?? 0) + 1);
    }
    const key = [...gone].sort(([a], [b]) => a - b).join(' ');
    const covered = this.#known.get(key) ?? this.#covered(gone);
    this.#known.set(key, covered);
    return covered;
  }

  #covered(gone: ReadonlyMap<number, number>): Covered {
    const groups = this.#groups.map((group, at) => ({
      usage: usageOf(group[0] as RunningInstance),
      count: group.length - (gone.get(at) ?? 0),
    }));
    const { covered, left } = coverGroups(groups, this.#commitments);
    const usdPerHour = groups.reduce((sum, { usage }, at) => sum + (covered[at] as number) * usage.usdPerHour, 0);
    return { usdPerHour, ledger: new Ledger(this.#commitments, left) };
  }
}
