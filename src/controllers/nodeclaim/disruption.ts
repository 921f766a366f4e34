/** Updates the conditions that make a NodeClaim eligible for voluntary disruption: Drifted and Consolidatable. */
import { getCondition, isTrue } from '../../api/conditions.ts';
import { type Kind, NODE_CLAIM, NODE_POOL } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/kubernetes.ts';
import { NODEPOOL_HASH_ANNOTATION, NODEPOOL_HASH_VERSION_ANNOTATION, NODEPOOL_LABEL } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { uidOf } from '../../api/object-fields.ts';
import { causeOf, NodeClaimNotFound } from '../../cloud/errors.ts';
import { consolidatableIn, withConsolidatable } from '../../engine/disruption/candidates/consolidate-after.ts';
import { driftReason, lostItsType, withDrifted } from '../../engine/drift.ts';
import type { Store } from '../../kube/client.ts';
import { writeChanges } from '../../kube/patch.ts';
import {
  after,
  type Key,
  type Outcome,
  type ReconcileContext,
  type Reconciler,
  settled,
  soonest,
  type Trigger,
} from '../../kube/reconciler.ts';
import { monotonicMs } from '../../lib/clock.ts';
import { own } from '../../lib/own.ts';
import type { Logger } from '../../observe/logger.ts';
import { CLAIMS_BY_NODE_CLASS, CLAIMS_BY_NODE_POOL } from '../../state/stores.ts';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { isSame, nodeClassKinds } from '../node-classes.ts';

const TYPE_CHECK_INTERVAL_MS = 30 * 60_000;

/** Returns the first drift reason, or undefined. @throws NodeClaimNotFound if the cloud does not find the instance */
type DriftCheck = (claim: NodeClaim, pool: NodePool) => Promise<string | undefined>;

export function driftCheck({ cloud, clock }: Pick<Deps, 'cloud' | 'clock'>): DriftCheck {
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

  return (claim, pool) => {
    const checks = { hasLostType: () => hasLostType(claim, pool), nodeClassDrift: () => cloud.isDrifted(claim) };
    return driftReason(claim, pool, checks, clock.now());
  };
}

/** Polling interval, because AWS sends no events about drift. */
const DRIFT_INTERVAL_MS = 5 * 60_000;

interface Change {
  readonly claim: NodeClaim;
  readonly outcome: Outcome;
  /** Error to throw after the write of the other change, because a drift error must not delay consolidation. */
  readonly error?: unknown;
}

export class DisruptionConditions implements Reconciler<NodeClaim> {
  readonly name = 'nodeclaim.disruption';
  readonly watches = NODE_CLAIM;
  readonly concurrency: number;
  readonly triggers: readonly Trigger[];
  readonly #deps: Deps;
  readonly #drift: ReturnType<typeof driftCheck>;

  constructor(deps: Deps) {
    const { cloud, cluster, settings } = deps;
    this.#deps = deps;
    this.#drift = driftCheck(deps);
    this.concurrency = concurrency(settings, { min: 10, max: 1000 });
    const { nodeClaims } = cluster.stores;
    this.triggers = [
      claimsOfPool(nodeClaims),
      ...nodeClassKinds(cloud).map((kind) => claimsOfNodeClass(nodeClaims, kind)),
    ];
  }

  filter(claim: NodeClaim): boolean {
    return this.#deps.cluster.manages(claim.spec.nodeClassRef);
  }

  async reconcile(claim: NodeClaim, { log }: ReconcileContext): Promise<Outcome> {
    const { client, cluster } = this.#deps;
    const poolName = claim.metadata.labels?.[NODEPOOL_LABEL];
    const pool = poolName ? cluster.stores.nodePools.get({ name: poolName }) : undefined;
    const isOurs = cluster.manages(claim.spec.nodeClassRef);
    if (pool === undefined || claim.metadata.deletionTimestamp || !isOurs) return settled;
    const drifted = await this.#withDrift(claim, pool, log);
    const changes =
      pool.spec.replicas === undefined ? [drifted, this.#withConsolidatable(drifted.claim, pool, log)] : [drifted];
    const last = changes.at(-1) ?? drifted;
    await writeChanges(client, NODE_CLAIM, { before: claim, after: last.claim }, { part: 'status', lock: true });
    if (drifted.error !== undefined) throw drifted.error;
    return soonest(changes.map(({ outcome }) => outcome));
  }

  async #withDrift(claim: NodeClaim, pool: NodePool, log: Logger): Promise<Change> {
    const { clock } = this.#deps;
    const outcome = after(DRIFT_INTERVAL_MS);
    let reason: string | undefined;
    try {
      reason = await this.#drift(claim, pool);
    } catch (error) {
      // The drift of a terminated instance does not change. Garbage collection deletes its NodeClaim.
      return causeOf(error, NodeClaimNotFound) ? { claim, outcome } : { claim, outcome, error };
    }
    if (reason !== undefined && !isTrue(claim, 'Drifted')) log.debug('marking drifted', { reason });
    if (reason === undefined && getCondition(claim, 'Drifted'))
      log.debug('removing drifted status condition, not drifted');
    return { claim: withDrifted(claim, reason, clock.now()), outcome };
  }

  #withConsolidatable(claim: NodeClaim, pool: NodePool, log: Logger): Change {
    const nowMs = this.#deps.clock.now();
    const waitMs = consolidatableIn(claim, pool, nowMs);
    if (waitMs === 0 && !isTrue(claim, 'Consolidatable')) log.debug('marking consolidatable');
    if (waitMs !== 0 && getCondition(claim, 'Consolidatable')) log.debug('removing consolidatable status condition');
    return { claim: withConsolidatable(claim, pool, nowMs), outcome: waitMs ? after(waitMs) : settled };
  }
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

/** Triggers the NodeClaims that refer to a changed NodeClass. */
const claimsOfNodeClass = (nodeClaims: Store<NodeClaim>, kind: Kind): Trigger => ({
  kind,
  keysFor: ({ metadata }) =>
    keys(
      nodeClaims.byIndex(CLAIMS_BY_NODE_CLASS, metadata.name).filter((claim) => isSame(claim.spec.nodeClassRef, kind)),
    ),
});

const keys = (claims: readonly NodeClaim[]): readonly Key[] => claims.map(({ metadata }) => ({ name: metadata.name }));
