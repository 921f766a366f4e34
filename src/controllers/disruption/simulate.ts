/** Brings disruption's questions about the cluster as it is now to the laboratory. */
import type { Deliberation, Findings, Method } from '../../engine/disruption/method.ts';
import { silent } from '../../observe/logger.ts';
import { takeSnapshot } from '../../state/snapshot.ts';
import type { Deps } from '../deps.ts';
import { activePools, withInstanceTypes } from '../provisioning/pools.ts';
import type { Purchases } from '../provisioning/purchases.ts';
import { pendingPods, withoutPodsOfOverdueClaims } from '../provisioning/workload.ts';
import { solveOptions } from '../solver.ts';
import type { Laboratory, Scenery } from './laboratory.ts';

/** Longest time for one experiment. What is not placed by then counts as not placeable. */
const DEADLINE_MS = 60_000;

/** Questions about one state of the cluster: that of the first of them. */
export interface Session {
  readonly simulate: Deliberation['simulate'];
  /** What a method decides. Rejects when `signal` aborts. */
  decide(method: Method, deliberation: Deliberation, signal: AbortSignal): Promise<Findings>;
}

export type OpenSession = () => Session;

/** `taking` answers which of the pods that wait nodes may be bought for now: no others have any bought by a replacement. */
export function sessions(
  deps: Deps,
  laboratory: Laboratory,
  taking: Purchases['taking'] = (pods) => pods,
): OpenSession {
  const { cluster, clock, settings } = deps;

  async function sceneryNow(): Promise<Scenery> {
    const nodes = cluster.nodes();
    const overdue = cluster.unlaunched.overdue();
    const pending = taking(withoutPodsOfOverdueClaims(cluster, pendingPods(cluster)));
    const pods = [...pending, ...withoutPodsOfOverdueClaims(cluster, cluster.virtualPods.list())];
    // Experiments come by the hundred; what is wrong with pools is told where decisions are made.
    const pools = await withInstanceTypes(deps, activePools(deps, silent), silent);
    return {
      snapshot: takeSnapshot(cluster, { nowMs: clock.now(), pools, nodes, overdue, pendingPods: pods }),
      nodePools: cluster.stores.nodePools.list(),
      solve: { ...solveOptions(settings, 'fallback'), deadlineMs: DEADLINE_MS },
    };
  }

  return () => {
    let opened: Promise<Scenery> | undefined;
    const scenery = (): Promise<Scenery> => {
      opened ??= sceneryNow();
      return opened;
    };
    return {
      simulate: async (candidates, options) =>
        laboratory.simulate(
          await scenery(),
          candidates.map(({ providerId }) => providerId),
          options,
        ),
      decide: async (method, deliberation, signal) =>
        method.isSearch
          ? laboratory.decide(await scenery(), method, deliberation, signal)
          : method.decide(deliberation),
    };
  };
}
