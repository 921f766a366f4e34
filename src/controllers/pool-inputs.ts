/** NodePools with what their nodes cost, for views of nodes that are there. */
import type { InstanceType, PoolInput } from '../engine/model.ts';
import type { Deps } from './deps.ts';
import { managedPools } from './disruption/prepare-method.ts';

/** Every managed NodePool with its instance types: none where those cannot be had now. */
export const poolInputs = ({ cloud, cluster }: Pick<Deps, 'cloud' | 'cluster'>): Promise<readonly PoolInput[]> =>
  Promise.all(
    managedPools({ cluster }).map(async (nodePool): Promise<PoolInput> => {
      const instanceTypes = await cloud.instanceTypes(nodePool).catch((): readonly InstanceType[] => []);
      return { nodePool, instanceTypes };
    }),
  );
