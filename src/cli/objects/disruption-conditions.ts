/** The conditions Drifted and Consolidatable of NodeClaims, as the operator would set them by the objects at hand. */
import { getCondition, isTrue } from '../../api/conditions.ts';
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import { CAPACITY_RESERVATION_ID_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, ZONE_LABEL } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { instanceDriftReason, isImageDrifted, isPlacementGroupDrifted, isStaticallyDrifted } from '../../aws/drift.ts';
import { withConsolidatable } from '../../engine/disruption/candidates/consolidate-after.ts';
import { adopted, lostItsType, poolDrift, TYPE_CHECK_AGE_MS, withDrifted } from '../../engine/drift.ts';
import type { InstanceType } from '../../engine/model.ts';
import type { NodeClasses } from './node-classes.ts';
import type { ReadPool } from './pools.ts';

export interface DriftContext {
  /** By name. */
  readonly pools: ReadonlyMap<string, ReadPool & { readonly instanceTypes: readonly InstanceType[] }>;
  readonly nodeClasses: NodeClasses;
  readonly nowMs: number;
}

/** The operator leaves claims alone that are being deleted, or whose NodePool is not there. */
export function withDisruptionConditions(claim: NodeClaim, context: DriftContext): NodeClaim {
  const pool = context.pools.get(claim.metadata.labels?.[NODEPOOL_LABEL] ?? '');
  if (pool === undefined || claim.metadata.deletionTimestamp !== undefined) return claim;
  const { nowMs, nodeClasses } = context;
  const { nodePool, given, isChanged, instanceTypes } = pool;
  const own = adopted(claim, given);
  const nodeClass = nodeClasses.get(nodePool.spec.template.spec.nodeClassRef.name);
  const isClassGone = nodeClasses.isMissing(nodePool) || nodeClass?.metadata.deletionTimestamp !== undefined;
  const reason = driftOf(own, { nodePool, instanceTypes, nodeClass, isClassGone, nowMs });
  const drifted = withDrifted(own, reason, nowMs);
  // the operator has said whether the claim is consolidatable by the NodePool as it is
  return isChanged && nodePool.spec.replicas === undefined ? withConsolidatable(drifted, nodePool, nowMs) : drifted;
}

interface Wanted {
  readonly nodePool: NodePool;
  readonly instanceTypes: readonly InstanceType[];
  /** Undefined too when the manifests have none at all. */
  readonly nodeClass: EC2NodeClass | undefined;
  readonly isClassGone: boolean;
  readonly nowMs: number;
}

function driftOf(claim: NodeClaim, wanted: Wanted): string | undefined {
  const { nodePool, instanceTypes, nodeClass, isClassGone, nowMs } = wanted;
  if (!isTrue(claim, 'Launched')) return undefined;
  const ofPool = poolDrift(claim, nodePool);
  if (ofPool !== undefined) return ofPool;
  const ageMs = nowMs - Date.parse(claim.metadata.creationTimestamp ?? '');
  // a catalogue that has never known the type does not say that it is gone
  const isKnown = instanceTypes.some(({ name }) => name === claim.metadata.labels?.[INSTANCE_TYPE_LABEL]);
  if (isKnown && ageMs >= TYPE_CHECK_AGE_MS && lostItsType(claim, instanceTypes)) return 'InstanceTypeNotFound';
  const recorded = recordedOfClass(claim);
  if (isClassGone) return undefined;
  return nodeClass?.status === undefined ? recorded : classDrift(claim, nodeClass, instanceTypes, recorded);
}

/** What the operator last found of the claim's NodeClass. */
function recordedOfClass(claim: NodeClaim): string | undefined {
  const condition = getCondition(claim, 'Drifted');
  const isOfPool = ['NodePoolDrifted', 'RequirementsDrifted'].includes(condition?.reason ?? '');
  return condition?.status === 'True' && !isOfPool ? condition.reason : undefined;
}

function classDrift(
  claim: NodeClaim,
  nodeClass: EC2NodeClass,
  types: readonly InstanceType[],
  recorded: string | undefined,
): string | undefined {
  if (isStaticallyDrifted(claim, nodeClass)) return 'NodeClassDrift';
  try {
    if (isImageDrifted(claim, nodeClass, types)) return 'AMIDrift';
  } catch {
    return recorded; // where the operator cannot tell, its last word stands as well
  }
  const { labels = {} } = claim.metadata;
  const { subnets = [], capacityReservations = [] } = nodeClass.status ?? {};
  const reservation = labels[CAPACITY_RESERVATION_ID_LABEL];
  // objects do not show everything that EC2 reports of an instance: a reason that the operator has recorded stands
  return instanceDriftReason({
    securityGroups: recorded === 'SecurityGroupDrift',
    subnet:
      recorded === 'SubnetDrift' || (subnets.length > 0 && subnets.every(({ zone }) => zone !== labels[ZONE_LABEL])),
    reservation:
      recorded === 'CapacityReservationDrift' ||
      (reservation !== undefined && !capacityReservations.some(({ id }) => id === reservation)),
    placementGroup:
      recorded === 'PlacementGroupDrift' ||
      (nodeClass.spec.placementGroupSelector === undefined && isPlacementGroupDrifted(claim, nodeClass, undefined)),
  });
}
