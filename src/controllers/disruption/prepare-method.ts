/** Prepares a disruption method on the cluster as it is now, and reports which nodes are left alone, and why. */
import { isTrue, READY } from '../../api/conditions.ts';
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { type ClaimCounts, claimCounts } from '../../engine/disruption/candidates/claim-counts.ts';
import { committedUse } from '../../engine/disruption/committed-use.ts';
import type { Method, MethodInput, MethodResult } from '../../engine/disruption/method.ts';
import { type PassInput, type Preparation, prepare } from '../../engine/disruption/pass.ts';
import type { InstanceType, PoolInput, StateNode } from '../../engine/model.ts';
import { withoutSpotRisk } from '../../engine/spot-risk.ts';
import { monotonicMs } from '../../lib/clock.ts';
import { type Pause, yielding } from '../../lib/yielding.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import { nodeExtras } from '../node-extras.ts';
import { OverlaysNotEvaluated } from '../nodeoverlay/overlays.ts';
import { isSamePool } from '../same-pool.ts';
import { publishBlocked, publishBlockedPool, publishUnconsolidatable } from './disruption-events.ts';
import { setAllowance } from './measures.ts';
import { publishProtection } from './pod-events.ts';
import type { DisruptionQueue } from './queue.ts';
import type { OpenSession } from './simulation-session.ts';

export interface MethodRequest {
  readonly method: Method;
  readonly log: Logger;
  /** NodePools that the method's last search had no time for. */
  readonly unseenPools: ReadonlySet<string>;
}

export interface PreparedMethod extends Preparation {
  /** What the method decides. Rejects when the signal aborts. */
  readonly decide: (signal: AbortSignal) => Promise<MethodResult>;
}

export const managedPools = ({ cluster }: Pick<Deps, 'cluster'>): readonly NodePool[] =>
  cluster.stores.nodePools.list().filter(({ spec }) => cluster.manages(spec.template.spec.nodeClassRef));

export class MethodPreparer {
  readonly #deps: Deps;
  readonly #queue: DisruptionQueue;
  readonly #open: OpenSession;
  #pools: ReadonlyMap<string, PoolInput> = new Map();
  /** When it was last said what keeps nodes: several methods find the same at one time. */
  readonly #reportedMs = new WeakMap<Preparation['blocks'], number>();

  constructor(deps: Deps, queue: DisruptionQueue, open: OpenSession) {
    this.#deps = deps;
    this.#queue = queue;
    this.#open = open;
  }

  async prepare(request: MethodRequest): Promise<PreparedMethod> {
    const { method, log, unseenPools } = request;
    const pools = await this.#poolsWithTypes(log);
    const session = this.#open();
    const pass = this.#passInput({ pools, unseenPools, simulate: session.simulate });
    const { clock } = this.#deps;
    // by the cluster's clock: in virtual time the machine's speed must not decide who has a turn first
    const pause = yielding(() => monotonicMs(clock));
    const preparation = await prepare(method, pass, pause);
    await this.#report(preparation, pass.nodes, pause);
    const startedMs = monotonicMs(clock);
    const input: MethodInput = {
      ...preparation.input,
      elapsedMs: () => monotonicMs(clock) - startedMs,
      refresh: async () => (await this.prepare(request)).input,
    };
    return { ...preparation, input, decide: (signal) => session.decide(method, input, signal) };
  }

  #passInput({ pools, unseenPools, simulate }: Pick<PassInput, 'pools' | 'unseenPools' | 'simulate'>): PassInput {
    const { cluster, clock, cloud, settings } = this.#deps;
    const { providerIds: inProgress, moves } = this.#queue;
    const [nodes, nowMs, startedMs] = [cluster.nodes(), clock.now(), monotonicMs(clock)];
    return {
      nowMs,
      nodes,
      podDisruptionBudgets: cluster.stores.podDisruptionBudgets.list(),
      nodePools: managedPools(this.#deps),
      pools,
      inProgress,
      claims: this.#withReserved(claimCounts(nodes, inProgress)),
      spotToSpot: settings.featureGates.spotToSpotConsolidation,
      consolidation: settings.consolidation,
      unseenPools,
      committed: committedUse({ commitments: cloud.commitments?.() ?? [], nodes }, pools, settings.consolidation),
      undone: settings.consolidation === 'compatible' ? [] : moves.undone(nowMs),
      simulate,
      elapsedMs: () => monotonicMs(clock) - startedMs,
    };
  }

