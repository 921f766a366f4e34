/** NodePools with `spec.replicas`: nodes that are there whether or not pods need them. */
import { NODEPOOL_HASH_VERSION, nodePoolHash } from '../api/hash.ts';
import { HOSTNAME_LABEL, NODEPOOL_HASH_ANNOTATION, NODEPOOL_HASH_VERSION_ANNOTATION } from '../api/labels.ts';
import type { NodeClaim } from '../api/nodeclaim.ts';
import type { NodePool } from '../api/nodepool.ts';
import { disruptionCost } from './disruption/candidates/disruption-cost.ts';
import { cheapestPrice, compareText } from './instance-types.ts';
import type { PlannedClaim, PoolInput, StateNode } from './model.ts';
import { extrasUsdPerHour } from './node-extras.ts';
import { doNotDisrupt, isActive, isOwnedByDaemonSet, isTerminal } from './pods.ts';
import { labelsOf } from './solver/finalise.ts';
import { SIMULATION_ONLY, templateRequirements } from './solver/template.ts';

/**
 * A claim as the pool describes it, without regard to any pod. Its price is the least that it can cost, 0 when nothing
 * is known of the instance types.
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
    ...(extras && Number.isFinite(price) && { extrasUsdPerHour: extrasUsdPerHour(extras) }),
  };
}

/** A claim of a static pool, and its machine once there is one. */
export interface StaticClaim {
  readonly claim: NodeClaim;
  readonly stateNode: StateNode | undefined;
}

/**
 * Returns the members to delete if there are too many: members without an instance first, then nodes without pods, then
 * nodes whose pods may be disrupted, in the order of the disruption cost. Of nodes without pods, those that are not
 * initialized go first: a replacement that does not join must not cost the node that it was to replace.
 */
export function surplus(members: readonly StaticClaim[], count: number, nowMs: number): readonly StaticClaim[] {
  if (count <= 0) return [];
  return members
    .map((member) => ({ member, rank: rankOf(member, nowMs), cost: costOf(member, nowMs) }))
    .sort(
      (a, b) =>
        a.rank - b.rank || a.cost - b.cost || compareText(a.member.claim.metadata.name, b.member.claim.metadata.name),
    )
    .slice(0, count)
    .map(({ member }) => member);
}

/** Position among the members to delete; the lowest goes first. */
function rankOf({ claim, stateNode }: StaticClaim, nowMs: number): number {
  if (!claim.status?.providerID) return 0;
  const pods = (stateNode?.pods ?? []).filter((pod) => !isTerminal(pod));
  const isProtected = pods.some((pod) => isActive(pod) && doNotDisrupt(pod, nowMs));
  if (isProtected) return 4;
  if (!pods.every(isOwnedByDaemonSet)) return 3;
  return stateNode?.initialized ? 2 : 1;
}

function costOf({ claim, stateNode }: StaticClaim, nowMs: number): number {
  return stateNode === undefined ? 0 : disruptionCost(stateNode.pods, claim, nowMs);
}
