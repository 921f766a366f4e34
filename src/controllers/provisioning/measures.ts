/** What provisioning runs measure of themselves: how long they take, how much work is left, where pods can go. */
import { randomUUID } from 'node:crypto';
import type { Plan } from '../../engine/model.ts';
import type { Deps } from '../deps.ts';
import type { Solver } from '../solver.ts';

const CONTROLLER = { controller: 'provisioner' };
const BY_RUN = ['controller', 'scheduling_id'];

export interface ProvisioningMeasures {
  /** Times a whole run; call the answer at its end. */
  started(): () => void;
  /** Times each solve, and shows while it lasts how many pods it has to place and for how long it has been at it. */
  solve: Solver;
  countZones(plan: Plan): void;
}

export function provisioningMeasures(
  { clock, metrics }: Pick<Deps, 'clock' | 'metrics'>,
  solver: Solver,
): ProvisioningMeasures {
  const duration = metrics.histogram(
    'scheduler_scheduling_duration_seconds',
    'Duration of scheduling runs and solves',
    ['controller'],
  );
  const depth = metrics.gauge('scheduler_queue_depth', 'Pods that a solve under way has to place', BY_RUN);
  const unfinished = metrics.gauge(
    'scheduler_unfinished_work_seconds',
    'Time that a solve under way has taken',
    BY_RUN,
  );
  const zones = metrics.gauge(
    'scheduler_pending_pods_by_effective_zone_count',
    'Pending pods by the one zone where they can be, flexible or none',
    ['controller', 'zone'],
  );
  /** When solves under way began, by their id. */
  const running = new Map<string, number>();
  metrics.beforeScrape(() => {
    for (const [id, startedMs] of running) {
      unfinished.set({ ...CONTROLLER, scheduling_id: id }, (clock.now() - startedMs) / 1000);
    }
  });
  const started = (): (() => void) => {
    const startedMs = clock.now();
    return () => duration.observe(CONTROLLER, (clock.now() - startedMs) / 1000);
  };

  return {
    started,
    solve: async (snapshot, options) => {
      const labels = { ...CONTROLLER, scheduling_id: randomUUID() };
      const finished = started();
      running.set(labels.scheduling_id, clock.now());
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
    countZones: ({ effectiveZones = new Map() }) => {
      zones.reset();
      for (const [zone, count] of effectiveZones) zones.set({ ...CONTROLLER, zone }, count);
    },
  };
}
