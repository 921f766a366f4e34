/** Chooses the NodePool that a pending pod is meant for: the selected NodePool, or the closest one. */
import { NODEPOOL_LABEL, type NodePool, WELL_KNOWN_LABELS } from '#api/objects';
import { defined, nearestName } from '#lib';
import type { EnginePod } from '../input.ts';
import type { Misfit, PodRefusal, Rejection } from '../model.ts';
import { placementRequests } from '../placement-requests.ts';
import { Requirements, requirementsOfPod } from '../requirements.ts';

import { tolerates, untolerated } from '../taints.ts';
import type { Cause, CauseCandidates } from './cause.ts';
import { instanceTypeCause, matchesSomeType } from './instance-type-cause.ts';
import {
  conflictsOf,
  otherCause,
  type PoolState,
  poolCause,
  poolRequirementsOf,
  withinLimitsCause,
} from './pool-cause.ts';
import { requirementText, someOf } from './requirement-text.ts';

interface Ranked extends Omit<Rejection, 'otherwise'> {
  readonly state: PoolState | undefined;
  /** Requirements of the pod's selector and of one term of its affinity. */
  readonly requirements: Requirements;
  /** True if only the limits reject the pod, although they leave some instance types. */
  readonly isWithinLimits: boolean;
  /** Compared from the first number on. Lower numbers are closer. */
  readonly rank: readonly number[];
}

/** Number of parts of the rank that compare the wishes of the pod: its NodePool, labels and tolerations. */
const WISHES = 3;

/** Distance between the pod and a NodePool that could run it, by the first test that fails. */
const DISTANCES: Readonly<Record<Misfit['code'], number>> = {
  'reserved-capacity': 0,
  'launch-withheld': 0,
  limits: 1,
  'instance-types': 2,
  'min-values': 2,
  topology: 2,
  'host-port': 2,
  volume: 3,
  'volume-limit': 2,
  devices: 3,
  'not-ready': 3,
  'no-instance-types': 3,
  unreadable: 3,
  requirements: 4,
  taint: 5,
  static: 6,
  deleting: 7,
};

/** Maximum number of causes among which checks choose. */
const MOST_CANDIDATES = 3;

/**
 * Returns the causes for which a pod stays pending, from the reasons of all NodePools.
 * @param stateOf NodePool of that name, or undefined if only its name is known
 */
export function causeCandidates(
  pod: EnginePod,
  rejections: readonly Rejection[],
  stateOf: (nodePool: string) => PoolState | undefined,
): CauseCandidates {
  const alternatives = requirementAlternatives(pod);
  const absent = absentPool(alternatives, rejections);
  if (absent !== undefined) return { causes: [absent], limits: [] };
  const all = alternatives
    .flatMap((requirements) => rejections.map((rejection) => ranked(pod, requirements, rejection, stateOf)))
    .sort((a, b) => compareRanks(a.rank, b.rank));
  const [nearest] = all;
  if (nearest === undefined) return { causes: [], limits: [] };
  const close = all.filter(({ rank }) => compareRanks(rank.slice(0, WISHES), nearest.rank.slice(0, WISHES)) === 0);
  return {
    causes: close.slice(0, MOST_CANDIDATES).flatMap((each) => causeOf(pod, each) ?? []),
    limits: all.filter(({ misfit }) => misfit.code === 'limits').flatMap((each) => causeOf(pod, each) ?? []),
  };
}

/** Returns the fields of a refusal for a cause. A limit also has the limits of other NodePools. */
export const refusalFields = (
  cause: Cause | undefined,
  { limits }: CauseCandidates,
): Pick<Extract<PodRefusal, { code: 'no-fit' }>, 'cause' | 'limits'> =>
  cause?.code === 'limits' ? { cause, limits } : defined({ cause });

function causeOf(pod: EnginePod, { nodePool, misfit, state, requirements, isWithinLimits }: Ranked): Cause | undefined {
  if (state === undefined) return misfit.code === 'taint' ? undefined : otherCause(nodePool, misfit);
  return isWithinLimits ? withinLimitsCause(pod, requirements, state) : poolCause(pod, requirements, state, misfit);
}

/** Returns the requirements of the pod's selector with each term of its required affinity. */
function requirementAlternatives(pod: EnginePod): readonly Requirements[] {
  const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (terms === undefined || terms.length < 2) return [requirementsOfPod(pod)];
  const selector = Requirements.fromLabels(pod.spec.nodeSelector);
  return terms.map(({ matchExpressions }) => selector.intersect(Requirements.fromRequirements(matchExpressions)));
}

function absentPool(alternatives: readonly Requirements[], rejections: readonly Rejection[]): Cause | undefined {
  const names = rejections.map(({ nodePool }) => nodePool);
  const [first] = alternatives;
  const selected = first?.get(NODEPOOL_LABEL);
  if (
    selected?.operator !== 'In' ||
    alternatives.some((each) => names.some((name) => each.get(NODEPOOL_LABEL).has(name)))
  )
    return undefined;
  const [name = ''] = selected.sorted;
  const nearest = nearestName(name, names);
  return {
    code: 'no-such-nodepool',
    object: { kind: 'NodePool', name },
    field: NODEPOOL_LABEL,
    wanted: requirementText(NODEPOOL_LABEL, selected),
    offered: someOf(names),
    remedy: nearest === undefined ? `Correct ${NODEPOOL_LABEL} in the pod's selector.` : `Did you mean "${nearest}"?`,
    change: { of: 'Pod', fields: [NODEPOOL_LABEL], values: nearest === undefined ? [] : [nearest] },
  };
}

