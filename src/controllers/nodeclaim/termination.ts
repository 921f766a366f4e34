/** Ends a deleted claim: its Nodes first, which drains them, then its instance, then the finalizer. */
import { getCondition, isTrue, timestamp } from '../../api/conditions.ts';
import { readDurationOrNever } from '../../api/duration.ts';
import { NODE, NODE_CLAIM } from '../../api/kinds.ts';
import {
  CAPACITY_TYPE_LABEL,
  NODEPOOL_LABEL,
  TERMINATION_FINALIZER,
  TERMINATION_TIMESTAMP_ANNOTATION,
  ZONE_LABEL,
} from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { causeOf, NodeClaimNotFound } from '../../cloud/errors.ts';
import { deleteExactly, writeChanges } from '../../kube/patch.ts';
import { after, type Outcome, type ReconcileContext, settled } from '../../kube/reconciler.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { TERMINATION_GRACE_PERIOD_EXPIRING } from '../../observe/events/nodeclaims.ts';
import {
  NODECLAIMS_INSTANCE_TERMINATION_DURATION_SECONDS,
  NODECLAIMS_TERMINATED,
  NODECLAIMS_TERMINATION_DURATION_SECONDS,
} from '../../observe/metrics/nodeclaims.ts';
import type { Deps } from '../deps.ts';
import type { OwnWrites } from '../ownwrites.ts';
import type { LaunchedInstances } from './launched.ts';
import { withCondition } from './step.ts';
import { unreadableFields } from './unreadable.ts';

/** How often the cloud is asked whether the instance is gone. */
const POLL_MS = 5000;

type Finalize = (claim: NodeClaim, context: ReconcileContext) => Promise<Outcome>;

export function termination(deps: Deps, launched: LaunchedInstances, writes: OwnWrites): Finalize {
  const { client, cloud, clock, cluster, events, metrics } = deps;
  const pool = (claim: NodeClaim): string => claim.metadata.labels?.[NODEPOOL_LABEL] ?? '';

  const unreadable = unreadableFields(deps);

  const write = async (before: NodeClaim, changed: NodeClaim, part: 'object' | 'status') => {
    const stored = await writeChanges(client, NODE_CLAIM, { before, after: changed }, { part, lock: true });
    writes.wrote(stored);
    return stored;
  };

  /** Fixes the time after which remaining pods are deleted, once. */
  async function stampDeadline(claim: NodeClaim, { log }: ReconcileContext): Promise<NodeClaim | undefined> {
    const { annotations = {}, deletionTimestamp } = claim.metadata;
    const grace = claim.spec.terminationGracePeriod;
    if (annotations[TERMINATION_TIMESTAMP_ANNOTATION] !== undefined || grace === undefined) return claim;
    const graceMs = readDurationOrNever(grace);
    if (graceMs === undefined || graceMs === Number.POSITIVE_INFINITY) {
      const consequence = 'its node drains without a deadline';
      unreadable.report(claim, { field: 'terminationGracePeriod', consequence }, log);
      return claim;
    }
    const deadline = timestamp(Date.parse(deletionTimestamp ?? '') + graceMs);
    const stamped: NodeClaim = {
      ...claim,
      metadata: { ...claim.metadata, annotations: { ...annotations, [TERMINATION_TIMESTAMP_ANNOTATION]: deadline } },
    };
    const stored = await write(claim, stamped, 'object');
    if (stored === undefined) return undefined;
    log.info('annotated nodeclaim', { [TERMINATION_TIMESTAMP_ANNOTATION]: deadline });
    const message = TERMINATION_GRACE_PERIOD_EXPIRING.message(deadline);
    events.publish(eventOf(TERMINATION_GRACE_PERIOD_EXPIRING, claim, { message, dedupe: [claim.metadata.name] }));
    return stored;
  }

  /** Answers whether there are Nodes to wait for. An instance that never registered drains nothing. */
  async function deleteNodes(claim: NodeClaim): Promise<boolean> {
    const nodes = isTrue(claim, 'Registered') ? cluster.nodesOfClaim(claim) : [];
    const staying = nodes.filter(({ metadata }) => !metadata.deletionTimestamp);
    await Promise.all(staying.map((node) => deleteExactly(client, NODE, node)));
    return nodes.length > 0;
  }

  /** Answers whether the instance is gone. */
  async function terminateInstance(claim: NodeClaim): Promise<boolean> {
    try {
      await cloud.delete(claim);
      return false;
    } catch (error) {
      if (causeOf(error, NodeClaimNotFound)) return true;
      throw error;
    }
  }

  function observeTerminated(claim: NodeClaim): void {
    const since = getCondition(claim, 'InstanceTerminating')?.lastTransitionTime;
    if (since === undefined) return;
    metrics
      .histogram(NODECLAIMS_INSTANCE_TERMINATION_DURATION_SECONDS)
      .observe({ nodepool: pool(claim) }, Math.max(0, clock.now() - Date.parse(since)) / 1000);
  }

  /** Answers whether it was us who let the claim go, just now. */
  async function release(claim: NodeClaim, { log }: ReconcileContext): Promise<boolean> {
    const finalizers = (claim.metadata.finalizers ?? []).filter((finalizer) => finalizer !== TERMINATION_FINALIZER);
    const stored = await write(claim, { ...claim, metadata: { ...claim.metadata, finalizers } }, 'object');
    launched.forget(claim);
    unreadable.forget(claim.metadata.name);
    // Gone already: the cache has yet to learn of our earlier release, which was told and counted.
    if (stored === undefined) return false;
    log.info('deleted nodeclaim', {
      'provider-id': claim.status?.providerID,
      Node: { name: claim.status?.nodeName ?? '' },
    });
    const seconds = Math.max(0, clock.now() - Date.parse(claim.metadata.deletionTimestamp ?? '')) / 1000;
    metrics.histogram(NODECLAIMS_TERMINATION_DURATION_SECONDS).observe({ nodepool: pool(claim) }, seconds);
    metrics.counter(NODECLAIMS_TERMINATED).inc({
      nodepool: pool(claim),
      capacity_type: claim.metadata.labels?.[CAPACITY_TYPE_LABEL] ?? '',
      zone: claim.metadata.labels?.[ZONE_LABEL] ?? '',
    });
    return true;
  }

  return async (claim, context) => {
    if (!(claim.metadata.finalizers ?? []).includes(TERMINATION_FINALIZER)) return settled;
    const stamped = await stampDeadline(claim, context);
    if (stamped === undefined || (await deleteNodes(stamped))) return settled;
    const bought = withKnownInstance(stamped, launched.get(stamped));
    if (!bought.status?.providerID) {
      await release(stamped, context);
      return settled;
    }
    const gone = await terminateInstance(bought);
    const marked = withCondition(bought, { type: 'InstanceTerminating', status: 'True' }, clock.now());
    const stored = await write(stamped, marked, 'status');
    if (stored === undefined) return settled;
    if (!gone) return after(POLL_MS);
    if (await release(stored, context)) observeTerminated(stored);
    return settled;
  };
}

/** An instance that was bought just before the deletion may be known to this process alone. */
function withKnownInstance(claim: NodeClaim, created: NodeClaim | undefined): NodeClaim {
  const providerID = claim.status?.providerID || created?.status?.providerID;
  return providerID ? { ...claim, status: { ...claim.status, providerID } } : claim;
}
