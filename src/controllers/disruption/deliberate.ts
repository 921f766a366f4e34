/** Lays before a disruption method what it may look at. */
import { isTrue, READY } from '../../api/conditions.ts';
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { poolTotals } from '../../engine/disruption/balance.ts';
import { type Allowance, allowances } from '../../engine/disruption/budgets.ts';
import { type Block, type Candidate, candidateOf, isBlock } from '../../engine/disruption/candidates.ts';
import { notWorthRepeating } from '../../engine/disruption/churn.ts';
import { type ClaimCounts, claimCounts } from '../../engine/disruption/claimcounts.ts';
import type { Method, MethodInput, MethodResult } from '../../engine/disruption/method.ts';
import type { Declined, Review } from '../../engine/disruption/verdicts.ts';
import type { InstanceType, PoolInput } from '../../engine/model.ts';
import { monotonicMs } from '../../kube/clock.ts';
import { yielding } from '../../kube/yielding.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import { OverlaysNotEvaluated } from '../nodeoverlay/overlays.ts';
import { setAllowance } from './measures.ts';
import { publishBlocked, publishBlockedPool, publishUnconsolidatable } from './notes.ts';
import { publishProtection } from './podnotes.ts';
import type { DisruptionQueue } from './queue.ts';
import type { OpenSession } from './simulate.ts';

export interface Question {
  readonly method: Method;
  readonly log: Logger;
  readonly unseenPools: ReadonlySet<string>;
}

/** A deliberation, and what came to light on the way to it. */
export type Asked = Omit<Review, 'findings'> & {
  readonly deliberation: MethodInput;
  /** What the method decides. Rejects when the signal aborts. */
  readonly decide: (signal: AbortSignal) => Promise<MethodResult>;
};

/** A candidate that cannot be judged keeps no others from it. */
function filterResult(method: Method, candidate: Candidate): ReturnType<Method['filter']> {
  try {
    return method.filter(candidate);
  } catch (error) {
    const text = `node cannot be judged, ${error instanceof Error ? error.message : error}`;
    return { eligible: false, isTold: true, reason: { code: 'failed', text } };
  }
}

export type Deliberate = (question: Question) => Promise<Asked>;

export const managedPools = ({ cluster }: Pick<Deps, 'cluster'>): readonly NodePool[] =>
  cluster.stores.nodePools.list().filter(({ spec }) => cluster.manages(spec.template.spec.nodeClassRef));

