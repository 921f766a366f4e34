/**
 * Adopts instances that an earlier process launched but did not record before it ended. Tags do not identify the
 * NodeClaim of an instance, because one fleet launches instances for many NodeClaims. A NodeClaim therefore adopts an
 * instance without an owner if its own launch could have returned that instance.
 */

import {
  CAPACITY_TYPE_LABEL,
  EC2_NODECLASS_LABEL,
  NODEPOOL_LABEL,
  type NodeClaim,
  poolNameOf,
  ZONE_LABEL,
} from '#api/objects';
import { allocatable, fits, type InstanceType, LOOSE, Requirements, requirementsOf, resourcesOf } from '#engine/model';
import { messageOf, timeOf } from '#lib';
import { type Instance, isTerminating } from './instance.ts';

export const creationMsOf = (claim: NodeClaim): number => timeOf(claim.metadata.creationTimestamp) || 0;

/**
 * Returns true if a launch of the NodeClaim could have returned the instance. Launch times and creation times are
 * whole seconds.
 */
export function couldHaveBought(claim: NodeClaim, instance: Instance, types: readonly InstanceType[]): boolean {
  if (isTerminating(instance) || instance.launchedMs < creationMsOf(claim)) return false;
  if (instance.tags[NODEPOOL_LABEL] !== poolNameOf(claim)) return false;
  if (instance.tags[EC2_NODECLASS_LABEL] !== claim.spec.nodeClassRef.name) return false;
  const type = types.find((each) => each.name === instance.type);
  if (type === undefined) return false;
  const requirements = Requirements.fromRequirements(claim.spec.requirements);
  const bought = Requirements.fromLabels({
    [CAPACITY_TYPE_LABEL]: instance.capacityType,
    [ZONE_LABEL]: instance.zone,
  });
  return (
    requirements.compatible(requirementsOf(type), LOOSE) &&
    requirements.compatible(bought, LOOSE) &&
    fits(resourcesOf(claim.spec.resources?.requests), allocatable(type))
  );
}

/** Instances that had no owner when this process began to launch instances. */
export class Orphans {
  readonly #list: () => Promise<readonly Instance[]>;
  readonly #owned: () => ReadonlySet<string>;
  #found: Promise<Map<string, Instance>> | undefined;

  /**
   * @param owned returns the IDs of instances that belong to a NodeClaim, even if its status does not contain the ID
   * yet
   */
  constructor(list: () => Promise<readonly Instance[]>, owned: () => ReadonlySet<string>) {
    this.#list = list;
    this.#owned = owned;
  }

  /**
   * Removes and returns the oldest instance that the NodeClaim can adopt. The list is read once, before the first
   * launch of this process, so that it contains no instance of this process.
   */
  async take(claim: NodeClaim, types: readonly InstanceType[]): Promise<Instance | undefined> {
    this.#found ??= this.#load();
    let found: Map<string, Instance>;
    try {
      found = await this.#found;
    } catch (error) {
      this.#found = undefined;
      throw new Error(`listing instances of an earlier process, ${messageOf(error)}`, { cause: error });
    }
    const owned = this.#owned();
    const [oldest] = [...found.values()]
      .filter((instance) => !owned.has(instance.id) && couldHaveBought(claim, instance, types))
      .sort((a, b) => a.launchedMs - b.launchedMs);
    if (oldest !== undefined) found.delete(oldest.id);
    return oldest;
  }

  async #load(): Promise<Map<string, Instance>> {
    const owned = this.#owned();
    const instances = await this.#list();
    return new Map(instances.filter(({ id }) => !owned.has(id)).map((instance) => [instance.id, instance]));
  }
}
