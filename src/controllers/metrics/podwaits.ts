/**
 * How long pods wait, from their creation and from the moment that a place was first found for them. A pod counts only
 * when this process saw it pending, so that a restart does not measure pods that started long ago again.
 */
import { getCondition } from '../../api/conditions.ts';
import type { Pod } from '../../api/kubernetes.ts';
import { isTerminal, podKey } from '../../engine/pods.ts';
import type { GaugeDeclaration } from '../../observe/metrics/declaration.ts';
import {
  PODS_BOUND_DURATION_SECONDS,
  PODS_PROVISIONING_BOUND_DURATION_SECONDS,
  PODS_PROVISIONING_SCHEDULING_UNDECIDED_TIME_SECONDS,
  PODS_PROVISIONING_STARTUP_DURATION_SECONDS,
  PODS_PROVISIONING_UNBOUND_TIME_SECONDS,
  PODS_PROVISIONING_UNSTARTED_TIME_SECONDS,
  PODS_STARTUP_DURATION_SECONDS,
  PODS_UNBOUND_TIME_SECONDS,
  PODS_UNSTARTED_TIME_SECONDS,
} from '../../observe/metrics/pods.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { PodTiming } from '../../state/pod-timings.ts';
import { OwnedSeries } from './series.ts';

export interface PodWaits {
  observe(pod: Pod, timing: PodTiming, nowMs: number): void;
  forget(key: string): void;
}

interface Observed {
  readonly uid: string | undefined;
  isStarted: boolean;
  isBound: boolean;
}

/** One wait: a gauge while it lasts, a distribution of those that ended. */
interface Wait {
  readonly lasting: OwnedSeries;
  readonly ended: { observe(seconds: number): void };
}

export function podWaits(metrics: Metrics): PodWaits {
  const lasting = (declaration: GaugeDeclaration): OwnedSeries => new OwnedSeries(metrics.gauge(declaration));
  const startup: Wait = {
    lasting: lasting(PODS_UNSTARTED_TIME_SECONDS),
    ended: metrics.summary(PODS_STARTUP_DURATION_SECONDS),
  };
  const bound: Wait = {
    lasting: lasting(PODS_UNBOUND_TIME_SECONDS),
    ended: metrics.histogram(PODS_BOUND_DURATION_SECONDS),
  };
  const provisioningStartup: Wait = {
    lasting: lasting(PODS_PROVISIONING_UNSTARTED_TIME_SECONDS),
    ended: metrics.histogram(PODS_PROVISIONING_STARTUP_DURATION_SECONDS),
  };
  const provisioningBound: Wait = {
    lasting: lasting(PODS_PROVISIONING_UNBOUND_TIME_SECONDS),
    ended: metrics.histogram(PODS_PROVISIONING_BOUND_DURATION_SECONDS),
  };
  const undecided = lasting(PODS_PROVISIONING_SCHEDULING_UNDECIDED_TIME_SECONDS);
  const all = [startup, bound, provisioningStartup, provisioningBound].map((wait) => wait.lasting);
  const tracked = new Map<string, Observed>();

  const last = (wait: Wait, pod: Pod, sinceMs: number | undefined, nowMs: number): void =>
    wait.lasting.set(podKey(pod), sinceMs === undefined ? [] : [sample(pod, nowMs - sinceMs)]);
  const end = (wait: Wait, pod: Pod, sinceMs: number | undefined, endMs: number): void => {
    wait.lasting.remove(podKey(pod));
    if (sinceMs !== undefined) wait.ended.observe(Math.max(0, endMs - sinceMs) / 1_000);
  };

  const observeStartup = (pod: Pod, observed: Observed, { schedulableMs }: PodTiming, nowMs: number): void => {
    if (observed.isStarted) return;
    const createdMs = timeOf(pod.metadata.creationTimestamp);
    const ready = getCondition(pod, 'Ready');
    if (pod.status?.phase !== 'Pending' && ready?.status === 'True') {
      observed.isStarted = true;
      const readyMs = timeOf(ready.lastTransitionTime) ?? nowMs;
      end(startup, pod, createdMs, readyMs);
      end(provisioningStartup, pod, schedulableMs, readyMs);
    } else if (isTerminal(pod)) {
      startup.lasting.remove(podKey(pod));
      provisioningStartup.lasting.remove(podKey(pod));
    } else {
      last(startup, pod, createdMs, nowMs);
      last(provisioningStartup, pod, schedulableMs, nowMs);
    }
  };

  const observeBinding = (pod: Pod, observed: Observed, { schedulableMs }: PodTiming, nowMs: number): void => {
    if (observed.isBound) return;
    const createdMs = timeOf(pod.metadata.creationTimestamp);
    const scheduled = getCondition(pod, 'PodScheduled');
    if (scheduled?.status !== 'True') {
      last(bound, pod, createdMs, nowMs);
      last(provisioningBound, pod, schedulableMs, nowMs);
      return;
    }
    for (const { lasting: gauge } of [bound, provisioningBound]) gauge.remove(podKey(pod));
    if (pod.status?.phase === 'Pending') return;
    observed.isBound = true;
    const boundMs = timeOf(scheduled.lastTransitionTime) ?? nowMs;
    end(bound, pod, createdMs, boundMs);
    end(provisioningBound, pod, schedulableMs, boundMs);
  };

  const observeDecision = (pod: Pod, { acknowledgedMs, decidedMs }: PodTiming, nowMs: number): void => {
    const isOpen = decidedMs === undefined && !pod.spec.nodeName && !isTerminal(pod);
    undecided.set(podKey(pod), isOpen && acknowledgedMs !== undefined ? [sample(pod, nowMs - acknowledgedMs)] : []);
  };

  return {
    observe: (pod, timing, nowMs) => {
      const key = podKey(pod);
      const { uid } = pod.metadata;
      observeDecision(pod, timing, nowMs);
      const known = tracked.get(key);
      const isSame = known?.uid === uid;
      if (!isSame && pod.status?.phase !== 'Pending') return;
      const observed = known && isSame ? known : { uid, isStarted: false, isBound: false };
      tracked.set(key, observed);
      observeStartup(pod, observed, timing, nowMs);
      observeBinding(pod, observed, timing, nowMs);
    },
    forget: (key) => {
      tracked.delete(key);
      for (const gauge of [...all, undecided]) gauge.remove(key);
    },
  };
}

const sample = ({ metadata }: Pod, ms: number) => ({
  labels: { name: metadata.name, namespace: metadata.namespace ?? '' },
  value: Math.max(0, ms) / 1_000,
});

function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}
