/**
 * Nodes that were bought for pods which are then not bound to them. Buying again would end the same way, so it stops after
 * two such nodes, says what they lack, and is tried again ever less often. See docs/decisions/0020.
 */
import { LRUCache } from 'lru-cache';
import { isTrue } from '../../api/conditions.ts';
import type { KubeObject, Pod } from '../../api/kubernetes.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { nodeNameOf } from '../../api/object-fields.ts';
import type { StateNode } from '../../engine/model.ts';
import { isScheduled } from '../../engine/pods.ts';
import type { Volumes } from '../../engine/volumes.ts';
import { FIRST_HOLD_MS, type PodHolds } from '../../engine-worker/pod-holds.ts';
import { likenessOf } from '../../engine-worker/pod-likeness.ts';
import { monotonicMs } from '../../kube/clock.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import { nodeClassKinds } from '../node-classes.ts';
import type { HeldPods } from './held-pods.ts';
import { type Suitability, suitability, unexplained } from './lacks.ts';
import { publishBoughtInVain, publishNotBound } from './not-bound.ts';
import { volumeReader } from './volume-reader.ts';
import { pendingPods } from './workload.ts';

/** Nodes that may be bought in vain for pods that are alike. */
export const MOST_IN_VAIN = 2;
/** kube-scheduler has this long, from the node's being initialized on, to bind the pod. */
export const GRACE_MS = 30_000;
/** Pods that have not come back by then, from the node's being initialized on, are not waited for. */
const FORGOTTEN_MS = 5 * 60_000;
const PERIOD_MS = 5_000;
/** Entries that are kept of each kind. Beyond it the oldest are forgotten. */
const MOST_KEPT = 10_000;

/** A NodeClaim that was created for pods, until it is known what became of them. */
interface Purchase {
  readonly claim: string;
  /** One pod of each likeness that the claim was created for. */
  readonly pods: Map<string, Pod>;
  /** By `monotonicMs`. */
  initializedMs?: number;
  /** The node as it last was, once it was initialized: it may go away before it is judged. */
  node?: StateNode;
}

/** What all purchases are looked at with. */
interface Sweep {
  /** Pods that wait for a node, by likeness. */
  readonly waiting: ReadonlyMap<string, readonly Pod[]>;
  readonly volumes: () => Volumes;
  readonly log: Logger;
}