/** Tells users of the nodes that are left alone, and why, on the way. */
export function deliberator(deps: Deps, queue: DisruptionQueue, open: OpenSession): Deliberate {
  const { cloud, cluster, clock, events, metrics, settings } = deps;

  async function typesOf(pool: NodePool, log: Logger): Promise<readonly InstanceType[]> {
    const NodePool = { name: pool.metadata.name };
    try {
      return await cloud.instanceTypes(pool);
    } catch (error) {
      // of a pool that is not ready nothing else is to be expected
      if (error instanceof OverlaysNotEvaluated)
        log.debug('skipping, node overlays are not applied', { NodePool, error });
      else log[isTrue(pool, READY) ? 'error' : 'debug']('failed listing instance types', { NodePool, error });
      return [];
    }
  }

  /** Pools without nodes are left out: they have nothing to disrupt, and may not even be ready to be asked. */
  async function poolsWithTypes(log: Logger): Promise<ReadonlyMap<string, PoolInput>> {
    const inUse = new Set(cluster.nodes().map(({ labels }) => labels[NODEPOOL_LABEL]));
    const pools = managedPools(deps).filter(({ metadata }) => inUse.has(metadata.name));
    const inputs = await Promise.all(
      pools.map(async (nodePool) => ({ nodePool, instanceTypes: await typesOf(nodePool, log) })),
    );
    const usable = inputs.filter(({ instanceTypes }) => instanceTypes.length > 0);
    return new Map(usable.map((pool) => [pool.nodePool.metadata.name, pool]));
  }

  async function findCandidates(
    method: Method,
    pools: ReadonlyMap<string, PoolInput>,
    blocks: Map<string, Block>,
    pause: () => Promise<void>,
  ): Promise<readonly Candidate[]> {
    const context = {
      nowMs: clock.now(),
      class: method.class,
      inProgress: queue.providerIds,
      pools,
      podDisruptionBudgets: cluster.stores.podDisruptionBudgets.list(),
    };
    const found: Candidate[] = [];
    for (const stateNode of cluster.nodes()) {
      if (stateNode.nodeClaim) publishProtection(events, stateNode.pods, context.nowMs);
      const result = candidateOf(stateNode, context);
      if (isBlock(result)) {
        blocks.set(stateNode.providerId, result);
        const isTold = result.code !== 'in-progress' && result.code !== 'unmanaged';
        if (isTold) publishBlocked(events, stateNode, result.text);
      } else found.push(result);
      await pause();
    }
    return found;
  }

  function isEligible(method: Method, candidate: Candidate, declined: Map<string, Declined>): boolean {
    const verdict = filterResult(method, candidate);
    if (verdict.eligible) return true;
    declined.set(candidate.providerId, { candidate, reason: verdict.reason });
    if (verdict.isTold) publishUnconsolidatable(events, candidate, verdict.reason.text);
    return false;
  }

  /** Whether what the method would do to the candidate is no repetition of a move that did not last. */
  function isWorthIt(
    { reason }: Method,
    candidate: Candidate,
    totals: MethodInput['totals'],
    declined: Map<string, Declined>,
  ): boolean {
    if (reason !== 'Underutilized' || settings.consolidation === 'compatible') return true;
    const nowMs = clock.now();
    const why = notWorthRepeating(candidate, totals, { undone: queue.moves.undone(nowMs), nowMs });
    if (why) declined.set(candidate.providerId, { candidate, reason: why });
    return why === undefined;
  }

  function allowancesFor({ reason }: Method): ReadonlyMap<string, Allowance> {
    const pools = managedPools(deps);
    const found = allowances(cluster.nodes(), pools, { reason, nowMs: clock.now() });
    for (const pool of pools) {
      const allowance = found.get(pool.metadata.name);
      if (allowance === undefined) continue;
      setAllowance(metrics, pool.metadata.name, reason, allowance);
      publishBlockedPool(events, pool, { reason, allowance });
    }
    return found;
  }

  /** Claims that are about to be created take up room under their pool's limit of nodes. */
  const withReserved = (counts: ReadonlyMap<string, ClaimCounts>): ReadonlyMap<string, ClaimCounts> =>
    new Map(
      [...counts].map(([pool, count]) => {
        const reserved = cluster.reservedNodes.of(pool);
        return [pool, reserved === 0 ? count : { ...count, deleting: count.deleting + reserved }];
      }),
    );

  const deliberate: Deliberate = async (question) => {
    const { method, log, unseenPools } = question;
    const pools = await poolsWithTypes(log);
    const blocks = new Map<string, Block>();
    const declined = new Map<string, Declined>();
    const pause = yielding();
    const all = await findCandidates(method, pools, blocks, pause);
    const totals = poolTotals(cluster.nodes(), all, pools);
    await pause();
    const candidates: Candidate[] = [];
    for (const candidate of all) {
      if (isEligible(method, candidate, declined) && isWorthIt(method, candidate, totals, declined))
        candidates.push(candidate);
      await pause();
    }
    const found = candidates.length === 0 ? new Map<string, Allowance>() : allowancesFor(method);
    await pause();
    const [nowMs, startedMs] = [clock.now(), monotonicMs(clock)];
    const session = open();
    const deliberation: MethodInput = {
      nowMs,
      candidates,
      budgets: new Map([...found].map(([name, { remaining }]) => [name, remaining])),
      totals,
      spotToSpot: settings.featureGates.spotToSpotConsolidation,
      consolidation: settings.consolidation,
      pools,
      claims: withReserved(claimCounts(cluster.nodes(), queue.providerIds)),
      unseenPools,
      simulate: session.simulate,
      elapsedMs: () => monotonicMs(clock) - startedMs,
      refresh: async () => (await deliberate(question)).deliberation,
    };
    const decide = (signal: AbortSignal): Promise<MethodResult> => session.decide(method, deliberation, signal);
    return { method, blocks, declined, candidates, allowances: found, deliberation, decide };
  };
  return deliberate;
}
