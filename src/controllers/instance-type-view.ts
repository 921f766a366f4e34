/** Serves the instance types as the NodePools see them. */
import { NODE_POOL } from '../api/kinds.ts';
import { type InstanceTypeReport, instanceTypeReport } from '../engine/instance-type-report.ts';
import type { InstanceType } from '../engine/model.ts';
import type { Deps } from './deps.ts';

/** Types and prices of `cloud`, of those NodePools whose NodeClass is ready; before NodeOverlays when `cloud` is the provider. */
export async function instanceTypeView({
  informers,
  cloud,
}: Pick<Deps, 'informers' | 'cloud'>): Promise<InstanceTypeReport> {
  const seen = await Promise.all(
    informers
      .store(NODE_POOL)
      .list()
      .map(async (nodePool) => {
        const types = await cloud.instanceTypes(nodePool).catch((): readonly InstanceType[] => []);
        return [nodePool.metadata.name, types] as const;
      }),
  );
  return instanceTypeReport(new Map(seen));
}
