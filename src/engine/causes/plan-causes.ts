/** Adds causes to the refusals of a plan. */
import { defined } from '../../lib/defined.ts';
import { interleave } from '../../lib/interleave.ts';
import type { EnginePod } from '../input.ts';
import type { EngineSnapshot, PlannedClaim, PodRefusal, Rejection } from '../model.ts';
import { placementRequests } from '../placement-requests.ts';
import { namespaceOf, podKey } from '../pods.ts';
import { type PoolUsage, poolUsage } from '../pool-usage.ts';
import type { Cause } from './cause.ts';
import { type CauseCandidates, causeCandidates, refusalFields } from './nearest-pool.ts';
import type { PoolState } from './pool-cause.ts';
import { NOT_CHECKED, type RemedyChecker, remarkOn } from './remedy-proof.ts';

interface CauseInput extends Pick<EngineSnapshot, 'pools' | 'nodes' | 'idleNodePools'> {
  /** NodeClaims of the plan, which count against the limits of their NodePools. */
  readonly claims?: readonly PlannedClaim[];
}

export interface CauseLimits {
  /** Returns true when the time is over. Further refusals stay without a cause. */
  readonly isLate?: () => boolean;
  /** Without it, remedies are not checked. */
  readonly checker?: Pick<RemedyChecker, 'check'> | undefined;
}

/**
 * Returns the refusals with the cause of each pod that fits into no NodePool. Alike pods share the search, and namespaces take
 * turns.
 */
export function withCauses(
  refusals: ReadonlyMap<string, PodRefusal>,
  pods: readonly EnginePod[],
  input: CauseInput,
  { isLate = () => false, checker }: CauseLimits = {},
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
  const known = new Map<string, CauseCandidates>();
  // alike refusals share one object
  const shared = new Map<string, PodRefusal>();
  // the order of the refusals stays
  const found = new Map(refusals);
  const waiting = pods.filter((pod) => refusals.get(podKey(pod))?.code === 'no-fit');
  for (const pod of interleave([...Map.groupBy(waiting, namespaceOf).values()])) {
    const refusal = refusals.get(podKey(pod));
    if (refusal?.code !== 'no-fit') continue;
    const identity = `${refusal.text} ${otherwiseTexts(refusal.pools)} ${likeness(pod)}`;
    if (!known.has(identity) && isLate()) continue;
    const candidates = known.get(identity) ?? causeCandidates(pod, refusal.pools, (name) => states.get(name));
    known.set(identity, candidates);
    const { cause, at } = chooseCause(pod, candidates.causes, checker);
    const key = `${at} ${cause?.remark} ${identity}`;
    const alike = shared.get(key) ?? { ...refusal, ...refusalFields(cause, candidates) };
    shared.set(key, alike);
    found.set(podKey(pod), alike);
  }
  return found;
}

const otherwiseTexts = (pools: readonly Rejection[]): string => JSON.stringify(pools.map(({ otherwise }) => otherwise));

const likeness = (pod: EnginePod): string => {
  const { nodeSelector, affinity, tolerations } = pod.spec;
  return JSON.stringify([nodeSelector, affinity?.nodeAffinity, tolerations, placementRequests(pod)]);
};

interface ChosenCause {
  readonly cause: Cause | undefined;
  /** Position among the candidates. */
  readonly at: number;
}

/** Returns the first cause with a remedy that places the pod. Without one, returns the nearest cause with a remark. */
function chooseCause(pod: EnginePod, causes: readonly Cause[], checker: CauseLimits['checker']): ChosenCause {
  const [nearest] = causes;
  if (checker === undefined) return { cause: nearest, at: 0 };
  let remark: string | undefined;
  for (const [at, cause] of causes.entries()) {
    const proof = checker.check(pod, cause);
    const found = proof === undefined ? NOT_CHECKED : remarkOn(proof);
    if (proof?.place !== undefined || (at === 0 && found === undefined)) return { cause, at };
    remark ??= found;
  }
  return { cause: nearest && { ...nearest, ...defined({ remark }) }, at: 0 };
}
