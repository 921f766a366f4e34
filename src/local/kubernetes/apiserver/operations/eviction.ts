/** The eviction subresource: a delete that PodDisruptionBudgets may reject. */
import { timestamp } from '#lib';
import type { ApiDeleteOptions, Core } from '../core.ts';
import { type ApiObject, at, clone, record, records } from '../json.ts';
import { objectSelector } from '../selectors.ts';
import { StatusError, tooManyRequests } from '../status.ts';
import type { StoredEntry } from '../storage/entry.ts';
import { checkPreconditions, remove } from './delete.ts';
import { commit, read, type Target } from './update.ts';

export const BUDGETS = 'poddisruptionbudgets.policy';
const REFUSED = "Cannot evict pod as it would violate the pod's disruption budget.";
const MORE_THAN_ONE =
  'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';

export const isReady = (pod: ApiObject): boolean =>
  records(at(pod, 'status', 'conditions')).some(({ type, status }) => type === 'Ready' && status === 'True');

/** Returns the budgets that select a pod. */
function budgetsOf(core: Core, pod: ApiObject): readonly StoredEntry[] {
  return core.store
    .list(BUDGETS, pod.metadata.namespace)
    .filter(({ object }) => objectSelector(at(object, 'spec', 'selector'))(pod.metadata.labels ?? {}));
}

/**
 * Evicts a pod.
 *
 * @throws StatusError 404; 409 if a precondition fails; 429 if a budget does not allow it; 500 if several budgets match
 */
export function evict(core: Core, target: Target, options: ApiDeleteOptions = {}): void {
  const entry = read(core, target);
  const pod = entry.object;
  if (!isFree(pod)) {
    const budgets = budgetsOf(core, pod);
    if (budgets.length > 1) throw new StatusError(500, '', MORE_THAN_ONE);
    const [budget] = budgets;
    if (budget && !unhealthyMayGo(pod, budget.object)) spend(core, pod, budget, options.dryRun === true);
  }
  // A failed precondition still uses a disruption of the budget, as on a real server.
  checkPreconditions(target.resource, pod, options);
  if (options.dryRun !== true && pod.metadata.deletionTimestamp === undefined) markDisrupted(core, target);
  remove(core, target, options);
}

/** Reports whether budgets do not apply to the pod, because it is finished, not started, or being deleted. */
function isFree(pod: ApiObject): boolean {
  const phase = String(at(pod, 'status', 'phase'));
  return ['Succeeded', 'Failed', 'Pending'].includes(phase) || pod.metadata.deletionTimestamp !== undefined;
}

/** Reports whether the budget's policy for unhealthy pods allows the eviction of a pod that is not ready. */
function unhealthyMayGo(pod: ApiObject, budget: ApiObject): boolean {
  if (isReady(pod)) return false;
  if (at(budget, 'spec', 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true;
  const { currentHealthy, desiredHealthy } = record(budget.status);
  return Number(currentHealthy) >= Number(desiredHealthy) && Number(desiredHealthy) > 0;
}

/**
 * Takes one disruption from the budget.
 * @throws StatusError 429 if no disruption is allowed
 */
function spend(core: Core, pod: ApiObject, entry: StoredEntry, dryRun: boolean): void {
  const budget = entry.object;
  const { name, generation } = budget.metadata;
  const status = record(budget.status);
  if (Number(status.observedGeneration ?? 0) < (generation ?? 0)) {
    const message = `The disruption budget ${name} is still being processed by the server.`;
    throw tooManyRequests(REFUSED, [{ reason: 'DisruptionBudget', message }], 10);
  }
  const allowed = Number(status.disruptionsAllowed ?? 0);
  if (allowed <= 0) {
    const message = `The disruption budget ${name} needs ${String(status.desiredHealthy ?? 0)} healthy pods and has ${String(status.currentHealthy ?? 0)} currently`;
    throw tooManyRequests(REFUSED, [{ reason: 'DisruptionBudget', message }]);
  }
  const resource = core.registry.stored(BUDGETS);
  if (dryRun || !resource) return;
  const next = clone(budget);
  next.status = {
    ...status,
    disruptionsAllowed: allowed - 1,
    disruptedPods: { ...record(status.disruptedPods), [pod.metadata.name]: timestamp(core.clock.now()) },
  };
  commit(core, resource, entry, next);
}

/** Adds a disruption condition with the reason to the pod. */
function markDisrupted(core: Core, target: Target): void {
  const entry = read(core, target);
  const next = clone(entry.object);
  const status = record(next.status);
  const others = records(status.conditions).filter(({ type }) => type !== 'DisruptionTarget');
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    lastTransitionTime: timestamp(core.clock.now()),
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  };
  next.status = { ...status, conditions: [...others, condition] };
  commit(core, target.resource, entry, next);
}
