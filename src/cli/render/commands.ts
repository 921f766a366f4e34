/** Renders disruption commands as text, and in the public format of `karpenter simulate --disruption -o json`. */
import { CAPACITY_TYPE_LABEL } from '#api/objects';
import { billedUsdPerHour } from '#engine/costs';
import {
  bothSavings,
  type Command,
  calculationOf,
  type Decision,
  type DisruptionReason,
  decisionOf,
  type MethodReview,
  type MoveWorth,
  roundWorth,
  UNLIMITED,
} from '#engine/disruption';
import type { PlannedClaim, Requirement } from '#engine/model';
import type { DisruptionEnd } from '../disruption-end.ts';
import { type PlanningFigures, planningOf, rounded } from './plan.ts';
import { figuresOf, totalPlanning } from './simulation.ts';
import { counted, inShort, planningPart, table, unknownText, usdPerHour } from './table.ts';
import { indented, terminalWidth } from './wrap.ts';

export interface SimulatedReplacement {
  readonly nodePool: string;
  readonly pods: readonly string[];
  /** Instance types, cheapest first. Empty if the NodePool alone determines them. */
  readonly instanceTypes: readonly string[];
  readonly requirements: readonly Requirement[];
  readonly capacityTypes: readonly string[];
  readonly cheapest: string;
  /** Price of the cheapest offering in USD per hour. */
  readonly cheapestPrice: number;
  /** Price of the node as AWS bills it, in USD per hour. */
  readonly billedPrice: number;
  readonly planning?: PlanningFigures;
}

export interface SimulatedCommand {
  readonly decision: Decision;
  /** Names of nodes. */
  readonly candidates: readonly string[];
  readonly replacements: readonly SimulatedReplacement[];
  /** Savings on the bill in USD per hour. They are negative if only planning figures justify the command. */
  readonly savings: number;
  /** Savings with planning figures, which decide. Absent if they are the same. */
  readonly planningSavings?: number;
  /** Comparison of its benefit with its price. Absent if moves have no price. */
  readonly worth?: MoveWorth;
}

interface MethodResult {
  readonly method: string;
  readonly reason: DisruptionReason;
  readonly commands: readonly SimulatedCommand[];
}

export interface DisruptionAnswer {
  /** First method with a command, in the operator's order. */
  readonly first: MethodResult | null;
  /** Result of each method, with its candidate nodes and the number of nodes that its budgets allow. */
  readonly methods?: readonly (MethodResult & {
    readonly candidates: readonly string[];
    readonly budgets: Readonly<Record<string, number>>;
  })[];
  /** State after all commands. Absent if there are no commands. */
  readonly end?: DisruptionEnd;
  /** Unknown facts that affect the result. Undefined if the list is empty. */
  readonly unknown?: readonly string[];
}

/** Returns the name of a method: `multi-node-consolidation`. */

function replacementOf(claim: PlannedClaim): SimulatedReplacement {
  const { nodePool, pods, instanceTypes, requirements, cheapest, usdPerHour: cheapestPrice } = claim;
  const capacityTypes = requirements.find(({ key }) => key === CAPACITY_TYPE_LABEL)?.values ?? [];
  return {
    nodePool,
    pods: [...pods].sort(),
    instanceTypes,
    requirements,
    capacityTypes,
    cheapest,
    cheapestPrice,
    billedPrice: rounded(billedUsdPerHour(claim)),
    ...planningOf(claim),
  };
}

const commandOf = (command: Command): SimulatedCommand => ({
  decision: decisionOf(command),
  candidates: command.candidates.map(({ name }) => name),
  replacements: command.replacements.map(replacementOf),
  ...bothSavings(command),
  ...(command.worth && { worth: roundWorth(command.worth) }),
});

const resultOf = ({ method, result }: MethodReview): MethodResult => ({
  method: method.name.replaceAll(' ', '-'),
  reason: method.reason,
  commands: result.commands.map(commandOf),
});

export function disruptionOf(
  reviews: readonly MethodReview[],
  {
    everyMethod,
    end,
    unknown,
  }: { readonly everyMethod: boolean; readonly end?: DisruptionEnd | undefined; readonly unknown: readonly string[] },
): DisruptionAnswer {
  const first = reviews.find(({ result }) => result.commands.length > 0);
  return {
    first: first === undefined ? null : resultOf(first),
    ...(everyMethod ? { methods: reviews.map(inFull) } : {}),
    ...(end === undefined || end.steps.length === 0 ? {} : { end }),
    ...(unknown.length === 0 ? {} : { unknown }),
  };
}

