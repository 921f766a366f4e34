/** Builders of gangs. */
import { GANG_ANNOTATION, GANG_MIN_ANNOTATION, GANG_TOPOLOGY_ANNOTATION, type Pod } from '#api/objects';
import type { Plan } from '../../../../src/engine/model.ts';
import { podKey } from '../../../../src/engine/pods.ts';
import { type PodParts, pod } from '../build.ts';

export interface GangParts extends PodParts {
  readonly pods: number;
  readonly minimum?: number | string;
  readonly topologyKey?: string;
  readonly createdAt?: string;
}

export const inGang = (own: Pod, name: string, minimum?: number | string, topologyKey?: string): Pod => ({
  ...own,
  metadata: {
    ...own.metadata,
    annotations: {
      ...own.metadata.annotations,
      [GANG_ANNOTATION]: name,
      ...(minimum === undefined ? {} : { [GANG_MIN_ANNOTATION]: String(minimum) }),
      ...(topologyKey === undefined ? {} : { [GANG_TOPOLOGY_ANNOTATION]: topologyKey }),
    },
  },
});

export const gang = (
  name: string,
  { pods, minimum = pods, topologyKey, createdAt = '2026-01-01T00:00:00Z', ...parts }: GangParts,
): readonly Pod[] =>
  Array.from({ length: pods }, (_, at) => {
    const own = pod(`${name}-${at}`, parts);
    return inGang({ ...own, metadata: { ...own.metadata, creationTimestamp: createdAt } }, name, minimum, topologyKey);
  });

/** Names of the pods that a plan places. */
export const placedIn = ({ claims, placements }: Pick<Plan, 'claims' | 'placements'>): ReadonlySet<string> =>
  new Set([...claims, ...placements].flatMap(({ pods }) => pods));

export const countPlaced = (plan: Plan, pods: readonly Pod[]): number => {
  const placed = placedIn(plan);
  return pods.filter((each) => placed.has(podKey(each))).length;
};
