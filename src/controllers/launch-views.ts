/** Content of `/debug/launches`: causes of unproductive launches. The format is public. */
import { wallTimeOf } from '../state/pod-holds.ts';
import type { Deps } from './deps.ts';
import type { LaunchBudget } from './provisioning/launch-budget.ts';

interface LaunchView {
  readonly nodePool: string;
  /** Label `cause` of `karpenter_nodepools_launches_unproductive_total`. */
  readonly cause: string;
  readonly text: string;
  /** Number of unproductive nodes since the last productive node, and their cost until now. */
  readonly nodes: number;
  readonly usd: number;
  /** Time of the next attempt for affected pods; absent while launches for them go on. */
  readonly nextAttempt?: string;
  /** Unproductive launches that the NodePool may still have now, for all causes together. */
  readonly allowances: number;
}

export function* launchViews({ clock }: Pick<Deps, 'clock'>, launches: LaunchBudget): Iterable<LaunchView> {
  for (const { nodePool, allowances, record, usd, nextMs } of launches.reports()) {
    const { cause, text, nodes } = record;
    const next = nextMs === undefined ? {} : { nextAttempt: wallTimeOf(clock, nextMs) };
    yield { nodePool, cause: cause.code, text, nodes, usd, ...next, allowances: Math.floor(allowances) };
  }
}
