/** Resolves EC2NodeClasses against AWS and sets their conditions. */
import {
  causesOf,
  EC2_NODE_CLASS,
  EC2_NODECLASS_FINALIZER,
  type EC2NodeClass,
  initConditions,
  NODE_CLAIM,
} from '#api/objects';
import { type KubeClient, writeChanges } from '#kube/client';
import { after, type EventRecorder, type Outcome, type Reconciler, settled } from '#kube/reconcilers';
import { quoted } from '#lib';
import { eventOf } from '#observe/events';
import type { Logger } from '#observe/logger';
import { CONSUMABLE_CAPACITY_ANNOTATION, gpuSharing } from '../dra/static-templates.ts';
import { INVALID_GPU_SHARING, NODE_CLASS_UNRESOLVED, SUBNET_ADDRESSES_SCARCE } from '../events.ts';
import { type ScarceSubnet, type Subnets, scarceText } from '../subnets/subnets.ts';
import type { NodeClassStep, NodeClassStepResult } from './step.ts';

interface NodeClassOptions {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  /** Steps in order. All steps run, even after an error, unless a result is marked as the last. */
  readonly steps: readonly NodeClassStep[];
  readonly conditions: Parameters<typeof initConditions>[1];
  readonly subnets: Pick<Subnets, 'scarce'>;
  readonly terminate: (nodeClass: EC2NodeClass) => Promise<Outcome>;
}

export function nodeClassController({
  client,
  events,
  steps,
  conditions,
  subnets,
  terminate,
}: NodeClassOptions): Reconciler<EC2NodeClass> {
  async function withFinalizer(nodeClass: EC2NodeClass): Promise<EC2NodeClass | undefined> {
    const finalizers = nodeClass.metadata.finalizers ?? [];
    if (finalizers.includes(EC2_NODECLASS_FINALIZER)) return nodeClass;
    const held = {
      ...nodeClass,
      metadata: { ...nodeClass.metadata, finalizers: [...finalizers, EC2_NODECLASS_FINALIZER] },
    };
    return writeChanges(client, EC2_NODE_CLASS, { before: nodeClass, after: held }, { part: 'object', lock: true });
  }

  async function runSteps(
    nodeClass: EC2NodeClass,
    log: Logger,
  ): Promise<readonly [EC2NodeClass, readonly NodeClassStepResult[]]> {
    let current = initConditions(nodeClass, conditions);
    const results: NodeClassStepResult[] = [];
    for (const step of steps) {
      const result = await attempt(step, current, log);
      current = result.nodeClass;
      results.push(result);
      if (result.last) break;
    }
    return [current, results];
  }

  return {
    name: 'nodeclass',
    watches: EC2_NODE_CLASS,
    concurrency: 10,
    backOff: { baseMs: 100, maxMs: 60_000 },
    rateLimit: { qps: 10, burst: 100 },
    triggers: [
      {
        kind: NODE_CLAIM,
        keysFor: (claim, event) => {
          const { spec } = claim as { readonly spec?: { readonly nodeClassRef?: { readonly name: string } } };
          return event === 'deleted' && spec?.nodeClassRef !== undefined ? [{ name: spec.nodeClassRef.name }] : [];
        },
      },
    ],
    async reconcile(nodeClass, { log }) {
      if (nodeClass.metadata.deletionTimestamp !== undefined) return terminate(nodeClass);
      const held = await withFinalizer(nodeClass);
      if (held === undefined) return settled;
      const [resolved, results] = await runSteps(held, log);
      await writeChanges(client, EC2_NODE_CLASS, { before: held, after: resolved }, { part: 'status', lock: true });
      publishCauses(resolved, results, events);
      publishInvalidSharing(resolved, events);
      publishScarce(resolved, subnets.scarce(resolved.status?.subnets ?? []), events);
      return outcomeOf(results, log);
    },
  };
}

/**
 * Publishes the causes as events, because the first status of a condition is not a transition and therefore has no event. The
 * events name selectors without a match.
 */
function publishCauses(nodeClass: EC2NodeClass, results: readonly NodeClassStepResult[], events: EventRecorder): void {
  const details = new Map(results.flatMap(({ detail }) => (detail ? [[detail.type, detail.text] as const] : [])));
  for (const { type, reason = '', message = '' } of causesOf(nodeClass)) {
    const text = NODE_CLASS_UNRESOLVED.message(type, reason, details.get(type) ?? message);
    const dedupe = [nodeClass.metadata.uid ?? nodeClass.metadata.name, text];
    events.publish(eventOf(NODE_CLASS_UNRESOLVED, nodeClass, { message: text, dedupe }));
  }
}

/** Maximum number of subnets in an event. */
const MOST_SUBNETS = 5;

function publishScarce(nodeClass: EC2NodeClass, scarce: readonly ScarceSubnet[], events: EventRecorder): void {
  if (scarce.length === 0) return;
  const message = SUBNET_ADDRESSES_SCARCE.message(scarce.slice(0, MOST_SUBNETS).map(scarceText).join('; '));
  const { uid, name } = nodeClass.metadata;
  const dedupe = [uid ?? name, ...scarce.map(({ id }) => id).sort()];
  events.publish(eventOf(SUBNET_ADDRESSES_SCARCE, nodeClass, { message, dedupe }));
}

/** Publishes an event if the annotation for the sharing of GPUs is not valid, because it has no effect. */
function publishInvalidSharing(nodeClass: EC2NodeClass, events: EventRecorder): void {
  const { metadata } = nodeClass;
  const value = metadata.annotations?.[CONSUMABLE_CAPACITY_ANNOTATION];
  if (gpuSharing(value) !== undefined) return;
  const message = INVALID_GPU_SHARING.message(CONSUMABLE_CAPACITY_ANNOTATION, quoted(value ?? ''));
  const dedupe = [metadata.uid ?? metadata.name, message];
  events.publish(eventOf(INVALID_GPU_SHARING, nodeClass, { message, dedupe }));
}

/** Runs a step. A step that throws changes nothing, and the results of the other steps are still written. */
async function attempt(step: NodeClassStep, nodeClass: EC2NodeClass, log: Logger): Promise<NodeClassStepResult> {
  try {
    return await step(nodeClass, log);
  } catch (error) {
    return { nodeClass, error };
  }
}

/** @throws Error with all failures, unless a retry cannot succeed */
function outcomeOf(results: readonly NodeClassStepResult[], log: Logger): Outcome {
  const errors = results.flatMap(({ error }) => (error === undefined ? [] : [error]));
  if (errors.length > 0) {
    const [only] = errors;
    const failure =
      errors.length === 1 && only instanceof Error ? only : new AggregateError(errors, 'resolving the NodeClass');
    if (!results.some(({ terminal }) => terminal === true)) throw failure;
    log.error('Reconciler error', { error: failure });
    return settled;
  }
  const waits = results.flatMap(({ againMs }) => (againMs === undefined ? [] : [againMs]));
  if (waits.length === 0) return settled;
  return after(Math.max(Math.min(...waits), SOONEST_MS));
}

/** Minimum delay of an immediate retry, to avoid a tight loop. */
const SOONEST_MS = 1_000;
