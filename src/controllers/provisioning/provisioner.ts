/** The loop that buys nodes for pending pods. */

import { formatDuration } from '../../api/duration.ts';
import type { Pod } from '../../api/kubernetes.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { podKey } from '../../engine/pods.ts';
import { type Solver, solveOptions } from '../../engine-worker/solver.ts';
import { monotonicMs } from '../../kube/clock.ts';
import { inBatches } from '../../kube/parallel.ts';
import { type ReconcileContext, type Singleton, settled } from '../../kube/reconciler.ts';
import { takeSnapshot } from '../../state/snapshot.ts';
import { recordBuffers } from '../capacitybuffer/results.ts';
import { createClaim } from '../claims.ts';
import type { Deps } from '../deps.ts';
import { publishNominated } from '../nomination.ts';
import { firstFew } from '../text.ts';
import type { Batcher } from './batcher.ts';
import type { HeldPods } from './held-pods.ts';
import { provisioningMeasures } from './measures.ts';
import { activePools, withInstanceTypes } from './pools.ts';
import { preferenceWarnings } from './preferences.ts';
import type { Purchases } from './purchases.ts';
import { recordResults, type Solved } from './results.ts';
import { UnboundPods } from './unbound-pods.ts';
import { pendingPods, podsOfDeletingNodes, withoutPodsOfOverdueClaims } from './workload.ts';

/** Longest time that one solve may take; what it has then is used, the rest goes first in the next run. */
const DEADLINE_MS = 60_000;
/** Pods wait while it lasts: failures must not add up to minutes. */
const BACK_OFF = { baseMs: 100, maxMs: 10_000 };
const NO_POOLS = 'no dynamic nodepools found';

export interface ProvisionerParts {
  readonly batcher: Batcher;
  readonly solver: Solver;
  readonly held: HeldPods;
  readonly purchases: Purchases;
}

export function provisioner(deps: Deps, { batcher, solver, held, purchases }: ProvisionerParts): Singleton {
  const { cluster, clock, settings } = deps;
  const keepsBuffers = settings.featureGates.capacityBuffer;
  /** Claims for capacity buffers: once they are launched, the room that they bring is found to be there. */
  const forBuffers = new Set<string>();
  if (keepsBuffers) cluster.stores.nodeClaims.subscribe(launched);
  const measures = provisioningMeasures(deps, solver, held);
  const unbound = new UnboundPods(deps);
  const warnOfPreferences = preferenceWarnings(clock);
  /** Pods that the last solve had no time for. */
  let first: readonly string[] = [];

  async function schedule(virtual: readonly Pod[], { log }: ReconcileContext): Promise<Solved | undefined> {
    // Nodes before pods: a pod that is bound in between is then seen once, as bound, or not at all.
    const nodes = cluster.nodes();
    const overdue = cluster.unlaunched.overdue();
    const nowMs = clock.now();
    const pending = purchases.taking(withoutPodsOfOverdueClaims(cluster, pendingPods(cluster)));
    const deleting = withoutPodsOfOverdueClaims(cluster, podsOfDeletingNodes(cluster, nodes, nowMs));
    const real = [...pending, ...deleting];
    const all = [...real, ...withoutPodsOfOverdueClaims(cluster, virtual)];
    if (all.length === 0) return undefined;
    log.debug('computing scheduling decision for provisionable pod(s)', {
      'pending-pods': pending.length,
      'deleting-pods': deleting.length,
    });
    const pods = new Map(real.map((pod) => [podKey(pod), pod]));
    const active = activePools(deps, log);
    if (active.length === 0) {
      log.info(NO_POOLS);
      for (const key of pods.keys()) cluster.podTimings.refused(key, nowMs);
      return undefined;
    }
    if (settings.preferencePolicy === 'Respect') warnOfPreferences(real, log);
    const pools = await withInstanceTypes(deps, active, log);
    const snapshot = takeSnapshot(cluster, { nowMs, pools, nodes, overdue, pendingPods: all });
    return {
      plan: await measures.solve(snapshot, { ...solveOptions(settings, 'strict'), deadlineMs: DEADLINE_MS, first }),
      pods,
    };
  }

  function launched(event: 'added' | 'updated' | 'deleted', { metadata, status }: NodeClaim): void {
    if (event !== 'deleted' && !status?.providerID) return;
    if (forBuffers.delete(metadata.name) && event !== 'deleted') batcher.trigger(metadata.name);
  }

  async function carryOut({ plan, pods }: Solved, startedMs: number, context: ReconcileContext): Promise<void> {
    const { log } = context;
    if (plan.claims.length === 0) return;
    const placed = plan.claims.flatMap((claim) => claim.pods);
    log.info('found provisionable pod(s)', {
      Pods: firstFew(placed),
      duration: formatDuration(monotonicMs(clock) - startedMs),
    });
    log.info('computed new nodeclaim(s) to fit pod(s)', { nodeclaims: plan.claims.length, pods: placed.length });
    try {
      await inBatches(plan.claims, plan.claims.length, async (planned) => {
        const nodeClaim = await createClaim(deps, planned, { ...context, reason: 'provisioned' });
        if (planned.pods.some((key) => !pods.has(key))) forBuffers.add(nodeClaim.metadata.name);
        const real = planned.pods.flatMap((key) => pods.get(key) ?? []);
        purchases.bought(nodeClaim, real);
        for (const pod of real) publishNominated(deps, pod, { nodeClaim });
      });
    } catch (error) {
      throw new Error(`creating node claim, ${error instanceof Error ? error.message : error}`, { cause: error });
    }
  }

  return {
    name: 'provisioner',
    singleton: true,
    backOff: BACK_OFF,
    async reconcile(context) {
      if (!(await batcher.wait(context.signal))) return settled;
      if (!cluster.synced()) {
        // A launch is under way. The batch is kept: it opens the next window.
        batcher.trigger('unsynced');
        return settled;
      }
      const startedMs = monotonicMs(clock);
      const virtual = cluster.virtualPods.list();
      const finished = measures.started();
      const solved = await schedule(virtual, context);
      finished();
      if (keepsBuffers) await recordBuffers(deps, solved?.plan, virtual, context.log);
      if (solved === undefined) return settled;
      measures.count(solved.plan);
      first = solved.plan.notEvaluated;
      if (first.length > 0) batcher.trigger('not evaluated');
      recordResults(deps, solved, context.log);
      unbound.placed(solved.plan.placements, solved.pods);
      await carryOut(solved, startedMs, context);
      return settled;
    },
  };
}
