/** Inputs of NodePools from the provider. Facts that cannot be read are logged. */

import { isTrue, type NodePool, READY } from '#api/objects';
import { type CostPolicy, consolidationPolicy } from '#api/values';
import type { NodeExtras } from '#engine/costs';
import type { PoolInput } from '#engine/model';
import { type Logger, silent } from '#observe/logger';
import { managedPools, nodeExtras, type PoolProblem, poolInputs } from '#planner';
import type { Deps } from './deps.ts';
import { OverlaysNotEvaluated } from './nodeoverlay/overlays.ts';

type ViewDeps = Pick<Deps, 'cloud' | 'cluster' | 'settings'> & { readonly clock: Pick<Deps['clock'], 'now'> };
type PoolDeps = ViewDeps & Partial<Pick<Deps, 'devices'>>;

interface Reading {
  readonly policy: CostPolicy;
  readonly logOf: (nodePool: NodePool) => Logger;
  /** Decisions that the inputs are for, which have different messages in the log. */
  readonly purpose: 'launches' | 'disruption';
}

/** Returns the inputs of NodePools. If the instance types of a NodePool cannot be listed, its input has none. */
export const readPoolInputs = (
  { cloud, clock, cluster, settings, devices }: PoolDeps,
  pools: readonly NodePool[],
  { policy, logOf, purpose }: Reading,
): Promise<readonly PoolInput[]> =>
  poolInputs(pools, {
    catalogue: cloud,
    policies: cluster.stores.nodePolicies.list(),
    governing: { cluster, nowMs: clock.now(), startsRollouts: settings.mode === 'observe' },
    policy,
    nodeHourlyFee: settings.nodeHourlyFee,
    devices,
    onProblem: (problem) => logProblem(logOf(problem.nodePool), problem, purpose),
  });

function logProblem(log: Logger, { of, nodePool, error }: PoolProblem, purpose: Reading['purpose']): void {
  const NodePool = { name: nodePool.metadata.name };
  const isLaunch = purpose === 'launches';
  if (of === 'empty') {
    if (isLaunch) log.info('skipping, no resolved instance types found', { NodePool });
  } else if (of === 'fee') log.error('ignoring the node fee of the nodepool', { NodePool, error });
  else if (of === 'charges') log.debug('charges of nodes are unknown', { NodePool, error });
  else if (error instanceof OverlaysNotEvaluated)
    log.debug('skipping, node overlays are not applied', { NodePool, error });
  // this error is expected for a NodePool that is not ready
  else if (isTrue(nodePool, READY))
    log.error(isLaunch ? 'skipping, unable to resolve instance types' : 'failed listing instance types', {
      NodePool,
      error,
    });
  else log.debug('skipping, the nodepool is not ready', { NodePool, error });
}

/**
 * Returns the inputs of NodePools for views of existing nodes. Decisions log the problems.
 * @param pools all managed NodePools by default
 */
export const viewedPoolInputs = (
  { cloud, clock, cluster, settings }: ViewDeps,
  pools: readonly NodePool[] = managedPools(cluster),
): Promise<readonly PoolInput[]> =>
  readPoolInputs({ cloud, clock, cluster, settings }, pools, {
    policy: consolidationPolicy(settings.consolidation),
    logOf: () => silent,
    purpose: 'disruption',
  });

/** Returns the costs of the nodes of a NodePool besides their instances, for views of existing nodes. */
export const viewedExtras = ({ cloud, settings }: Pick<Deps, 'cloud' | 'settings'>, nodePool: NodePool): NodeExtras =>
  nodeExtras(nodePool, {
    catalogue: cloud,
    policy: consolidationPolicy(settings.consolidation),
    nodeHourlyFee: settings.nodeHourlyFee,
    onProblem: () => undefined,
  });
