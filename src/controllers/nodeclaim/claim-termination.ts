/** Terminates a deleted NodeClaim: deletes its Nodes first, which drains them, then its instance, then removes the finalizer. */
import {
  CAPACITY_TYPE_LABEL,
  getCondition,
  isTrue,
  labelOf,
  NODE,
  NODE_CLAIM,
  type NodeClaim,
  poolNameOf,
  REGISTERED_LABEL,
  TERMINATION_FINALIZER,
  TERMINATION_TIMESTAMP_ANNOTATION,
  ZONE_LABEL,
} from '#api/objects';
import { readDurationOrNever } from '#api/values';
import { causeOf, NodeClaimNotFound } from '#cloud';
import { deleteExactly, writeChanges } from '#kube/client';
import { after, type Outcome, type ReconcileContext, settled } from '#kube/reconcilers';
import { timeOf, timestamp } from '#lib';
import { eventOf, TERMINATION_GRACE_PERIOD_EXPIRING } from '#observe/events';
import {
  NODECLAIMS_INSTANCE_TERMINATION_DURATION_SECONDS,
  NODECLAIMS_TERMINATED,
  NODECLAIMS_TERMINATION_DURATION_SECONDS,
} from '#observe/metrics';
import type { Deps } from '../deps.ts';
import type { OwnWrites } from '../own-writes.ts';
import type { LaunchedInstances } from './launch.ts';
import { withCondition } from './step.ts';
import { type UnreadableFields, unreadableFields } from './unreadable.ts';

/** Interval at which the operator checks if the cloud has terminated the instance. */
const POLL_MS = 5000;

export class ClaimTermination {
  readonly #deps: Deps;
  readonly #launched: LaunchedInstances;
  readonly #writes: OwnWrites;
  readonly #unreadable: UnreadableFields;

  constructor(deps: Deps, launched: LaunchedInstances, writes: OwnWrites) {
    this.#deps = deps;
    this.#launched = launched;
    this.#writes = writes;
    this.#unreadable = unreadableFields(deps);
  }

