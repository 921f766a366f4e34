/** Metrics of pods: location, and the time until they are scheduled and started. */

import {
  ARCH_LABEL,
  CAPACITY_TYPE_LABEL,
  getCondition,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  nodeNameOf,
  POD,
  type Pod,
  ZONE_LABEL,
} from '#api/objects';
import { isTerminal, podKey } from '#engine/model';
import { after, type Reconciler, settled } from '#kube/reconcilers';
import { timeOf } from '#lib';
import {
  type GaugeDeclaration,
  type Labels,
  type Metrics,
  OwnedSeries,
  PODS_BOUND_DURATION_SECONDS,
  PODS_PROVISIONING_BOUND_DURATION_SECONDS,
  PODS_PROVISIONING_SCHEDULING_UNDECIDED_TIME_SECONDS,
  PODS_PROVISIONING_STARTUP_DURATION_SECONDS,
  PODS_PROVISIONING_UNBOUND_TIME_SECONDS,
  PODS_PROVISIONING_UNSTARTED_TIME_SECONDS,
  PODS_STARTUP_DURATION_SECONDS,
  PODS_STATE,
  PODS_UNBOUND_TIME_SECONDS,
  PODS_UNSTARTED_TIME_SECONDS,
  type Sample,
} from '#observe/metrics';
import type { ClusterState, PodTiming } from '#state';
import type { Deps } from '../deps.ts';

const INTERVAL_MS = 30_000;

export function podMetrics({ clock, cluster, metrics }: Deps): Reconciler<Pod> {
  const waits = new PodWaits(metrics);
  /** False on a standby replica, which also caches pods but must not measure them. */
  let isMeasuring = false;
  metrics.readAtScrape(PODS_STATE, () => (isMeasuring ? stateSamples(cluster) : []));

  return {
    name: 'metrics.pod',
    watches: POD,
    concurrency: 1,
    removed: ({ namespace = 'default', name }) => waits.forget(`${namespace}/${name}`),

    async reconcile(pod) {
      isMeasuring = true;
      const isWaiting = waits.observe(pod, cluster.podTimings.get(podKey(pod)), clock.now());
      // metrics of pods that do not wait do not change with time, and there are tens of thousands of pods
      return isWaiting ? after(INTERVAL_MS) : settled;
    },
  };
}

/** Creates samples during the scrape, because a sample takes more memory than the pod. */
function* stateSamples(cluster: ClusterState): Generator<Sample> {
  for (const pod of cluster.stores.pods.list()) yield { labels: stateLabels(pod, cluster), value: 1 };
}

function stateLabels(pod: Pod, { stores }: ClusterState): Labels {
  const { name, namespace = '', ownerReferences = [] } = pod.metadata;
  const [owner] = ownerReferences;
  const nodeName = nodeNameOf(pod);
  const labels = (nodeName === '' ? undefined : stores.nodes.get({ name: nodeName }))?.metadata.labels ?? {};
  return {
    name,
    namespace,
    owner: owner ? `/apis/${owner.apiVersion}/namespaces/${namespace}/${owner.kind.toLowerCase()}s/${owner.name}` : '',
    node: nodeName,
    scheduled: String(nodeName !== ''),
    nodepool: labels[NODEPOOL_LABEL] ?? '',
    zone: labels[ZONE_LABEL] ?? '',
    arch: labels[ARCH_LABEL] ?? '',
    capacity_type: labels[CAPACITY_TYPE_LABEL] ?? '',
    instance_type: labels[INSTANCE_TYPE_LABEL] ?? '',
    phase: pod.status?.phase ?? '',
    ready: String(getCondition(pod, 'Ready')?.status === 'True'),
    managed: String(labels[NODEPOOL_LABEL] !== undefined),
  };
}

/**
 * Measures the waiting time of pods, from their creation and from the first placement. A pod counts only if this process
 * observed it as pending, so that a restart does not measure old pods again.
 */
interface Observed {
  readonly uid: string | undefined;
  isStarted: boolean;
  isBound: boolean;
}

/** Metrics of one kind of wait: a gauge during the wait, and a distribution of completed waits. */
interface Wait {
  readonly lasting: OwnedSeries;
  readonly ended: { observe(seconds: number): void };
}

export class PodWaits {
  readonly #startup: Wait;
  readonly #bound: Wait;
  readonly #provisioningStartup: Wait;
  readonly #provisioningBound: Wait;
  readonly #undecided: OwnedSeries;
  /** Pods with waits that are not completed. */
  readonly #tracked = new Map<string, Observed>();

