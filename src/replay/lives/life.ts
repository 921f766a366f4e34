/**
 * Lives of a replay. Lives of the same trace differ in the boot times of machines and in the choice between nodes to
 * which kube-scheduler gives equal scores. Everything else comes from the seed of the world, so that all sets of
 * settings play the same lives.
 */
import { chance } from '../../local/aws/random.ts';
import type { TieBreak } from '../../local/kubernetes/scheduler/scores/index.ts';
import type { WorldModel } from '../world-model/world-model.ts';

/** Returns the seed of a life for one purpose. */
const seedOf = ({ seed }: WorldModel, life: number, purpose: string): number =>
  Math.floor(chance(seed, 'life', life, purpose) * 2 ** 32);

/** @param life number of the life, from 1 */
export const worldOfLife = (world: WorldModel, life: number): WorldModel => ({
  ...world,
  bootSeed: seedOf(world, life, 'boot'),
});

/**
 * Chooses between nodes with equal scores at random, as kube-scheduler does. The choice depends only on the life and on
 * the names of the pod and the nodes.
 * @param life number of the life, from 1
 */
export function tieBreakOfLife(world: WorldModel, life: number): TieBreak {
  const seed = seedOf(world, life, 'ties');
  return ({ metadata: { namespace = '', name } }, node) => chance(seed, namespace, name, node.name);
}
