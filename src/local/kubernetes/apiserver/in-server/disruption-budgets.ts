/** Updates the status of PodDisruptionBudgets: the numbers of healthy pods and of allowed disruptions. */

import { desiredHealthy, type PodDisruptionBudget } from '#api/objects';
import { defined, timestamp } from '#lib';
import type { Core } from '../core.ts';
import { type ApiObject, at, clone, equal, type Json, type Owner, record, records } from '../json.ts';
import { BUDGETS } from '../operations/eviction.ts';
import { commit } from '../operations/update.ts';
import type { StoredEntry } from '../storage/entry.ts';
import type { StoredChange } from '../storage/history.ts';
import { background } from './background.ts';
import { type Guarded, GuardedPods } from './guarded-pods.ts';

/** If an eviction does not lead to a deletion within this time, it no longer counts. */
const EVICTION_TIMEOUT_MS = 120_000;

/** Starts the controller. Returns a function that stops it. */
export function keepBudgets(core: Core): () => void {
  const guarded = new GuardedPods(core.store);
  const queue = background('disruption controller', (key) => {
    const [namespace = '', name = ''] = key.split('/');
    const entry = core.store.get(BUDGETS, namespace, name);
    if (entry) refresh(core, entry, guarded.of(entry));
  });
  const related = new Set(['replicasets.apps', 'deployments.apps', 'statefulsets.apps', 'replicationcontrollers']);
  const unsubscribe = core.store.subscribe((change, storage) => {
    const { type, entry } = change;
    if (storage === BUDGETS) {
      if (type === 'DELETED') guarded.forget(entry);
      queue.add(entry.key);
    } else if (storage === 'pods') {
      for (const key of guarded.changed(change)) queue.add(key);
    } else if (related.has(storage)) {
      const isOther = wantsOthers(change);
      for (const budget of core.store.list(BUDGETS, entry.object.metadata.namespace))
        if (isOther || isAwaiting(budget)) queue.add(budget.key);
    }
  });
  return () => {
    unsubscribe();
    queue.stop();
  };
}

/** Reports whether a controller of pods was created or deleted, or has a different number of desired replicas. */
function wantsOthers({ type, entry, before }: StoredChange): boolean {
  if (type !== 'MODIFIED' || before === undefined) return true;
  const [now, once] = [entry.object, before.object];
  return (
    at(now, 'spec', 'replicas') !== at(once, 'spec', 'replicas') ||
    !equal(now.metadata.ownerReferences, once.metadata.ownerReferences)
  );
}

/** Reports whether the budget counts evicted pods that are not yet deleted. It does so for a limited time. */
const isAwaiting = ({ object }: StoredEntry): boolean => at(object, 'status', 'disruptedPods') !== undefined;

/** Returns the sum of desired replicas of the pods' controllers. Each controller counts once. */
function expectedByControllers(core: Core, controllers: Iterable<Owner>): number {
  const wanted = new Map<string, number>();
  for (const owner of controllers) {
    const root = rootController(core, owner);
    if (root) wanted.set(root.metadata.uid ?? '', Number(at(root, 'spec', 'replicas') ?? 0));
  }
  return [...wanted.values()].reduce((sum, replicas) => sum + replicas, 0);
}

/** Returns the controller at the end of the chain of owners. Its replicas are the desired number. */
function rootController(core: Core, owner: Owner): ApiObject | undefined {
  const place = core.store.placeOf(owner.uid);
  const found = place && core.store.at(place)?.object;
  if (!found) return undefined;
  const owners = found.metadata.ownerReferences ?? [];
  const above = owners.find(({ controller }) => controller === true);
  const root = above && rootController(core, above);
  if (root) return root;
  const resource = core.registry.byKind(found.apiVersion, found.kind);
  return resource?.scale ? found : undefined;
}

function refresh(core: Core, entry: StoredEntry, guarded: Guarded): void {
  const budget = entry.object;
  const resource = core.registry.stored(BUDGETS);
  if (!resource) return;
  const disruptedPods = stillDisrupted(core, budget);
  const leaving = Object.keys(disruptedPods).filter((name) => guarded.isHealthy(name)).length;
  const currentHealthy = guarded.healthy - leaving;
  const { expectedPods, desiredHealthy: required } = computeDesired(core, record(budget.spec), guarded);
  const spare = currentHealthy - required;
  const disruptionsAllowed = expectedPods <= 0 || spare <= 0 ? 0 : spare;
  const next = clone(budget);
  next.status = {
    conditions: [allowedCondition(core, budget, disruptionsAllowed > 0)],
    currentHealthy,
    desiredHealthy: required,
    disruptionsAllowed,
    expectedPods,
    observedGeneration: budget.metadata.generation,
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
  };
  commit(core, resource, entry, next);
}

function computeDesired(core: Core, spec: Json, guarded: Guarded): { expectedPods: number; desiredHealthy: number } {
  const { minAvailable, maxUnavailable } = spec as PodDisruptionBudget['spec'];
  const isOfReplicas = maxUnavailable !== undefined || typeof minAvailable === 'string';
  const expectedPods = isOfReplicas ? expectedByControllers(core, guarded.controllers) : guarded.pods;
  return { expectedPods, desiredHealthy: desiredHealthy(defined({ minAvailable, maxUnavailable }), expectedPods) };
}

/** Returns the evicted pods that are neither being deleted nor overdue. */
function stillDisrupted(core: Core, budget: ApiObject): Record<string, unknown> {
  const now = core.clock.now();
  const kept = Object.entries(record(at(budget, 'status', 'disruptedPods'))).filter(([name, time]) => {
    const pod = core.store.get('pods', budget.metadata.namespace, name);
    if (!pod || pod.object.metadata.deletionTimestamp !== undefined) return false;
    return now - Date.parse(String(time)) < EVICTION_TIMEOUT_MS;
  });
  return Object.fromEntries(kept);
}

function allowedCondition(core: Core, budget: ApiObject, allowed: boolean): Json {
  const status = allowed ? 'True' : 'False';
  const before = records(at(budget, 'status', 'conditions')).find(({ type }) => type === 'DisruptionAllowed');
  return {
    type: 'DisruptionAllowed',
    status,
    reason: allowed ? 'SufficientPods' : 'InsufficientPods',
    message: '',
    observedGeneration: budget.metadata.generation,
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : timestamp(core.clock.now()),
  };
}
