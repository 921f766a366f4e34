/** Ends deleted Nodes: taint, drain, detach volumes, terminate the instance, and only then let the Node go. */
import { isTrue } from '../../api/conditions.ts';
import { NODE, NODE_CLAIM } from '../../api/kinds.ts';
import type { Node } from '../../api/kubernetes.ts';
import {
  DISRUPTED_TAINT,
  NODEPOOL_LABEL,
  TERMINATION_FINALIZER,
  TERMINATION_TIMESTAMP_ANNOTATION,
  ZONE_LABEL,
} from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { causeOf, NodeClaimNotFound } from '../../cloud/errors.ts';
import { deleteExactly, writeChanges } from '../../kube/patch.ts';
import { after, type Outcome, type ReconcileContext, type Reconciler, settled } from '../../kube/reconciler.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { TERMINATION_GRACE_PERIOD_EXPIRING } from '../../observe/events/nodeclaims.ts';
import { concurrency, globalLimit } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { OwnWrites } from '../ownwrites.ts';
import { deadlineOf } from './deadline.ts';
import { detaching } from './detaching.ts';
import { draining } from './draining.ts';
import type { Evictions } from './evictions.ts';
import { isManagedNode } from './managed.ts';
import type { Leaving, Progress, Step } from './step.ts';
import { withDisruptedTaint } from './taint.ts';
import { terminating } from './terminating.ts';
import { terminationMeter } from './terminationmetrics.ts';

const RANGE = { min: 100, max: 5_000 };
/** The Node's own events do not tell when its claim's last change has arrived in the cache. */
const LAG_MS = 100;

export function termination(deps: Deps, evictions: Evictions): Reconciler<Node> {
  const { client, clock, cloud, cluster, events, metrics, settings } = deps;
  const steps = [draining(deps, evictions), detaching(deps), terminating(deps)];
  const meter = terminationMeter(metrics, clock);
  /** To claims: a conflict over a condition that is there already would cost one of the retries that all nodes share. */
  const writes = new OwnWrites();
  cluster.stores.nodeClaims.subscribe((event, { metadata }) => {
    if (event === 'deleted') writes.forget(metadata.name);
  });

  /** Deletes the claim if nobody has; answers whether the cache shows that, and what else was written to it from here. */
  async function isKnownToEnd(claim: NodeClaim): Promise<boolean> {
    if (writes.isBehind(claim)) return false;
    if (claim.metadata.deletionTimestamp) return true;
    await deleteExactly(client, NODE_CLAIM, claim);
    writes.deleted(claim);
    return false;
  }

  /** Whether the cloud says that a node which is not Ready has lost its instance: then there is nothing to drain. */
  async function hasLostInstance(node: Node): Promise<boolean> {
    const providerId = node.spec?.providerID;
    if (isTrue(node, 'Ready') || !providerId) return false;
    try {
      await cloud.get(providerId);
      return false;
    } catch (error) {
      if (causeOf(error, NodeClaimNotFound)) return true;
      throw error;
    }
  }

  async function taint(node: Node, claim: NodeClaim | undefined, { log }: ReconcileContext): Promise<Node | undefined> {
    const tainted = withDisruptedTaint(node);
    if (tainted === node) return node;
    const written = await writeChanges(client, NODE, { before: node, after: tainted }, { part: 'object', lock: true });
    if (written === undefined) return undefined;
    log.info('tainted node', {
      ...names(node, claim),
      'taint.Key': DISRUPTED_TAINT.key,
      'taint.Value': DISRUPTED_TAINT.value ?? '',
      'taint.Effect': DISRUPTED_TAINT.effect,
    });
    return written;
  }

  async function saveConditions(before: NodeClaim | undefined, changed: NodeClaim | undefined): Promise<void> {
    if (before === undefined || changed === undefined || before === changed) return;
    writes.wrote(await writeChanges(client, NODE_CLAIM, { before, after: changed }, { part: 'status', lock: true }));
    if (!isTrue(before, 'Drained') && isTrue(changed, 'Drained')) {
      meter.drained(changed.metadata.labels?.[NODEPOOL_LABEL] ?? '');
    }
  }

  async function release(node: Node, claim: NodeClaim | undefined, { log }: ReconcileContext): Promise<Outcome> {
    const finalizers = (node.metadata.finalizers ?? []).filter((finalizer) => finalizer !== TERMINATION_FINALIZER);
    const released = { ...node, metadata: { ...node.metadata, finalizers } };
    const stored = await writeChanges(client, NODE, { before: node, after: released }, { part: 'object', lock: true });
    // Gone already: the cache has yet to learn of our earlier release, which was told and counted.
    if (stored === undefined) return settled;
    meter.terminated(node, node.metadata.labels?.[NODEPOOL_LABEL] ?? '', node.metadata.labels?.[ZONE_LABEL] ?? '');
    log.info('deleted node', names(node, claim));
    return settled;
  }

  return {
    name: 'node.termination',
    watches: NODE,
    concurrency: concurrency(settings, RANGE),
    backOff: { baseMs: 100, maxMs: 10_000 },
    rateLimit: globalLimit(settings, RANGE, 10),
    filter: (node) => isLeaving(node) && isManagedNode(node, cloud),

    async reconcile(node, context) {
      if (!isLeaving(node) || !isManagedNode(node, cloud)) return settled;
      const [only, ...others] = cluster.claimsOfNode(node);
      const claim = others.length === 0 ? only : undefined;
      if (claim && !(await isKnownToEnd(claim))) return after(LAG_MS);
      if (await hasLostInstance(node)) return release(node, claim, context);

      const deadlineMs = deadlineOf(claim);
      if (Number.isFinite(deadlineMs)) {
        const deadline = claim?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION];
        const message = TERMINATION_GRACE_PERIOD_EXPIRING.message(deadline);
        events.publish(eventOf(TERMINATION_GRACE_PERIOD_EXPIRING, node, { message, dedupe: [node.metadata.name] }));
      }
      const tainted = await taint(node, claim, context);
      if (tainted === undefined) return settled;

      const { progress, error } = await inOrder(steps, { node: tainted, claim, deadlineMs });
      await saveConditions(claim, progress.claim);
      if (error !== undefined) throw error;
      return progress.waitMs === undefined ? release(tainted, claim, context) : after(progress.waitMs);
    },
  };
}

const isLeaving = ({ metadata }: Node): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(TERMINATION_FINALIZER);

/** Runs steps up to the first that has to wait or fails. What the earlier ones found out is kept in either case. */
async function inOrder(
  steps: readonly Step[],
  leaving: Leaving,
): Promise<{ readonly progress: Progress; readonly error?: unknown }> {
  let progress: Progress = { claim: leaving.claim };
  for (const step of steps) {
    try {
      progress = await step({ ...leaving, claim: progress.claim });
    } catch (error) {
      return { progress, error };
    }
    if (progress.waitMs !== undefined) return { progress };
  }
  return { progress };
}

const names = (node: Node, claim: NodeClaim | undefined): Readonly<Record<string, unknown>> => ({
  Node: { name: node.metadata.name },
  ...(claim && { NodeClaim: { name: claim.metadata.name } }),
});