function ranked(
  pod: EnginePod,
  podRequirements: Requirements,
  rejection: Rejection,
  stateOf: (nodePool: string) => PoolState | undefined,
): Ranked {
  const state = stateOf(rejection.nodePool);
  const selected = podRequirements.get(NODEPOOL_LABEL);
  const named = selected.operator === 'In' && selected.has(rejection.nodePool) ? 0 : 1;
  const base = { nodePool: rejection.nodePool, state, requirements: podRequirements };
  if (state === undefined) {
    const { misfit } = rejection;
    return { ...base, misfit, isWithinLimits: false, rank: [named, 0, 0, DISTANCES[misfit.code], 0, 0] };
  }
  const { pool } = state;
  const requirements = poolRequirementsOf(pool);
  const { taints = [] } = pool.spec.template.spec;
  const own = podRequirements.keys.filter(
    (key) => !WELL_KNOWN_LABELS.has(key) && requirements.has(key) && !podRequirements.get(key).complement,
  );
  const matched = own.filter((key) => requirements.get(key).intersects(podRequirements.get(key)));
  const tolerated = taints.filter((taint) =>
    (pod.spec.tolerations ?? []).some((toleration) => toleration.key && tolerates(toleration, taint)),
  );
  const conflicts = conflictsOf(requirements, podRequirements).length;
  const isWithinLimits = rejection.otherwise === 'fits' && !isGeneral(rejection.misfit);
  const general = earliestMisfit(pod, pool, conflicts, isWithinLimits ? WITHIN_LIMITS : rejection.misfit);
  const misfit = isGeneral(general)
    ? specificMisfit(pod, { ...rejection, misfit: general }, podRequirements, state)
    : general;
  const isRestricted = rejection.otherwise === undefined ? 0 : 1;
  return {
    ...base,
    misfit,
    isWithinLimits,
    rank: [named, -matched.length, -tolerated.length, distanceOf(misfit), isRestricted, conflicts],
  };
}

/**
 * Returns the first misfit of the pod itself. A NodePool that has reached its limit or is not ready rejects all pods, also
 * those that it would reject in any case. A NodePool that is static or being deleted is never used, so the pod cannot help.
 */
function earliestMisfit({ spec }: EnginePod, pool: NodePool, conflicts: number, misfit: Misfit): Misfit {
  if (misfit.code === 'static' || misfit.code === 'deleting') return misfit;
  const [taint] = untolerated(spec.tolerations, pool.spec.template.spec.taints);
  if (taint !== undefined) return { code: 'taint', taint };
  return isGeneral(misfit) && conflicts > 0
    ? { code: 'requirements', key: '', text: 'incompatible requirements' }
    : misfit;
}

/** Reports whether a NodePool with this misfit rejects all pods. */
const isGeneral = ({ code }: Misfit): boolean =>
  ['limits', 'not-ready', 'no-instance-types', 'launch-withheld'].includes(code);

/** Returns the misfit that remains after the general one ends, so that the remedy helps the pod. */
function specificMisfit(
  pod: EnginePod,
  { misfit, otherwise = 'fits' }: Rejection,
  podRequirements: Requirements,
  state: PoolState,
): Misfit {
  if (excludesTypes(state, podRequirements)) return INCOMPATIBLE;
  return otherwise === 'fits' || isSoldOut(pod, podRequirements, state) ? misfit : otherwise;
}

const WITHIN_LIMITS: Misfit = { code: 'limits', text: 'the limits leave no instance type for the pod' };

/** Reports whether the instance types for the pod are out of capacity, which can end at any time. */
function isSoldOut(pod: EnginePod, podRequirements: Requirements, { pool, instanceTypes: types }: PoolState): boolean {
  const demand = { pool, types, poolRequirements: poolRequirementsOf(pool), podRequirements };
  return instanceTypeCause({ ...demand, requests: placementRequests(pod) })?.code === 'sold-out';
}

const INCOMPATIBLE: Misfit = {
  code: 'instance-types',
  incompatible: true,
  tooSmall: false,
  notOffered: false,
  text: 'incompatible instance types',
};

/** Reports whether the NodePool has no instance type that the pod selects. */
const excludesTypes = ({ pool, instanceTypes: types }: PoolState, podRequirements: Requirements): boolean =>
  types.length > 0 && !matchesSomeType({ pool, types, poolRequirements: poolRequirementsOf(pool), podRequirements });

function distanceOf(misfit: Misfit): number {
  if (misfit.code !== 'instance-types') return DISTANCES[misfit.code];
  if (misfit.incompatible) return DISTANCES.requirements - 0.5;
  return misfit.tooSmall ? DISTANCES['instance-types'] : 0;
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (const [at, value] of a.entries()) if (value !== b[at]) return value - (b[at] ?? 0);
  return 0;
}
