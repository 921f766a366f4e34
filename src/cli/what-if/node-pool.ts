/** Applies `--what-if "limit NODEPOOL RESOURCE=AMOUNT"` and `--what-if "require NODEPOOL KEY=VALUES"`. */
import type { NodePool } from '../../api/nodepool.ts';
import type { NodePoolChange } from '../../engine/what-if/change.ts';
import { changedNodePool } from '../../engine/what-if/node-pool-change.ts';
import { InputError } from '../objects/errors.ts';
import type { Manifest } from '../objects/read.ts';
import { notAmong } from '../render/known.ts';

/** @throws InputError if the NodePool does not exist, or the change is not valid */
export function changeNodePool(
  manifests: readonly Manifest[],
  { where, ...change }: NodePoolChange & { readonly where: string },
): readonly Manifest[] {
  const pools = manifests.filter(({ object }) => object.kind === 'NodePool');
  const named = pools.find(({ object }) => object.metadata.name === change.nodePool);
  if (named === undefined) {
    const known = pools.map(({ object }) => object.metadata.name);
    throw new InputError(where, notAmong('NodePool', change.nodePool, { known, where: 'in the manifests' }));
  }
  const object = changedNodePool(named.object as NodePool, change);
  if (typeof object === 'string') throw new InputError(where, object);
  return manifests.map((manifest) => (manifest === named ? { ...manifest, object } : manifest));
}