  constructor(metrics: Metrics) {
    const lasting = (declaration: GaugeDeclaration): OwnedSeries => new OwnedSeries(metrics, declaration);
    this.#startup = {
      lasting: lasting(PODS_UNSTARTED_TIME_SECONDS),
      ended: metrics.summary(PODS_STARTUP_DURATION_SECONDS),
    };
    this.#bound = {
      lasting: lasting(PODS_UNBOUND_TIME_SECONDS),
      ended: metrics.histogram(PODS_BOUND_DURATION_SECONDS),
    };
    this.#provisioningStartup = {
      lasting: lasting(PODS_PROVISIONING_UNSTARTED_TIME_SECONDS),
      ended: metrics.histogram(PODS_PROVISIONING_STARTUP_DURATION_SECONDS),
    };
    this.#provisioningBound = {
      lasting: lasting(PODS_PROVISIONING_UNBOUND_TIME_SECONDS),
      ended: metrics.histogram(PODS_PROVISIONING_BOUND_DURATION_SECONDS),
    };
    this.#undecided = lasting(PODS_PROVISIONING_SCHEDULING_UNDECIDED_TIME_SECONDS);
  }

  /** Records the waits of a pod. Returns true if the pod still waits, so that its gauges change with time. */
  observe(pod: Pod, timing: PodTiming, nowMs: number): boolean {
    const key = podKey(pod);
    const { uid } = pod.metadata;
    const isUndecided = this.#observeDecision(pod, timing, nowMs);
    const known = this.#tracked.get(key);
    const isSame = known?.uid === uid;
    if (!isSame && pod.status?.phase !== 'Pending') return isUndecided;
    const observed = known && isSame ? known : { uid, isStarted: false, isBound: false };
    this.#tracked.set(key, observed);
    this.#observeStartup(pod, observed, timing, nowMs);
    this.#observeBinding(pod, observed, timing, nowMs);
    // a pod never becomes pending again
    if (observed.isBound && observed.isStarted) this.#tracked.delete(key);
    return isUndecided || !observed.isBound || !(observed.isStarted || isTerminal(pod));
  }

  forget(key: string): void {
    this.#tracked.delete(key);
    const waits = [this.#startup, this.#bound, this.#provisioningStartup, this.#provisioningBound];
    for (const { lasting } of waits) lasting.remove(key);
    this.#undecided.remove(key);
  }

  #observeDecision(pod: Pod, { acknowledgedMs, decidedMs }: PodTiming, nowMs: number): boolean {
    const isOpen = decidedMs === undefined && !pod.spec.nodeName && !isTerminal(pod);
    const samples = isOpen && acknowledgedMs !== undefined ? [sample(pod, nowMs - acknowledgedMs)] : [];
    this.#undecided.set(podKey(pod), samples);
    return isOpen;
  }

  #observeStartup(pod: Pod, observed: Observed, { schedulableMs }: PodTiming, nowMs: number): void {
    if (observed.isStarted) return;
    const createdMs = knownTimeOf(pod.metadata.creationTimestamp);
    const ready = getCondition(pod, 'Ready');
    if (pod.status?.phase !== 'Pending' && ready?.status === 'True') {
      observed.isStarted = true;
      const readyMs = knownTimeOf(ready.lastTransitionTime) ?? nowMs;
      end(this.#startup, pod, createdMs, readyMs);
      end(this.#provisioningStartup, pod, schedulableMs, readyMs);
    } else if (isTerminal(pod)) {
      this.#startup.lasting.remove(podKey(pod));
      this.#provisioningStartup.lasting.remove(podKey(pod));
    } else {
      last(this.#startup, pod, createdMs, nowMs);
      last(this.#provisioningStartup, pod, schedulableMs, nowMs);
    }
  }

  #observeBinding(pod: Pod, observed: Observed, { schedulableMs }: PodTiming, nowMs: number): void {
    if (observed.isBound) return;
    const createdMs = knownTimeOf(pod.metadata.creationTimestamp);
    const scheduled = getCondition(pod, 'PodScheduled');
    if (scheduled?.status !== 'True') {
      last(this.#bound, pod, createdMs, nowMs);
      last(this.#provisioningBound, pod, schedulableMs, nowMs);
      return;
    }
    for (const { lasting } of [this.#bound, this.#provisioningBound]) lasting.remove(podKey(pod));
    if (pod.status?.phase === 'Pending') return;
    observed.isBound = true;
    const boundMs = knownTimeOf(scheduled.lastTransitionTime) ?? nowMs;
    end(this.#bound, pod, createdMs, boundMs);
    end(this.#provisioningBound, pod, schedulableMs, boundMs);
  }
}

/** Updates the gauge of a wait that is not completed. */
function last({ lasting }: Wait, pod: Pod, sinceMs: number | undefined, nowMs: number): void {
  lasting.set(podKey(pod), sinceMs === undefined ? [] : [sample(pod, nowMs - sinceMs)]);
}

/** Records a completed wait. */
function end({ lasting, ended }: Wait, pod: Pod, sinceMs: number | undefined, endMs: number): void {
  lasting.remove(podKey(pod));
  if (sinceMs !== undefined) ended.observe(Math.max(0, endMs - sinceMs) / 1_000);
}

const sample = ({ metadata }: Pod, ms: number) => ({
  labels: { name: metadata.name, namespace: metadata.namespace ?? '' },
  value: Math.max(0, ms) / 1_000,
});

function knownTimeOf(text: string | undefined): number | undefined {
  const ms = timeOf(text);
  return Number.isNaN(ms) ? undefined : ms;
}
