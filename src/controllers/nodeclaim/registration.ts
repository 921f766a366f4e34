/** Registers the Node of an instance: adds the labels and taints of the NodeClaim, then removes the unregistered taint. */
import {
  aliasLabels,
  apiVersionOf,
  type ConditionUpdate,
  DO_NOT_SYNC_TAINTS_LABEL,
  labelOf,
  NODE,
  NODE_CLAIM,
  type Node,
  type NodeClaim,
  poolNameOf,
  REGISTERED_LABEL,
  type Taint,
  TERMINATION_FINALIZER,
  UNREGISTERED_TAINT,
  uidOf,
  ZONE_LABEL,
} from '#api/objects';
import type { CloudProvider } from '#cloud';
import { sameTaint } from '#engine/model';
import { writeChanges } from '#kube/client';
import { after, type ReconcileContext, settled } from '#kube/reconcilers';
import { defined, messageOf } from '#lib';
import { eventOf, UNREGISTERED_TAINT_MISSING } from '#observe/events';
import type { Logger } from '#observe/logger';
import { NODES_CREATED } from '#observe/metrics';
import type { Deps } from '../deps.ts';
import type { OwnWrites } from '../own-writes.ts';
import { recordRegistration } from './pool-health.ts';
import {
  done,
  isRegisteredAgain,
  type LifecycleStep,
  type LifecycleStepResult,
  refreshCondition,
  withCondition,
} from './step.ts';

const TYPE = 'Registered';

/** @param nodeWrites records the version that a Node must have to show the writes of this step */
export function registration(deps: Deps, nodeWrites: OwnWrites): LifecycleStep {
  const step = new Registration(deps, nodeWrites);
  return (claim, context) => step.run(claim, context);
}

class Registration {
  readonly #deps: Deps;
  readonly #nodeWrites: OwnWrites;

  constructor(deps: Deps, nodeWrites: OwnWrites) {
    this.#deps = deps;
    this.#nodeWrites = nodeWrites;
  }

  async run(before: NodeClaim, { log }: ReconcileContext): Promise<LifecycleStepResult> {
    const { clock, cloud, cluster } = this.#deps;
    const ended = refreshCondition(before, TYPE, clock.now());
    const [node, ...others] = cluster.nodesOfClaim(before);
    if (ended) return done(await this.#registerAgain(ended, others.length === 0 ? node : undefined, log));
    if (node === undefined) return this.#notFound(before);
    if (others.length > 0) {
      const message = 'Invariant violated, matched multiple nodes';
      return done(this.#conditioned(before, { status: 'False', reason: 'MultipleNodesFound', message }));
    }
    this.#warnOfMissingTaint(before, node, log);
    const hooks = await askHooks(cloud, before);
    return hooks.pending.length > 0 ? this.#held(node, hooks) : this.#register(node, before, hooks.claim, log);
  }

  /** @param claim the NodeClaim `before` with the changes of the hooks */
  async #register(node: Node, before: NodeClaim, claim: NodeClaim, log: Logger): Promise<LifecycleStepResult> {
    if (!(await this.#write(node, markRegistered(syncNode(node, claim))))) return this.#notFound(before);
    // the Node is in use from here on: if the NodePool cannot be updated, the NodeClaim must still be marked as registered
    const error = await failureOf(recordRegistration(this.#deps, claim, true));
    const named: NodeClaim = { ...claim, status: { ...claim.status, nodeName: node.metadata.name } };
    return {
      ...done(this.#conditioned(named, { status: 'True' })),
      error,
      written: () => this.#reportRegistered(claim, node, log),
    };
  }

  /** Registers the Node of a kubelet that has registered again. Returns the NodeClaim with the name of this Node. */
  async #registerAgain(claim: NodeClaim, node: Node | undefined, log: Logger): Promise<NodeClaim> {
    if (
      node === undefined ||
      node.metadata.labels?.[REGISTERED_LABEL] === 'true' ||
      !isRegisteredAgain(node, claim, TYPE)
    )
      return claim;
    if (!(await this.#write(node, markRegistered(syncNode(node, claim))))) return claim;
    const { name } = node.metadata;
    log.info('registered nodeclaim again', { 'provider-id': claim.status?.providerID, Node: { name } });
    return { ...claim, status: { ...claim.status, nodeName: name } };
  }

  #reportRegistered(claim: NodeClaim, node: Node, log: Logger): void {
    log.info('registered nodeclaim', {
      'provider-id': claim.status?.providerID,
      Node: { name: node.metadata.name },
    });
    this.#deps.metrics.counter(NODES_CREATED).inc({
      nodepool: poolNameOf(claim),
      zone: labelOf(claim, ZONE_LABEL),
    });
  }

  #warnOfMissingTaint(claim: NodeClaim, node: Node, log: Logger): void {
    const expected = node.metadata.labels?.[REGISTERED_LABEL] === undefined;
    if (!expected || (node.spec?.taints ?? []).some((taint) => sameTaint(taint, UNREGISTERED_TAINT))) return;
    const message = UNREGISTERED_TAINT_MISSING.message(UNREGISTERED_TAINT.key);
    log.error('missing taint prevents registration-related race conditions on Karpenter-managed nodes', {
      Node: { name: node.metadata.name },
    });
    const dedupe = [uidOf(claim)];
    this.#deps.events.publish(eventOf(UNREGISTERED_TAINT_MISSING, claim, { message, dedupe }));
  }

  /** Updates the Node but does not register it. */
  async #held(node: Node, { claim, pending, waitMs, error }: HookResults): Promise<LifecycleStepResult> {
    await this.#write(node, syncNode(node, claim));
    return {
      claim: this.#conditioned(claim, {
        status: 'Unknown',
        reason: 'RegistrationHookPending',
        message: pending.join(', '),
      }),
      outcome: waitMs === undefined ? settled : after(waitMs),
      error,
    };
  }

