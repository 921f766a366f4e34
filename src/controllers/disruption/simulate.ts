/** Runs disruption's thought experiments on the cluster as it is now. */

import type { Candidate } from '../../engine/disruption/candidates.ts';
import {
  type Experiment,
  interpret,
  type Simulation,
  type SimulationOptions,
  withoutCandidates,
} from '../../engine/disruption/simulation.ts';
import { silent } from '../../observe/logger.ts';
import { takeSnapshot } from '../../state/snapshot.ts';
import type { Deps } from '../deps.ts';
import { activePools, withInstanceTypes } from '../provisioning/pools.ts';
import { pendingPods } from '../provisioning/workload.ts';
import { type Solver, solveOptions } from '../solver.ts';

export type Simulate = (
  candidates: readonly Candidate[],
  options: SimulationOptions,
) => Promise<Simulation | undefined>;

/** Longest time for one experiment. What is not placed by then counts as not placeable. */
const DEADLINE_MS = 60_000;

export function simulator(deps: Deps, solver: Solver): Simulate {
  const { cluster, clock, settings } = deps;
  return async (candidates, options) => {
    // Experiments come by the hundred; what is wrong with pools is told where decisions are made.
    const pools = await withInstanceTypes(deps, activePools(deps, silent), silent);
    const nodes = cluster.nodes();
    const parts = { nowMs: clock.now(), pools, nodes, pendingPods: pendingPods(cluster) };
    const experiment: Experiment | undefined = withoutCandidates(
      takeSnapshot(cluster, parts),
      candidates,
      options,
      cluster.stores.nodePools.list(),
    );
    if (experiment === undefined) return undefined;
    const plan = await solver(experiment.snapshot, { ...solveOptions(settings, 'fallback'), deadlineMs: DEADLINE_MS });
    return interpret(plan, experiment);
  };
}
