/** Welcomes the Node that the instance became: gives it the claim's labels and taints, then lifts the arrival taint. */
import type { ConditionUpdate } from '../../api/conditions.ts';
import { apiVersionOf, NODE, NODE_CLAIM } from '../../api/kinds.ts';
import type { Node, Taint } from '../../api/kubernetes.ts';
import {
  aliasLabels,
  DO_NOT_SYNC_TAINTS_LABEL,
  NODEPOOL_LABEL,
  REGISTERED_LABEL,
  TERMINATION_FINALIZER,
  UNREGISTERED_TAINT,
  ZONE_LABEL,
} from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { sameTaint } from '../../engine/taints.ts';
import { writeChanges } from '../../kube/patch.ts';
import { after, settled } from '../../kube/reconciler.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { UNREGISTERED_TAINT_MISSING } from '../../observe/events/nodeclaims.ts';
import { NODES_CREATED } from '../../observe/metrics/nodes.ts';
import type { Deps } from '../deps.ts';
import type { OwnWrites } from '../ownwrites.ts';
import { askHooks, type HookResults } from './hooks.ts';
import { recordRegistration } from './poolhealth.ts';
import { done, refreshed, type Step, type StepResult, withCondition } from './step.ts';

const TYPE = 'Registered';

/** `nodeWrites` learns how new a Node has to be to show what it was given here. */
export function registration(deps: Deps, nodeWrites: OwnWrites): Step {
  const { client, clock, cloud, cluster, events, metrics } = deps;

  function warnOfMissingTaint(claim: NodeClaim, node: Node, logError: (message: string) => void): void {
    const expected = node.metadata.labels?.[REGISTERED_LABEL] === undefined;
    if (!expected || (node.spec?.taints ?? []).some((taint) => sameTaint(taint, UNREGISTERED_TAINT))) return;
    const message = UNREGISTERED_TAINT_MISSING.message(UNREGISTERED_TAINT.key);
    logError('missing taint prevents registration-related race conditions on Karpenter-managed nodes');
    const dedupe = [claim.metadata.uid ?? ''];
    events.publish(eventOf(UNREGISTERED_TAINT_MISSING, claim, { message, dedupe }));
  }

  async function write(before: Node, after: Node): Promise<Node | undefined> {
    const stored = await writeChanges(client, NODE, { before, after }, { part: 'object', lock: true });
    nodeWrites.wrote(stored);
    return stored;
  }

  const conditioned = (claim: NodeClaim, update: Omit<ConditionUpdate, 'type'>): NodeClaim =>
    withCondition(claim, { type: TYPE, ...update }, clock.now());
  const notFound = (claim: NodeClaim): StepResult =>
    done(
      conditioned(claim, { status: 'Unknown', reason: 'NodeNotFound', message: 'Node not registered with cluster' }),
    );

  /** The node gets everything but the leave to be used. */
  async function held(node: Node, { claim, pending, waitMs, error }: HookResults): Promise<StepResult> {
    await write(node, synced(node, claim));
    return {
      claim: conditioned(claim, {
        status: 'Unknown',
        reason: 'RegistrationHookPending',
        message: pending.join(', '),
      }),
      outcome: waitMs === undefined ? settled : after(waitMs),
      error,
    };
  }

  return async (asked, { log }) => {
    const ended = refreshed(asked, TYPE, clock.now());
    if (ended) return done(ended);
    const [node, ...others] = cluster.nodesOfClaim(asked);
    if (node === undefined) return notFound(asked);
    if (others.length > 0) {
      const message = 'Invariant violated, matched multiple nodes';
      return done(conditioned(asked, { status: 'False', reason: 'MultipleNodesFound', message }));
    }
    warnOfMissingTaint(asked, node, (message) => log.error(message, { Node: { name: node.metadata.name } }));
    const hooks = await askHooks(cloud, asked);
    if (hooks.pending.length > 0) return held(node, hooks);
    const { claim } = hooks;
    if (!(await write(node, registered(synced(node, claim))))) return notFound(asked);
    // the Node is in use from here on: a NodePool that cannot be told must not keep its claim from saying so
    const error = await failureOf(recordRegistration(deps, claim, true));
    const named: NodeClaim = { ...claim, status: { ...claim.status, nodeName: node.metadata.name } };
    return {
      ...done(conditioned(named, { status: 'True' })),
      error,
      written: () => {
        log.info('registered nodeclaim', {
          'provider-id': claim.status?.providerID,
          Node: { name: node.metadata.name },
        });
        metrics.counter(NODES_CREATED).inc({
          nodepool: claim.metadata.labels?.[NODEPOOL_LABEL] ?? '',
          zone: claim.metadata.labels?.[ZONE_LABEL] ?? '',
        });
      },
    };
  };
}

const failureOf = (work: Promise<void>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/**
 * The Node with everything that its claim says about it; where both say something, the claim wins, except on taints.
 * Those are given once, together with the owner: an agent may have removed its startup taint when we come again.
 */
function synced(node: Node, claim: NodeClaim): Node {
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
    uid: claim.metadata.uid ?? '',
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

function registered(node: Node): Node {
  const taints = (node.spec?.taints ?? []).filter((taint) => !sameTaint(taint, UNREGISTERED_TAINT));
  return {
    ...node,
    metadata: { ...node.metadata, labels: { ...node.metadata.labels, [REGISTERED_LABEL]: 'true' } },
    spec: { ...node.spec, taints },
  };
}