const inFull = (review: MethodReview): NonNullable<DisruptionAnswer['methods']>[number] => ({
  ...resultOf(review),
  candidates: review.candidates.map(({ name }) => name).sort(),
  budgets: Object.fromEntries([...review.allowances].map(([pool, { remaining }]) => [pool, remaining])),
});

const HEADINGS = ['DECISION', 'NODES', 'REPLACEMENT', 'OTHERS', 'CAPACITY', 'PRICE', 'SAVINGS'];

function commandRow({ decision, candidates, replacements, savings }: SimulatedCommand): readonly string[] {
  const [replacement] = replacements;
  const nodes = inShort(candidates);
  if (replacement === undefined) return [decision, nodes, '', '', '', '', usdPerHour(savings)];
  const { cheapest, nodePool, instanceTypes, capacityTypes } = replacement;
  const price = replacements.reduce((sum, { billedPrice }) => sum + billedPrice, 0);
  const planning = planningPart(figuresOf({ ...totalPlanning(replacements), fee: 0 }));
  const others = replacements.length > 1 ? ` and ${counted(replacements.length - 1, 'more node')}` : '';
  return [
    decision,
    nodes,
    `${cheapest || `as NodePool ${nodePool}`}${others}`,
    instanceTypes.length > 1 ? `+${instanceTypes.length - 1}` : '',
    capacityTypes.join(','),
    `${usdPerHour(price)}${planning}`,
    usdPerHour(savings),
  ];
}

const section = ({ method, commands }: MethodResult, standing = ''): string =>
  commands.length === 0
    ? `${method}: no command${standing}`
    : [`${method}${standing}`, table(HEADINGS, commands.map(commandRow)), ...commands.flatMap(worthLine)].join('\n');

/** Returns the comparison of a command's benefit with its price. The operator does not make moves that cost more. */
function worthLine({ worth }: SimulatedCommand): readonly string[] {
  if (worth === undefined) return [];
  const waits = worth.benefitUsd < worth.neededUsd ? '; the operator waits until this pays' : '';
  return [indented(`  ${calculationOf(worth)}${waits}`, '    ', terminalWidth())];
}

type InFull = NonNullable<DisruptionAnswer['methods']>[number];

/** Describes the number of candidates of a method, and the number that the budgets of their NodePools allow. */
function standingOf({ candidates, budgets }: InFull): string {
  const limits = Object.entries(budgets).map(
    ([pool, count]) => `${pool} ${count === UNLIMITED ? 'any number' : count}`,
  );
  return ` (${counted(candidates.length, 'candidate')}; allowed by budgets: ${limits.join(', ') || 'none'})`;
}

/** Lists all commands if there are several, and compares the nodes before and after. */
function endText({ before, after, steps, complete }: DisruptionEnd): string {
  const rows = steps.map(({ method, decision, candidates, replacements, savings }, at) => [
    String(at + 1),
    method,
    decision,
    inShort(candidates),
    replacements === 0 ? '' : String(replacements),
    usdPerHour(savings),
  ]);
  const list = table(['STEP', 'METHOD', 'DECISION', 'NODES', 'NEW NODES', 'SAVINGS'], steps.length > 1 ? rows : []);
  const saved = before.billedPrice - after.billedPrice;
  const change = `${counted(before.nodes, 'node')} for ${usdPerHour(before.billedPrice)} before, ${counted(after.nodes, 'node')} for ${usdPerHour(after.billedPrice)} after`;
  const count = steps.length === 1 ? 'this command' : `all ${steps.length} commands`;
  const summary = complete
    ? `end state of ${count}: ${change}, ${usdPerHour(saved)} saved`
    : `state after ${steps.length} commands, further commands follow: ${change}, ${usdPerHour(saved)} saved`;
  return [list, indented(summary, '  ', terminalWidth())].filter((text) => text !== '').join('\n\n');
}

export function disruptionText({ first, methods, end, unknown = [] }: DisruptionAnswer): string {
  const sections = methods?.map((method) => section(method, standingOf(method))) ?? (first ? [section(first)] : []);
  const open = unknown.length === 0 ? [] : [unknownText(unknown)];
  const last = end === undefined ? [] : [endText(end)];
  return `${[...sections, ...open, conclusion(first), ...last].join('\n\n')}\n`;
}

function conclusion(first: MethodResult | null): string {
  if (first === null) return 'no node would be disrupted; karpenter explain node shows the reasons';
  const saved = first.commands.reduce((sum, { savings }) => sum + savings, 0);
  return `${first.method} comes first: ${counted(first.commands.length, 'command')}, ${usdPerHour(saved)} saved`;
}
