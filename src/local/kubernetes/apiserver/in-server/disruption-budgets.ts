/** Keeps the status of PodDisruptionBudgets: how many of their pods are healthy, and how many may go. */
import { defined } from '../../../../api/defined.ts';
import type { PodDisruptionBudget } from '../../../../api/kubernetes.ts';
import { desiredHealthy } from '../../../../api/pod-disruption-budget.ts';
import type { Core } from '../core.ts';
import { type ApiObject, at, clone, equal, type Json, record, records, timestamp } from '../json.ts';
import { BUDGETS, isReady } from '../operations/eviction.ts';
import { commit } from '../operations/update.ts';
import { objectSelector } from '../selectors.ts';
import type { Entry } from '../storage/entry.ts';
import type { Change } from '../storage/history.ts';
import { background } from './background.ts';

/** An eviction that led to no deletion after this long no longer counts. */
const EVICTION_TIMEOUT_MS = 120_000;

/** Starts the controller; answers a function that stops it. */
export function keepBudgets(core: Core): () => void {
  const guarded = new GuardedPods(core);
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
      for (const budget of guarded.changed(change)) queue.add(budget.key);
    } else if (related.has(storage)) {
      for (const budget of core.store.list(BUDGETS, entry.object.metadata.namespace)) queue.add(budget.key);
    }
  });
  return () => {
    unsubscribe();
    queue.stop();
  };
}

interface Guard {
  /** What `selects` was made of. */
  readonly selector: unknown;
  readonly selects: (labels: Readonly<Record<string, string>>) => boolean;
  readonly pods: Map<string, ApiObject>;
}

/** The pods of each budget, kept up to date by changes instead of being looked for among all. */
class GuardedPods {
  readonly #core: Core;
  readonly #guards = new Map<string, Guard>();

  constructor(core: Core) {
    this.#core = core;
  }

  of(budget: Entry): Iterable<ApiObject> {
    return this.#guard(budget).pods.values();
  }

  forget(budget: Entry): void {
    this.#guards.delete(budget.key);
  }

  /** Takes in a change of a pod; answers the budgets whose pod it is or was. */
  changed({ type, entry, before }: Change): readonly Entry[] {
    const { key, object } = entry;
    const budgets = this.#core.store.list(BUDGETS, object.metadata.namespace);
    if (budgets.length === 0) return budgets;
    const labels = object.metadata.labels ?? {};
    const labelsBefore = before?.object.metadata.labels ?? labels;
    const [now, once]: [Entry[], Entry[]] = [[], []];
    for (const budget of budgets) {
      const { selects, pods } = this.#guard(budget);
      if (selects(labels)) now.push(budget);
      else if (labelsBefore !== labels && selects(labelsBefore)) once.push(budget);
      if (now.at(-1) === budget && type !== 'DELETED') pods.set(key, object);
      else pods.delete(key);
    }
    return [...now, ...once];
  }

  #guard({ key, object }: Entry): Guard {
    const known = this.#guards.get(key);
    const selector = at(object, 'spec', 'selector');
    if (known && equal(known.selector, selector)) return known;
    const selects = objectSelector(selector);
    const present = this.#core.store.list('pods', object.metadata.namespace);
    const mine = present.filter((pod) => selects(pod.object.metadata.labels ?? {}));
    const guard = { selector, selects, pods: new Map(mine.map((pod) => [pod.key, pod.object])) };
    this.#guards.set(key, guard);
    return guard;
  }
}

/** Replicas that the pods' controllers want; each counted once. */
function expectedByControllers(core: Core, pods: readonly ApiObject[]): number {
  const wanted = new Map<string, number>();
  for (const pod of pods) {
    const root = rootController(core, pod);
    if (root) wanted.set(root.metadata.uid ?? '', Number(at(root, 'spec', 'replicas') ?? 0));
  }
  return [...wanted.values()].reduce((sum, replicas) => sum + replicas, 0);
}

/** The controller at the end of the chain of owners that says how many replicas there should be. */
function rootController(core: Core, object: ApiObject): ApiObject | undefined {
  const owner = object.metadata.ownerReferences?.find(({ controller }) => controller === true);
  const place = owner && core.store.placeOf(owner.uid);
  const found = place && core.store.at(place)?.object;
  if (!found) return undefined;
  const above = rootController(core, found);
  if (above) return above;
  const resource = core.registry.byKind(found.apiVersion, found.kind);
  return resource?.scale ? found : undefined;
}

function refresh(core: Core, entry: Entry, guarded: Iterable<ApiObject>): void {
  const budget = entry.object;
  const resource = core.registry.stored(BUDGETS);
  if (!resource) return;
  const pods = [...guarded].filter((pod) => !isTerminal(pod));
  const disruptedPods = stillDisrupted(core, budget);
  const currentHealthy = pods.filter(
    (pod) =>
      isReady(pod) && pod.metadata.deletionTimestamp === undefined && !Object.hasOwn(disruptedPods, pod.metadata.name),
  ).length;
  const { expectedPods, desiredHealthy: required } = wanted(core, record(budget.spec), pods);
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

const isTerminal = (pod: ApiObject): boolean => ['Succeeded', 'Failed'].includes(String(at(pod, 'status', 'phase')));

function wanted(core: Core, spec: Json, pods: readonly ApiObject[]): { expectedPods: number; desiredHealthy: number } {
  const { minAvailable, maxUnavailable } = spec as PodDisruptionBudget['spec'];
  const isOfReplicas = maxUnavailable !== undefined || typeof minAvailable === 'string';
  const expectedPods = isOfReplicas ? expectedByControllers(core, pods) : pods.length;
  return { expectedPods, desiredHealthy: desiredHealthy(defined({ minAvailable, maxUnavailable }), expectedPods) };
}

/** Evicted pods that are neither being deleted yet nor overdue. */
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
