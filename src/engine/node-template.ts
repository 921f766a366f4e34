/** Labels and requirements of the nodes of a NodePool. */
import { INITIALIZED_LABEL, NODEPOOL_LABEL, type NodePool, REGISTERED_LABEL } from '#api/objects';
import { Requirements } from './requirements.ts';

/** Returns the labels that every node of a NodePool has, besides the labels of its instance type. */
export function templateLabels(pool: NodePool): Readonly<Record<string, string>> {
  const { group, kind, name } = pool.spec.template.spec.nodeClassRef;
  return {
    ...pool.spec.template.metadata?.labels,
    [NODEPOOL_LABEL]: pool.metadata.name,
    [`${group}/${kind.toLowerCase()}`]: name,
  };
}

/**
 * Labels that every node has after initialization, so that daemons may select nodes by them. They are never written to a
 * NodeClaim.
 */
export const SIMULATION_ONLY: readonly string[] = [REGISTERED_LABEL, INITIALIZED_LABEL];

export function templateRequirements(pool: NodePool): Requirements {
  return Requirements.fromRequirements(pool.spec.template.spec.requirements)
    .intersect(Requirements.fromLabels(templateLabels(pool)))
    .intersect(Requirements.fromLabels(Object.fromEntries(SIMULATION_ONLY.map((key) => [key, 'true']))));
}
