/** NodeOverlays in force, and a cloud provider that applies them. */

import { LRUCache } from 'lru-cache';
import { type KubeObject, type NodeClaim, type NodeOverlay, type NodePool, poolNameOf } from '#api/objects';
import type { AdjustTypes, CloudProvider } from '#cloud';
import { NO_CHARGES } from '#engine/costs';
import { type InstanceType, type Requirements, sharedTypeList } from '#engine/model';
import { labelsOfPool, overlaidSteps, requiredKeys } from '#engine/solve';
import type { Store } from '#kube/client';
import { defined } from '#lib';
import { inSlices, type Timepiece } from '#lib/clock';

/**
 * Maximum number of cached views of one list of instance types. NodePools with equal values of the labels that overlays require
 * share a view.
 */
const MOST_VIEWS = 1_000;

/**
 * The overlays are not evaluated yet for the instance types of a NodePool. Launches at prices without overlays could be too
 * expensive.
 */
export class OverlaysNotEvaluated extends Error {
  constructor(nodePool: string) {
    super(`node overlays are not evaluated yet for nodepool "${nodePool}"`);
    this.name = 'OverlaysNotEvaluated';
  }
}

export class Overlays {
  readonly #clock: Timepiece;
  #accepted: readonly NodeOverlay[] = [];
  #evaluated: ReadonlySet<string> = new Set();
  #keys: ReadonlySet<string> = new Set();
  /** Values of the labels that overlays require, by NodePool. */
  #labels = new WeakMap<NodePool, Requirements>();
  /** Views by list of instance types, then by the labels that overlays require. NodePools with equal inputs share a view. */
  #seen = new WeakMap<readonly InstanceType[], LRUCache<string, Promise<readonly InstanceType[]>>>();

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Replaces the overlays in force. Returns true if the result changes for any NodePool. */
  replace(accepted: readonly NodeOverlay[], evaluated: ReadonlySet<string>): boolean {
    const same =
      accepted.length === this.#accepted.length &&
      accepted.every((overlay, index) => isSameVersion(overlay, this.#accepted[index])) &&
      evaluated.symmetricDifference(this.#evaluated).size === 0;
    if (same) return false;
    this.#accepted = accepted;
    this.#evaluated = evaluated;
    this.#keys = requiredKeys(accepted);
    this.#labels = new WeakMap();
    this.#seen = new WeakMap();
    return true;
  }

  /** Applies the overlays in force to the instance types of a NodePool. @throws OverlaysNotEvaluated */
  async apply(pool: NodePool, types: readonly InstanceType[]): Promise<readonly InstanceType[]> {
    const { name } = pool.metadata;
    if (!this.#evaluated.has(name)) throw new OverlaysNotEvaluated(name);
    if (this.#accepted.length === 0) return types;
    const byLabels =
      this.#seen.get(types) ?? new LRUCache<string, Promise<readonly InstanceType[]>>({ max: MOST_VIEWS });
    this.#seen.set(types, byLabels);
    const labels = this.#labels.get(pool) ?? labelsOfPool(pool, this.#keys);
    this.#labels.set(pool, labels);
    const seen =
      byLabels.get(labels.identity) ??
      inSlices(overlaidSteps(types, labels, this.#accepted), this.#clock).then(sharedTypeList);
    byLabels.set(labels.identity, seen);
    return seen;
  }
}

const isSameVersion = (a: KubeObject, b: KubeObject | undefined): boolean =>
  a.metadata.uid === b?.metadata.uid && a.metadata.generation === b?.metadata.generation;

/** Returns a cloud provider that applies the overlays in force to its instance types and to the prices of launches. */
export function overlaidCloud(cloud: CloudProvider, overlays: Overlays, pools: Store<NodePool>): CloudProvider {
  const adjustFor = ({ metadata }: NodeClaim): AdjustTypes | undefined => {
    const pool = pools.get({ name: poolNameOf({ metadata }) });
    return pool && ((types) => overlays.apply(pool, types));
  };
  return {
    name: cloud.name,
    nodeClassKinds: cloud.nodeClassKinds,
    repairPolicies: cloud.repairPolicies,
    ...defined({ registrationHooks: cloud.registrationHooks }),
    commitments: () => cloud.commitments?.() ?? [],
    ...(cloud.charges && { charges: (pool: NodePool) => cloud.charges?.(pool) ?? NO_CHARGES }),
    deviceTemplates: (pool, type) => cloud.deviceTemplates?.(pool, type) ?? [],
    instanceTypes: async (pool) => overlays.apply(pool, await cloud.instanceTypes(pool)),
    create: (claim, adjust) => {
      const overlaid = adjustFor(claim);
      return cloud.create(
        claim,
        overlaid && adjust ? async (types) => adjust(await overlaid(types)) : (overlaid ?? adjust),
      );
    },
    typeTerms: (pool, type) => cloud.typeTerms?.(pool, type),
    launchAnswer: (claim) => cloud.launchAnswer?.(claim),
    reboot: (claim) => cloud.reboot(claim),
    delete: (claim) => cloud.delete(claim),
    get: (providerId) => cloud.get(providerId),
    list: () => cloud.list(),
    isDrifted: (claim) => cloud.isDrifted(claim),
  };
}