  #notFound(claim: NodeClaim): LifecycleStepResult {
    const message = 'Node not registered with cluster';
    return done(this.#conditioned(claim, { status: 'Unknown', reason: 'NodeNotFound', message }));
  }

  #conditioned(claim: NodeClaim, update: Omit<ConditionUpdate, 'type'>): NodeClaim {
    return withCondition(claim, { type: TYPE, ...update }, this.#deps.clock.now());
  }

  async #write(before: Node, after: Node): Promise<Node | undefined> {
    const stored = await writeChanges(this.#deps.client, NODE, { before, after }, { part: 'object', lock: true });
    this.#nodeWrites.wrote(stored);
    return stored;
  }
}

const failureOf = (work: Promise<void>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/**
 * Returns the Node with the metadata and taints of its NodeClaim. If both define a label or annotation, the NodeClaim takes
 * precedence. Taints are added only once, together with the owner, because an agent may already have removed its startup taint
 * at the next run.
 */
function syncNode(node: Node, claim: NodeClaim): Node {
  const { metadata } = node;
  const owners = metadata.ownerReferences ?? [];
  const apiVersion = apiVersionOf(NODE_CLAIM);
  const owned = owners.some(
    (owner) => owner.apiVersion === apiVersion && owner.kind === NODE_CLAIM.kind && owner.uid === claim.metadata.uid,
  );
  const owner = {
    apiVersion,
    kind: NODE_CLAIM.kind,
    name: claim.metadata.name,
    uid: uidOf(claim),
    blockOwnerDeletion: true,
  };
  const finalizers = metadata.finalizers ?? [];
  return {
    ...node,
    metadata: {
      ...metadata,
      finalizers: finalizers.includes(TERMINATION_FINALIZER) ? finalizers : [...finalizers, TERMINATION_FINALIZER],
      ownerReferences: owned ? owners : [...owners, owner],
      labels: { ...aliasLabels(claim.metadata.labels), ...metadata.labels, ...claim.metadata.labels },
      annotations: { ...metadata.annotations, ...claim.metadata.annotations },
    },
    spec: { ...node.spec, taints: owned ? (node.spec?.taints ?? []) : withTaintsOf(claim, node) },
  };
}

function withTaintsOf(claim: NodeClaim, node: Node): readonly Taint[] {
  const taints = [...(node.spec?.taints ?? [])];
  if (node.metadata.labels?.[DO_NOT_SYNC_TAINTS_LABEL] === 'true') return taints;
  for (const taint of [...(claim.spec.taints ?? []), ...(claim.spec.startupTaints ?? [])]) {
    if (!taints.some((existing) => sameTaint(existing, taint))) taints.push(taint);
  }
  return taints;
}

function markRegistered(node: Node): Node {
  const taints = (node.spec?.taints ?? []).filter((taint) => !sameTaint(taint, UNREGISTERED_TAINT));
  return {
    ...node,
    metadata: { ...node.metadata, labels: { ...node.metadata.labels, [REGISTERED_LABEL]: 'true' } },
    spec: { ...node.spec, taints },
  };
}

/** Runs the provider's registration hooks, which decide if a node that has joined may be registered. */
interface HookResults {
  /** NodeClaim with the labels that the hooks returned. */
  readonly claim: NodeClaim;
  /** Names of hooks that wait or failed, in the order of the provider. */
  readonly pending: readonly string[];
  /** Time until the first waiting hook must run again, in milliseconds. Undefined if no hook waits. */
  readonly waitMs: number | undefined;
  readonly error: Error | undefined;
}

/** Runs all hooks concurrently. Never throws: the result contains the errors of hooks. */
export async function askHooks({ registrationHooks = [] }: CloudProvider, claim: NodeClaim): Promise<HookResults> {
  const answers = await Promise.allSettled(registrationHooks.map((hook) => hook.ask(claim)));
  const pending: string[] = [];
  const waits: number[] = [];
  const errors: Error[] = [];
  let labels = claim.metadata.labels;
  registrationHooks.forEach(({ name }, at) => {
    const answer = answers[at];
    if (answer?.status === 'fulfilled' && answer.value.done) {
      labels = { ...labels, ...answer.value.labels };
      return;
    }
    pending.push(name);
    if (answer?.status === 'fulfilled' && !answer.value.done) waits.push(answer.value.waitMs);
    if (answer?.status !== 'rejected') return;
    const { reason } = answer;
    errors.push(new Error(`registration hook "${name}" failed, ${messageOf(reason)}`, { cause: reason }));
  });
  const [first, ...more] = errors;
  return {
    claim:
      labels === claim.metadata.labels ? claim : { ...claim, metadata: { ...claim.metadata, ...defined({ labels }) } },
    pending,
    waitMs: waits.length === 0 ? undefined : Math.min(...waits),
    error: more.length === 0 ? first : new AggregateError(errors, errors.map(messageOf).join('; ')),
  };
}
