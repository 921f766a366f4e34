/** Views of the controllers' state by URL path. Only the leading replica can serve them. */

import { NODE_POOL } from '../api/kinds.ts';
import type { VerdictHistory } from '../engine/disruption/verdicts.ts';
import { type InstanceTypeReport, instanceTypeReport } from '../engine/instance-type-report.ts';
import type { InstanceType } from '../engine/model.ts';
import type { Solver } from '../engine-worker/solver.ts';
import { type Look, Unavailable } from '../process/health.ts';
import { historyView } from '../process/history-view.ts';
import type { HoldOf } from '../state/pod-holds.ts';
import { readCost } from './cost/cost-reader.ts';
import type { KeptHistory } from './cost/index.ts';
import type { Deps } from './deps.ts';
import { currentVerdicts } from './disruption/current-verdicts.ts';
import type { MoveHistory } from './disruption/moves.ts';
import { blockerViews, budgetViews } from './disruption/wait-views.ts';
import { holdViews } from './hold-views.ts';
import { launchViews } from './launch-views.ts';
import { nodeClaimNames, nodeClaimView } from './nodeclaim-views.ts';
import type { LaunchBudget } from './provisioning/launch-budget.ts';
import type { PodVerdicts } from './provisioning/pod-verdicts.ts';

interface DebugViewParts {
  readonly deps: Deps;
  /** Returns the provider's view of offerings. */
  readonly offerings: () => unknown;
  readonly history: VerdictHistory;
  readonly moves: MoveHistory;
  readonly launches: LaunchBudget;
  readonly verdicts: PodVerdicts;
  readonly costHistory: KeptHistory | undefined;
  readonly solver: Solver | undefined;
  /** Returns true if this replica is the leader. */
  readonly isLeading: () => boolean;
  /** Returns the namespace of the lease, which names the leader. */
  readonly leaseNamespace: () => string;
}

const NO_POD = 'the operator has no pod of this name in its cluster';

/**
 * Returns the views. On a replica that is not the leader, each view throws `Unavailable` with the command that finds the
 * leader.
 */
export function debugViews(parts: DebugViewParts): Readonly<Record<string, Look>> {
  const { deps, offerings, history, moves, launches, verdicts, costHistory, solver } = parts;
  const { clock } = deps;
  const leading =
    <Query extends readonly unknown[]>(look: (...query: Query) => unknown) =>
    (...query: Query): unknown => {
      if (parts.isLeading()) return look(...query);
      const lease = `kubectl get lease ${deps.settings.leaderElectionName} -n ${parts.leaseNamespace()}`;
      throw new Unavailable(
        `this replica is on standby; find the leader with ${lease} -o jsonpath={.spec.holderIdentity}`,
      );
    };
  const holdOf = (): HoldOf => {
    const held = launches.holds();
    return (pod) => held(pod) ?? solver?.holdOf?.(pod);
  };
  return {
    '/debug/verdicts': leading(() => currentVerdicts(history, deps)),
    '/debug/offerings': leading(offerings),
    '/debug/instancetypes': leading(() => instanceTypeView(deps)),
    '/debug/moves': leading(() => moves.views(clock.now())),
    '/debug/cost': leading(() => readCost(deps)),
    '/debug/history': {
      page: leading((query: URLSearchParams) => {
        if (costHistory === undefined) throw new Unavailable('the history is disabled because COST_HISTORY is false');
        return historyView(costHistory, query);
      }),
    },
    '/debug/budgets': leading(() => budgetViews(deps)),
    '/debug/blockers': leading(() => blockerViews(deps)),
    '/debug/holds': leading(() => holdViews(deps, holdOf())),
    '/debug/pods': {
      page: leading((query: URLSearchParams) => {
        const name = query.get('pod');
        if (name === null) return verdicts.all(holdOf());
        return verdicts.of(name, holdOf()) ?? { pod: name, code: 'unknown', text: NO_POD };
      }),
    },
    '/debug/nodeclaims': {
      page: leading((query: URLSearchParams) => {
        const name = query.get('name');
        return name === null ? nodeClaimNames(deps) : nodeClaimView(deps, name).then((view) => view ?? null);
      }),
    },
    '/debug/launches': leading(() => launchViews(deps, launches)),
  };
}

/**
 * Returns instance types and prices of `cloud` for each NodePool with a ready NodeClass. If `cloud` is the provider,
 * NodeOverlays are not applied.
 */
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
