/** Verdicts for views: the last decisions of the methods, without reasons that have ended since. */
import { currentBlock, type Verdict, type VerdictHistory } from '#engine/disruption';
import type { Deps } from '../deps.ts';

export function currentVerdicts(
  history: VerdictHistory,
  { cluster, clock }: Pick<Deps, 'cluster' | 'clock'>,
): readonly Verdict[] {
  const nowMs = clock.now();
  const podDisruptionBudgets = cluster.stores.podDisruptionBudgets.list();
  return history.verdicts(cluster.nodes(), nowMs, (node, disruptionClass) =>
    currentBlock(node, { nowMs, podDisruptionBudgets, class: disruptionClass }),
  );
}
