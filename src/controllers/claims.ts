/** Creates NodeClaims for planned claims, exactly once over an unreliable connection. */
import { randomInt } from 'node:crypto';
import {
  apiVersionOf,
  type Kind,
  type KubeObject,
  MIN_VALUES_RELAXED_ANNOTATION,
  NODE_CLAIM,
  NODE_POOL,
  type NodeClaim,
  type NodePool,
  uidOf,
} from '#api/objects';
import { formatDuration, readDurationOrNever } from '#api/values';
import { billedUsdPerHour, ceilingText, largestClaimAmounts } from '#engine/costs';
import {
  amountIn,
  type Ceiling,
  largestCapacity,
  NODES,
  type PlannedClaim,
  quantityList,
  type Resources,
  resourcesOf,
  type StateNode,
} from '#engine/model';
import { ApiError, type KubeClient, NotPermitted } from '#kube/client';
import { backOffMs, type ReconcileContext } from '#kube/reconcilers';
import { defined, own, timestamp } from '#lib';
import type { Clock } from '#lib/clock';
import { namespacesOf } from '#observe/history';
import { NODECLAIMS_BALANCED, NODECLAIMS_CREATED } from '#observe/metrics';
import { ceilingReader, ceilingSources } from '#planner';
import type { ClusterState } from '#state';
import type { Deps } from './deps.ts';
import { firstFew } from './text.ts';
import type { TracedDecision } from './traces/decision.ts';

interface Creation extends ReconcileContext {
  /** Reason in the metric of created NodeClaims. */
  readonly reason: string;
  /** Decision that the trace of the NodeClaim refers to. */
  readonly decision?: TracedDecision | undefined;
  /** True for a node that does not count toward the limits. Default: every node counts. */
  readonly isFree?: ((node: StateNode) => boolean) | undefined;
}

type CreationDeps = Pick<
  Deps,
  'client' | 'clock' | 'cloud' | 'cluster' | 'metrics' | 'decisions' | 'random' | 'traces'
>;

/**
 * Creates the NodeClaim and tracks it immediately, so that no second NodeClaim is planned for the same pods.
 * @throws Error if the NodePool is gone or its limits have no room for the largest instance of the NodeClaim
 */
