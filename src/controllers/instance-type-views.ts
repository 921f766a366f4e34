/** What an operator serves at `/debug/instancetypes`. */
import type { NodePool } from '../api/nodepool.ts';
import type { CloudProvider } from '../cloud/provider.ts';
import { type InstanceTypeReport, instanceTypeReport } from '../engine/instance-type-report.ts';
import type { InstanceType } from '../engine/model.ts';

/** Types and prices as the NodePools see them, before NodeOverlays; of those whose NodeClass is ready. */
export async function reportInstanceTypes(
  nodePools: readonly NodePool[],
  provider: CloudProvider,
): Promise<InstanceTypeReport> {
  const seen = await Promise.all(
    nodePools.map(async (nodePool) => {
      const types = await provider.instanceTypes(nodePool).catch((): readonly InstanceType[] => []);
      return [nodePool.metadata.name, types] as const;
    }),
  );
  return instanceTypeReport(new Map(seen));
}
