/** "Why not?": one verdict per node on whether it goes, and if not, what stands in the way and how near it came. */

import { formatDuration } from '../../api/duration.ts';
import { NODEPOOL_LABEL, TERMINATION_TIMESTAMP_ANNOTATION } from '../../api/labels.ts';
import { defined } from '../../lib/defined.ts';
import type { StateNode } from '../model.ts';
import { isWaitingForEviction } from '../pods.ts';
import { type Allowance, budgetRemark } from './budgets/budgets.ts';
import type { Block, Candidate } from './candidates/candidates.ts';
import { consolidatableIn } from './candidates/consolidate-after.ts';
import { type Command, type Decision, decisionOf, savingsOf } from './command.ts';
import type { Method, MethodResult } from './method.ts';
import type { BlockCode, DeclineCode, Reason } from './reasons.ts';

/** A candidate that a method does not take, and why. */
export interface Declined {
  readonly candidate: Candidate;
  readonly reason: Reason<DeclineCode>;
  /** Whether an event says so. */
  readonly isReported: boolean;
}

/** What one method makes of the nodes. All maps go by provider id, but for the allowances. */
export interface MethodReview {
  readonly method: Method;
  /** Nodes that are no candidates of any method of this class. */
  readonly blocks: ReadonlyMap<string, Block>;
  /** Candidates that this method does not take. */
  readonly declined: ReadonlyMap<string, Declined>;
  readonly candidates: readonly Candidate[];
  /** How the NodePools stand against their budgets for the method's reason, by name. */
  readonly allowances: ReadonlyMap<string, Allowance>;
  readonly result: MethodResult;
}

/**
 * `chosen`: the command of the first method that has one takes it. `next`: that of a later method would.
 * `not-reached`: no command takes it, and no reason of its own keeps it. Codes are public.
 */
export type VerdictCode = BlockCode | DeclineCode | 'chosen' | 'next' | 'not-reached';

/** What one method says of a node. */
interface MethodVerdict extends Reason<VerdictCode> {
  readonly method: string;
}

export interface Verdict extends Reason<VerdictCode> {
  readonly node: string;
  readonly nodeClaim?: string;
  readonly nodePool?: string;
  /** The command that takes the node, or would. */
  readonly command?: {
    readonly method: string;
    readonly decision: Decision;
    readonly nodes: readonly string[];
    /** USD per hour that the whole command saves. */
    readonly savings: number;
  };
  /** What every enabled method says, in the order in which they run. */
  readonly methods: readonly MethodVerdict[];
}

/** Say that a method is not the one for a node, which is no reason to keep it. */
const BESIDE_THE_POINT: ReadonlySet<VerdictCode> = new Set([
  'static-pool',
  'dynamic-pool',
  'not-drifted',
  'empty',
  'not-empty',
]);

const DRIFTS: ReadonlySet<string> = new Set(['drift', 'static drift']);

/** Methods by how much their reasons explain, most first: what is drifted must go; single nodes are looked at one by one. */
const MOST_EXPLAINING = [
  'drift',
  'static drift',
  'single-node consolidation',
  'multi-node consolidation',
  'swap consolidation',
  'emptiness',
];

/** One verdict per node, in name order. */
export function verdictsOf(
  nodes: readonly StateNode[],
  reviews: readonly MethodReview[],
  nowMs: number,
): readonly Verdict[] {
  const indexed = reviews.map((review) => index(review, nowMs));
  return nodes
    .map((node) => verdictOn(node, indexed, nowMs))
    .sort((a, b) => (a.node < b.node ? -1 : a.node > b.node ? 1 : 0));
}

/** A review with what it says of single nodes at hand. */
interface Indexed extends MethodReview {
  readonly commandOf: ReadonlyMap<string, Command>;
  readonly candidateOf: ReadonlyMap<string, Candidate>;
  /** How the NodePool of a candidate stands against its budgets, in words. */
  readonly standingOf: (candidate: Candidate) => string | undefined;
}

const index = (review: MethodReview, nowMs: number): Indexed => ({
  ...review,
  commandOf: new Map(
    review.result.commands.flatMap((command) =>
      command.candidates.map(({ providerId }) => [providerId, command] as const),
    ),
  ),
  candidateOf: new Map(review.candidates.map((candidate) => [candidate.providerId, candidate])),
  standingOf: standings(review, nowMs),
});

/** Schedules are walked once for all nodes of a NodePool. */
function standings({ method, allowances }: MethodReview, nowMs: number): Indexed['standingOf'] {
  const known = new Map<string, string>();
  return ({ nodePool }) => {
    const { name } = nodePool.metadata;
    const allowance = allowances.get(name);
    if (allowance === undefined) return undefined;
    let standing = known.get(name);
    if (standing === undefined) {
      const { total, disrupting, allowed } = allowance;
      const remark = budgetRemark(nodePool, { reason: method.reason, total, nowMs });
      const more = disrupting < allowed ? 'others go first' : remark;
      standing = `${disrupting} of ${total} nodes are away or going, ${allowed} may be${more === '' ? '' : `: ${more}`}`;
      known.set(name, standing);
    }
    return standing;
  };
}

