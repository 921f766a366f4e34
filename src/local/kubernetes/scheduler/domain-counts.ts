/** How many pods of a kind there are in each domain of a topology, kept up to date by what changes. */
import type { LabelSelector, Pod, StringMap } from '../../../api/kubernetes.ts';
import { own } from '../../../lib/own.ts';
import { matchesLabels } from './selectors.ts';

/** Pods that are spread, and over what. */
export interface Spread {
  readonly namespace: string | undefined;
  readonly selector: LabelSelector | undefined;
  readonly topologyKey: string;
  /** Labels that a node must have to be counted, the topology key among them. */
  readonly nodeLabels: readonly string[];
}

/** What is counted of a node. */
export interface Place {
  /** False for one whose Node is not there. */
  readonly known: boolean;
  readonly labels: StringMap;
  readonly pods: readonly Pod[];
}

/** Pods that are counted of a node, and its domain. */
export interface Part {
  readonly domain: string;
  readonly pods: number;
}

export interface Counted {
  /** Pods by domain; domains without pods have 0. */
  readonly pods: ReadonlyMap<string, number>;
  /** The part of one node; undefined if the node lacks one of the labels. */
  on(node: object): Part | undefined;
}

const isEmpty = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  matchExpressions.length === 0 && Object.keys(matchLabels).length === 0;

/** Whether a pod is one of those that are spread. Terminating pods do not count, and an empty selector counts no pod. */
const isSpread = ({ namespace, selector }: Spread, { metadata }: Pod): boolean =>
  metadata.namespace === namespace &&
  metadata.deletionTimestamp === undefined &&
  selector !== undefined &&
  !isEmpty(selector) &&
  matchesLabels(selector, metadata.labels);

/** More than the workloads of a large cluster have: each has one or two. */
const MOST_SPREADS = 2_000;

export class DomainCounts {
  readonly #places: ReadonlyMap<string, Place>;
  readonly #counts = new Map<string, Count>();
  /** By a label that all pods have which are counted; by '' where their selector does not say one. */
  readonly #byLabel = new Map<string, Set<Count>>();

  /** @param places all that are to be counted, kept up to date by the caller */
  constructor(places: ReadonlyMap<string, Place>) {
    this.#places = places;
  }

  /** A node came, went, or has other labels. */
  placeChanged(place: Place): void {
    for (const count of this.#counts.values()) count.take(place);
  }

  /** A pod of the place came, went, or is another than before. */
  podChanged(place: Place, before: Pod | undefined, now: Pod | undefined): void {
    if (this.#counts.size === 0) return;
    for (const [pod, sign] of [[before, -1] as const, [now, 1] as const]) {
      if (pod === undefined) continue;
      for (const count of this.#byLabel.get('') ?? []) count.add(place, pod, sign);
      for (const [name, value] of Object.entries(pod.metadata.labels ?? {}))
        for (const count of this.#byLabel.get(labelled(name, value)) ?? []) count.add(place, pod, sign);
    }
  }

  /** Counts pods over the nodes that have all labels that are asked for. */
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

  /** Those that are asked for are soon there again. */
  #forgetAll(): void {
    this.#counts.clear();
    this.#byLabel.clear();
  }
}

const labelled = (name: string, value: string): string => `${name}=${value}`;

function labelOf(selector: LabelSelector | undefined): string {
  const [first] = Object.entries(selector?.matchLabels ?? {});
  return first === undefined ? '' : labelled(...first);
}

/** Of one kind of pods. */
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

  /** Counts the pods of a place anew. */
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
