/** Adds causes to the refusals of a plan. */
import { defined, interleave } from '#lib';
import { withPlanned } from '../ceilings.ts';
import type { EnginePod } from '../input.ts';
import type { Ceiling, EngineSnapshot, PlannedClaim, PodRefusal, PoolInput, Rejection } from '../model.ts';
import { chargesUsdPerHour } from '../node-extras.ts';
import { placementRequests } from '../placement-requests.ts';
import { namespaceOf, podKey } from '../pods.ts';
import { type PoolUsage, poolUsage } from '../pool-usage.ts';
import type { CauseCandidates } from './cause.ts';
import { causeCandidates, refusalFields } from './nearest-pool.ts';
import type { PoolState } from './pool-cause.ts';
import { NOT_CHECKED, type RemedyChecker, remarkOn } from './remedy-proof.ts';

type NoFit = Extract<PodRefusal, { code: 'no-fit' }>;

interface CauseInput extends Pick<EngineSnapshot, 'pools' | 'nodes' | 'idleNodePools' | 'ceilings'> {
  /** NodeClaims of the plan, which count against the limits of their NodePools. */
  readonly claims?: readonly PlannedClaim[];
}

/**
 * Returns the refusals with the nearest cause of each pod that fits into no NodePool. Alike pods share the search, and namespaces
 * take turns.
 * @param isLate returns true when the time is over. Further refusals stay without a cause
 */
export function withCauses(
  refusals: ReadonlyMap<string, PodRefusal>,
  pods: readonly EnginePod[],
  input: CauseInput,
  isLate: () => boolean,
): ReadonlyMap<string, PodRefusal> {
  const states = new Map<string, PoolState>();
  let ceilings: readonly Ceiling[] | undefined;
  const currentCeilings = (): readonly Ceiling[] => {
    ceilings ??= withPlanned(input.ceilings ?? [], input.claims ?? [], (pool) => states.get(pool)?.instanceTypes ?? []);
    return ceilings;
  };
  const idle = (input.idleNodePools ?? []).map((nodePool): PoolInput => ({ nodePool, instanceTypes: [] }));
  for (const { nodePool, instanceTypes, extras } of [...idle, ...input.pools]) {
    const { name } = nodePool.metadata;
    let usage: PoolUsage | undefined;
    states.set(name, {
      pool: nodePool,
      instanceTypes,
      usage: () => {
        usage ??= poolUsage({ pool: name, types: instanceTypes }, input);
        return usage;
      },
      ceilings: currentCeilings,
      chargesUsdPerHour: chargesUsdPerHour(extras),
    });
  }
  // alike refusals share one object
  const known = new Map<string, PodRefusal>();
  // the order of the refusals stays
  const found = new Map(refusals);
  const waiting = pods.filter((pod) => refusals.get(podKey(pod))?.code === 'no-fit');
  for (const pod of interleave([...Map.groupBy(waiting, namespaceOf).values()])) {
    const refusal = refusals.get(podKey(pod));
    if (refusal?.code !== 'no-fit') continue;
    const identity = `${refusal.text} ${otherwiseTexts(refusal.pools)} ${likeness(pod)}`;
    if (!known.has(identity) && isLate()) continue;
    const alike =
      known.get(identity) ??
      withCandidates(
        refusal,
        causeCandidates(pod, refusal.pools, (name) => states.get(name)),
      );
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

/** Keeps the candidates only if a check can choose among them. */
function withCandidates(refusal: NoFit, candidates: CauseCandidates): NoFit {
  const fields = refusalFields(candidates.causes[0], candidates);
  return { ...refusal, ...fields, ...(candidates.causes.length > 1 && { candidates }) };
}

/**
 * Returns the refusal with the first cause whose remedy places the pod. Without one, the nearest cause stays, with a remark.
 */
export async function withCheckedCause(
  pod: EnginePod,
  { candidates, ...refusal }: NoFit,
  checker: Pick<RemedyChecker, 'check'>,
): Promise<NoFit> {
  const { cause: nearest, limits = [] } = refusal;
  const { causes } = candidates ?? { causes: nearest === undefined ? [] : [nearest] };
  let remark: string | undefined;
  for (const [at, cause] of causes.entries()) {
    const proof = await checker.check(pod, cause);
    const found = proof === undefined ? NOT_CHECKED : remarkOn(proof);
    const { cause: _, limits: __, ...rest } = refusal;
    if (proof?.place !== undefined || (at === 0 && found === undefined))
      return { ...rest, ...refusalFields(cause, candidates ?? { causes, limits }) };
    remark ??= found;
  }
  return nearest === undefined ? refusal : { ...refusal, cause: { ...nearest, ...defined({ remark }) } };
}
