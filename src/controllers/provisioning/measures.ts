/** What provisioning runs measure of themselves: how long they take, how much work is left, where pods can go. */
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
  /** Times a whole run; call the answer at its end. */
  started(): () => void;
  /** Times each solve, and shows while it lasts how many pods it has to place and for how long it has been at it. */
  solve: Solver;
  /** Counts what a plan says of pods, and what of it still holds at each scrape. */
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
  /** When solves under way began, by their id. */
  const running = new Map<string, number>();
  metrics.beforeScrape(() => {
    const waiting = pendingPods(cluster);
    // pods that were deleted or got a place meanwhile start no run that could take them off the counts
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
        // of a solve that has ended nothing is left to show
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
