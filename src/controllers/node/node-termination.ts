/**
 * Terminates deleted Nodes: adds the taint, drains the node, waits for volumes, terminates the instance, and then removes the
 * finalizer.
 */
import {
  DISRUPTED_TAINT,
  EXCLUDE_BALANCERS_LABEL,
  isTrue,
  NODE,
  NODE_CLAIM,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  poolNameOf,
  TERMINATION_FINALIZER,
  TERMINATION_TIMESTAMP_ANNOTATION,
  ZONE_LABEL,
} from '#api/objects';
import { type CloudProvider, causeOf, NodeClaimNotFound } from '#cloud';
import { deadlineOf } from '#engine/drain';
import { sameTaint } from '#engine/model';
import { deleteExactly, writeChanges } from '#kube/client';
import {
  after,
  type Outcome,
  type RateLimit,
  type ReconcileContext,
  type Reconciler,
  settled,
} from '#kube/reconcilers';
import { defined, own } from '#lib';
import { eventOf, TERMINATION_GRACE_PERIOD_EXPIRING } from '#observe/events';
import {
  INTERRUPTION_DRAINS,
  NODES_DRAINED,
  NODES_LIFETIME_DURATION_SECONDS,
  NODES_TERMINATED,
  NODES_TERMINATION_DURATION_SECONDS,
} from '#observe/metrics';
import { concurrency, globalLimit } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { nodeClassLabel } from '../node-classes.ts';
import { OwnWrites } from '../own-writes.ts';
import { detaching } from './detaching.ts';
import { draining } from './drain.ts';
import { showingDrain } from './drain-conditions.ts';
import type { Evictions } from './eviction-queue.ts';
import { type Leaving, type TerminationProgress, type TerminationStep, withCondition } from './step.ts';

const RANGE = { min: 100, max: 5_000 };
/** Retry interval, because events of the Node do not show if the cache has the last change of its NodeClaim. */
const LAG_MS = 100;

export class NodeTermination implements Reconciler<Node> {
  readonly name = 'node.termination';
  readonly watches = NODE;
  readonly backOff = { baseMs: 100, maxMs: 10_000 };
  readonly concurrency: number;
  readonly rateLimit: RateLimit;
  readonly #deps: Deps;
  readonly #steps: readonly TerminationStep[];
  readonly #meter: ReturnType<typeof terminationMeter>;
  /**
   * Writes to NodeClaims. Prevents conflicts over conditions that are already set: each conflict would use one of the retries
   * that all nodes share.
   */
  readonly #writes = new OwnWrites();

  constructor(deps: Deps, evictions: Evictions) {
    const { cluster, settings } = deps;
    this.#deps = deps;
    this.#steps = [showingDrain(deps, draining(deps, evictions)), detaching(deps), terminating(deps)];
    this.#meter = terminationMeter(deps);
    this.concurrency = concurrency(settings, RANGE);
    this.rateLimit = globalLimit(settings, RANGE, 10);
    cluster.stores.nodeClaims.subscribe((event, { metadata }) => {
      if (event === 'deleted') this.#writes.forget(metadata.name);
    });
  }

  filter(node: Node): boolean {
    return isLeaving(node) && isManagedNode(node, this.#deps.cloud);
  }

  async reconcile(node: Node, context: ReconcileContext): Promise<Outcome> {
    const { cloud, cluster } = this.#deps;
    if (!isLeaving(node) || !isManagedNode(node, cloud)) return settled;
    const [only, ...others] = cluster.claimsOfNode(node);
    const claim = others.length === 0 ? only : undefined;
    if (claim && !(await this.#isKnownToEnd(claim))) return after(LAG_MS);
    if (await this.#hasLostInstance(node)) return this.#release(node, claim, context);

    const deadlineMs = deadlineOf(claim);
    if (Number.isFinite(deadlineMs)) this.#publishDeadline(node, claim);
    const tainted = await this.#taint(node, claim, context);
    if (tainted === undefined) return settled;

    const { progress, error } = await inOrder(this.#steps, { node: tainted, claim, deadlineMs });
    await this.#saveConditions(claim, progress.claim);
    if (error !== undefined) throw error;
    return progress.waitMs === undefined ? this.#release(tainted, progress.claim, context) : after(progress.waitMs);
  }

  /**
   * Deletes the NodeClaim if it is not deleted yet. Returns true if the cache shows the deletion and all other writes of this
   * controller.
   */
  async #isKnownToEnd(claim: NodeClaim): Promise<boolean> {
    if (this.#writes.isBehind(claim)) return false;
    if (claim.metadata.deletionTimestamp) return true;
    await deleteExactly(this.#deps.client, NODE_CLAIM, claim);
    this.#writes.deleted(claim);
    return false;
  }

  /** Returns true if a node is not Ready and the cloud does not find its instance. Such a node needs no drain. */
  async #hasLostInstance(node: Node): Promise<boolean> {
    const providerId = node.spec?.providerID;
    if (isTrue(node, 'Ready') || !providerId) return false;
    try {
      await this.#deps.cloud.get(providerId);
      return false;
    } catch (error) {
      if (causeOf(error, NodeClaimNotFound)) return true;
      throw error;
    }
  }

  #publishDeadline(node: Node, claim: NodeClaim | undefined): void {
    const deadline = claim?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION];
    const message = TERMINATION_GRACE_PERIOD_EXPIRING.message(deadline);
    const dedupe = [node.metadata.name];
    this.#deps.events.publish(eventOf(TERMINATION_GRACE_PERIOD_EXPIRING, node, { message, dedupe }));
  }

  async #taint(node: Node, claim: NodeClaim | undefined, { log }: ReconcileContext): Promise<Node | undefined> {
    const tainted = withDisruptedTaint(node);
    if (tainted === node) return node;
    const written = await this.#writeNode(node, tainted);
    if (written === undefined) return undefined;
    log.info('tainted node', {
      ...names(node, claim),
      'taint.Key': DISRUPTED_TAINT.key,
      'taint.Value': DISRUPTED_TAINT.value ?? '',
      'taint.Effect': DISRUPTED_TAINT.effect,
    });
    return written;
  }

  async #saveConditions(before: NodeClaim | undefined, changed: NodeClaim | undefined): Promise<void> {
    if (before === undefined || changed === undefined || before === changed) return;
    const versions = { before, after: changed };
    this.#writes.wrote(await writeChanges(this.#deps.client, NODE_CLAIM, versions, { part: 'status', lock: true }));
    if (!isTrue(before, 'Drained') && isTrue(changed, 'Drained')) {
      this.#meter.drained(changed);
    }
  }

  async #release(node: Node, claim: NodeClaim | undefined, { log }: ReconcileContext): Promise<Outcome> {
    const finalizers = (node.metadata.finalizers ?? []).filter((finalizer) => finalizer !== TERMINATION_FINALIZER);
    const stored = await this.#writeNode(node, { ...node, metadata: { ...node.metadata, finalizers } });
    // The Node is already gone: the cache does not show an earlier removal by this process yet, which was reported and counted.
    if (stored === undefined) return settled;
    const { labels } = node.metadata;
    this.#meter.terminated(node, labels?.[NODEPOOL_LABEL] ?? '', labels?.[ZONE_LABEL] ?? '');
    if (claim !== undefined && !isTrue(claim, 'Drained')) this.#meter.lost(claim);
    log.info('deleted node', names(node, claim));
    return settled;
  }

