/** Applies NodeOverlays of manifests to the instance types of NodePools. */
import type { NodeOverlay } from '../../api/nodeoverlay.ts';
import type { PoolInput } from '../../engine/model.ts';
import { evaluateOverlays, overlaid } from '../../engine/overlays.ts';
import type { Manifest } from './read.ts';
import { validateStored } from './stored.ts';

export interface Overlaid {
  readonly pools: readonly PoolInput[];
  /** Notes on overlays that are not applied, with the reason. */
  readonly notes: readonly string[];
}

/** @throws InputError with the overlay and the field */
export function underOverlays(pools: readonly PoolInput[], manifests: readonly Manifest[]): Overlaid {
  const found = manifests.filter(({ object }) => object.kind === 'NodeOverlay');
  if (found.length === 0) return { pools, notes: [] };
  const overlays = found.map((manifest) => ({ where: manifest.where, overlay: validateStored<NodeOverlay>(manifest) }));
  const { accepted, problems } = evaluateOverlays(
    overlays.map(({ overlay }) => overlay),
    pools,
  );
  return {
    pools: pools.map((pool) => ({ ...pool, instanceTypes: overlaid(pool, accepted) })),
    notes: overlays.flatMap(({ where, overlay }) => {
      const problem = problems.get(overlay.metadata.name);
      return problem === undefined ? [] : [`${where}: not applied: ${problem.message}`];
    }),
  };
}
