/** Metrics of terminated nodes. */
import type { Node } from '../../api/kubernetes.ts';
import type { Clock } from '../../lib/clock.ts';
import {
  NODES_DRAINED,
  NODES_LIFETIME_DURATION_SECONDS,
  NODES_TERMINATED,
  NODES_TERMINATION_DURATION_SECONDS,
} from '../../observe/metrics/nodes.ts';
import type { Metrics } from '../../observe/metrics.ts';

export interface TerminationMeter {
  drained(nodepool: string): void;
  terminated(node: Node, nodepool: string, zone: string): void;
}

export function terminationMeter(metrics: Metrics, clock: Clock): TerminationMeter {
  const drained = metrics.counter(NODES_DRAINED);
  const terminated = metrics.counter(NODES_TERMINATED);
  const termination = metrics.summary(NODES_TERMINATION_DURATION_SECONDS);
  const lifetime = metrics.histogram(NODES_LIFETIME_DURATION_SECONDS);
  const secondsSince = (time: string | undefined): number =>
    Math.max(0, clock.now() - (time === undefined ? clock.now() : Date.parse(time))) / 1_000;

  return {
    drained: (nodepool) => drained.inc({ nodepool }),
    terminated: ({ metadata }, nodepool, zone) => {
      terminated.inc({ nodepool, zone });
      termination.observe({ nodepool }, secondsSince(metadata.deletionTimestamp));
      lifetime.observe({ nodepool }, secondsSince(metadata.creationTimestamp));
    },
  };
}
