/** Computes the conditions Drifted and Consolidatable of NodeClaims, as the operator would set them for the given objects. */
import {
  CAPACITY_RESERVATION_ID_LABEL,
  type EC2NodeClass,
  getCondition,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  ZONE_LABEL,
} from '#api/objects';
import { isPlacementGroupDrifted, nodeClassDrift } from '#aws/node-classes';
import { adopted, awaitsMaintenance, type InstanceType, lostItsType, MAINTENANCE_PLANNED } from '#engine/model';
import { judgeClaim } from '#planner';
import type { NodeClasses } from './node-classes.ts';
import type { ReadPool } from './pools.ts';

export interface DriftContext {
  /** NodePools by name. */
  readonly pools: ReadonlyMap<string, ReadPool & { readonly instanceTypes: readonly InstanceType[] }>;
  readonly nodeClasses: NodeClasses;
  readonly node: Node | undefined;
  readonly nowMs: number;
}

/**
 * Returns the NodeClaim with its conditions. Like the operator, does not change a NodeClaim that is being deleted or has no
 * NodePool.
 */
export async function withDisruptionConditions(claim: NodeClaim, context: DriftContext): Promise<NodeClaim> {
  const pool = context.pools.get(claim.metadata.labels?.[NODEPOOL_LABEL] ?? '');
  if (pool === undefined || claim.metadata.deletionTimestamp !== undefined) return claim;
  const { nowMs, nodeClasses } = context;
  const { nodePool, given, isChanged, instanceTypes: types } = pool;
  const own = adopted(claim, given);
  const nodeClass = nodeClasses.get(nodePool.spec.template.spec.nodeClassRef.name);
  const isClassGone = nodeClasses.isMissing(nodePool) || nodeClass?.metadata.deletionTimestamp !== undefined;
  // a catalogue that never contained the type does not show that the type is gone
  const isKnown = types.some(({ name }) => name === own.metadata.labels?.[INSTANCE_TYPE_LABEL]);
  const checks = {
    awaitsMaintenance: awaitsMaintenance(context.node),
    hasLostType: async () => isKnown && lostItsType(own, types),
    nodeClassDrift: async () => (isClassGone ? undefined : driftFromClass(own, nodeClass, types)),
    // for an unchanged NodePool, the operator has set the condition
    isConsolidatableCurrent: !isChanged,
  };
  return (await judgeClaim(own, nodePool, checks, nowMs)).claim;
}

/** Returns the drift reason that the operator last found for the NodeClass. */
function recordedOfClass(claim: NodeClaim): string | undefined {
  const condition = getCondition(claim, 'Drifted');
  const isOther = ['NodePoolDrifted', 'RequirementsDrifted', MAINTENANCE_PLANNED].includes(condition?.reason ?? '');
  return condition?.status === 'True' && !isOther ? condition.reason : undefined;
}

/**
 * Returns the reason why the NodeClaim has drifted from its NodeClass. Objects do not show everything that EC2 reports of an
 * instance, so a reason that the operator has recorded remains valid.
 */
async function driftFromClass(
  claim: NodeClaim,
  nodeClass: EC2NodeClass | undefined,
  types: readonly InstanceType[],
): Promise<string | undefined> {
  const recorded = recordedOfClass(claim);
  if (nodeClass?.status === undefined) return recorded;
  const { labels = {} } = claim.metadata;
  const { subnets = [], capacityReservations = [] } = nodeClass.status;
  const reservation = labels[CAPACITY_RESERVATION_ID_LABEL];
  try {
    return await nodeClassDrift(claim, nodeClass, {
      instanceTypes: async () => types,
      instance: async () => ({
        securityGroups: recorded === 'SecurityGroupDrift',
        subnet:
          recorded === 'SubnetDrift' ||
          (subnets.length > 0 && subnets.every(({ zone }) => zone !== labels[ZONE_LABEL])),
        reservation:
          recorded === 'CapacityReservationDrift' ||
          (reservation !== undefined && !capacityReservations.some(({ id }) => id === reservation)),
        placementGroup:
          recorded === 'PlacementGroupDrift' ||
          (nodeClass.spec.placementGroupSelector === undefined && isPlacementGroupDrifted(claim, nodeClass, undefined)),
      }),
    });
  } catch {
    return recorded; // if the operator cannot decide, it keeps the last reason, too
  }
}
