/** Names that the fields of the form for changes suggest. */

import { workloadOf } from '#engine/model';
import { workloadKindOf } from '#engine/what-if';
import type { ClusterState } from '#state';
import type { ChoicesResponse } from './responses.ts';

/** Maximum number of names in a list. Other names can be typed. */
const MOST_CHOICES = 1_000;

const listOf = (names: Iterable<string>): readonly string[] => [...new Set(names)].sort().slice(0, MOST_CHOICES);

const canScale = (workload: string): boolean => workloadKindOf(workload.split('/')[1] ?? '') !== undefined;

export const whatIfChoices = (cluster: ClusterState): ChoicesResponse => ({
  workloads: listOf(cluster.stores.pods.list().map(workloadOf).filter(canScale)),
  nodes: listOf(cluster.nodes().flatMap(({ name, node }) => (node === undefined ? [] : [name]))),
  nodePools: listOf(cluster.stores.nodePools.list().map(({ metadata }) => metadata.name)),
});
