/** The NodeOverlays in force, and the cloud as it looks under them. */

import { LRUCache } from 'lru-cache';
import type { KubeObject } from '../../api/kubernetes.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodeOverlay } from '../../api/nodeoverlay.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { poolNameOf } from '../../api/object-fields.ts';
import type { AdjustTypes, CloudProvider } from '../../cloud/provider.ts';
import type { InstanceType } from '../../engine/model.ts';
import { NO_CHARGES } from '../../engine/node-extras.ts';
import { labelsOfPool, requiredKeys } from '../../engine/overlay-matching.ts';
import { overlaidSteps } from '../../engine/overlays.ts';
import type { Requirements } from '../../engine/requirements.ts';
import { sharedTypeList } from '../../engine/shared-types.ts';
import type { Store } from '../../kube/client.ts';
import type { Timepiece } from '../../lib/clock.ts';
import { defined } from '../../lib/defined.ts';
import { inSlices } from '../../lib/yielding.ts';

/** Views of one list of instance types that are kept; more NodePools with labels that overlays require share them. */
const MOST_VIEWS = 1_000;

/** Nobody has looked yet at what overlays make of a NodePool's instance types: buying by prices without them may be dear. */
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
  /** Labels that overlays require. */
  #labels = new WeakMap<NodePool, Requirements>();
  /** By list of types, then by the labels that overlays require: pools that see the same share a list. */
  #seen = new WeakMap<readonly InstanceType[], LRUCache<string, Promise<readonly InstanceType[]>>>();

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Answers whether anything changes for somebody. */
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

  /** The pool's types under the overlays in force. @throws OverlaysNotEvaluated */
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

/** The cloud under the overlays in force: what it offers, and by which prices it launches. */
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
    instanceTypes: async (pool) => overlays.apply(pool, await cloud.instanceTypes(pool)),
    create: (claim) => cloud.create(claim, adjustFor(claim)),
    delete: (claim) => cloud.delete(claim),
    get: (providerId) => cloud.get(providerId),
    list: () => cloud.list(),
    isDrifted: (claim) => cloud.isDrifted(claim),
  };
}