export async function createClaim(
  { client, clock, cloud, cluster, metrics, decisions, random, traces }: CreationDeps,
  planned: PlannedClaim,
  { reason, log, signal, decision, isFree }: Creation,
): Promise<NodeClaim> {
  const fromMs = clock.now();
  const pool = await client.find(NODE_POOL, { name: planned.nodePool });
  if (pool === undefined)
    throw new Error(`cannot create a node claim: NodePool "${planned.nodePool}" no longer exists`);
  const requested = nodeClaimOf(planned, pool);
  const created = await withinLimits({ clock, cloud, cluster, isFree }, pool, requested, planned.chargesUsdPerHour);
  let claim: NodeClaim;
  try {
    claim = await createOnce({ client, clock, signal, random }, NODE_CLAIM, requested);
    cluster.track(claim, planned.pods);
  } finally {
    created();
  }
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
  if (planned.zone !== undefined)
    metrics.counter(NODECLAIMS_BALANCED).inc({ nodepool: planned.nodePool, zone: planned.zone.name });
  const nodeClaim = claim.metadata.name;
  const usdPerHour = billedUsdPerHour(planned);
  decisions?.record(
    {
      kind: 'bought',
      at: timestamp(clock.now()),
      nodeClaim,
      nodePool: planned.nodePool,
      reason,
      pods: planned.pods.length,
      examples: planned.pods.slice(0, EXAMPLES),
      namespaces: namespacesOf(planned.pods),
      usdPerHour,
      ...defined({ surplusCreditsUsdPerHour: planned.surplusUsdPerHour }),
    },
    { added: { nodeClaim, usdPerHour } },
  );
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
 * Reserves the largest capacity of a new NodeClaim, so that NodeClaims that are created at the same time do not exceed the limits
 * together. The caller must call the returned function after the creation.
 * @throws Error if the limits have no room
 */
async function withinLimits(
  { clock, cloud, cluster, isFree }: Pick<Deps, 'clock' | 'cloud' | 'cluster'> & Pick<Creation, 'isFree'>,
  pool: NodePool,
  claim: NodeClaim,
  chargesUsdPerHour = 0,
): Promise<() => void> {
  const { name } = pool.metadata;
  const limits = Object.entries(resourcesOf(pool.spec.limits));
  const sources = ceilingSources(cluster, pool);
  const hasCeilings = sources.policies.length + sources.quotas.length > 0;
  if (limits.length === 0 && !hasCeilings) return () => undefined;
  const isCounted = !hasCeilings && limits.every(([resource]) => resource === NODES);
  const types = isCounted ? [] : await cloud.instanceTypes(pool);
  const parts = { catalogue: cloud, nowMs: () => clock.now() };
  const readCeilings = hasCeilings ? await ceilingReader(cluster, sources, parts) : undefined;
  const usage = cluster.poolCommitment(name, types, isFree);
  const added = largestCapacity(claim, types);
  for (const [resource, limit] of limits) {
    const [used, more] = [amountIn(usage, resource), amountIn(added, resource)];
    if (used + more <= limit) continue;
    const text = (amount: number): string | undefined => quantityList({ [resource]: amount })[resource];
    const fields = `limit=${own(pool.spec.limits, resource)}, resource-name=${resource}, usage=${text(used)}`;
    throw new Error(
      used > limit
        ? `resource usage exceeds limit (${fields})`
        : `resource usage would exceed limit (${fields}, new-node=${text(more)})`,
    );
  }
  for (const ceiling of readCeilings?.() ?? [])
    checkCeiling(ceiling, largestClaimAmounts(ceiling, claim, { types, chargesUsdPerHour }));
  return cluster.creations.add(name, claim);
}

/** @throws Error if the ceiling has no room */
function checkCeiling({ object, field, limits, used }: Ceiling, added: Resources): void {
  for (const [resource, limit] of Object.entries(limits)) {
    const [before, more] = [amountIn(used, resource), amountIn(added, resource)];
    if (more === 0 || before + more <= limit) continue;
    const text = (amount: number): string => ceilingText(resource, amount);
    throw new Error(
      `${object.kind} "${object.name}": ${field}.${resource} has no room (ceiling=${text(limit)}, usage=${text(before)}, new-node=${text(more)})`,
    );
  }
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

/** Alphabet of generated names in the API server. It has no vowels and no characters that look alike. */
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const RETRY = { baseMs: 500, maxMs: 5_000 };
/** Maximum number of tries. They take about 40 seconds in total, so a restart of the API server can complete. */
const MOST_TRIES = 11;

const machineRandom = (): number => randomInt(LETTERS.length) / LETTERS.length;

/** Generates a name from `generateName` like the API server. `random` returns numbers in [0, 1). */
export const generatedName = (prefix: string, random: () => number = machineRandom): string =>
  prefix + Array.from({ length: SUFFIX_LENGTH }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('');

interface Creator {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Returns numbers in [0, 1). Default: the random numbers of the machine. */
  readonly random?: (() => number) | undefined;
}

/**
 * Creates an object with a generated name. The client chooses the name, so that it can retry the request if the response is lost.
 * If the first request succeeded, the function returns the object of this request and does not create another object.
 * @throws Error if the server refuses the request, if it does not respond to any retry, or if the signal aborts
 */
export async function createOnce<T extends KubeObject>(
  { client, clock, signal, random }: Creator,
  kind: Kind<T>,
  object: T,
): Promise<T> {
  const name = generatedName(object.metadata.generateName ?? '', random);
  const named = { ...object, metadata: { ...object.metadata, name } };
  for (let failures = 0; ; failures += 1) {
    try {
      return await client.create(kind, named);
    } catch (error) {
      if (failures > 0 && isThere(error)) return client.get(kind, { name, namespace: object.metadata.namespace });
      if (error instanceof NotPermitted || !mayHaveTakenEffect(error) || failures + 1 >= MOST_TRIES) throw error;
      await clock.sleep(backOffMs(RETRY, failures, random), signal);
      if (signal.aborted) throw error;
    }
  }
}

const isThere = (error: unknown): boolean => error instanceof ApiError && error.reason === 'AlreadyExists';

/**
 * Returns true if an object may exist after this error. A status below 500 shows that the server created no object. A broken
 * connection or a timeout of the server does not show this.
 */
const mayHaveTakenEffect = (error: unknown): boolean => !(error instanceof ApiError) || error.status >= 500;
