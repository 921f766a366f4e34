/** Chooses the NodePool that a pending pod is meant for: the selected NodePool, or the closest one. */
import { NODEPOOL_LABEL, WELL_KNOWN_LABELS } from '../../api/labels.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { nearestName } from '../../lib/nearest-name.ts';
import type { EnginePod } from '../input.ts';
import type { Misfit, PodRefusal } from '../model.ts';
import { Requirements, requirementsOfPod } from '../requirements.ts';
import { tolerates, untolerated } from '../taints.ts';
import type { Cause } from './cause.ts';
import { matchesSomeType } from './instance-type-cause.ts';
import { conflictsOf, otherCause, type PoolState, poolCause, poolRequirementsOf } from './pool-cause.ts';
import { requirementText, someOf } from './requirement-text.ts';

export interface Rejection {
  readonly nodePool: string;
  readonly misfit: Misfit;
}

interface Ranked extends Rejection {
  readonly state: PoolState | undefined;
  /** Compared from the first number on. Lower numbers are closer. */
  readonly rank: readonly number[];
}

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

/**
 * Returns the cause for which a pod stays pending, from the reasons of all NodePools.
 * @param stateOf NodePool of that name, or undefined if only its name is known
 */
export function refusalCause(
  pod: EnginePod,
  rejections: readonly Rejection[],
  stateOf: (nodePool: string) => PoolState | undefined,
): Cause | undefined {
  const alternatives = requirementAlternatives(pod);
  const absent = absentPool(alternatives, rejections);
  if (absent !== undefined) return absent;
  const [nearest] = alternatives
    .flatMap((requirements) =>
      rejections.map((rejection) => ({ requirements, ...ranked(pod, requirements, rejection, stateOf) })),
    )
    .sort((a, b) => compareRanks(a.rank, b.rank));
  if (nearest === undefined) return undefined;
  const { nodePool, misfit, state, requirements } = nearest;
  if (state !== undefined) return poolCause(pod, requirements, state, misfit);
  return misfit.code === 'taint' ? undefined : otherCause(nodePool, misfit);
}

/**
 * Returns the NodePools that would launch a node for the pod if they had not reached their limits.
 * @param poolOf NodePool of that name, or undefined if it does not exist any more
 */
export function poolsAtLimit(
  pod: EnginePod,
  { cause, pools }: Extract<PodRefusal, { code: 'no-fit' }>,
  poolOf: (nodePool: string) => NodePool | undefined,
): readonly string[] {
  if (cause?.code !== 'limits') return [];
  const alternatives = requirementAlternatives(pod);
  const found = pools.filter(({ nodePool, misfit }) => {
    if (misfit.code !== 'limits') return cause.object.name === nodePool;
    const pool = poolOf(nodePool);
    if (pool === undefined) return false;
    const requirements = poolRequirementsOf(pool);
    return alternatives.some((each) => {
      const conflicts = conflictsOf(requirements, each).length;
      return earliestMisfit(pod, pool, conflicts, misfit) === misfit;
    });
  });
  return found.map(({ nodePool }) => nodePool);
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
  if (state === undefined) return { ...rejection, state, rank: [named, 0, 0, DISTANCES[rejection.misfit.code], 0] };
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
  const general = earliestMisfit(pod, pool, conflicts, rejection.misfit);
  const misfit = isGeneral(general) && excludesTypes(state, podRequirements) ? INCOMPATIBLE : general;
  return {
    ...{ nodePool: rejection.nodePool, misfit, state },
    rank: [named, -matched.length, -tolerated.length, distanceOf(misfit), conflicts],
  };
}

/**
 * Returns the first misfit of the pod itself. A NodePool that has reached its limit or is not ready rejects all pods, also
 * those that it would reject in any case.
 */
function earliestMisfit({ spec }: EnginePod, pool: NodePool, conflicts: number, misfit: Misfit): Misfit {
  const [taint] = untolerated(spec.tolerations, pool.spec.template.spec.taints);
  if (taint !== undefined && misfit.code !== 'deleting') return { code: 'taint', taint };
  return isGeneral(misfit) && conflicts > 0
    ? { code: 'requirements', key: '', text: 'incompatible requirements' }
    : misfit;
}

/** Reports whether a NodePool with this misfit rejects all pods. */
const isGeneral = ({ code }: Misfit): boolean =>
  ['limits', 'not-ready', 'no-instance-types', 'launch-withheld'].includes(code);

const INCOMPATIBLE: Misfit = {
  ...{ code: 'instance-types', incompatible: true, tooSmall: false, notOffered: false },
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
