/**
 * Writes the planned node of each pending pod to `status.nominatedNodeName`, so that kube-scheduler tries this node first and
 * keeps its room free (docs/decisions/0080). Needs the right to patch the status of pods, so it is off by default.
 */
import { LRUCache } from 'lru-cache';
import { DISRUPTED_TAINT, POD, type Pod, uidOf } from '#api/objects';
import { isActive, isJustRefused, type StateNode, sameTaint } from '#engine/model';
import { ApiError, writeChanges } from '#kube/client';
import { after, backOffMs, type Outcome, type ReconcileContext, Requeue, type Singleton } from '#kube/reconcilers';
import { interleave } from '#lib';
import type { Logger } from '#observe/logger';
import type { Deps } from '../deps.ts';
import type { PodVerdicts } from './pod-verdicts.ts';

/** Interval of reading the placements. Nodes are ready some seconds after their registration. */
const LOOK_MS = 1000;
/** Maximum number of concurrent writes, and the time until the next writes. */
const MOST_WRITES = 10;
const WRITES_MS = 200;
/** Maximum number of waiting writes. Further pods follow when these are written. */
const MOST_WAITING = 1000;
const FAILED = { baseMs: 5 * 60_000, maxMs: 60 * 60_000 };
/** Failures in succession until all pods wait. */
const MOST_FAILURES = 10;
/** Maximum number of attempts for a pod and a node. Conflicts count, because a webhook may report them for every write. */
const MOST_ATTEMPTS = 3;
/** Maximum number of pods whose attempts are remembered. */
const MOST_PODS = 10_000;

interface Nomination {
  readonly pod: Pod;
  readonly node: string;
}

export class PodNominations implements Singleton {
  readonly name = 'provisioner.nomination';
  readonly singleton = true;
  readonly #deps: Pick<Deps, 'client' | 'clock' | 'cluster' | 'random'>;
  readonly #verdicts: Pick<PodVerdicts, 'placements'>;
  #waiting: readonly Nomination[] = [];
  /** Attempts by UID of the pod and name of the node. A value that kube-scheduler removes must not return. */
  readonly #attempts = new LRUCache<string, number>({ max: MOST_PODS });
  /** Failures since the last successful write. */
  #failures = 0;
  /** Pauses since the last successful write. */
  #pauses = 0;

  constructor(deps: Deps, verdicts: Pick<PodVerdicts, 'placements'>) {
    this.#deps = deps;
    this.#verdicts = verdicts;
  }

  async reconcile({ log }: ReconcileContext): Promise<Outcome> {
    if (this.#waiting.length === 0) this.#waiting = this.#due();
    const next = this.#waiting.slice(0, MOST_WRITES);
    this.#waiting = this.#waiting.slice(MOST_WRITES);
    const errors = await Promise.all(next.map((nomination) => this.#tryOne(nomination, log)));
    const denied = errors.find(isDenied);
    if (denied !== undefined && this.#pauses === 0)
      log.error('missing the right to nominate nodes for pods', { error: denied });
    if (denied === undefined && this.#failures < MOST_FAILURES)
      return after(this.#waiting.length > 0 ? WRITES_MS : LOOK_MS);
    this.#waiting = [];
    this.#failures = 0;
    this.#pauses += 1;
    return after(backOffMs(FAILED, this.#pauses - 1, this.#deps.random));
  }

  /** Returns the pods whose planned node has joined. Namespaces take turns, because a webhook may delay their writes. */
  #due(): readonly Nomination[] {
    const found = [...this.#verdicts.placements()].flatMap(({ pod, node }): readonly Nomination[] =>
      this.#isDue(pod, node) ? [{ pod, node: node.name }] : [],
    );
    const byNamespace = Map.groupBy(found, ({ pod: { metadata } }) => metadata.namespace);
    return interleave([...byNamespace.values()]).slice(0, MOST_WAITING);
  }

  #isDue(pod: Pod, node: StateNode): boolean {
    const { cluster, clock } = this.#deps;
    if (!isJoined(node) || (this.#attempts.get(keyOf(pod, node.name)) ?? 0) >= MOST_ATTEMPTS) return false;
    // kube-scheduler nominates a node in the seconds after its refusal
    if (!isActive(pod) || !cluster.isProvisionable(pod) || isJustRefused(pod, clock.now())) return false;
    const { nominatedNodeName } = pod.status ?? {};
    const nominated = nominatedNodeName ? cluster.nodeByName(nominatedNodeName) : undefined;
    return nominated === undefined || !isJoined(nominated);
  }

  /** Writes a nomination unless the pod or its node has changed. Returns the error of a failed write. */
  async #tryOne({ pod, node }: Nomination, log: Logger): Promise<unknown> {
    const { client, cluster } = this.#deps;
    const before = cluster.stores.pods.get(pod.metadata);
    const placed = cluster.nodeByName(node);
    const isSame = before !== undefined && uidOf(before) === uidOf(pod);
    if (!isSame || placed === undefined || !this.#isDue(before, placed)) return undefined;
    const key = keyOf(pod, node);
    try {
      const nominated: Pod = { ...before, status: { ...before.status, nominatedNodeName: node } };
      await writeChanges(client, POD, { before, after: nominated }, { part: 'status', lock: true });
      this.#attempts.set(key, MOST_ATTEMPTS);
      this.#failures = 0;
      this.#pauses = 0;
      return undefined;
    } catch (error) {
      if (isDenied(error)) return error;
      this.#attempts.set(key, (this.#attempts.get(key) ?? 0) + 1);
      if (error instanceof Requeue) return error;
      this.#failures += 1;
      const { namespace, name } = pod.metadata;
      log.error('failed nominating a node for a pod', { Pod: { namespace, name }, Node: { name: node }, error });
      return error;
    }
  }
}

const keyOf = (pod: Pod, node: string): string => `${uidOf(pod)} ${node}`;

/** Returns true if pods can be bound to the node, now or when its startup taints are gone. */
const isJoined = ({ node, registered, markedForDeletion }: StateNode): boolean =>
  registered &&
  !markedForDeletion &&
  node !== undefined &&
  node.metadata.deletionTimestamp === undefined &&
  !(node.spec?.taints ?? []).some((taint) => sameTaint(taint, DISRUPTED_TAINT));

/** Returns true if the operator lacks the right. A webhook can also refuse a single write with the status 403. */
const isDenied = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 403 && error.message.includes('cannot patch resource "pods/status"');
