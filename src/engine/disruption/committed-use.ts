/** Provides the use of commitments to disruption methods. */
import type { PoolInput, Snapshot } from '../model.ts';
import { CommittedUse } from '../price-book/committed-use.ts';
import type { ConsolidationMode } from './method.ts';

/** Returns undefined if there are no commitments, and in Karpenter-compatible consolidation, which ignores commitments. */
export const committedUse = (
  { commitments, nodes }: Pick<Snapshot, 'commitments' | 'nodes'>,
  pools: ReadonlyMap<string, PoolInput>,
  consolidation: ConsolidationMode,
): CommittedUse | undefined =>
  consolidation === 'compatible' ? undefined : CommittedUse.of(commitments, nodes, [...pools.values()]);
