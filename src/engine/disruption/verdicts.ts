/** Explains for each node whether it will be disrupted. If not, states the obstacle and how close the node came to disruption. */

import { NODEPOOL_LABEL, TERMINATION_TIMESTAMP_ANNOTATION } from '#api/objects';
import { formatDuration } from '#api/values';
import { defined, timestamp } from '#lib';
import type { StateNode } from '../model.ts';
import { joinProgress } from '../node-join.ts';
import { isWaitingForEviction } from '../pods.ts';
import type { NODE_OUTCOMES } from '../reason-codes.ts';
import type { NodeRepair } from '../repair.ts';
import { type Allowance, budgetRemark } from './budgets/budgets.ts';
import { consolidatableIn } from './candidates/consolidate-after.ts';
import { bothSavings, type Candidate, type Command, type Decision, decisionOf } from './command.ts';
import type { Declined, Method, MethodResult } from './method.ts';
import { type MoveWorth, roundWorth } from './move-worth.ts';
import type { BlockCode, DeclineCode, DisruptionReason, Reason } from './reasons.ts';

/** Result of one method for all nodes. The keys of all maps are provider ids, except for the allowances. */
export interface MethodReview {
  readonly method: Method;
  /** Nodes that are not candidates for any method of this class. */
  readonly blocks: ReadonlyMap<string, Reason<BlockCode>>;
  /** Candidates that this method declines. */
  readonly declined: ReadonlyMap<string, Declined>;
  readonly candidates: readonly Candidate[];
  /** Use of the NodePools' budgets for the reason of this method, by NodePool name. */
  readonly allowances: ReadonlyMap<string, Allowance>;
  readonly result: MethodResult;
  /** Time of the decision in milliseconds since the epoch. Absent if it is made for this request. */
  readonly decidedMs?: number;
}

/** Returns the block that applies to a node now, by its state and its pods. */
type BlockNow = (node: StateNode, disruptionClass: Method['class']) => Reason<BlockCode> | undefined;

/** Blocks that {@link BlockNow} finds. They end with a change of the node, its pods or a PodDisruptionBudget. */
const CHANGING: ReadonlySet<BlockCode> = new Set([
  ...(['no-node', 'not-initialized', 'deleting', 'nominated', 'do-not-disrupt'] as const),
  ...(['pod-do-not-disrupt', 'pdb', 'several-pdbs'] as const),
]);

export type VerdictCode = BlockCode | DeclineCode | (typeof NODE_OUTCOMES)[number];

/** Verdict of one method on a node. */
interface MethodVerdict extends Reason<VerdictCode> {
  readonly method: string;
  /** Time of the decision, RFC 3339. Absent if it is made for this request. */
  readonly decided?: string;
}

export interface Verdict extends Reason<VerdictCode> {
  readonly node: string;
  readonly nodeClaim?: string;
  readonly nodePool?: string;
  /** Time of the decision that determines this verdict, RFC 3339. Absent if it is made for this request. */
  readonly decided?: string;
  /** Command that disrupts or would disrupt this node. */
  readonly command?: {
    readonly method: string;
    readonly decision: Decision;
    readonly nodes: readonly string[];
    /** Savings of the whole command on the bill, in USD per hour. */
    readonly savings: number;
    /** Savings with planning figures, which decide. Absent if they are the same. */
    readonly planningSavings?: number;
    /** Comparison of its benefit with its price. Absent if moves have no price. */
    readonly worth?: MoveWorth;
  };
  /** Verdicts of all enabled methods, in the order in which the methods run. */
  readonly methods: readonly MethodVerdict[];
  /** Repair of an unhealthy node. Absent for a healthy node, and if repairs are disabled. */
  readonly repair?: NodeRepair;
}

/** Codes that mean that a method does not apply to a node. They are not reasons to keep the node. */
const BESIDE_THE_POINT: ReadonlySet<VerdictCode> = new Set([
  'static-pool',
  'dynamic-pool',
  'not-drifted',
  'empty',
  'not-empty',
]);

/** Ranks of methods by the explanatory value of their reason, highest first. Drifted nodes must be replaced. */
const RANK_OF_REASON: Readonly<Record<DisruptionReason, number>> = { Drifted: 0, Underutilized: 1, Empty: 2 };

/** Returns the explanatory value of a method's verdicts, highest first. Methods of the same rank keep their order. */
const rankOf = ({ reason, evaluates }: Method): number => 2 * RANK_OF_REASON[reason] + (evaluates === 'nodes' ? 0 : 1);

