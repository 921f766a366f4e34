/** How many pods of a kind there are in each domain of a topology, brought up to date by what changed since it was last asked. */
import type { LabelSelector, Pod, StringMap } from '../../../api/kubernetes.ts';
import { own } from '../../../api/own.ts';
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
interface Place {
  /** False for one whose Node is not there. */
  readonly known: boolean;
  readonly labels: StringMap;
  readonly pods: readonly Pod[];
}

/** Whether a pod is one of those that are spread. Pods on their way out no longer count. */
export const isSpread = ({ namespace, selector }: Pick<Spread, 'namespace' | 'selector'>, { metadata }: Pod): boolean =>
  metadata.namespace === namespace &&
  metadata.deletionTimestamp === undefined &&
  matchesLabels(selector, metadata.labels);

/** More than the workloads of a large cluster have: each has one or two. */
const MOST_SPREADS = 2_000;
/** Changes that are remembered for each place: who asks after more of them counts anew. */
const REMEMBERED = 4;

export class DomainCounts {
  readonly #places: ReadonlyMap<string, Place>;
  /** Places that changed, latest last. */
  #changes: Place[] = [];
  /** The number of changes that are no longer remembered. */
  #forgotten = 0;
  readonly #counts = new Map<string, Count>();

  /** @param places all that are to be counted, kept up to date by the caller */
  constructor(places: ReadonlyMap<string, Place>) {
    this.#places = places;
  }

  /** A node, its labels or its pods are not what they were. */
  changed(place: Place): void {
    if (this.#counts.size === 0) return;
    this.#changes.push(place);
    if (this.#changes.length < 100 + REMEMBERED * this.#places.size) return;
    const kept = this.#changes.length >> 1;
    this.#forgotten += this.#changes.length - kept;
    this.#changes = this.#changes.slice(-kept);
  }

  /** Pods by domain, over the nodes that have all labels that are asked for; domains without pods are there with 0. */
  of(spread: Spread): ReadonlyMap<string, number> {
    const key = JSON.stringify([spread.namespace, spread.topologyKey, spread.nodeLabels, spread.selector]);
    const now = this.#forgotten + this.#changes.length;
    let count = this.#counts.get(key);
    this.#counts.delete(key);
    if (count === undefined || count.seen < this.#forgotten) count = new Count(spread, this.#places.values());
    else for (const place of new Set(this.#changes.slice(count.seen - this.#forgotten))) count.take(place);
    count.seen = now;
    if (this.#counts.size >= MOST_SPREADS) this.#counts.delete(this.#counts.keys().next().value ?? '');
    this.#counts.set(key, count);
    return count.pods;
  }
}

/** Of one kind of pods. */
class Count {
  /** The number of changes that it knows of. */
  seen = 0;
  readonly pods = new Map<string, number>();
  readonly #spread: Spread;
  readonly #nodes = new Map<string, number>();
  readonly #parts = new Map<Place, { readonly domain: string; readonly pods: number }>();

  constructor(spread: Spread, places: Iterable<Place>) {
    this.#spread = spread;
    for (const place of places) this.take(place);
  }

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
