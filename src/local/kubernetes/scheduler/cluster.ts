/** The scheduler's view of the cluster. Changes update it, so that it is not rebuilt for each pod. */
import {
  CSI_NODE,
  NAMESPACE,
  NODE,
  type Node,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  type Pod,
  REGION_LABEL,
  STORAGE_CLASS,
  ZONE_LABEL,
} from '#api/objects';
import { type Resources, resourcesOf } from '#engine/model';
import { keyOf } from '#kube/client';
import { own, sameJson } from '#lib';
import type { Caches } from '../../cache.ts';
import { add, podRequests, scoredRequests } from './amounts.ts';
import { DefaultSelectors } from './default-selectors.ts';
import { DeviceCluster } from './devices/device-cluster.ts';
import { DomainCounts } from './domain-counts.ts';
import { antiTerms, hasAffinity } from './pod-affinity.ts';
import type { ClusterView, NodeView } from './view.ts';

export const isOver = (pod: Pod): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';

const repels = (pod: Pod): 0 | 1 => (antiTerms(pod).length > 0 ? 1 : 0);
const attracts = (pod: Pod): 0 | 1 => (hasAffinity(pod) ? 1 : 0);

const zoneOf = ({ metadata: { labels } }: Node): string =>
  `${own(labels, REGION_LABEL) ?? ''}/${own(labels, ZONE_LABEL) ?? ''}`;

/** View of a node that counts its pods. Pods may be observed before their node. */
class Place implements NodeView {
  node: Node;
  allocatable: Resources = {};
  known = false;
  readonly requested: Record<string, number> = {};
  readonly scored: Record<string, number> = {};
  readonly #pods = new Map<string, { readonly pod: Pod; readonly requests: Resources }>();
  #list: readonly Pod[] | undefined;
  #repelling = 0;
  #withAffinity = 0;

  constructor(name: string) {
    this.node = { apiVersion: 'v1', kind: 'Node', metadata: { name } };
  }

  get name(): string {
    return this.node.metadata.name;
  }

  get labels(): Readonly<Record<string, string>> {
    return this.node.metadata.labels ?? {};
  }

  get pods(): readonly Pod[] {
    this.#list ??= [...this.#pods.values()].map(({ pod }) => pod);
    return this.#list;
  }

  setNode(node: Node): void {
    const { allocatable } = node.status ?? {};
    if (!this.known || allocatable !== this.node.status?.allocatable) this.allocatable = resourcesOf(allocatable);
    this.node = node;
    this.known = true;
  }

  /** Returns the previous pod with this key. */
  put(key: string, pod: Pod): Pod | undefined {
    const requests = podRequests(pod);
    const before = this.#pods.get(key);
    if (before?.requests !== requests) {
      if (before) this.#request(before, -1);
      this.#request({ pod, requests }, 1);
    }
    this.#repelling += repels(pod) - (before ? repels(before.pod) : 0);
    this.#withAffinity += attracts(pod) - (before ? attracts(before.pod) : 0);
    this.#pods.set(key, { pod, requests });
    this.#list = undefined;
    return before?.pod;
  }

  /** Returns the removed pod with this key. */
  take(key: string): Pod | undefined {
    const entry = this.#pods.get(key);
    if (!entry) return undefined;
    this.#request(entry, -1);
    this.#repelling -= repels(entry.pod);
    this.#withAffinity -= attracts(entry.pod);
    this.#pods.delete(key);
    this.#list = undefined;
    return entry.pod;
  }

  #request({ pod, requests }: { readonly pod: Pod; readonly requests: Resources }, sign: 1 | -1): void {
    add(this.requested, requests, sign);
    add(this.scored, scoredRequests(pod), sign);
  }

  /** True if any of its pods has pod affinity or anti-affinity. */
  get hasAffinity(): boolean {
    return this.#withAffinity > 0;
  }

  /** True if any of its pods has required anti-affinity. */
  get isRepelling(): boolean {
    return this.#repelling > 0;
  }

  get isEmpty(): boolean {
    return this.#pods.size === 0;
  }
}