  #writeNode(before: Node, changed: Node): Promise<Node | undefined> {
    return writeChanges(this.#deps.client, NODE, { before, after: changed }, { part: 'object', lock: true });
  }
}

const isLeaving = ({ metadata }: Node): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(TERMINATION_FINALIZER);

/** Runs the steps until a step must wait or fails. In both cases, the result keeps the changes of earlier steps. */
async function inOrder(
  steps: readonly TerminationStep[],
  leaving: Leaving,
): Promise<{ readonly progress: TerminationProgress; readonly error?: unknown }> {
  let progress: TerminationProgress = { claim: leaving.claim };
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
  ...defined({ NodeClaim: claim && { name: claim.metadata.name } }),
});

/** Returns true if this operator manages the Node: it has a NodeClass label of a kind that the provider serves. */
const isManagedNode = ({ metadata }: Node, { nodeClassKinds }: CloudProvider): boolean =>
  nodeClassKinds.some((kind) => own(metadata.labels, nodeClassLabel(kind)) !== undefined);

/**
 * Adds the taint and the label that keep new pods and load balancers away from a node that is about to go. Returns the same
 * object if the node has both.
 */
export function withDisruptedTaint(node: Node): Node {
  const taints = node.spec?.taints ?? [];
  const isTainted = taints.some((taint) => sameTaint(taint, DISRUPTED_TAINT));
  const isExcluded = node.metadata.labels?.[EXCLUDE_BALANCERS_LABEL] === 'karpenter';
  if (isTainted && isExcluded) return node;
  const others = taints.filter(({ key }) => key !== DISRUPTED_TAINT.key);
  return {
    ...node,
    metadata: {
      ...node.metadata,
      labels: { ...node.metadata.labels, [EXCLUDE_BALANCERS_LABEL]: 'karpenter' },
    },
    spec: { ...node.spec, taints: isTainted ? taints : [...others, DISRUPTED_TAINT] },
  };
}

const POLL_MS = 5_000;

/** Last step of node termination: terminates the instance. */
function terminating({ clock, cloud }: Deps): TerminationStep {
  return async ({ claim }) => {
    if (claim === undefined) return { claim };
    let isGone = false;
    try {
      await cloud.delete(claim);
    } catch (error) {
      if (!causeOf(error, NodeClaimNotFound)) throw error;
      isGone = true;
    }
    const marked = withCondition(claim, { type: 'InstanceTerminating', status: 'True' }, clock.now());
    return isGone ? { claim: marked } : { claim: marked, waitMs: POLL_MS };
  };
}

/** Metrics of drained and terminated nodes. */
function terminationMeter({ clock, cluster, metrics }: Deps) {
  const drained = metrics.counter(NODES_DRAINED);
  const terminated = metrics.counter(NODES_TERMINATED);
  const interrupted = metrics.counter(INTERRUPTION_DRAINS);
  const countInterrupted = (claim: NodeClaim, outcome: 'drained' | 'lost'): void => {
    const reason = cluster.interruptions.get(claim.metadata.name);
    if (reason !== undefined) interrupted.inc({ reason, outcome });
  };
  const termination = metrics.summary(NODES_TERMINATION_DURATION_SECONDS);
  const lifetime = metrics.histogram(NODES_LIFETIME_DURATION_SECONDS);
  const secondsSince = (time: string | undefined): number =>
    Math.max(0, clock.now() - (time === undefined ? clock.now() : Date.parse(time))) / 1_000;

  return {
    drained: (claim: NodeClaim): void => {
      drained.inc({ nodepool: poolNameOf(claim) });
      countInterrupted(claim, 'drained');
    },
    lost: (claim: NodeClaim): void => countInterrupted(claim, 'lost'),
    terminated: ({ metadata }: Node, nodepool: string, zone: string): void => {
      terminated.inc({ nodepool, zone });
      termination.observe({ nodepool }, secondsSince(metadata.deletionTimestamp));
      lifetime.observe({ nodepool }, secondsSince(metadata.creationTimestamp));
    },
  };
}
