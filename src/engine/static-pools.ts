/** NodePools with `spec.replicas`, whose nodes exist independent of pods. */
import { NODEPOOL_HASH_VERSION, nodePoolHash } from '#api/hashes';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  HOSTNAME_LABEL,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  type NodeClaim,
  type NodePool,
} from '#api/objects';
import { disruptionCost } from './disruption/candidates/disruption-cost.ts';
import { type GangUnit, gangUnits } from './gangs/gang-units.ts';
import { cheapestPrice, compareText, compatibleOfferings, isReserved, requirementsOf } from './instance-types.ts';
import type { EngineSnapshot, InstanceType, PlannedClaim, PoolInput, StateNode } from './model.ts';
import { claimExtras } from './node-extras.ts';
import { SIMULATION_ONLY, templateRequirements } from './node-template.ts';
import { doNotDisrupt, isActive, isOwnedByDaemonSet, isTerminal } from './pods.ts';
import { LOOSE } from './requirements.ts';
import { labelsOf } from './solver/finalise.ts';

/**
 * Returns a claim from the template of the pool, without pods. Its price is the lowest possible price, or 0 if the instance
 * types are unknown.
 */
export function templateClaim(
  nodePool: NodePool,
  { instanceTypes = [], extras }: Partial<Pick<PoolInput, 'instanceTypes' | 'extras'>> = {},
): PlannedClaim {
  const requirements = templateRequirements(nodePool).without(HOSTNAME_LABEL, ...SIMULATION_ONLY);
  const price = Math.min(...instanceTypes.map((type) => cheapestPrice(type, requirements)));
  return {
    nodePool: nodePool.metadata.name,
    pods: [],
    instanceTypes: [],
    requirements: requirements.toApi(),
    requests: {},
    labels: labelsOf(nodePool, requirements),
    annotations: {
      ...nodePool.spec.template.metadata?.annotations,
      [NODEPOOL_HASH_ANNOTATION]: nodePoolHash(nodePool),
      [NODEPOOL_HASH_VERSION_ANNOTATION]: NODEPOOL_HASH_VERSION,
    },
    cheapest: '',
    usdPerHour: Number.isFinite(price) ? price : 0,
    ...(Number.isFinite(price) && claimExtras(extras)),
  };
}

/**
 * Returns the number of NodeClaims of a static NodePool that can be launched now: Infinity if an offering that it allows is
 * available, or else the remaining instances of the capacity reservations that it allows.
 */
export function launchableNodes(nodePool: NodePool, instanceTypes: readonly InstanceType[]): number {
  const requirements = templateRequirements(nodePool).without(HOSTNAME_LABEL, ...SIMULATION_ONLY);
  const offerings = instanceTypes
    .filter((type) => requirements.compatible(requirementsOf(type), LOOSE))
    .flatMap((type) => compatibleOfferings(type, requirements));
  if (!offerings.every(isReserved)) return Number.POSITIVE_INFINITY;
  const left = new Map(
    offerings.map((offering) => [
      requirementsOf(offering).get(CAPACITY_RESERVATION_ID_LABEL).any(),
      offering.reservationCapacity ?? 0,
    ]),
  );
  return [...left.values()].reduce((sum, instances) => sum + instances, 0);
}

/** NodeClaim of a static NodePool, with its node if it exists. */
export interface StaticClaim {
  readonly claim: NodeClaim;
  readonly stateNode: StateNode | undefined;
}

/**
 * Returns the members to delete if there are too many: members without an instance first, then nodes without pods, then nodes
 * with disruptable pods, by disruption cost. Within nodes without pods, uninitialized nodes come first, because a replacement
 * that does not join must not cost the node that it was to replace. Nodes of running gangs follow, all nodes of a gang together,
 * and last nodes with pods or gangs that stay until they finish.
 */
export function surplus(
  members: readonly StaticClaim[],
  count: number,
  { nowMs, gangGroups }: { readonly nowMs: number; readonly gangGroups?: EngineSnapshot['gangGroups'] },
): readonly StaticClaim[] {
  if (count <= 0) return [];
  const gangs = gangUnits(
    members.flatMap(({ stateNode }) => stateNode ?? []),
    gangGroups,
  );
  const ranked = members.map((member) => {
    const gang = gangs.get(member.stateNode?.providerId ?? '');
    return { member, rank: Math.max(rankOf(member, nowMs), rankOfGang(gang)), cost: costOf(member, nowMs), gang };
  });
  // a gang ends with its first node, so the rest of its nodes have its rank and its cost
  const ofGang = Map.groupBy(ranked, ({ gang }) => gang);
  const wholeOf = ({ gang, rank, cost }: (typeof ranked)[number]): { readonly rank: number; readonly cost: number } => {
    const nodes = gang === undefined ? [] : (ofGang.get(gang) ?? []);
    if (nodes.length === 0) return { rank, cost };
    return {
      rank: Math.max(...nodes.map((each) => each.rank)),
      cost: nodes.reduce((sum, each) => sum + each.cost, 0),
    };
  };
  return ranked
    .map((each) => ({ ...each, ...wholeOf(each), unit: each.gang?.providerIds[0] ?? '' }))
    .sort(
      (a, b) =>
        a.rank - b.rank ||
        a.cost - b.cost ||
        compareText(a.unit, b.unit) ||
        compareText(a.member.claim.metadata.name, b.member.claim.metadata.name),
    )
    .slice(0, count)
    .map(({ member }) => member);
}

/** Returns the rank of a member. Members with a lower rank are deleted first. */
function rankOf({ claim, stateNode }: StaticClaim, nowMs: number): number {
  if (!claim.status?.providerID) return 0;
  const pods = (stateNode?.pods ?? []).filter((pod) => !isTerminal(pod));
  const isProtected = pods.some((pod) => isActive(pod) && doNotDisrupt(pod, nowMs));
  if (isProtected) return 5;
  if (!pods.every(isOwnedByDaemonSet)) return 3;
  return stateNode?.initialized ? 2 : 1;
}

/** Returns the least rank of a node of a running gang. */
function rankOfGang(gang: GangUnit | undefined): number {
  if (gang === undefined) return 0;
  return gang.waitsForEnd ? 5 : 4;
}

function costOf({ claim, stateNode }: StaticClaim, nowMs: number): number {
  return stateNode === undefined ? 0 : disruptionCost(stateNode.pods, claim, nowMs);
}