/** Number of ranks. */
const RANKS = 2 * Object.keys(RANK_OF_REASON).length;

/**
 * Returns one verdict per node, sorted by name.
 * @param blockNow replaces blocks of earlier decisions by the blocks that apply now
 */
export function verdictsOf(
  nodes: readonly StateNode[],
  reviews: readonly MethodReview[],
  nowMs: number,
  blockNow?: BlockNow,
): readonly Verdict[] {
  const indexed = reviews.map((review) => index(review, nowMs));
  return nodes
    .map((node) => verdictOn(node, indexed, { nowMs, blockNow: blockNow && remembered(blockNow) }))
    .sort((a, b) => (a.node < b.node ? -1 : a.node > b.node ? 1 : 0));
}

/** Review with indexes by node. */
interface Indexed extends MethodReview {
  readonly commandOf: ReadonlyMap<string, Command>;
  readonly candidateOf: ReadonlyMap<string, Candidate>;
  /** Returns a text on the use of the budgets of a candidate's NodePool. */
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

/** Walks the schedules once for all nodes of a NodePool. */
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
      const more = disrupting < allowed ? 'other nodes are disrupted first' : remark;
      standing = `${disrupting} of ${total} nodes are not ready or being deleted, ${allowed} allowed${more === '' ? '' : `: ${more}`}`;
      known.set(name, standing);
    }
    return standing;
  };
}

/** Computes the block of a node once for all methods of a class. */
function remembered(blockNow: BlockNow): BlockNow {
  const known = new Map<Method['class'], Reason<BlockCode> | undefined>();
  return (node, disruptionClass) => {
    if (!known.has(disruptionClass)) known.set(disruptionClass, blockNow(node, disruptionClass));
    return known.get(disruptionClass);
  };
}

interface Present {
  readonly nowMs: number;
  readonly blockNow: BlockNow | undefined;
}

function verdictOn(node: StateNode, reviews: readonly Indexed[], present: Present): Verdict {
  const acting = reviews.find(({ result }) => result.commands.length > 0);
  const judged = reviews.flatMap((review): readonly Judged[] => {
    const verdict = methodVerdictOn(node, review, { ...present, acting });
    const decided = review.decidedMs === undefined ? {} : { decided: timestamp(review.decidedMs) };
    return verdict === undefined ? [] : [{ by: review.method, verdict: { ...verdict, ...decided } }];
  });
  const { method: _, ...reason } = decisive(judged);
  const chosen = reviews.find((review) => commandFor(node, review) !== undefined);
  const command = chosen && commandFor(node, chosen);
  const pool = node.labels[NODEPOOL_LABEL];
  return {
    node: node.name,
    ...defined({ nodeClaim: node.nodeClaim?.metadata.name, nodePool: pool }),
    ...reason,
    ...(chosen && command ? { command: described(chosen.method, command) } : {}),
    methods: judged.map(({ verdict }) => verdict),
  };
}

function described({ name }: Method, command: Command): NonNullable<Verdict['command']> {
  return {
    method: name,
    decision: decisionOf(command),
    nodes: command.candidates.map((candidate) => candidate.name),
    ...bothSavings(command),
    ...(command.worth && { worth: roundWorth(command.worth) }),
  };
}

const commandFor = ({ providerId }: StateNode, { commandOf }: Indexed): Command | undefined =>
  commandOf.get(providerId);

const NOT_REACHED: Reason<VerdictCode> = {
  code: 'not-reached',
  text: 'the node itself is not blocked; other nodes were selected first, or no group with this node can be disrupted',
};

