/** Measurements of provisioning runs: duration, remaining work, and placement of pods. */
import { randomUUID } from 'node:crypto';
import type { Plan, PodRefusal } from '../../engine/model.ts';
import { podKey } from '../../engine/pods.ts';
import type { Solver } from '../../engine-worker/solver.ts';
import { monotonicMs } from '../../lib/clock.ts';
import {
  SCHEDULER_IGNORED_PODS_COUNT,
  SCHEDULER_PENDING_PODS_BY_EFFECTIVE_ZONE_COUNT,
  SCHEDULER_QUEUE_DEPTH,
  SCHEDULER_SCHEDULING_DURATION_SECONDS,
  SCHEDULER_UNFINISHED_WORK_SECONDS,
  SCHEDULER_UNSCHEDULABLE_PODS_COUNT,
} from '../../observe/metrics/scheduler.ts';
import type { Deps } from '../deps.ts';
import { pendingPods } from './workload.ts';

const CONTROLLER = { controller: 'provisioner' };

export interface ProvisioningMeasures {
  /** Starts the timer of a run. The run must call the returned function at its end. */
  started(): () => void;
  /** Measures each solve. While a solve runs, reports the number of pods to place and the elapsed time. */
  solve: Solver;
  /** Records the refusals of a plan. Each scrape counts the refusals that still apply. */
  count(plan: Plan): void;
}

export function provisioningMeasures(
  { clock, cluster, metrics }: Pick<Deps, 'clock' | 'cluster' | 'metrics'>,
  solver: Solver,
): ProvisioningMeasures {
  const duration = metrics.histogram(SCHEDULER_SCHEDULING_DURATION_SECONDS);
  const depth = metrics.gauge(SCHEDULER_QUEUE_DEPTH);
  const unfinished = metrics.gauge(SCHEDULER_UNFINISHED_WORK_SECONDS);
  const zones = metrics.gauge(SCHEDULER_PENDING_PODS_BY_EFFECTIVE_ZONE_COUNT);
  const ignored = metrics.gauge(SCHEDULER_IGNORED_PODS_COUNT);
  const unschedulable = metrics.gauge(SCHEDULER_UNSCHEDULABLE_PODS_COUNT);
  let refused: readonly (readonly [pod: string, refusal: PodRefusal])[] = [];
  /** Start time of each running solve, by id. */
  const running = new Map<string, number>();
  metrics.beforeScrape(() => {
    const waiting = pendingPods(cluster);
    // a deleted or scheduled pod starts no run that could update the counts
    if (waiting.length === 0) zones.reset();
    const present = new Set([...waiting, ...cluster.virtualPods.list()].map(podKey));
    const codes = refused.filter(([pod]) => present.has(pod)).map(([, { code }]) => code);
    ignored.set(codes.filter((code) => code === 'ignored').length);
    unschedulable.set(CONTROLLER, codes.filter((code) => code !== 'ignored' && code !== 'reserved-capacity').length);
    for (const [id, startedMs] of running) {
      unfinished.set({ ...CONTROLLER, scheduling_id: id }, (monotonicMs(clock) - startedMs) / 1000);
    }
  });
  const started = (): (() => void) => {
    const startedMs = monotonicMs(clock);
    return () => duration.observe(CONTROLLER, (monotonicMs(clock) - startedMs) / 1000);
  };

  return {
    started,
    solve: async (snapshot, options) => {
      const labels = { ...CONTROLLER, scheduling_id: randomUUID() };
      const finished = started();
      running.set(labels.scheduling_id, monotonicMs(clock));
      depth.set(labels, snapshot.pendingPods.length);
      try {
        return await solver(snapshot, { ...options, countZones: true });
      } finally {
        finished();
        running.delete(labels.scheduling_id);
        // a finished solve must not leave series
        depth.remove(labels);
        unfinished.remove(labels);
      }
    },
    count: (plan) => {
      refused = [...plan.refusals];
      zones.reset();
      for (const [zone, count] of plan.effectiveZones ?? []) zones.set({ ...CONTROLLER, zone }, count);
    },
  };
}
