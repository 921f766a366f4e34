/** Runs disruption's simulations on the cluster as it is now. */

import type { Method, MethodInput, MethodResult } from '../../engine/disruption/method.ts';
import { momentOf } from '../../engine/disruption/simulations/simulator.ts';
import type { SimulationInput, SimulationRunner } from '../../engine-worker/simulation-runner.ts';
import { solveOptions } from '../../engine-worker/solver.ts';
import { sameItems } from '../../lib/same-items.ts';
import { silent } from '../../observe/logger.ts';
import { takeSnapshot } from '../../state/snapshot.ts';
import type { Deps } from '../deps.ts';
import type { LaunchBudget } from '../provisioning/launch-budget.ts';
import { activePools, withInstanceTypes } from '../provisioning/pools.ts';
import { podsToPlace, withoutPodsOfOverdueClaims } from '../provisioning/workload.ts';
import { isSamePool } from '../same-pool.ts';

/** Longest time for one simulation. What is not placed by then counts as not placeable. */
const DEADLINE_MS = 60_000;

/** Simulations on one state of the cluster: that of the first of them. */
export interface Session {
  readonly simulate: MethodInput['simulate'];
  /** What a method decides. Rejects when `signal` aborts. */
  decide(method: Method, input: MethodInput, signal: AbortSignal): Promise<MethodResult>;
}

export type OpenSession = () => Session;

/** `launches` holds back replacements in the same way as provisioning's launches. */
export function sessions(
  deps: Deps,
  simulations: SimulationRunner,
  launches?: Pick<LaunchBudget, 'withheldFromSimulations'>,
): OpenSession {
  const { cluster, clock, cloud, settings } = deps;
  const { sameForMs = Number.POSITIVE_INFINITY } = simulations;

  async function inputNow(): Promise<SimulationInput> {
    const nodes = cluster.nodes();
    const overdue = cluster.unlaunched.overdue();
    const pending = withoutPodsOfOverdueClaims(cluster, podsToPlace(cluster));
    const pods = [...pending, ...withoutPodsOfOverdueClaims(cluster, cluster.virtualPods.list())];
    // Simulations come by the hundred; what is wrong with pools is reported where decisions are made.
    const pools = await withInstanceTypes(deps, activePools(deps, silent), {
      mode: deps.settings.consolidation,
      log: silent,
    });
    return {
      snapshot: takeSnapshot(cluster, {
        ...{ nowMs: clock.now(), pools, nodes, overdue, pendingPods: pods },
        commitments: cloud.commitments?.(),
        withheld: launches?.withheldFromSimulations(pods) ?? [],
      }),
      nodePools: cluster.stores.nodePools.list(),
      solve: { ...solveOptions(settings, 'fallback'), deadlineMs: DEADLINE_MS },
    };
  }

  let last: SimulationInput | undefined;
  /** The last one again while nothing has changed: what simulations have computed on it holds. */
  async function inputOnce(): Promise<SimulationInput> {
    const now = await inputNow();
    const isFresh = last !== undefined && Math.abs(now.snapshot.nowMs - last.snapshot.nowMs) < sameForMs;
    if (last === undefined || !isFresh || !isSameInput(last, now)) last = now;
    return last;
  }

  return () => {
    let opened: Promise<SimulationInput> | undefined;
    const snapshotInput = (): Promise<SimulationInput> => {
      opened ??= inputOnce();
      return opened;
    };
    return {
      simulate: async (candidates, options) =>
        simulations.simulate(
          await snapshotInput(),
          candidates.map(({ providerId }) => providerId),
          options,
        ),
      decide: async (method, input, signal) =>
        method.isSearch ? simulations.decide(await snapshotInput(), method, input, signal) : method.decide(input),
    };
  };
}

/** Whether simulations on both answer the same. */
function isSameInput(one: SimulationInput, other: SimulationInput): boolean {
  const [{ nowMs, pools, ...before }, { nowMs: laterMs, pools: poolsNow, ...now }] = [one.snapshot, other.snapshot];
  const names = Object.keys(now) as (keyof typeof now)[];
  return (
    one.nodePools === other.nodePools &&
    names.length === Object.keys(before).length &&
    names.every((name) => isSamePart(before[name], now[name])) &&
    pools.length === poolsNow.length &&
    pools.every((pool, at) => isSamePool(pool, poolsNow[at])) &&
    (nowMs === laterMs || momentOf(one.snapshot, one.nodePools) === momentOf(other.snapshot, other.nodePools))
  );
}

const isSamePart = (one: unknown, other: unknown): boolean =>
  one === other || (Array.isArray(one) && Array.isArray(other) && sameItems(one, other));
