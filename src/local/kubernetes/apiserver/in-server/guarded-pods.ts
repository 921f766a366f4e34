/**
 * Index of the pods of each PodDisruptionBudget and their health. Changes update it, so that no search over all pods is
 * necessary.
 */
import { type ApiObject, at, equal, isRecord, type Owner } from '../json.ts';
import { BUDGETS, isReady } from '../operations/eviction.ts';
import { objectSelector } from '../selectors.ts';
import type { StoredEntry } from '../storage/entry.ts';
import type { StoredChange } from '../storage/history.ts';
import type { ObjectStore } from '../storage/store.ts';

type Labels = Readonly<Record<string, string>>;

/** Pods that a budget selects, except pods that are Succeeded or Failed. */
export interface Guarded {
  /** Number of pods. */
  readonly pods: number;
  /** Reports whether the pod of this name is ready and not being deleted. */
  isHealthy(name: string): boolean;
  /** Number of healthy pods. */
  readonly healthy: number;
  /** Controllers of the pods, without duplicates. */
  readonly controllers: Iterable<Owner>;
}

export class GuardedPods {
  readonly #store: ObjectStore;
  /** By namespace. */
  readonly #guards = new Map<string, Guards>();

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  of({ object, key }: StoredEntry): Guarded {
    const { namespace } = object.metadata;
    const guards = this.#in(namespace);
    const selector = at(object, 'spec', 'selector');
    const known = guards.get(key);
    if (known !== undefined && equal(known.selector, selector)) return known;
    const guard = new Guard(key, selector);
    for (const pod of this.#store.list('pods', namespace)) if (guard.selects(pod.object)) guard.put(pod);
    guards.put(guard);
    return guard;
  }

  forget({ object, key }: StoredEntry): void {
    this.#in(object.metadata.namespace).delete(key);
  }

  /** Applies a change of a pod. Returns the keys of the budgets that select the pod now or selected it before. */
  changed({ type, entry, before }: StoredChange): readonly string[] {
    const { metadata } = entry.object;
    const guards = this.#in(metadata.namespace);
    const now = guards.selecting(entry.object);
    for (const guard of now)
      if (type === 'DELETED') guard.drop(entry.key);
      else guard.put(entry);
    const labelsBefore = before?.object.metadata.labels;
    if (before === undefined || labelsBefore === metadata.labels) return now.map(({ key }) => key);
    const once = guards.selecting(before.object).filter((guard) => !now.includes(guard));
    for (const guard of once) guard.drop(entry.key);
    return [...now, ...once].map(({ key }) => key);
  }

  /** Returns the guards of a namespace, including all of its budgets. */
  #in(namespace = ''): Guards {
    const known = this.#guards.get(namespace);
    if (known !== undefined) return known;
    const guards = new Guards();
    this.#guards.set(namespace, guards);
    for (const budget of this.#store.list(BUDGETS, namespace)) this.of(budget);
    return guards;
  }
}

/** Guards of a namespace. Most budgets select one workload by a label, and are indexed by this label. */
class Guards {
  readonly #all = new Map<string, Guard>();
  /**
   * Guards by a label that their selector requires, as `labelText` formats it. Guards without such a label are under ''.
   */
  readonly #byLabel = new Map<string, Map<string, Guard>>();

  get(key: string): Guard | undefined {
    return this.#all.get(key);
  }

  put(guard: Guard): void {
    this.delete(guard.key);
    this.#all.set(guard.key, guard);
    const filed = this.#byLabel.get(guard.label) ?? new Map<string, Guard>();
    this.#byLabel.set(guard.label, filed.set(guard.key, guard));
  }

  delete(key: string): void {
    const guard = this.#all.get(key);
    if (guard === undefined) return;
    this.#all.delete(key);
    const filed = this.#byLabel.get(guard.label);
    filed?.delete(key);
    if (filed?.size === 0) this.#byLabel.delete(guard.label);
  }

  /** Returns the guards whose selector matches the pod's labels, sorted by key. */
  selecting(pod: ApiObject): readonly Guard[] {
    if (this.#all.size === 0) return [];
    const found = [...(this.#byLabel.get('')?.values() ?? [])];
    for (const [name, value] of Object.entries(pod.metadata.labels ?? {}))
      found.push(...(this.#byLabel.get(labelText(name, value))?.values() ?? []));
    const matching = found.filter((guard) => guard.selects(pod));
    return matching.length < 2 ? matching : matching.sort((a, b) => (a.key < b.key ? -1 : 1));
  }
}

const labelText = (name: string, value: string): string => `${name}=${value}`;

/** Returns a label that each selected pod has, or '' if the selector does not require one. */
function labelOf(selector: unknown): string {
  const wanted = at(selector, 'matchLabels');
  const [first] = isRecord(wanted) ? Object.entries(wanted) : [];
  return first === undefined ? '' : labelText(first[0], String(first[1]));
}

const isTerminal = (pod: ApiObject): boolean => ['Succeeded', 'Failed'].includes(String(at(pod, 'status', 'phase')));

interface Pod {
  readonly isHealthy: boolean;
  readonly controller: Owner | undefined;
}

class Guard implements Guarded {
  /** Key of this budget. */
  readonly key: string;
  /** Selector from which `#matches` was compiled. */
  readonly selector: unknown;
  readonly label: string;
  readonly #matches: (labels: Labels) => boolean;
  readonly #pods = new Map<string, Pod>();
  readonly #controllers = new Map<string, { readonly owner: Owner; pods: number }>();
  #healthy = 0;

  constructor(key: string, selector: unknown) {
    this.key = key;
    this.selector = selector;
    this.label = labelOf(selector);
    this.#matches = objectSelector(selector);
  }

  selects({ metadata }: ApiObject): boolean {
    return this.#matches(metadata.labels ?? {});
  }

  put({ key, object }: StoredEntry): void {
    this.drop(key);
    if (isTerminal(object)) return;
    const { deletionTimestamp, ownerReferences } = object.metadata;
    const isHealthy = isReady(object) && deletionTimestamp === undefined;
    const controller = ownerReferences?.find((owner) => owner.controller === true);
    this.#pods.set(key, { isHealthy, controller });
    if (isHealthy) this.#healthy += 1;
    if (controller === undefined) return;
    const known = this.#controllers.get(controller.uid);
    if (known === undefined) this.#controllers.set(controller.uid, { owner: controller, pods: 1 });
    else known.pods += 1;
  }

  drop(key: string): void {
    const pod = this.#pods.get(key);
    if (pod === undefined) return;
    this.#pods.delete(key);
    if (pod.isHealthy) this.#healthy -= 1;
    const { uid = '' } = pod.controller ?? {};
    const known = this.#controllers.get(uid);
    if (known === undefined) return;
    known.pods -= 1;
    if (known.pods === 0) this.#controllers.delete(uid);
  }

  get pods(): number {
    return this.#pods.size;
  }

  get healthy(): number {
    return this.#healthy;
  }

  isHealthy(name: string): boolean {
    const namespace = this.key.slice(0, this.key.indexOf('/'));
    return this.#pods.get(`${namespace}/${name}`)?.isHealthy ?? false;
  }

  get controllers(): Iterable<Owner> {
    return Array.from(this.#controllers.values(), ({ owner }) => owner);
  }
}
