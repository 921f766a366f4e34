/** Adds causes to the refusals of a plan. */
import type { EnginePod } from '../input.ts';
import type { EngineSnapshot, InstanceType, PlannedClaim, PodRefusal } from '../model.ts';
import { placementRequests } from '../placement-requests.ts';
import { podKey } from '../pods.ts';
import { addResources, maxResources } from '../resources.ts';
import { nodePoolUsage } from '../solver/limits.ts';
import { refusalCause } from './nearest-pool.ts';
import type { PoolState, PoolUsage } from './pool-cause.ts';

interface CauseInput extends Pick<EngineSnapshot, 'pools' | 'nodes' | 'idleNodePools'> {
  /** NodeClaims of the plan, which count against the limits of their NodePools. */
  readonly claims?: readonly PlannedClaim[];
}

/** Returns the refusals with the cause of each pod that fits into no NodePool. Alike pods share the search. */
export function withCauses(
  refusals: ReadonlyMap<string, PodRefusal>,
  pods: readonly EnginePod[],
  input: CauseInput,
): ReadonlyMap<string, PodRefusal> {
  const states = new Map<string, PoolState>();
  const idle = (input.idleNodePools ?? []).map((nodePool) => ({ nodePool, instanceTypes: [] }));
  for (const { nodePool, instanceTypes } of [...idle, ...input.pools]) {
    const { name } = nodePool.metadata;
    let usage: PoolUsage | undefined;
    states.set(name, {
      pool: nodePool,
      instanceTypes,
      usage: () => {
        usage ??= usageOf(name, instanceTypes, input);
        return usage;
      },
    });
  }
  const known = new Map<string, PodRefusal>();
  const byKey = new Map(pods.map((pod) => [podKey(pod), pod]));
  const found = new Map<string, PodRefusal>();
  for (const [key, refusal] of refusals) {
    const pod = byKey.get(key);
    if (refusal.code !== 'no-fit' || pod === undefined) {
      found.set(key, refusal);
      continue;
    }
    const identity = `${refusal.text} ${likeness(pod)}`;
    const alike = known.get(identity) ?? withCause(pod, refusal, states);
    known.set(identity, alike);
    found.set(key, alike);
  }
  return found;
}

/** A planned NodeClaim counts with the largest capacity of its instance types, as it does in the solve. */
function usageOf(name: string, instanceTypes: readonly InstanceType[], { nodes, claims = [] }: CauseInput): PoolUsage {
  const planned = claims.filter(({ nodePool }) => nodePool === name);
  const inUse = nodePoolUsage(name, nodes);
  if (planned.length === 0) return { resources: inUse, isPlanned: false };
  const capacities = new Map(instanceTypes.map((type) => [type.name, type.capacity]));
  const largest = planned.map((claim) => ({
    ...maxResources(...claim.instanceTypes.map((type) => capacities.get(type) ?? {})),
    nodes: 1,
  }));
  return { resources: addResources(inUse, ...largest), isPlanned: true };
}

const likeness = (pod: EnginePod): string => {
  const { nodeSelector, affinity, tolerations } = pod.spec;
  return JSON.stringify([nodeSelector, affinity?.nodeAffinity, tolerations, placementRequests(pod)]);
};

function withCause(
  pod: EnginePod,
  refusal: Extract<PodRefusal, { code: 'no-fit' }>,
  states: ReadonlyMap<string, PoolState>,
): PodRefusal {
  const cause = refusalCause(pod, refusal.pools, (name) => states.get(name));
  return cause === undefined ? refusal : { ...refusal, cause };
}
