/** What a method of disruption knows of commitments. */
import type { PoolInput, Snapshot } from '../model.ts';
import { CommittedUse } from '../price-book/committed-use.ts';
import type { ConsolidationMode } from './method.ts';

/** Undefined where there are no commitments, and where consolidation is Karpenter's, which knows none. */
export const committedUse = (
  { commitments, nodes }: Pick<Snapshot, 'commitments' | 'nodes'>,
  pools: ReadonlyMap<string, PoolInput>,
  consolidation: ConsolidationMode,
): CommittedUse | undefined =>
  consolidation === 'compatible' ? undefined : CommittedUse.of(commitments, nodes, [...pools.values()]);
