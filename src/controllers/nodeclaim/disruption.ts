/** Updates the conditions that make a NodeClaim eligible for voluntary disruption: Drifted and Consolidatable. */
import {
  getCondition,
  isTrue,
  type Kind,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  type NodePool,
  uidOf,
} from '#api/objects';
import { causeOf, NodeClaimNotFound } from '#cloud';
import { awaitsMaintenance, type DriftChecks, lostItsType } from '#engine/model';
import { type Store, writeChanges } from '#kube/client';
import {
  after,
  type Key,
  type Outcome,
  type ReconcileContext,
  type Reconciler,
  settled,
  soonest,
  type Trigger,
} from '#kube/reconcilers';
import { own } from '#lib';
import { monotonicMs } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { type JudgedClaim, judgeClaim } from '#planner';
import { CLAIMS_BY_NODE_CLASS, CLAIMS_BY_NODE_POOL, type ClusterState } from '#state';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { isSame } from '../node-classes.ts';

const TYPE_CHECK_INTERVAL_MS = 30 * 60_000;

/** Returns the checks of a NodeClaim. They reject with NodeClaimNotFound if the cloud does not find the instance. */
type ChecksFor = (claim: NodeClaim, pool: NodePool) => DriftChecks;

export function driftChecks({ cloud, clock, cluster }: Pick<Deps, 'cloud' | 'clock' | 'cluster'>): ChecksFor {
  /** Time of the last check by UID, by `monotonicMs`. */
  const verifiedMs = new Map<string, number>();

  /** Checks at intervals, because the list of instance types changes rarely. */
  async function hasLostType(claim: NodeClaim, pool: NodePool): Promise<boolean> {
    const uid = uidOf(claim);
    const nowMs = monotonicMs(clock);
    if (nowMs - (verifiedMs.get(uid) ?? Number.NEGATIVE_INFINITY) < TYPE_CHECK_INTERVAL_MS) return false;
    const types = await cloud.instanceTypes(pool);
    // An empty list means that the NodeClass is deleted or being deleted, so instance types are unknown.
    if (types.length === 0) return false;
    if (lostItsType(claim, types)) return true;
    for (const [known, ms] of verifiedMs) if (nowMs - ms > TYPE_CHECK_INTERVAL_MS) verifiedMs.delete(known);
    verifiedMs.set(uid, nowMs);
    return false;
  }

  return (claim, pool) => ({
    awaitsMaintenance: awaitsMaintenance(cluster.nodeOfClaim(claim)?.node),
    hasLostType: () => hasLostType(claim, pool),
    nodeClassDrift: () => cloud.isDrifted(claim),
  });
}

/** Polling interval, because AWS sends no events about drift. */
const DRIFT_INTERVAL_MS = 5 * 60_000;

export class DisruptionConditions implements Reconciler<NodeClaim> {
  readonly name = 'nodeclaim.disruption';
  readonly watches = NODE_CLAIM;
  readonly concurrency: number;
  readonly triggers: readonly Trigger[];
  readonly #deps: Deps;
  readonly #checksFor: ChecksFor;

  constructor(deps: Deps) {
    const { cloud, cluster, settings } = deps;
    this.#deps = deps;
    this.#checksFor = driftChecks(deps);
    this.concurrency = concurrency(settings, { min: 10, max: 1000 });
    const { nodeClaims } = cluster.stores;
    this.triggers = [
      claimsOfMaintenance(cluster),
      claimsOfPool(nodeClaims),
      ...cloud.nodeClassKinds.map((kind) => claimsOfNodeClass(nodeClaims, kind)),
    ];
  }

  filter(claim: NodeClaim): boolean {
    return this.#deps.cluster.manages(claim.spec.nodeClassRef);
  }

  async reconcile(claim: NodeClaim, { log }: ReconcileContext): Promise<Outcome> {
    const { client, clock, cluster } = this.#deps;
    const poolName = claim.metadata.labels?.[NODEPOOL_LABEL];
    const pool = poolName ? cluster.stores.nodePools.get({ name: poolName }) : undefined;
    const isOurs = cluster.manages(claim.spec.nodeClassRef);
    if (pool === undefined || claim.metadata.deletionTimestamp || !isOurs) return settled;
    const judged = await judgeClaim(claim, pool, this.#checksFor(claim, pool), clock.now());
    logChanges(claim, judged, log);
    await writeChanges(client, NODE_CLAIM, { before: claim, after: judged.claim }, { part: 'status', lock: true });
    // The drift of a terminated instance does not change. Garbage collection deletes its NodeClaim.
    if (judged.error !== undefined && !causeOf(judged.error, NodeClaimNotFound)) throw judged.error;
    const { consolidatableInMs: waitMs } = judged;
    return soonest([after(DRIFT_INTERVAL_MS), waitMs ? after(waitMs) : settled]);
  }
}

function logChanges(before: NodeClaim, { claim, drift }: JudgedClaim, log: Logger): void {
  if (drift !== undefined && !isTrue(before, 'Drifted')) log.debug('marking drifted', { reason: drift });
  if (getCondition(before, 'Drifted') && !getCondition(claim, 'Drifted'))
    log.debug('removing drifted status condition, not drifted');
  const isConsolidatable = isTrue(claim, 'Consolidatable');
  if (isConsolidatable && !isTrue(before, 'Consolidatable')) log.debug('marking consolidatable');
  if (getCondition(before, 'Consolidatable') && !isConsolidatable)
    log.debug('removing consolidatable status condition');
}

/** Triggers the NodeClaims of a changed NodePool. Ignores changes of the status, because the status changes with every node. */
const claimsOfPool = (nodeClaims: Store<NodeClaim>): Trigger => ({
  kind: NODE_POOL,
  keysFor: (pool, _, before) =>
    before !== undefined && asksTheSame(pool, before)
      ? []
      : keys(nodeClaims.byIndex(CLAIMS_BY_NODE_POOL, pool.metadata.name)),
});

const asksTheSame = ({ metadata: now }: KubeObject, { metadata: before }: KubeObject): boolean =>
  now.generation !== undefined &&
  now.generation === before.generation &&
  [NODEPOOL_HASH_ANNOTATION, NODEPOOL_HASH_VERSION_ANNOTATION].every(
    (annotation) => own(now.annotations, annotation) === own(before.annotations, annotation),
  );

/** Triggers the NodeClaim of a node whose maintenance starts or ends. */
const claimsOfMaintenance = (cluster: ClusterState): Trigger<Node> => ({
  kind: NODE,
  keysFor: (node, event, before) =>
    event !== 'deleted' && awaitsMaintenance(node) !== awaitsMaintenance(before)
      ? keys(cluster.claimsOfNode(node))
      : [],
});

/** Triggers the NodeClaims that refer to a changed NodeClass. */
const claimsOfNodeClass = (nodeClaims: Store<NodeClaim>, kind: Kind): Trigger => ({
  kind,
  keysFor: ({ metadata }) =>
    keys(
      nodeClaims.byIndex(CLAIMS_BY_NODE_CLASS, metadata.name).filter((claim) => isSame(claim.spec.nodeClassRef, kind)),
    ),
});

const keys = (claims: readonly NodeClaim[]): readonly Key[] => claims.map(({ metadata }) => ({ name: metadata.name }));
