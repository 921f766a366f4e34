/** Starts a command: marks its candidates, creates the replacements, and adds the command to the queue. */
import { randomUUID } from 'node:crypto';
import type { Pod } from '../../api/kubernetes.ts';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL } from '../../api/labels.ts';
import { type Command, decisionOf, longText, shortText } from '../../engine/disruption/command.ts';
import type { Method } from '../../engine/disruption/method.ts';
import type { PlannedClaim } from '../../engine/model.ts';
import { Requirements } from '../../engine/requirements.ts';
import type { ReconcileContext } from '../../kube/reconciler.ts';
import { refOf } from '../../kube/store.ts';
import { rejections } from '../../lib/rejections.ts';
import type { LogFields } from '../../observe/logger.ts';
import { createClaim } from '../claims.ts';
import type { Deps } from '../deps.ts';
import { nominateNode, publishNominated } from '../nomination.ts';
import { publishRefusal } from '../provisioning/results.ts';
import { firstFew } from '../text.ts';
import type { CommandTrace } from '../traces/command-trace.ts';
import { together } from './failures.ts';
import { mark } from './marks.ts';
import { countDecision } from './measures.ts';
import type { DisruptionQueue } from './queue.ts';

interface Start {
  readonly command: Command;
  readonly method: Method;
}

/** @throws Error if the command was not started; the next pass of the loop removes remaining marks */
export async function startCommand(
  deps: Deps,
  queue: DisruptionQueue,
  { command, method }: Start,
  context: ReconcileContext,
): Promise<void> {
  if (command.candidates.some(({ providerId }) => queue.has(providerId))) {
    throw new Error('candidate is being disrupted');
  }
  const id = randomUUID();
  const fields = describe(command, id);
  context.log.info('disrupting node(s)', fields);
  const trace = deps.traces?.decided(command);
  const { marked, replacements } = await holdingRoom(deps, command, async () => {
    const marked = await markCandidates(deps, command);
    return { marked, replacements: await createReplacements(deps, marked, { ...context, trace }) };
  }).catch((error: unknown) => {
    if (trace) deps.traces?.commandFailed(trace, error);
    throw error;
  });
  trace?.started(marked, deps.clock.now());
  // Must come after the creation of the replacements: the provisioner plans for pods of marked nodes and must see the
  // replacements.
  deps.cluster.markForDeletion(...marked.candidates.map(({ providerId }) => providerId));
  recordPlan(deps, command);
  queue.enqueue({ id, command: marked, method, startedMs: deps.clock.now(), replacements, fields, trace });
  countDecision(deps.metrics, marked, method);
}

/** Reserves the nodes that the replacements need under the limits of static NodePools while `work` runs. */
async function holdingRoom<T>({ cluster }: Deps, command: Command, work: () => Promise<T>): Promise<T> {
  const fixed = new Set(
    command.candidates.flatMap(({ nodePool: { spec, metadata } }) =>
      spec.replicas === undefined ? [] : metadata.name,
    ),
  );
  const pools = command.replacements.map(({ nodePool }) => nodePool).filter((pool) => fixed.has(pool));
  for (const pool of pools) cluster.reservedNodes.add(pool);
  try {
    return await work();
  } finally {
    for (const pool of pools) cluster.reservedNodes.take(pool);
  }
}

/**
 * Marks the candidates. A command without replacements continues with the candidates that could be marked. A command with
 * replacements fails unless all candidates could be marked.
 */
async function markCandidates(deps: Deps, command: Command): Promise<Command> {
  const results = await Promise.allSettled(
    command.candidates.map(({ stateNode }) => mark(deps, stateNode, command.reason)),
  );
  const failures = rejections(results);
  if (failures.length === 0) return command;
  if (command.replacements.length > 0 || failures.length === command.candidates.length)
    throw together('marking disrupted', failures);
  const candidates = command.candidates.filter((_, at) => results[at]?.status === 'fulfilled');
  return { ...command, candidates };
}

async function createReplacements(
  deps: Deps,
  command: Command,
  { trace, ...context }: ReconcileContext & { readonly trace: CommandTrace | undefined },
): Promise<readonly string[]> {
  const reason = command.reason.toLowerCase();
  const decision = trace && { steps: [], parent: trace.span, podsOf: () => [] };
  const results = await Promise.allSettled(
    command.replacements.map((planned) => createClaim(deps, planned, { ...context, reason, decision })),
  );
  const failures = rejections(results);
  if (failures.length > 0) throw together('launching replacement nodeclaim', failures);
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.metadata.name] : []));
}

function recordPlan(deps: Deps, { plan }: Command): void {
  const podOf = (key: string): Pod | undefined => deps.cluster.stores.pods.get(refOf(key));
  for (const placement of plan?.placements ?? []) {
    const node = deps.cluster.nodeByProviderId(placement.providerId);
    const placed = placement.pods.flatMap((key) => podOf(key) ?? []);
    if (node === undefined || placed.length === 0) continue;
    nominateNode(deps, node);
    for (const pod of placed) publishNominated(deps, pod, node);
  }
  for (const [key, refusal] of plan?.refusals ?? []) {
    const pod = podOf(key);
    if (pod) publishRefusal(deps, pod, refusal);
  }
}

/** Returns the fields of a command for the log. A command that is only considered has no id. */
export function describe(command: Command, id?: string): LogFields {
  const { candidates, replacements } = command;
  return {
    command: id === undefined ? shortText(command) : longText(command, id),
    decision: decisionOf(command),
    'disrupted-node-count': candidates.length,
    'replacement-node-count': replacements.length,
    'pod-count': candidates.reduce((sum, { reschedulablePods }) => sum + reschedulablePods.length, 0),
    'disrupted-nodes': candidates.map(({ node, nodeClaim, capacityType, stateNode }) => ({
      Node: { name: node.metadata.name },
      NodeClaim: { name: nodeClaim.metadata.name },
      'instance-type': stateNode.labels[INSTANCE_TYPE_LABEL],
      'capacity-type': capacityType,
    })),
    'replacement-nodes': replacements.map((planned) => ({
      'capacity-type': capacityTypeOf(planned),
      ...(replacements.length === 1 ? { 'instance-types': firstFew(planned.instanceTypes) } : {}),
    })),
  };
}

const LAUNCH_ORDER = ['reserved', 'spot', 'on-demand'];

/** Returns the capacity type that is launched first. */
const capacityTypeOf = ({ requirements }: PlannedClaim): string => {
  const wanted = Requirements.fromRequirements(requirements).get(CAPACITY_TYPE_LABEL);
  return LAUNCH_ORDER.find((type) => wanted.has(type)) ?? 'on-demand';
};