export class Purchases {
  readonly #deps: Deps;
  readonly #held: HeldPods;
  readonly #holds: PodHolds;
  readonly #open = new LRUCache<string, Purchase>({ max: MOST_KEPT });
  /** Nodes that were bought in vain since such a pod was last bound to a managed node, or since the last hold ended. */
  readonly #inVain = new LRUCache<string, number>({ max: MOST_KEPT });
  #endedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: Deps, held: HeldPods, holds: PodHolds) {
    this.#deps = deps;
    this.#held = held;
    this.#holds = holds;
    const { cloud, cluster, informers } = deps;
    cluster.stores.pods.subscribe((event, pod, before) => {
      const isBound = event !== 'deleted' && isScheduled(pod) && !(before !== undefined && isScheduled(before));
      if (isBound) this.#bound(pod);
    });
    const edited = (event: string, object: KubeObject, before: KubeObject | undefined): void => {
      if (event !== 'deleted' && object.metadata.generation !== before?.metadata.generation) this.#reconsider();
    };
    cluster.stores.nodePools.subscribe(edited);
    for (const kind of nodeClassKinds(cloud)) informers.store(kind).subscribe(edited);
  }

  /** The pods for which nodes may be bought now. */
  taking(pods: readonly Pod[]): readonly Pod[] {
    const rest = this.#held.taking(pods);
    if (this.#open.size === 0 && this.#inVain.size === 0) return rest;
    const purchased = openByLikeness(this.#open);
    const volumes = volumeReader(this.#deps.cluster);
    const allowed = new Map<string, boolean>();
    return rest.filter((pod) => {
      const likeness = likenessOf(pod);
      const known = allowed.get(likeness);
      // where a node was bought in vain, one pod tries for all that are like it
      if (known !== undefined) return known && !this.#inVain.has(likeness);
      const lacking = this.#lacking(pod, purchased.get(likeness) ?? [], volumes);
      const isAllowed = (this.#inVain.get(likeness) ?? 0) + lacking < MOST_IN_VAIN;
      allowed.set(likeness, isAllowed);
      return isAllowed;
    });
  }

  /** A NodeClaim was created for these pods. */
  bought(claim: NodeClaim, pods: readonly Pod[]): void {
    const samples = new Map(pods.map((pod) => [likenessOf(pod), pod]));
    if (samples.size > 0) this.#open.set(claim.metadata.name, { claim: claim.metadata.name, pods: samples });
  }

  readonly judge: Singleton = {
    name: 'provisioner.purchases',
    singleton: true,
    reconcile: async ({ log }) => {
      if (this.#open.size === 0) return after(PERIOD_MS);
      const { cluster } = this.#deps;
      const waiting = Map.groupBy(pendingPods(cluster), likenessOf);
      const sweep: Sweep = { waiting, volumes: volumeReader(cluster), log };
      for (const purchase of [...this.#open.values()]) this.#look(purchase, sweep);
      return after(PERIOD_MS);
    },
  };

  #bound(pod: Pod): void {
    if (this.#inVain.size === 0) return;
    if (this.#deps.cluster.nodeByName(nodeNameOf(pod))?.nodeClaim === undefined) return;
    this.#inVain.delete(likenessOf(pod));
  }

  /** What was bought in vain may be bought differently now. Who edits without end must not buy without end. */
  #reconsider(): void {
    const nowMs = monotonicMs(this.#deps.clock);
    if (this.#holds.size === 0 || nowMs - this.#endedMs < FIRST_HOLD_MS['not-bound']) return;
    this.#endedMs = nowMs;
    this.#holds.end('not-bound');
  }

  /** Number of live purchases whose node lacks something for the pod: whatever comes of them, it is not bound there. */
  #lacking(pod: Pod, purchased: readonly Purchase[], volumes: () => Volumes): number {
    const { cluster } = this.#deps;
    return purchased.filter(({ claim: name }) => {
      const claim = cluster.claim(name);
      const node = claim && cluster.nodeOfClaim(claim);
      return node !== undefined && suitability(pod, node, volumes).kind === 'lacking';
    }).length;
  }

  #look(purchase: Purchase, sweep: Sweep): void {
    const { cluster, clock } = this.#deps;
    const claim = cluster.claim(purchase.claim);
    const node = claim && cluster.nodeOfClaim(claim);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined || node?.markedForDeletion) {
      this.#settleDeparted(purchase, claim, sweep);
      this.#open.delete(purchase.claim);
      return;
    }
    if (!node?.initialized) return;
    purchase.initializedMs ??= monotonicMs(clock);
    purchase.node = node;
    for (const likeness of [...purchase.pods.keys()])
      if (this.#settle(purchase, likeness, sweep)) purchase.pods.delete(likeness);
    if (purchase.pods.size === 0) this.#open.delete(purchase.claim);
  }

  /** Whether it is known now what became of the pods of a likeness. */
  #settle(purchase: Purchase, likeness: string, { waiting, volumes, log }: Sweep): boolean {
    const { initializedMs, node } = purchase;
    if (initializedMs === undefined || node === undefined) return false;
    if (holdsAlike(node, likeness)) return true;
    const pods = waiting.get(likeness) ?? [];
    const [pod] = pods;
    const ageMs = monotonicMs(this.#deps.clock) - initializedMs;
    if (pod === undefined) return ageMs >= FORGOTTEN_MS;
    const found = suitability(pod, node, volumes);
    if (found.kind === 'taken') return true;
    if (ageMs < GRACE_MS) return false;
    const text = this.#publish(pod, node, found);
    if (found.kind !== 'lacking') return false;
    this.#countInVain(likeness, pods, text, log);
    return true;
  }

  /** The node is gone, or going, before anything was known. */
  #settleDeparted({ pods, node }: Purchase, claim: NodeClaim | undefined, { waiting, volumes, log }: Sweep): void {
    if (node === undefined) return;
    const last = claim ?? node.nodeClaim;
    const deliberate = last !== undefined && isTrue(last, 'DisruptionReason');
    for (const likeness of pods.keys()) {
      const alike = waiting.get(likeness) ?? [];
      const [pod] = alike;
      if (pod === undefined || holdsAlike(node, likeness)) continue;
      const found = suitability(pod, node, volumes);
      if (found.kind !== 'lacking' && !(found.kind === 'free' && deliberate)) continue;
      this.#countInVain(likeness, alike, this.#publish(pod, node, found), log);
    }
  }

  /** Answers why the pod is not bound to the node. */
  #publish(pod: Pod, node: StateNode, found: Suitability): string {
    const text = found.kind === 'lacking' ? found.text : unexplained(pod);
    publishNotBound(this.#deps, pod, node, text);
    publishBoughtInVain(this.#deps, pod, node, text);
    return text;
  }

  #countInVain(likeness: string, pods: readonly Pod[], text: string, log: Logger): void {
    const count = (this.#inVain.get(likeness) ?? 0) + 1;
    if (count < MOST_IN_VAIN) return void this.#inVain.set(likeness, count);
    // when the hold ends, one more node may be bought
    this.#inVain.set(likeness, MOST_IN_VAIN - 1);
    this.#held.hold(pods, { code: 'not-bound', text: `nodes were bought for such pods in vain: ${text}` }, log);
  }
}

const holdsAlike = ({ pods }: StateNode, likeness: string): boolean => pods.some((pod) => likenessOf(pod) === likeness);

function openByLikeness(open: Pick<LRUCache<string, Purchase>, 'values'>): ReadonlyMap<string, readonly Purchase[]> {
  const found = new Map<string, Purchase[]>();
  for (const purchase of open.values())
    for (const likeness of purchase.pods.keys()) {
      const known = found.get(likeness);
      if (known === undefined) found.set(likeness, [purchase]);
      else known.push(purchase);
    }
  return found;
}
