/** Whether what disruption would do is what the reference would do. */
import type { Disruption, SimulatedCommand } from '../../src/cli/render/commands.ts';

/** A method's commands, as far as they are compared. */
export interface Outcome {
  readonly method: string;
  readonly commands: readonly {
    readonly decision: string;
    readonly candidates: readonly string[];
    readonly replacements?: readonly { readonly cheapestPrice: number }[];
  }[];
}

interface ExpectedNode {
  readonly name: string;
  readonly nodePool: string;
  readonly price: number;
  readonly disruptionCost: number;
  readonly rescheduleDisruptionCost: number;
  readonly savingsRatio: number;
  /** Why methods of a class leave the node alone. */
  readonly notCandidate?: { readonly graceful?: string; readonly eventual?: string };
}

export interface Expected {
  readonly first: Outcome | null;
  /** What else it would do when ties fall another way. */
  readonly alternatives?: readonly (Outcome | null)[];
  /** Methods that such ties decide. */
  readonly varying?: readonly string[];
  readonly methods: readonly Outcome[];
  readonly nodes: readonly ExpectedNode[];
}

/** Prices may be this share apart. */
const SLACK = 0.005;

const near = (price: number, expected: number): boolean => Math.abs(price - expected) <= SLACK * expected + 1e-9;

const pricesOf = ({ replacements = [] }: Outcome['commands'][number]): readonly number[] =>
  replacements.map(({ cheapestPrice }) => cheapestPrice).sort((a, b) => a - b);

/** A command as text; `standIn` says what a node counts as. */
function commandText({ decision, candidates }: Outcome['commands'][number], standIn: (name: string) => string): string {
  return `${decision} ${candidates.map(standIn).sort().join(',')}`;
}

const itself = (name: string): string => name;

export function outcomeText(outcome: Outcome | null, standIn: (name: string) => string = itself): string {
  if (outcome === null) return 'nothing';
  return `${outcome.method}: ${outcome.commands
    .map((command) => commandText(command, standIn))
    .sort()
    .join('; ')}`;
}

/** Whether the replacements cost the same; the prices of claims that a NodePool alone decides are not known (-1). */
function samePrices(actual: Outcome | null, expected: Outcome | null): boolean {
  const inOrder = (outcome: Outcome | null): readonly (readonly number[])[] =>
    [...(outcome?.commands ?? [])]
      .sort((a, b) => (commandText(a, itself) < commandText(b, itself) ? -1 : 1))
      .map(pricesOf);
  const theirs = inOrder(expected);
  return inOrder(actual).every((prices, at) => {
    const wanted = theirs[at] ?? [];
    return prices.length === wanted.length && prices.every((price, each) => isNear(price, wanted[each] ?? 0));
  });
}

const isNear = (price: number, wanted: number): boolean => wanted < 0 || near(price, wanted);

/** Empty when the outcome is one of the reference's; else what it is and what was expected. */
export function problemOf({ first }: Disruption, expected: Expected): string {
  const outcomes = [expected.first, ...(expected.alternatives ?? [])];
  const equals = (outcome: Outcome | null, standIn: (name: string) => string): boolean =>
    outcomeText(first, standIn) === outcomeText(outcome, standIn) && samePrices(first, outcome);
  if (outcomes.some((outcome) => equals(outcome, itself))) return '';
  if (outcomes.length > 1 && outcomes.some((outcome) => equals(outcome, equalRank(expected, first?.method)))) return '';
  const prices = (first?.commands ?? []).flatMap((command: SimulatedCommand) => pricesOf(command)).join(', ');
  return `${outcomeText(first)} at ${prices || 'no price'} instead of ${outcomeText(expected.first)}`;
}

/** Nodes between which the reference chooses by chance count as one. */
const equalRank = ({ nodes }: Expected, method: string | undefined) => {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return (name: string): string => {
    const node = byName.get(name);
    if (node === undefined) return name;
    return method === 'static-drift' ? node.nodePool : `${node.nodePool} ${node.savingsRatio}`;
  };
};
