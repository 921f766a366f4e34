/** NodePools with what their nodes cost, for views of nodes that are there. */
import type { InstanceType, PoolInput } from '../engine/model.ts';
import type { Settings } from '../process/settings.ts';
import type { Deps } from './deps.ts';
import { managedPools } from './disruption/snapshots.ts';
import { nodeExtras } from './node-extras.ts';

/**
 * Every managed NodePool with its instance types: none where those cannot be had now.
 * @param mode `compatible` counts the prices of instances alone
 */
export const poolInputs = (
  { cloud, cluster, settings, log }: Pick<Deps, 'cloud' | 'cluster' | 'settings' | 'log'>,
  mode: Settings['consolidation'],
): Promise<readonly PoolInput[]> =>
  Promise.all(
    managedPools({ cluster }).map(async (nodePool): Promise<PoolInput> => {
      const instanceTypes = await cloud.instanceTypes(nodePool).catch((): readonly InstanceType[] => []);
      return { nodePool, instanceTypes, ...nodeExtras({ cloud, settings, log }, nodePool, mode) };
    }),
  );
