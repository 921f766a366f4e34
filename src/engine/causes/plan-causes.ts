/** Adds causes to the refusals of a plan. */
import { interleave } from '../../lib/interleave.ts';
import type { EnginePod } from '../input.ts';
import type { EngineSnapshot, PlannedClaim, PodRefusal, Rejection } from '../model.ts';
import { placementRequests } from '../placement-requests.ts';
import { namespaceOf, podKey } from '../pods.ts';
import { type PoolUsage, poolUsage } from '../pool-usage.ts';
import { refusalCauses } from './nearest-pool.ts';
import type { PoolState } from './pool-cause.ts';

interface CauseInput extends Pick<EngineSnapshot, 'pools' | 'nodes' | 'idleNodePools'> {
  /** NodeClaims of the plan, which count against the limits of their NodePools. */
  readonly claims?: readonly PlannedClaim[];
}

/**
 * Returns the refusals with the cause of each pod that fits into no NodePool. Alike pods share the search, and namespaces take
 * turns. When the time is over, further refusals stay without a cause.
 */
export function withCauses(
  refusals: ReadonlyMap<string, PodRefusal>,
  pods: readonly EnginePod[],
  input: CauseInput,
  isLate: () => boolean = () => false,
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
        usage ??= poolUsage({ pool: name, types: instanceTypes }, input);
        return usage;
      },
    });
  }
  const known = new Map<string, PodRefusal>();
  // the order of the refusals stays
  const found = new Map(refusals);
  const waiting = pods.filter((pod) => refusals.get(podKey(pod))?.code === 'no-fit');
  for (const pod of interleave([...Map.groupBy(waiting, namespaceOf).values()])) {
    const refusal = refusals.get(podKey(pod));
    if (refusal?.code !== 'no-fit') continue;
    const identity = `${refusal.text} ${otherwiseTexts(refusal.pools)} ${likeness(pod)}`;
    if (!known.has(identity) && isLate()) continue;
    const alike = known.get(identity) ?? withCause(pod, refusal, states);
    known.set(identity, alike);
    found.set(podKey(pod), alike);
  }
  return found;
}

const otherwiseTexts = (pools: readonly Rejection[]): string => JSON.stringify(pools.map(({ otherwise }) => otherwise));

const likeness = (pod: EnginePod): string => {
  const { nodeSelector, affinity, tolerations } = pod.spec;
  return JSON.stringify([nodeSelector, affinity?.nodeAffinity, tolerations, placementRequests(pod)]);
};

function withCause(
  pod: EnginePod,
  refusal: Extract<PodRefusal, { code: 'no-fit' }>,
  states: ReadonlyMap<string, PoolState>,
): PodRefusal {
  return { ...refusal, ...refusalCauses(pod, refusal.pools, (name) => states.get(name)) };
}
