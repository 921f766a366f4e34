/** Views at `/debug/budgets` and `/debug/blockers`: the reasons why nodes wait for disruption. */
import { VOLUME_ATTACHMENT } from '../../api/kinds.ts';
import type { NodeBlockers } from '../../engine/blockers/blocker.ts';
import { blockersIn } from '../../engine/blockers/report.ts';
import { type PoolBudgets, poolBudgets } from '../../engine/disruption/budgets/calendar.ts';
import type { Deps } from '../deps.ts';
import { poolInputs } from '../pool-inputs.ts';
import { managedPools } from './snapshots.ts';

export const budgetViews = ({ cluster, clock }: Pick<Deps, 'cluster' | 'clock'>): readonly PoolBudgets[] =>
  poolBudgets(cluster.nodes(), managedPools({ cluster }), clock.now());

/** Finds the blockers of each node when the iterator reaches it. Keeps no history, so blockers have no start time. */
export async function blockerViews({
  cluster,
  clock,
  cloud,
  informers,
  settings,
  log,
}: Pick<Deps, 'cluster' | 'clock' | 'cloud' | 'informers' | 'settings' | 'log'>): Promise<Iterable<NodeBlockers>> {
  const { podDisruptionBudgets, persistentVolumeClaims } = cluster.stores;
  const pools = await poolInputs({ cluster, cloud, settings, log });
  return blockersIn({
    nowMs: clock.now(),
    nodes: cluster.nodes(),
    pools,
    commitments: cloud.commitments?.(),
    podDisruptionBudgets: podDisruptionBudgets.list(),
    volumeAttachments: informers.store(VOLUME_ATTACHMENT).list(),
    volumeClaim: (ref) => persistentVolumeClaims.get(ref),
    firstReported: new Map(),
  });
}
