/** Creates the state, the controllers and the views of an operator. Its users differ in their ports only. */

import type { Provider } from '#cloud';
import { type Verdict, VerdictHistory } from '#engine/disruption';
import type { PodVerdict } from '#engine/explanations';
import { localSimulationRunner, localSolver, type SimulationRunner, type Solver } from '#engine-worker';
import type { Controller } from '#kube/reconcilers';
import type { Look } from '#process/server';
import { ClusterState, type HoldOf } from '#state';
import type { KeptHistory } from './cost/index.ts';
import { debugViews, type Lead } from './debug-views.ts';
import type { Deps } from './deps.ts';
import { recordInterrupted } from './disrupted.ts';
import { currentVerdicts } from './disruption/current-verdicts.ts';
import { MoveHistory } from './disruption/moves.ts';
import type { DecisionMemo } from './disruption/snapshots.ts';
import { controllers } from './index.ts';
import { Repairs } from './node/repairs.ts';
import { LaunchBudget } from './provisioning/launch-budget.ts';
import { PodVerdicts } from './provisioning/pod-verdicts.ts';
import { WhatIf } from './what-if.ts';

/** Ports of an operator. */
export interface OperatorParts extends Omit<Deps, 'cluster' | 'cloud' | 'decisions' | 'devices'> {
  readonly provider: Provider;
  /** Default: a solver in this thread. */
  readonly solver?: Solver | undefined;
  /** Default: a runner in this thread. */
  readonly simulations?: SimulationRunner | undefined;
  /** Decisions, and the cost of the nodes. Undefined if no history is kept. */
  readonly costHistory?: KeptHistory | undefined;
  /** Log of decisions. Default: the log of the history. */
  readonly decisions?: Deps['decisions'];
  readonly history?: VerdictHistory | undefined;
  readonly moves?: MoveHistory | undefined;
  /** Creates the memory of earlier disruption passes. Replays pass their own. */
  readonly memoOf?: ((cluster: ClusterState) => DecisionMemo) | undefined;
  /**
   * Time for which the provisioner waits for pods, in milliseconds. Affects only how often the provisioner reports that it is
   * alive.
   */
  readonly lookoutMs?: number | undefined;
}

export interface OperatorCore {
  readonly deps: Deps;
  readonly controllers: readonly Controller[];
  readonly launches: LaunchBudget;
  /** Verdicts of disruption on each node. */
  readonly history: VerdictHistory;
  readonly whatIf: WhatIf;
  /** Returns the current verdict on each node, with its repair. */
  readonly verdicts: () => readonly Verdict[];
  /** Yields the current verdict on each pending pod. */
  readonly podVerdicts: () => Iterable<PodVerdict>;
  /** Returns the pages below `/debug`, by path. */
  views(lead: Lead): Readonly<Record<string, Look>>;
}

export function createOperator({
  provider: { provider: cloud, controllers: ofProvider = () => [], offerings = async () => [] },
  solver = localSolver(),
  simulations = localSimulationRunner(),
  costHistory,
  history = new VerdictHistory(),
  moves = new MoveHistory(),
  memoOf,
  lookoutMs,
  ...ports
}: OperatorParts): OperatorCore {
  const { informers, clock, settings, decisions = costHistory?.decisions } = ports;
  const cluster = new ClusterState({
    informers,
    clock,
    manages: ({ group, kind }) => cloud.nodeClassKinds.some((served) => served.group === group && served.kind === kind),
    defaultSpread: settings.defaultTopologySpreadConstraints,
    devices: !settings.ignoreDraRequests,
    quotas: settings.featureGates.capacityQuota,
    observes: settings.mode === 'observe',
    gangGroups: settings.featureGates.podGroup,
  });
  const deps: Deps = { ...ports, cluster, cloud, decisions };
  const launches = new LaunchBudget(deps);
  const verdicts = new PodVerdicts(deps);
  const whatIf = new WhatIf(deps, solver);
  const holdOf = (): HoldOf => {
    const held = launches.holds();
    return (pod) => held(pod) ?? solver.holdOf?.(pod);
  };
  for (const each of [solver, simulations]) each.reportTo?.(deps);
  const repairs = new Repairs(deps);
  const nodeVerdicts = (): readonly Verdict[] => currentVerdicts({ history, repairs }, deps);
  const shared = { costHistory, launches, moves, solver, verdicts };
  return {
    deps,
    controllers: [
      ...controllers(deps, { ...shared, history, repairs, simulations, memo: memoOf?.(cluster), lookoutMs }),
      ...ofProvider((claim, kind) => recordInterrupted(deps, claim, kind)),
    ],
    launches,
    history,
    whatIf,
    verdicts: nodeVerdicts,
    podVerdicts: () => verdicts.all(holdOf()),
    views: (lead) => debugViews({ ...shared, currentVerdicts: nodeVerdicts, deps, offerings, whatIf, holdOf }, lead),
  };
}
