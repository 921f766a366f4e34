/** A NodePool and its nodes, for tests of disruption. */
import { expect } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, NODE_POOL, type NodePool } from '#api/objects';
import type { World } from '../harness.ts';

export type Disruption = NonNullable<NodePool['spec']['disruption']>;

/** Disruption without a limit. */
export const WIDE: Disruption = { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] };
/** Disruption that is blocked by a budget. */
export const CLOSED: Disruption = { consolidateAfter: '0s', budgets: [{ nodes: '0' }] };

interface Start {
  readonly count: number;
  readonly disruption: Disruption;
  readonly small: number;
  /** Further fields of the NodePool. */
  readonly spec?: Partial<NodePool['spec']>;
  readonly flags?: readonly string[];
}

/**
 * Starts the operator with a number of on-demand nodes of 8 vCPUs, each with one pod of 6 vCPUs, named `large-…`. Small
 * pods of 1 vCPU fill the remaining room.
 */
export async function startWithNodes(
  world: World,
  { count, disruption, small, spec = {}, flags = [] }: Start,
): Promise<void> {
  const { template } = world.nodePool('seed').spec;
  world.kube.delete(NODE_POOL, { name: 'seed' });
  const requirements = [{ key: CAPACITY_TYPE_LABEL, operator: 'In' as const, values: ['on-demand'] }];
  world.nodePool('default', { template: { spec: { ...template.spec, requirements } }, disruption, ...spec });
  world.start(flags);
  await world.pass(2);
  for (let node = 0; node < count; node += 1) {
    world.pending(1, '6', 'large');
    await world.pass(8);
  }
  world.deploy('small', small);
  await world.pass(5);
  expect(world.nodes).toHaveLength(count);
}

export const largePods = (world: World) => world.pods.filter(({ metadata }) => metadata.labels?.app === 'large');
