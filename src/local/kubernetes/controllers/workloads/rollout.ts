/** Sizes of a Deployment's ReplicaSets: steps of a rollout, and proportional scaling during a rollout. */
import type { Scaled } from './kinds.ts';

export const replicasOf = (object: Scaled): number => object.spec.replicas ?? 1;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Resolves an absolute number or a percentage of `total`. */
export function resolveCount(value: number | string | undefined, total: number, round: 'up' | 'down'): number {
  if (typeof value === 'number') return value;
  const share = (Number.parseFloat(value ?? '25%') / 100) * total;
  return round === 'up' ? Math.ceil(share) : Math.floor(share);
}

export interface Step {
  readonly fresh: number;
  /** Desired replicas of each old set, in the given order. */
  readonly old: readonly number[];
}

export interface SetState {
  readonly replicas: number;
  readonly available: number;
  /** Number of pods of this set, including terminating pods. Default: its replicas. */
  readonly pods?: number;
}

/** Returns the numbers of surplus and unavailable pods that a rollout may have. */
export function limitsOf(deployment: Scaled): { readonly surge: number; readonly unavailable: number } {
  const wished = replicasOf(deployment);
  if (deployment.spec.strategy?.type === 'Recreate') return { surge: 0, unavailable: 0 };
  const { maxSurge, maxUnavailable } = deployment.spec.strategy?.rollingUpdate ?? {};
  const surge = resolveCount(maxSurge, wished, 'up');
  return { surge, unavailable: resolveCount(maxUnavailable, wished, 'down') || (surge === 0 ? 1 : 0) };
}

/** Returns the size of each ReplicaSet after the next step of a rollout. */
export function rolloutStep(deployment: Scaled, fresh: SetState, old: readonly SetState[]): Step {
  const wished = replicasOf(deployment);
  if (deployment.spec.strategy?.type === 'Recreate') {
    const left = sum(old.map(({ replicas, pods = replicas }) => Math.max(replicas, pods)));
    return { fresh: left > 0 ? fresh.replicas : wished, old: old.map(() => 0) };
  }
  const { surge, unavailable } = limitsOf(deployment);
  const total = fresh.replicas + sum(old.map(({ replicas }) => replicas));
  const grow = Math.max(0, Math.min(wished - fresh.replicas, wished + surge - total));
  const next = fresh.replicas > wished ? wished : fresh.replicas + grow;

  const floor = wished - unavailable;
  const available = fresh.available + sum(old.map((set) => set.available));
  // New pods that are not yet available reduce the number of old pods that may be removed.
  let mayGo = total - floor - (fresh.replicas - fresh.available);
  if (mayGo <= 0) return { fresh: next, old: old.map(({ replicas }) => replicas) };
  // Unavailable old pods are removed first, because they serve no requests.
  const healthy = old.map((set) => {
    const cut = Math.min(mayGo, Math.max(0, set.replicas - set.available));
    mayGo -= cut;
    return set.replicas - cut;
  });
  let spare = Math.max(0, available - floor);
  const shrunk = healthy.map((replicas) => {
    const cut = Math.min(replicas, spare);
    spare -= cut;
    return replicas - cut;
  });
  return { fresh: next, old: shrunk };
}

export interface SetSize {
  readonly replicas: number;
  /** Maximum number of pods of the whole Deployment when this set was last scaled, or undefined if it is unknown. */
  readonly most: number | undefined;
}

/**
 * Divides a change of the Deployment's replicas between its ReplicaSets. A single set with pods gets all replicas.
 * During a rollout each set keeps its share.
 *
 * @param sets oldest first
 */
export function sizesAfterScaling(deployment: Scaled, sets: readonly SetSize[]): readonly number[] {
  const wished = replicasOf(deployment);
  const sizes = sets.map(({ replicas }) => replicas);
  const active = sets.flatMap(({ replicas }, index) => (replicas > 0 ? [index] : []));
  if (active.length < 2) return sizes.with(active[0] ?? sets.length - 1, wished);
  if (deployment.spec.strategy?.type === 'Recreate') return sizes;
  const most = wished === 0 ? 0 : wished + limitsOf(deployment).surge;
  const change = most - sum(sizes);
  // The largest sets change first. Among equal sets, newer sets grow first and older sets shrink first.
  const order = active.sort((a, b) => (sizes[b] ?? 0) - (sizes[a] ?? 0) || (change > 0 ? b - a : a - b));
  let left = change;
  for (const index of order) {
    const share = shareOf(sets[index], wished === 0 ? 0 : most, deployment);
    const part = change > 0 ? Math.min(share, left) : Math.max(share, left);
    sizes[index] = (sizes[index] ?? 0) + part;
    left -= part;
  }
  const [largest = 0] = order;
  sizes[largest] = Math.max(0, (sizes[largest] ?? 0) + left);
  return sizes;
}

/** Returns the change of a set's replicas that keeps its share of the Deployment. */
function shareOf(set: SetSize | undefined, most: number, { status }: Scaled): number {
  const { replicas = 0, most: before = status?.replicas ?? 0 } = set ?? {};
  if (most === 0) return -replicas;
  return before === 0 ? 0 : Math.round((replicas * most) / before) - replicas;
}
