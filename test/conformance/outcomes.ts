/** Compares disruption outcomes with those of the reference. */
import type { DisruptionAnswer, SimulatedCommand } from '#cli/testing';
import type { Requirement } from '#engine/model';

interface ExpectedReplacement {
  readonly nodePool: string;
  readonly pods: readonly string[];
  readonly instanceTypes: readonly string[];
  readonly requirements: readonly Requirement[];
  readonly capacityTypes: readonly string[];
  readonly cheapestPrice: number;
}

/** Complete result of one method. */
export interface ExpectedMethod extends Outcome {
  readonly reason: string;
  readonly candidates: readonly string[];
  /** Undefined without candidates. */
  readonly budgets?: Readonly<Record<string, number>>;
  readonly commands: readonly {
    readonly decision: string;
    readonly candidates: readonly string[];
    readonly savings: number;
    readonly replacements?: readonly ExpectedReplacement[];
  }[];
}

/**
 * Keys of requirements that do not affect the launch: marks of simulations, the NodeClass under its name in the
 * reference, and the types, which are listed separately.
 */
const BESIDE_THE_POINT = new Set([
  'karpenter.sh/registered',
  'karpenter.sh/initialized',
  'karpenter.test.sh/testnodeclass',
  'karpenter.k8s.aws/ec2nodeclass',
  'node.kubernetes.io/instance-type',
]);

const inOrder = (values: readonly string[] = []): readonly string[] => [...values].sort();

/** Returns the comparable properties of a launch. The order of types with equal prices is free. */
export const purchaseOf = (replacement: ExpectedReplacement) => ({
  nodePool: replacement.nodePool,
  pods: inOrder(replacement.pods),
  instanceTypes: inOrder(replacement.instanceTypes),
  capacityTypes: inOrder(replacement.capacityTypes),
  requirements: replacement.requirements
    .filter(({ key }) => !BESIDE_THE_POINT.has(key))
    .map(({ key, operator, values = [], minValues }) => `${key} ${operator} ${inOrder(values)} ${minValues ?? ''}`)
    .sort(),
});

/** Comparable commands of a method. */
export interface Outcome {
  readonly method: string;
  readonly commands: readonly {
    readonly decision: string;
    readonly candidates: readonly string[];
    readonly replacements?: readonly { readonly cheapestPrice: number }[];
  }[];
}

export interface ExpectedNode {
  readonly name: string;
  readonly nodePool: string;
  readonly price: number;
  readonly disruptionCost: number;
  readonly rescheduleDisruptionCost: number;
  readonly savingsRatio: number;
  readonly empty: boolean;
  /** Reason why the node is not a candidate of the methods in a class. */
  readonly notCandidate?: { readonly graceful?: string; readonly eventual?: string };
}

export interface Expected {
  readonly first: Outcome | null;
  /** Other valid outcomes, which depend on ties. */
  readonly alternatives?: readonly (Outcome | null)[];
  /** Methods whose result depends on such ties. */
  readonly varying?: readonly string[];
  readonly methods: readonly ExpectedMethod[];
  /** Cost of the NodePools with candidates in USD per hour, and the disruption cost of their nodes. */
  readonly nodePools?: Readonly<Record<string, { readonly cost: number; readonly disruptionCost: number }>>;
  readonly nodes: readonly ExpectedNode[];
}

/** Allowed relative difference of prices. */
const SLACK = 0.005;

const near = (price: number, expected: number): boolean => Math.abs(price - expected) <= SLACK * expected + 1e-9;

const pricesOf = ({ replacements = [] }: Outcome['commands'][number]): readonly number[] =>
  replacements.map(({ cheapestPrice }) => cheapestPrice).sort((a, b) => a - b);

/** Returns a command as text; `standIn` maps nodes to their equivalents. */
function commandText({ decision, candidates }: Outcome['commands'][number], standIn: (name: string) => string): string {
  return `${decision} ${candidates.map(standIn).sort().join(',')}`;
}

/** Returns the savings that a decision compares. Without a fee these are the savings of instances, as in Karpenter. */
export const decidingSavings = ({
  savings,
  planningSavings = savings,
}: Pick<SimulatedCommand, 'savings' | 'planningSavings'>): number => planningSavings;

const itself = (name: string): string => name;

export function outcomeText(outcome: Outcome | null, standIn: (name: string) => string = itself): string {
  if (outcome === null) return 'nothing';
  return `${outcome.method}: ${outcome.commands
    .map((command) => commandText(command, standIn))
    .sort()
    .join('; ')}`;
}

/** Compares the prices of replacements. The price of a NodeClaim that only its NodePool determines is unknown (-1). */
function samePrices(actual: Outcome | null, expected: Outcome | null): boolean {
  const sorted = (outcome: Outcome | null): readonly (readonly number[])[] =>
    [...(outcome?.commands ?? [])]
      .sort((a, b) => (commandText(a, itself) < commandText(b, itself) ? -1 : 1))
      .map(pricesOf);
  const theirs = sorted(expected);
  return sorted(actual).every((prices, at) => {
    const wanted = theirs[at] ?? [];
    return prices.length === wanted.length && prices.every((price, each) => isNear(price, wanted[each] ?? 0));
  });
}

const isNear = (price: number, wanted: number): boolean => wanted < 0 || near(price, wanted);

/** Returns an empty text if the outcome is one of the reference's; otherwise the difference. */
export function problemOf({ first }: DisruptionAnswer, expected: Expected): string {
  const outcomes = [expected.first, ...(expected.alternatives ?? [])];
  const equals = (outcome: Outcome | null, standIn: (name: string) => string): boolean =>
    outcomeText(first, standIn) === outcomeText(outcome, standIn) && samePrices(first, outcome);
  if (outcomes.some((outcome) => equals(outcome, itself))) return '';
  if (outcomes.length > 1 && outcomes.some((outcome) => equals(outcome, equalRank(expected, first?.method)))) return '';
  const prices = (first?.commands ?? []).flatMap((command: SimulatedCommand) => pricesOf(command)).join(', ');
  return `${outcomeText(first)} at ${prices || 'no price'} instead of ${outcomeText(expected.first)}`;
}

/** Maps nodes between which the reference chooses at random to the same text. */
const equalRank = ({ nodes }: Expected, method: string | undefined) => {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return (name: string): string => {
    const node = byName.get(name);
    if (node === undefined) return name;
    return method === 'static-drift' ? node.nodePool : `${node.nodePool} ${node.savingsRatio}`;
  };
};
