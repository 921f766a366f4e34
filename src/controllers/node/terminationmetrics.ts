/** Metrics of nodes that end. */
import type { Node } from '../../api/kubernetes.ts';
import type { Clock } from '../../kube/clock.ts';
import type { Metrics } from '../../observe/metrics.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LIFETIMES = [
  ...[15, 30, 45].map((minutes) => minutes * MINUTE),
  ...[1, 2, 4, 6, 8, 10, 12, 16, 20].map((hours) => hours * HOUR),
  ...[1, 2, 3, 5, 10, 15, 20, 25, 30].map((days) => days * DAY),
];

export interface TerminationMeter {
  drained(nodepool: string): void;
  terminated(node: Node, nodepool: string, zone: string): void;
}

export function terminationMeter(metrics: Metrics, clock: Clock): TerminationMeter {
  const drained = metrics.counter('nodes_drained_total', 'Nodes whose pods have all left', ['nodepool']);
  const terminated = metrics.counter('nodes_terminated_total', 'Nodes that are gone', ['nodepool', 'zone']);
  const termination = metrics.summary(
    'nodes_termination_duration_seconds',
    'Time from the deletion of a Node until it is gone',
    ['nodepool'],
  );
  const lifetime = metrics.histogram(
    'nodes_lifetime_duration_seconds',
    'Time from the creation of a Node until it is gone',
    ['nodepool'],
    LIFETIMES,
  );
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
