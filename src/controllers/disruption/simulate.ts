/** Runs disruption's thought experiments on the cluster as it is now. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Candidate } from '../../engine/disruption/candidates.ts';
import { Experiments } from '../../engine/disruption/experiments.ts';
import type { Simulation, SimulationOptions } from '../../engine/disruption/simulation.ts';
import { silent } from '../../observe/logger.ts';
import { takeSnapshot } from '../../state/snapshot.ts';
import type { Deps } from '../deps.ts';
import { activePools, withInstanceTypes } from '../provisioning/pools.ts';
import { pendingPods } from '../provisioning/workload.ts';
import { solveOptions } from '../solver.ts';

export type Simulate = (
  candidates: readonly Candidate[],
  options: SimulationOptions,
) => Promise<Simulation | undefined>;

/** Longest time for one experiment. What is not placed by then counts as not placeable. */
const DEADLINE_MS = 60_000;

/** Opens a laboratory on the cluster as it is at the first experiment; later ones are made on the same state. */
export type OpenLaboratory = () => Simulate;

export function laboratories(deps: Deps): OpenLaboratory {
  const { cluster, clock, settings } = deps;

  async function experimentsNow(): Promise<Experiments> {
    const nodes = cluster.nodes();
    // Experiments come by the hundred; what is wrong with pools is told where decisions are made.
    const pools = await withInstanceTypes(deps, activePools(deps, silent), silent);
    const base = takeSnapshot(cluster, { nowMs: clock.now(), pools, nodes, pendingPods: pendingPods(cluster) });
    return new Experiments(base, {
      nodePools: cluster.stores.nodePools.list(),
      solve: { ...solveOptions(settings, 'fallback'), deadlineMs: DEADLINE_MS, elapsedMs: () => performance.now() },
    });
  }

  return () => {
    let experiments: Promise<Experiments> | undefined;
    return async (candidates, options) => {
      experiments ??= experimentsNow();
      const open = await experiments;
      await nextTurn();
      return open.without(
        candidates.map(({ providerId }) => providerId),
        options,
      );
    };
  };
}
