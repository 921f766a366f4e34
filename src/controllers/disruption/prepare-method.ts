/**
 * Prepares a disruption method on the current state of the cluster, and reports the nodes that it does not disrupt, with
 * reasons.
 */
import type { Method, MethodInput, MethodResult } from '../../engine/disruption/method.ts';
import { type PassInput, type Preparation, prepare } from '../../engine/disruption/pass.ts';
import type { StateNode } from '../../engine/model.ts';
import type { SimulationRunner } from '../../engine-worker/simulation-runner.ts';
import { monotonicMs } from '../../lib/clock.ts';
import { type Pause, yielding } from '../../lib/yielding.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import { publishBlocked, publishBlockedPool, publishUnconsolidatable } from './disruption-events.ts';
import { setAllowance } from './measures.ts';
import type { MoveHistory } from './moves.ts';
import { publishProtection } from './pod-events.ts';
import { managedPools, type Snapshots } from './snapshots.ts';

interface MethodRequest {
  readonly method: Method;
  readonly log: Logger;
  /** NodePools that the method's last search did not reach before its time limit. */
  readonly unseenPools: ReadonlySet<string>;
}

interface PreparedMethod extends Preparation {
  /** Decides on commands. Rejects if the signal aborts. */
  readonly decide: (signal: AbortSignal) => Promise<MethodResult>;
}

interface PreparerParts {
  readonly snapshots: Pick<Snapshots, 'current'>;
  readonly moves: Pick<MoveHistory, 'undone'>;
  readonly simulations: Pick<SimulationRunner, 'simulate' | 'decide'>;
}

export class MethodPreparer {
  readonly #deps: Deps;
  readonly #parts: PreparerParts;

  constructor(deps: Deps, parts: PreparerParts) {
    this.#deps = deps;
    this.#parts = parts;
  }

  async prepare(request: MethodRequest): Promise<PreparedMethod> {
    const { method, log, unseenPools } = request;
    const { clock, settings } = this.#deps;
    const { snapshots, moves, simulations } = this.#parts;
    const { surveys, simulation, ...snapshot } = await snapshots.current(log);
    const nowMs = clock.now();
    let startedMs = monotonicMs(clock);
    const pass: PassInput = {
      ...snapshot,
      nowMs,
      unseenPools,
      spotToSpot: settings.featureGates.spotToSpotConsolidation,
      consolidation: settings.consolidation,
      undone: settings.consolidation === 'compatible' ? [] : moves.undone(nowMs),
      simulate: (candidates, options) =>
        simulations.simulate(
          simulation,
          candidates.map(({ providerId }) => providerId),
          options,
        ),
      elapsedMs: () => monotonicMs(clock) - startedMs,
    };
    const isFirst = !surveys.has(method.class);
    // uses the clock of the cluster: in virtual time, the speed of the machine must not change the order of work
    const pause = yielding(() => monotonicMs(clock));
    const preparation = await prepare(method, pass, { surveys, pause });
    if (isFirst) await this.#reportBlocks(preparation.blocks, pass, pause);
    await this.#report(preparation, pause);
    startedMs = monotonicMs(clock);
    const input: MethodInput = { ...preparation.input, refresh: async () => (await this.prepare(request)).input };
    return {
      ...preparation,
      input,
      decide: async (signal) =>
        method.isSearch ? simulations.decide(simulation, method, input, signal) : method.decide(input),
    };
  }

  /** Publishes events and metrics about the result of the preparation. */
  async #report({ method, declined, candidates, allowances }: Preparation, pause: Pause): Promise<void> {
    const { events, metrics } = this.#deps;
    for (const { candidate, reason, isReported } of declined.values()) {
      if (isReported) publishUnconsolidatable(events, candidate, reason.text);
      await pause();
    }
    // without candidates, budgets block no node
    if (candidates.length === 0) return;
    for (const pool of managedPools(this.#deps)) {
      const allowance = allowances.get(pool.metadata.name);
      if (allowance === undefined) continue;
      setAllowance(metrics, pool.metadata.name, method.reason, allowance);
      publishBlockedPool(events, pool, { reason: method.reason, allowance });
    }
  }

  /** Reports blocked nodes. Blocks are the same for all methods of a disruption class. */
  async #reportBlocks(
    blocks: Preparation['blocks'],
    { nodes, nowMs }: { readonly nodes: readonly StateNode[]; readonly nowMs: number },
    pause: Pause,
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