export class Cluster implements ClusterView {
  readonly #caches: Caches;
  readonly #places = new Map<string, Place>();
  /** Name of the node on which each pod is counted. */
  readonly #whereabouts = new Map<string, string>();
  readonly #repelling = new Set<Place>();
  readonly #withAffinity = new Set<Place>();
  readonly #order = new NodeOrder<Place>();
  readonly #selectors: DefaultSelectors;
  readonly devices: DeviceCluster;
  readonly domainCounts = new DomainCounts(this.#places);
  #list: readonly NodeView[] | undefined;
  #version = 0;

  constructor(caches: Caches) {
    this.#caches = caches;
    this.#selectors = new DefaultSelectors(caches);
    this.devices = new DeviceCluster(caches, () => {
      this.#version += 1;
    });
    caches.of(NODE).subscribe((now, before) => this.#node(now, before));
    caches.of(POD).subscribe((now, before) => this.#pod(now, before));
    // anti-affinity may select the labels of namespaces
    caches.of(NAMESPACE).subscribe(() => {
      this.#version += 1;
    });
  }

  get nodes(): readonly NodeView[] {
    this.#list ??= this.#order.list();
    return this.#list;
  }

  get repelling(): readonly NodeView[] {
    return this.#repelling.size === 0 ? [] : [...this.#repelling].filter((place) => place.known);
  }

  get withAffinity(): readonly NodeView[] {
    return this.#withAffinity.size === 0 ? [] : [...this.#withAffinity].filter((place) => place.known);
  }

  /** Changes after each change of nodes, of their pods, of devices, and of namespaces. */
  get version(): number {
    return this.#version;
  }

  namespace = (name: string) => this.#caches.of(NAMESPACE).get({ name });
  claim = (namespace: string, name: string) => this.#caches.of(PERSISTENT_VOLUME_CLAIM).get({ namespace, name });
  volume = (name: string) => this.#caches.of(PERSISTENT_VOLUME).get({ name });
  volumes = () => this.#caches.of(PERSISTENT_VOLUME).list();
  storageClass = (name: string) => this.#caches.of(STORAGE_CLASS).get({ name });
  csiNode = (name: string) => this.#caches.of(CSI_NODE).get({ name });
  defaultSelector = (pod: Pod) => this.#selectors.of(pod);

  /** Counts a pod on a node before the API server confirms the binding. */
  assume(pod: Pod, nodeName: string): void {
    this.#count(keyOf(pod.metadata), { ...pod, spec: { ...pod.spec, nodeName } });
  }

  /** Reverts an assumption that the API server rejected. */
  forget(pod: Pod): void {
    const key = keyOf(pod.metadata);
    const present = this.#caches.of(POD).get(pod.metadata);
    if (present?.spec.nodeName) this.#count(key, present);
    else this.#drop(key);
  }

  #place(name: string): Place {
    const found = this.#places.get(name);
    if (found) return found;
    const place = new Place(name);
    this.#places.set(name, place);
    return place;
  }

  #node(now: Node | undefined, before: Node | undefined): void {
    this.#version += 1;
    const place = now && this.#place(now.metadata.name);
    const isCounted = place?.known === true && sameJson(place.labels, now?.metadata.labels ?? {});
    if (now && place) {
      place.setNode(now);
      if (this.#order.put(place, zoneOf(now))) this.#list = undefined;
    } else if (before) this.#nodeGone(before.metadata.name);
    if (place && !isCounted) this.domainCounts.placeChanged(place);
  }

  #nodeGone(name: string): void {
    const place = this.#places.get(name);
    if (place === undefined) return;
    place.known = false;
    this.#order.remove(place);
    this.#list = undefined;
    if (place.isEmpty) this.#places.delete(name);
    this.domainCounts.placeChanged(place);
  }

  #pod(now: Pod | undefined, before: Pod | undefined): void {
    const pod = now ?? before;
    if (!pod) return;
    const key = keyOf(pod.metadata);
    const replaced = now !== undefined && before !== undefined && now.metadata.uid !== before.metadata.uid;
    if (replaced) this.#drop(key);
    if (!now || isOver(now)) this.#drop(key);
    // A pod without a node may be assumed on a node while its binding is in progress.
    else if (now.spec.nodeName) this.#count(key, now);
  }

  #count(key: string, pod: Pod): void {
    const name = pod.spec.nodeName ?? '';
    if (this.#whereabouts.get(key) !== name) this.#drop(key);
    this.#whereabouts.set(key, name);
    const place = this.#place(name);
    this.domainCounts.podChanged(place, place.put(key, pod), pod);
    this.#changed(place);
  }

  #changed(place: Place): void {
    this.#version += 1;
    if (place.isRepelling) this.#repelling.add(place);
    else this.#repelling.delete(place);
    if (place.hasAffinity) this.#withAffinity.add(place);
    else this.#withAffinity.delete(place);
  }

  #drop(key: string): void {
    const name = this.#whereabouts.get(key);
    if (name === undefined) return;
    this.#whereabouts.delete(key);
    const place = this.#places.get(name);
    if (place === undefined) return;
    this.domainCounts.podChanged(place, place.take(key), undefined);
    this.#changed(place);
    if (place.isEmpty && !place.known) this.#places.delete(name);
  }
}

/** Order in which the scheduler evaluates nodes: zones alternate, and within a zone the oldest node comes first. */
export class NodeOrder<T> {
  /** Zones by the age of their oldest node. */
  readonly #zones = new Map<string, Set<T>>();
  readonly #zoneOf = new Map<T, string>();

  /** Adds a node or moves it to another zone. Returns whether this order changed. */
  put(node: T, zone: string): boolean {
    if (this.#zoneOf.get(node) === zone) return false;
    this.remove(node);
    const nodes = this.#zones.get(zone) ?? new Set();
    this.#zones.set(zone, nodes.add(node));
    this.#zoneOf.set(node, zone);
    return true;
  }

  remove(node: T): void {
    const zone = this.#zoneOf.get(node);
    if (zone === undefined) return;
    this.#zoneOf.delete(node);
    const nodes = this.#zones.get(zone);
    nodes?.delete(node);
    if (nodes?.size === 0) this.#zones.delete(zone);
  }

  list(): readonly T[] {
    const zones = [...this.#zones.values()].map((nodes) => [...nodes]);
    const longest = Math.max(0, ...zones.map((nodes) => nodes.length));
    return Array.from({ length: longest }, (_, index) =>
      zones.flatMap((nodes) => nodes.slice(index, index + 1)),
    ).flat();
  }
}