function verdictOn(node: StateNode, reviews: readonly Indexed[], nowMs: number): Verdict {
  const acting = reviews.find(({ result }) => result.commands.length > 0);
  const methods = reviews.flatMap((review) => methodVerdictOn(node, review, { nowMs, acting }) ?? []);
  const { method: _, ...reason } = decisive(methods);
  const chosen = reviews.find((review) => commandFor(node, review) !== undefined);
  const command = chosen && commandFor(node, chosen);
  const pool = node.labels[NODEPOOL_LABEL];
  return {
    node: node.name,
    ...defined({ nodeClaim: node.nodeClaim?.metadata.name, nodePool: pool }),
    ...reason,
    ...(chosen && command ? { command: described(chosen.method, command) } : {}),
    methods,
  };
}

const described = ({ name }: Method, command: Command): NonNullable<Verdict['command']> => ({
  method: name,
  decision: decisionOf(command),
  nodes: command.candidates.map((candidate) => candidate.name),
  savings: savingsOf(command),
});

const commandFor = ({ providerId }: StateNode, { commandOf }: Indexed): Command | undefined =>
  commandOf.get(providerId);

const NOT_REACHED: Reason<VerdictCode> = {
  code: 'not-reached',
  text: 'nothing of its own keeps it: other nodes went first, or no group with it can go',
};

/** Undefined for a node that the method has not seen. */
function methodVerdictOn(
  node: StateNode,
  review: Indexed,
  { nowMs, acting }: { readonly nowMs: number; readonly acting: Indexed | undefined },
): MethodVerdict | undefined {
  const method = review.method.name;
  const { providerId } = node;
  const command = commandFor(node, review);
  if (command) {
    if (review === acting) return { method, code: 'chosen', text: `${method} takes it: ${decisionOf(command)}` };
    return { method, code: 'next', text: `${method} would take it, but ${acting?.method.name} comes first` };
  }
  const block = review.blocks.get(providerId);
  if (block?.code === 'deleting') return { method, ...block, nearestMiss: leaving(node, nowMs) };
  if (block) return { method, ...block };
  const declined = review.declined.get(providerId);
  if (declined) return { method, ...withPatience(declined, nowMs) };
  const candidate = review.candidateOf.get(providerId);
  if (candidate === undefined) return undefined;
  const found = review.result.reasons?.get(providerId) ?? NOT_REACHED;
  const nearestMiss = found.code === 'budget' ? review.standingOf(candidate) : undefined;
  return { method, ...found, ...(nearestMiss === undefined ? {} : { nearestMiss }) };
}

/** What a node that is being deleted waits for. */
function leaving({ pods, nodeClaim }: StateNode, nowMs: number): string {
  const left = pods.filter((pod) => isWaitingForEviction(pod, nowMs)).length;
  if (left === 0) return 'no pod is left to evict: volumes and the instance go next';
  const count = `${left} pod${left === 1 ? '' : 's'} left to evict`;
  const deadline = nodeClaim?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION];
  if (deadline !== undefined) return `${count}, by ${deadline} at the latest`;
  return `${count}, for as long as they resist: it has no terminationGracePeriod`;
}

function withPatience({ reason, candidate }: Declined, nowMs: number): Reason<VerdictCode> {
  if (reason.code !== 'not-consolidatable') return reason;
  const waitMs = consolidatableIn(candidate.nodeClaim, candidate.nodePool, nowMs);
  if (waitMs === undefined) return reason;
  const nearestMiss =
    waitMs === 0
      ? 'its quiet time is over: the condition will follow'
      : `in ${formatDuration(waitMs)}, if no pod comes or goes`;
  return { ...reason, nearestMiss };
}

/** The verdict of the method that decides about the node. */
function decisive(verdicts: readonly MethodVerdict[]): MethodVerdict {
  const rank = ({ code, method }: MethodVerdict): number => {
    if (code === 'chosen') return -2;
    if (code === 'next') return -1;
    // a drifted node that others go before goes too, whatever consolidation has against it
    const isLeft = code === 'not-reached' && !DRIFTS.has(method);
    const weight = BESIDE_THE_POINT.has(code) ? 2 : isLeft ? 1 : 0;
    return weight * MOST_EXPLAINING.length + MOST_EXPLAINING.indexOf(method);
  };
  const [first = { method: '', ...NOT_REACHED }] = verdicts.toSorted((a, b) => rank(a) - rank(b));
  return first;
}
