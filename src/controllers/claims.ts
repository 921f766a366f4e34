/** Creates NodeClaims for planned claims. */

import { formatDuration, readDurationOrNever } from '../api/duration.ts';
import { apiVersionOf, NODE_CLAIM, NODE_POOL } from '../api/kinds.ts';
import { MIN_VALUES_RELAXED_ANNOTATION } from '../api/labels.ts';
import type { NodeClaim } from '../api/nodeclaim.ts';
import type { NodePool } from '../api/nodepool.ts';
import { uidOf } from '../api/object-fields.ts';
import type { PlannedClaim } from '../engine/model.ts';
import { amountIn, quantityList, resourcesOf } from '../engine/resources.ts';
import { createOnce } from '../kube/create.ts';
import type { ReconcileContext } from '../kube/reconciler.ts';
import { defined } from '../lib/defined.ts';
import { own } from '../lib/own.ts';
import { timestamp } from '../lib/times.ts';
import { NODECLAIMS_CREATED } from '../observe/metrics/nodeclaims.ts';
import type { ClusterState } from '../state/cluster.ts';
import type { Deps } from './deps.ts';
import { firstFew } from './text.ts';
import type { TracedDecision } from './traces/decision.ts';

interface Creation extends ReconcileContext {
  /** Reason in the metric of created NodeClaims. */
  readonly reason: string;
  /** Decision that the trace of the NodeClaim refers to. */
  readonly decision?: TracedDecision | undefined;
}

/**
 * Creates the NodeClaim and tracks it immediately, so that no second NodeClaim is planned for the same pods.
 * @throws Error if the NodePool is gone or already over its limits
 */
export async function createClaim(
  {
    client,
    clock,
    cluster,
    metrics,
    decisions,
    random,
    traces,
  }: Pick<Deps, 'client' | 'clock' | 'cluster' | 'metrics' | 'decisions' | 'random' | 'traces'>,
  planned: PlannedClaim,
  { reason, log, signal, decision }: Creation,
): Promise<NodeClaim> {
  const fromMs = clock.now();
  const pool = await client.find(NODE_POOL, { name: planned.nodePool });
  if (pool === undefined)
    throw new Error(`cannot create a node claim: NodePool "${planned.nodePool}" no longer exists`);
  const exceeded = exceededLimit(pool, cluster.poolTotals(planned.nodePool));
  if (exceeded) throw new Error(exceeded);
  const claim = await createOnce({ client, clock, signal, random }, NODE_CLAIM, nodeClaimOf(planned, pool));
  cluster.track(claim, planned.pods);
  // pods of capacity buffers do not exist, so their entries would never be removed
  for (const pod of planned.pods) if (exists(cluster, pod)) cluster.podTimings.assign(pod, claim.metadata.name);
  log.info('created nodeclaim', {
    NodePool: { name: planned.nodePool },
    NodeClaim: { name: claim.metadata.name },
    requests: claim.spec.resources?.requests,
    'instance-types': firstFew(planned.instanceTypes),
  });
  metrics.counter(NODECLAIMS_CREATED).inc({
    reason,
    nodepool: planned.nodePool,
    min_values_relaxed: claim.metadata.annotations?.[MIN_VALUES_RELAXED_ANNOTATION] ?? 'false',
  });
  decisions?.record({
    kind: 'bought',
    at: timestamp(clock.now()),
    nodeClaim: claim.metadata.name,
    nodePool: planned.nodePool,
    reason,
    pods: planned.pods.length,
    examples: planned.pods.slice(0, EXAMPLES),
    usdPerHour: planned.usdPerHour,
  });
  const { nodePool, pods } = planned;
  const traced = decision?.podsOf(planned) ?? [];
  traces?.created({ claim, nodePool, reason, fromMs, toMs: clock.now(), podCount: pods.length, traced, decision });
  return claim;
}

/** Maximum number of pods that the decision log names for each launch. */
const EXAMPLES = 3;

const exists = ({ stores }: Pick<ClusterState, 'stores'>, key: string): boolean => {
  const [namespace = '', name = ''] = key.split('/');
  return stores.pods.get({ namespace, name }) !== undefined;
};

/**
 * Returns an error text if usage exceeds a limit. Usage equal to a limit is valid, because the planner keeps launches within
 * the limits.
 */
function exceededLimit(pool: NodePool, usage: Readonly<Record<string, number>>): string | undefined {
  for (const [name, limit] of Object.entries(resourcesOf(pool.spec.limits))) {
    const used = amountIn(usage, name);
    if (used <= limit) continue;
    const usageText = quantityList({ [name]: used })[name];
    return `resource usage exceeds limit (limit=${own(pool.spec.limits, name)}, resource-name=${name}, usage=${usageText})`;
  }
  return undefined;
}

/**
 * Formats a duration as Karpenter writes it, because people and tools compare texts. Keeps a text that cannot be parsed,
 * because the validation of the NodePool reports it.
 */
function canonicalText(duration: string): string {
  const ms = readDurationOrNever(duration);
  return ms === undefined || !Number.isFinite(ms) ? duration : formatDuration(ms);
}

/** Builds the object to create. */
export function nodeClaimOf(planned: PlannedClaim, pool: NodePool): NodeClaim {
  const { nodeClassRef, taints, startupTaints, terminationGracePeriod, expireAfter } = pool.spec.template.spec;
  return {
    apiVersion: apiVersionOf(NODE_CLAIM),
    kind: NODE_CLAIM.kind,
    metadata: {
      name: '',
      generateName: `${planned.nodePool}-`,
      labels: planned.labels,
      annotations: planned.annotations,
      ownerReferences: [
        {
          apiVersion: apiVersionOf(NODE_POOL),
          kind: NODE_POOL.kind,
          name: pool.metadata.name,
          uid: uidOf(pool),
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      nodeClassRef,
      requirements: [...planned.requirements],
      resources: { requests: quantityList(planned.requests) },
      ...defined({
        taints,
        startupTaints,
        terminationGracePeriod: terminationGracePeriod && canonicalText(terminationGracePeriod),
        expireAfter,
      }),
    },
  };
}