/** Returns undefined if the method did not see the node. */
function methodVerdictOn(
  node: StateNode,
  review: Indexed,
  { nowMs, blockNow, acting }: Present & { readonly acting: Indexed | undefined },
): MethodVerdict | undefined {
  const method = review.method.name;
  const { providerId } = node;
  const command = commandFor(node, review);
  if (command) {
    if (review === acting) return { method, code: 'chosen', text: `selected by ${method}: ${decisionOf(command)}` };
    return { method, code: 'next', text: `${method} would disrupt the node, but ${acting?.method.name} comes first` };
  }
  const recorded = review.blocks.get(providerId);
  const isChecked = recorded !== undefined && blockNow !== undefined && CHANGING.has(recorded.code);
  const block = isChecked ? blockNow(node, review.method.class) : recorded;
  if (isChecked && block === undefined) return { method, ...ended(recorded) };
  const progress =
    block?.code === 'not-initialized' ? node.nodeClaim && joinProgress(node.nodeClaim, nowMs) : undefined;
  if (block && progress) return { method, ...block, nearestMiss: progress.text };
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

/** Returns the verdict after the end of a block, until the method evaluates the node again. */
const ended = ({ code }: Reason<BlockCode>): Reason<VerdictCode> => ({
  code: 'not-reached',
  text: `the reason "${code}" has ended since the last decision; the method has not evaluated the node again yet`,
});

/** Returns a text on the next step in the deletion of a node. */
function leaving({ pods, nodeClaim }: StateNode, nowMs: number): string {
  const left = pods.filter((pod) => isWaitingForEviction(pod, nowMs)).length;
  if (left === 0) return 'no pods are left to evict; volumes are detached and the instance is terminated next';
  const count = `${left} pod${left === 1 ? '' : 's'} left to evict`;
  const deadline = nodeClaim?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION];
  if (deadline !== undefined) return `${count}, no later than ${deadline}`;
  return `${count}, without a time limit, because the NodeClaim has no terminationGracePeriod`;
}

function withPatience({ reason, candidate }: Declined, nowMs: number): Reason<VerdictCode> {
  if (reason.code !== 'not-consolidatable') return reason;
  const waitMs = consolidatableIn(candidate.nodeClaim, candidate.nodePool, nowMs);
  if (waitMs === undefined) return reason;
  const nearestMiss =
    waitMs === 0
      ? 'consolidateAfter has elapsed; the condition will be set soon'
      : `in ${formatDuration(waitMs)}, if no pod is added or removed`;
  return { ...reason, nearestMiss };
}

interface Judged {
  readonly by: Method;
  readonly verdict: MethodVerdict;
}

/** Returns the verdict of the method that determines the outcome for the node. */
function decisive(judged: readonly Judged[]): MethodVerdict {
  const rank = ({ by, verdict: { code } }: Judged): number => {
    if (code === 'chosen') return -2;
    if (code === 'next') return -1;
    // a drifted node that only waits for its turn will be replaced, even if consolidation declines the node
    const isLeft = code === 'not-reached' && by.reason !== 'Drifted';
    const weight = BESIDE_THE_POINT.has(code) ? 2 : isLeft ? 1 : 0;
    return weight * RANKS + rankOf(by);
  };
  const [first] = judged.toSorted((a, b) => rank(a) - rank(b));
  return first?.verdict ?? { method: '', ...NOT_REACHED };
}

const NOTHING: MethodResult = { commands: [], exhausted: true, events: [] };

/** Last verdicts of the disruption methods on each node. */
export class VerdictHistory {
  readonly #reviews = new Map<string, MethodReview>();

  /**
   * Records the review of a method. Without a result, the method did not run because its input has not changed, so its last
   * result remains valid.
   */
  record({ result, ...review }: Omit<MethodReview, 'result'> & { readonly result?: MethodResult | undefined }): void {
    const { name } = review.method;
    this.#reviews.set(name, { ...review, result: result ?? this.#reviews.get(name)?.result ?? NOTHING });
  }

  /** Removes the commands for nodes from the last result, because they are not carried out. */
  withdraw({ name }: Method, providerIds: readonly string[], text: string, code: DeclineCode = 'changed'): void {
    const review = this.#reviews.get(name);
    if (review === undefined) return;
    const gone = new Set(providerIds);
    const { commands, reasons = new Map(), ...rest } = review.result;
    const kept = commands.filter(({ candidates }) => !candidates.some(({ providerId }) => gone.has(providerId)));
    const changed = providerIds.map((id) => [id, { code, text }] as const);
    this.#reviews.set(name, {
      ...review,
      result: { ...rest, commands: kept, reasons: new Map([...reasons, ...changed]) },
    });
  }

  /** Returns true if an event of a method already reports this text on the node. */
  isReported({ providerId }: Pick<StateNode, 'providerId'>, text: string): boolean {
    return [...this.#reviews.values()].some(({ blocks, declined, result }) => {
      const refusal = declined.get(providerId);
      return (
        blocks.get(providerId)?.text === text ||
        (refusal?.isReported && refusal.reason.text === text) ||
        result.events.some(({ candidate, message }) => candidate?.providerId === providerId && message === text)
      );
    });
  }

  /** Returns the verdicts, in the execution order of the methods. */
  verdicts(nodes: readonly StateNode[], nowMs: number, blockNow?: BlockNow): readonly Verdict[] {
    return verdictsOf(nodes, [...this.#reviews.values()], nowMs, blockNow);
  }
}
