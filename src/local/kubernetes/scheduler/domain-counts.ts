/** Number of matching pods in each domain of a topology. Changes update the counts. */
import type { LabelSelector, Pod, StringMap } from '#api/objects';
import { selects } from '#engine/model';
import { own } from '#lib';

/** Pods to count, and their topology. */
export interface Spread {
  readonly namespace: string | undefined;
  readonly selector: LabelSelector | undefined;
  readonly topologyKey: string;
  /** Labels that a counted node must have, including the topology key. */
  readonly nodeLabels: readonly string[];
}

/** Properties of a node that are counted. */
export interface Place {
  /** False if the Node object does not exist. */
  readonly known: boolean;
  readonly labels: StringMap;
  readonly pods: readonly Pod[];
}

/** Counted pods of a node, and its domain. */
interface Part {
  readonly domain: string;
  readonly pods: number;
}

export interface Counted {
  /** Number of pods by domain. Domains without pods have 0. */
  readonly pods: ReadonlyMap<string, number>;
  /** Returns the counts of one node, or undefined if the node does not have all of the labels. */
  on(node: object): Part | undefined;
}

const isEmpty = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  matchExpressions.length === 0 && Object.keys(matchLabels).length === 0;

/** Reports whether a pod matches. Terminating pods do not match, and an empty selector matches no pod. */
export const isSpread = ({ namespace, selector }: Spread, { metadata }: Pod): boolean =>
  metadata.namespace === namespace &&
  metadata.deletionTimestamp === undefined &&
  selector !== undefined &&
  !isEmpty(selector) &&
  selects(selector, metadata.labels);

/** More than the number of workloads in a large cluster. Each workload has one or two spreads. */
const MOST_SPREADS = 2_000;

export class DomainCounts {
  readonly #places: ReadonlyMap<string, Place>;
  readonly #counts = new Map<string, Count>();
  /** Counts by a label that all matching pods have. Counts without such a label are under ''. */
  readonly #byLabel = new Map<string, Set<Count>>();

  /** @param places all nodes to count; the caller updates them */
  constructor(places: ReadonlyMap<string, Place>) {
    this.#places = places;
  }

  /** A node was created or deleted, or its labels have changed. */
  placeChanged(place: Place): void {
    for (const count of this.#counts.values()) count.take(place);
  }

  /** A pod of the node was added, removed or changed. */
  podChanged(place: Place, before: Pod | undefined, now: Pod | undefined): void {
    if (this.#counts.size === 0) return;
    for (const [pod, sign] of [[before, -1] as const, [now, 1] as const]) {
      if (pod === undefined) continue;
      for (const count of this.#byLabel.get('') ?? []) count.add(place, pod, sign);
      for (const [name, value] of Object.entries(pod.metadata.labels ?? {}))
        for (const count of this.#byLabel.get(labelText(name, value)) ?? []) count.add(place, pod, sign);
    }
  }

  /** Returns the counts over the nodes that have all required labels. */
  of(spread: Spread): Counted {
    const key = JSON.stringify([spread.namespace, spread.topologyKey, spread.nodeLabels, spread.selector]);
    const known = this.#counts.get(key);
    if (known !== undefined) return known;
    if (this.#counts.size >= MOST_SPREADS) this.#forgetAll();
    const count = new Count(spread, this.#places.values());
    this.#counts.set(key, count);
    const label = labelOf(spread.selector);
    this.#byLabel.set(label, (this.#byLabel.get(label) ?? new Set()).add(count));
    return count;
  }

  /** Discards all counts. Counts in use are soon computed again. */
  #forgetAll(): void {
    this.#counts.clear();
    this.#byLabel.clear();
  }
}

const labelText = (name: string, value: string): string => `${name}=${value}`;

function labelOf(selector: LabelSelector | undefined): string {
  const [first] = Object.entries(selector?.matchLabels ?? {});
  return first === undefined ? '' : labelText(...first);
}

/** Counts of one spread. */
class Count implements Counted {
  readonly pods = new Map<string, number>();
  readonly #spread: Spread;
  readonly #nodes = new Map<string, number>();
  readonly #parts = new Map<object, { readonly domain: string; pods: number }>();

  constructor(spread: Spread, places: Iterable<Place>) {
    this.#spread = spread;
    for (const place of places) this.take(place);
  }

  on(node: object): Part | undefined {
    return this.#parts.get(node);
  }

  /** Counts the pods of a node again. */
  take(place: Place): void {
    const before = this.#parts.get(place);
    if (before !== undefined) this.#add(before.domain, -1, -before.pods);
    this.#parts.delete(place);
    const { topologyKey, nodeLabels } = this.#spread;
    const { labels } = place;
    const domain = place.known ? own(labels, topologyKey) : undefined;
    if (domain === undefined || nodeLabels.some((name) => own(labels, name) === undefined)) return;
    let pods = 0;
    for (const pod of place.pods) if (isSpread(this.#spread, pod)) pods += 1;
    this.#parts.set(place, { domain, pods });
    this.#add(domain, 1, pods);
  }

  add(place: Place, pod: Pod, sign: 1 | -1): void {
    const part = this.#parts.get(place);
    if (part === undefined || !isSpread(this.#spread, pod)) return;
    part.pods += sign;
    this.#add(part.domain, 0, sign);
  }

  #add(domain: string, nodes: number, pods: number): void {
    const left = (this.#nodes.get(domain) ?? 0) + nodes;
    if (left === 0) {
      this.#nodes.delete(domain);
      this.pods.delete(domain);
      return;
    }
    this.#nodes.set(domain, left);
    this.pods.set(domain, (this.pods.get(domain) ?? 0) + pods);
  }
}