  /** Pools without nodes are left out: they have nothing to disrupt, and their NodeClass may not be ready. */
  async #poolsWithTypes(log: Logger): Promise<ReadonlyMap<string, PoolInput>> {
    const inUse = new Set(this.#deps.cluster.nodes().map(({ labels }) => labels[NODEPOOL_LABEL]));
    const pools = managedPools(this.#deps).filter(({ metadata }) => inUse.has(metadata.name));
    const inputs = await Promise.all(
      pools.map(async (nodePool) => ({
        nodePool,
        instanceTypes: await this.#typesOf(nodePool, log),
        ...nodeExtras({ ...this.#deps, log }, nodePool, this.#deps.settings.consolidation),
      })),
    );
    const usable = inputs.filter(({ instanceTypes }) => instanceTypes.length > 0);
    return this.#sharing(usable);
  }

  /** By name; the same map as last time when the pools are the same, by which the engine knows that it has judged their nodes. */
  #sharing(pools: readonly PoolInput[]): ReadonlyMap<string, PoolInput> {
    const last = [...this.#pools.values()];
    if (pools.length !== last.length || !pools.every((pool, at) => isSamePool(pool, last[at])))
      this.#pools = new Map(pools.map((pool) => [pool.nodePool.metadata.name, pool]));
    return this.#pools;
  }

  async #typesOf(pool: NodePool, log: Logger): Promise<readonly InstanceType[]> {
    const NodePool = { name: pool.metadata.name };
    try {
      const types = await this.#deps.cloud.instanceTypes(pool);
      return this.#deps.settings.consolidation === 'compatible' ? withoutSpotRisk(types) : types;
    } catch (error) {
      // of a pool that is not ready nothing else is to be expected
      if (error instanceof OverlaysNotEvaluated)
        log.debug('skipping, node overlays are not applied', { NodePool, error });
      else log[isTrue(pool, READY) ? 'error' : 'debug']('failed listing instance types', { NodePool, error });
      return [];
    }
  }

  /** Claims that are about to be created take up room under their pool's limit of nodes. */
  #withReserved(counts: ReadonlyMap<string, ClaimCounts>): ReadonlyMap<string, ClaimCounts> {
    const { reservedNodes } = this.#deps.cluster;
    return new Map(
      [...counts].map(([pool, count]) => {
        const reserved = reservedNodes.of(pool);
        return [pool, reserved === 0 ? count : { ...count, deleting: count.deleting + reserved }];
      }),
    );
  }

  /** Events and metrics of what the preparation found. */
  async #report(
    { method, blocks, declined, candidates, allowances, input }: Preparation,
    nodes: readonly StateNode[],
    pause: Pause,
  ): Promise<void> {
    const { events, metrics } = this.#deps;
    if (events.isHeard !== false) {
      const { nowMs } = input;
      if (this.#reportedMs.get(blocks) !== nowMs) await this.#reportBlocks(blocks, nodes, { nowMs, pause });
      this.#reportedMs.set(blocks, nowMs);
      for (const { candidate, reason, isReported } of declined.values()) {
        if (isReported) publishUnconsolidatable(events, candidate, reason.text);
        await pause();
      }
    }
    // budgets keep nobody back where there is nobody
    if (candidates.length === 0) return;
    for (const pool of managedPools(this.#deps)) {
      const allowance = allowances.get(pool.metadata.name);
      if (allowance === undefined) continue;
      setAllowance(metrics, pool.metadata.name, method.reason, allowance);
      publishBlockedPool(events, pool, { reason: method.reason, allowance });
    }
  }

  async #reportBlocks(
    blocks: Preparation['blocks'],
    nodes: readonly StateNode[],
    { nowMs, pause }: { readonly nowMs: number; readonly pause: Pause },
  ): Promise<void> {
    const { events } = this.#deps;
    for (const node of nodes) {
      if (node.nodeClaim) publishProtection(events, node.pods, nowMs);
      const block = blocks.get(node.providerId);
      if (block !== undefined && block.code !== 'in-progress' && block.code !== 'unmanaged')
        publishBlocked(events, node, block.text);
      await pause();
    }
  }
}