  async finalize(claim: NodeClaim, context: ReconcileContext): Promise<Outcome> {
    if (!(claim.metadata.finalizers ?? []).includes(TERMINATION_FINALIZER)) return settled;
    const stamped = await this.#stampDeadline(claim, context);
    if (stamped === undefined || (await this.#deleteNodes(stamped))) return settled;
    if (await this.#deleteUnseenNode(stamped)) return after(POLL_MS);
    const bought = withKnownInstance(stamped, this.#launched.get(stamped));
    if (!bought.status?.providerID) {
      await this.#release(stamped, context);
      return settled;
    }
    const gone = await this.#terminateInstance(bought);
    const marked = withCondition(bought, { type: 'InstanceTerminating', status: 'True' }, this.#deps.clock.now());
    const stored = await this.#write(stamped, marked, 'status');
    if (stored === undefined) return settled;
    if (!gone) return after(POLL_MS);
    if (await this.#release(stored, context)) this.#observeTerminated(stored);
    return settled;
  }

  /** Sets the deadline after which remaining pods are deleted. Sets it only once. */
  async #stampDeadline(claim: NodeClaim, { log }: ReconcileContext): Promise<NodeClaim | undefined> {
    const { annotations = {}, deletionTimestamp } = claim.metadata;
    const grace = claim.spec.terminationGracePeriod;
    if (annotations[TERMINATION_TIMESTAMP_ANNOTATION] !== undefined || grace === undefined) return claim;
    const graceMs = readDurationOrNever(grace);
    if (graceMs === undefined || graceMs === Number.POSITIVE_INFINITY) {
      const consequence = 'its node drains without a deadline';
      this.#unreadable.report(claim, { field: 'terminationGracePeriod', consequence }, log);
      return claim;
    }
    const deadline = timestamp(timeOf(deletionTimestamp) + graceMs);
    const stored = await this.#write(claim, withDeadline(claim, deadline), 'object');
    if (stored === undefined) return undefined;
    log.info('annotated nodeclaim', { [TERMINATION_TIMESTAMP_ANNOTATION]: deadline });
    const message = TERMINATION_GRACE_PERIOD_EXPIRING.message(deadline);
    const dedupe = [claim.metadata.name];
    this.#deps.events.publish(eventOf(TERMINATION_GRACE_PERIOD_EXPIRING, claim, { message, dedupe }));
    return stored;
  }

  /**
   * Deletes the Nodes. Returns true if the NodeClaim must wait for Nodes. An instance that never registered has no Node to
   * drain.
   */
  async #deleteNodes(claim: NodeClaim): Promise<boolean> {
    const { client, cluster } = this.#deps;
    const nodes = isTrue(claim, 'Registered') ? cluster.nodesOfClaim(claim) : [];
    const staying = nodes.filter(({ metadata }) => !metadata.deletionTimestamp);
    await Promise.all(staying.map((node) => deleteExactly(client, NODE, node)));
    return nodes.length > 0;
  }

  /**
   * Reads the Node from the API server before the instance is terminated, because the cache may not contain it, or because the
   * deletion prevented the write of the condition Registered after the Node was registered. Deletes the Node, which drains it.
   * Returns true if the NodeClaim must wait for the Node.
   */
  async #deleteUnseenNode(claim: NodeClaim): Promise<boolean> {
    const { client, cluster, informers } = this.#deps;
    const isRegistered = isTrue(claim, 'Registered');
    const name = isRegistered ? claim.status?.nodeName : cluster.nodesOfClaim(claim)[0]?.metadata.name;
    if (!name || isTrue(claim, 'InstanceTerminating')) return false;
    const node = await client.find(NODE, { name });
    if (node === undefined || node.spec?.providerID !== claim.status?.providerID) return false;
    if (!isRegistered && node.metadata.labels?.[REGISTERED_LABEL] !== 'true') return false;
    if (isRegistered) informers.distrust(NODE);
    if (node.metadata.deletionTimestamp === undefined) await deleteExactly(client, NODE, node);
    return true;
  }

  /** Returns true if the instance is gone. */
  async #terminateInstance(claim: NodeClaim): Promise<boolean> {
    try {
      await this.#deps.cloud.delete(claim);
      return false;
    } catch (error) {
      if (causeOf(error, NodeClaimNotFound)) return true;
      throw error;
    }
  }

  /** Removes the finalizer. Returns true if this call removed it. */
  async #release(claim: NodeClaim, { log }: ReconcileContext): Promise<boolean> {
    const finalizers = (claim.metadata.finalizers ?? []).filter((finalizer) => finalizer !== TERMINATION_FINALIZER);
    const stored = await this.#write(claim, { ...claim, metadata: { ...claim.metadata, finalizers } }, 'object');
    this.#launched.forget(claim);
    this.#unreadable.forget(claim.metadata.name);
    // The NodeClaim is already gone: the cache does not show an earlier removal by this process yet, which was reported and
    // counted.
    if (stored === undefined) return false;
    log.info('deleted nodeclaim', {
      'provider-id': claim.status?.providerID,
      Node: { name: claim.status?.nodeName ?? '' },
    });
    this.#measureReleased(claim);
    return true;
  }

  #measureReleased(claim: NodeClaim): void {
    const { clock, metrics } = this.#deps;
    const seconds = Math.max(0, clock.now() - timeOf(claim.metadata.deletionTimestamp)) / 1000;
    metrics.histogram(NODECLAIMS_TERMINATION_DURATION_SECONDS).observe({ nodepool: poolNameOf(claim) }, seconds);
    metrics.counter(NODECLAIMS_TERMINATED).inc({
      nodepool: poolNameOf(claim),
      capacity_type: labelOf(claim, CAPACITY_TYPE_LABEL),
      zone: labelOf(claim, ZONE_LABEL),
    });
  }

  #observeTerminated(claim: NodeClaim): void {
    const { clock, metrics } = this.#deps;
    const since = getCondition(claim, 'InstanceTerminating')?.lastTransitionTime;
    if (since === undefined) return;
    metrics
      .histogram(NODECLAIMS_INSTANCE_TERMINATION_DURATION_SECONDS)
      .observe({ nodepool: poolNameOf(claim) }, Math.max(0, clock.now() - Date.parse(since)) / 1000);
  }

  async #write(before: NodeClaim, changed: NodeClaim, part: 'object' | 'status'): Promise<NodeClaim | undefined> {
    const versions = { before, after: changed };
    const stored = await writeChanges(this.#deps.client, NODE_CLAIM, versions, { part, lock: true });
    this.#writes.wrote(stored);
    return stored;
  }
}

function withDeadline(claim: NodeClaim, deadline: string): NodeClaim {
  const annotations = { ...claim.metadata.annotations, [TERMINATION_TIMESTAMP_ANNOTATION]: deadline };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

/** Adds the provider ID of an instance that was launched just before the deletion, because only this process may know the ID. */
function withKnownInstance(claim: NodeClaim, created: NodeClaim | undefined): NodeClaim {
  const providerID = claim.status?.providerID || created?.status?.providerID;
  return providerID ? { ...claim, status: { ...claim.status, providerID } } : claim;
}
