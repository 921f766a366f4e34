/** Verdicts for views: the last decisions of the methods, without reasons that have ended since. */
import { currentBlock, type Verdict, type VerdictHistory, withRepairs } from '#engine/disruption';
import type { Deps } from '../deps.ts';
import type { Repairs } from '../node/repairs.ts';

export function currentVerdicts(
  { history, repairs }: { readonly history: VerdictHistory; readonly repairs: Repairs },
  { cluster, clock }: Pick<Deps, 'cluster' | 'clock'>,
): readonly Verdict[] {
  const nowMs = clock.now();
  const podDisruptionBudgets = cluster.stores.podDisruptionBudgets.list();
  const verdicts = history.verdicts(cluster.nodes(), nowMs, (node, disruptionClass) =>
    currentBlock(node, { nowMs, podDisruptionBudgets, class: disruptionClass }),
  );
  return withRepairs(verdicts, repairs.all());
}
