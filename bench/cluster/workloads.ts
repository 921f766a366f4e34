/** Workloads of the load benchmark: Deployments of pods that request one CPU each. */
import type { KubeObject } from '#api/objects';
import { deployment } from '../../test/operator/harness.ts';
import { apart } from '../../test/operator/pools.ts';

export interface Workload {
  readonly name: string;
  readonly pods: number;
  readonly objects: readonly KubeObject[];
}

export const ZONE = 'topology.kubernetes.io/zone';
const HOSTNAME = 'kubernetes.io/hostname';

export const plain = (pods: number): Workload => ({
  name: `plain-${pods}`,
  pods,
  objects: [deployment(`plain-${pods}`, pods)],
});

export const spread = (app: string, topologyKey: string, whenUnsatisfiable: string): Record<string, unknown> => ({
  topologyKey,
  maxSkew: 1,
  whenUnsatisfiable,
  labelSelector: { matchLabels: { app } },
});

/** Shares of a hundred pods as in real clusters: most spread over zones, some over nodes as well. */
export function mixed(zone: string): Workload {
  const groups: readonly [name: string, pods: number, pod: Record<string, unknown>][] = [
    ['zone-spread', 40, { topologySpreadConstraints: [spread('zone-spread', ZONE, 'DoNotSchedule')] }],
    ['apart', 10, apart('apart')],
    ['anywhere', 30, {}],
    [
      'soft-spread',
      15,
      {
        topologySpreadConstraints: [
          spread('soft-spread', ZONE, 'DoNotSchedule'),
          spread('soft-spread', HOSTNAME, 'ScheduleAnyway'),
        ],
      },
    ],
    ['one-zone', 5, { nodeSelector: { [ZONE]: zone } }],
  ];
  return {
    name: 'mixed-100',
    pods: groups.reduce((sum, [, pods]) => sum + pods, 0),
    objects: groups.map(([name, pods, pod]) => deployment(name, pods, pod)),
  };
}
