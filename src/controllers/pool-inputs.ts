/** NodePools with the costs of their nodes, for views of existing nodes. */

import { consolidationPolicy } from '../api/policy.ts';
import type { InstanceType, PoolInput } from '../engine/model.ts';
import type { Deps } from './deps.ts';
import { managedPools } from './disruption/snapshots.ts';
import { nodeExtras } from './node-extras.ts';

/**
 * Returns every managed NodePool with its instance types. The list of types is empty if the types are not available now.
 */
export const poolInputs = ({
  cloud,
  cluster,
  settings,
  log,
}: Pick<Deps, 'cloud' | 'cluster' | 'settings' | 'log'>): Promise<readonly PoolInput[]> =>
  Promise.all(
    managedPools({ cluster }).map(async (nodePool): Promise<PoolInput> => {
      const instanceTypes = await cloud.instanceTypes(nodePool).catch((): readonly InstanceType[] => []);
      return {
        nodePool,
        instanceTypes,
        ...nodeExtras({ cloud, settings, log }, nodePool, consolidationPolicy(settings.consolidation)),
      };
    }),
  );
