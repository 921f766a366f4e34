/** Adds causes to the refusals of a plan. */
import type { EnginePod } from '../input.ts';
import type { EngineSnapshot, PodRefusal } from '../model.ts';
import { podKey } from '../pods.ts';
import { podRequests } from '../resources.ts';
import { nodePoolUsage } from '../solver/limits.ts';
import { refusalCause } from './nearest-pool.ts';
import type { PoolState } from './pool-cause.ts';

/** Returns the refusals with the cause of each pod that fits into no NodePool. Alike pods share the search. */
export function withCauses(
  refusals: ReadonlyMap<string, PodRefusal>,
  pods: readonly EnginePod[],
  input: Pick<EngineSnapshot, 'pools' | 'nodes' | 'idleNodePools'>,
): ReadonlyMap<string, PodRefusal> {
  const states = new Map<string, PoolState>();
  const idle = (input.idleNodePools ?? []).map((nodePool) => ({ nodePool, instanceTypes: [] }));
  for (const { nodePool, instanceTypes } of [...idle, ...input.pools]) {
    const { name } = nodePool.metadata;
    states.set(name, { pool: nodePool, instanceTypes, usage: () => nodePoolUsage(name, input.nodes) });
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

const likeness = (pod: EnginePod): string => {
  const { nodeSelector, affinity, tolerations } = pod.spec;
  return JSON.stringify([nodeSelector, affinity?.nodeAffinity, tolerations, podRequests(pod)]);
};

function withCause(
  pod: EnginePod,
  refusal: Extract<PodRefusal, { code: 'no-fit' }>,
  states: ReadonlyMap<string, PoolState>,
): PodRefusal {
  const cause = refusalCause(pod, refusal.pools, (name) => states.get(name));
  return cause === undefined ? refusal : { ...refusal, cause };
}
