/** Candidates, and commands: the decision to disrupt candidates, with the replacements that must be ready first. */
import type { Node, NodeClaim, NodePool } from '#api/objects';
import { billedUsdPerHour } from '../billed-price.ts';
import type { EnginePod } from '../input.ts';
import type { InstanceType, Plan, PlannedClaim, StateNode } from '../model.ts';
import type { CommittedUse } from '../price-book/committed-use.ts';
import { nodeUsdPerHour } from '../purchase.ts';
import { BASE_COST } from './candidates/disruption-cost.ts';
import type { MoveWorth } from './move-worth.ts';
import type { DisruptionReason } from './reasons.ts';

/** Node that may be disrupted. */
export interface Candidate {
  readonly name: string;
  readonly providerId: string;
  readonly stateNode: StateNode;
  readonly node: Node;
  readonly nodeClaim: NodeClaim;
  readonly nodePool: NodePool;
  /** Undefined if the NodePool no longer offers the type of the node. */
  readonly instanceType: InstanceType | undefined;
  /** Labels of the node. Undefined if the label is absent. */
  readonly capacityType: string | undefined;
  readonly zone: string | undefined;
  /** Pods that need another node. */
  readonly reschedulablePods: readonly EnginePod[];
  readonly rescheduleCost: number;
  /** Cost of the node for decisions, including planning figures. 0 if the price of its instance is unknown. */
  readonly usdPerHour: number;
  /** Price of the node without commitments, as AWS bills it. 0 if the price of its instance is unknown. */
  readonly billedUsdPerHour: number;
  /**
   * Expected extra cost of interruptions of the node, in USD per hour. Used only in comparison with replacements that have a
   * higher risk.
   */
  readonly spotRiskUsdPerHour: number;
  /** Savings in USD per hour per unit of disruption. Candidates are sorted by this ratio, highest first. */
  readonly savingsRatio: number;
}

/** Returns true if no pod would have to move. */
export const isEmpty = (candidate: Candidate): boolean => candidate.rescheduleCost <= BASE_COST;

/**
 * Sorts by savings per unit of disruption, highest first; ties by name. If commitments cover a node, removing only this node
 * saves less.
 */
export function bySavings(candidates: readonly Candidate[], committed?: CommittedUse): readonly Candidate[] {
  const ratios = new Map(
    candidates.map((candidate) => {
      const { usdPerHour, rescheduleCost: cost, savingsRatio } = candidate;
      return [candidate, committed ? (usdPerHour - committed.lost([candidate.providerId])) / cost : savingsRatio];
    }),
  );
  const ratioOf = (candidate: Candidate): number => ratios.get(candidate) ?? 0;
  return [...candidates].sort((a, b) => ratioOf(b) - ratioOf(a) || (a.name < b.name ? -1 : 1));
}

export interface Command {
  readonly reason: DisruptionReason;
  readonly candidates: readonly Candidate[];
  /** Replacements that must be created and initialized before the candidates are deleted. */
  readonly replacements: readonly PlannedClaim[];
  /** Plan with the pods that the simulation placed on existing nodes; absent if this command needed no simulation. */
  readonly plan?: Plan;
  /** Part of the candidates' price that is not saved, because commitments cover it. Default: 0. */
  readonly lostUsdPerHour?: number;
  /** Worth of preferences that pods lose. It reduces savings for decisions. Default: 0. */
  readonly preferencesUsdPerHour?: number;
  /** Comparison of its benefit with its price. Absent if moves have no price. */
  readonly worth?: MoveWorth;
}

export type Decision = 'delete' | 'replace';

export const decisionOf = ({ replacements }: Pick<Command, 'replacements'>): Decision =>
  replacements.length === 0 ? 'delete' : 'replace';

/**
 * Returns the savings for decisions in USD per hour, from node prices with planning figures minus the part that commitments
 * cover and the worth of lost preferences.
 */
export const savingsOf = ({ candidates, replacements, lostUsdPerHour = 0, preferencesUsdPerHour = 0 }: Money): number =>
  sum(candidates.map(({ usdPerHour }) => usdPerHour)) -
  lostUsdPerHour -
  preferencesUsdPerHour -
  sum(replacements.map(nodeUsdPerHour));

/** Returns the savings on the bill in USD per hour. They are negative if only planning figures justify the command. */
export const billedSavingsOf = ({ candidates, replacements, lostUsdPerHour = 0 }: Money): number =>
  sum(candidates.map((candidate) => candidate.billedUsdPerHour)) -
  lostUsdPerHour -
  sum(replacements.map(billedUsdPerHour));

/** Rounds savings. Further digits are rounding errors. */
const roundUsd = (usd: number): number => Number(usd.toFixed(6));

/** Returns savings for reports: on the bill, and with planning figures if they differ. */
export function bothSavings(command: Money): { readonly savings: number; readonly planningSavings?: number } {
  const [savings, planningSavings] = [roundUsd(billedSavingsOf(command)), roundUsd(savingsOf(command))];
  return { savings, ...(planningSavings !== savings && { planningSavings }) };
}

/**
 * Returns the expected extra cost of interruptions of the replacements, compared with the candidates, in USD per hour. The
 * result is never negative, because lower interruption costs alone must not justify moving pods.
 */
export const addedRiskOf = ({ candidates, replacements }: Money): number =>
  Math.max(
    0,
    sum(replacements.map(({ spotRiskUsdPerHour = 0 }) => spotRiskUsdPerHour)) -
      sum(candidates.map(({ spotRiskUsdPerHour }) => spotRiskUsdPerHour)),
  );

/**
 * Returns true if recent interruptions in the spot pools of the replacements are expected to cost more than the command saves.
 */
export const isTooRisky = (command: Money): boolean => {
  const added = addedRiskOf(command);
  return added > 0 && added >= savingsOf(command);
};

type Money = Pick<Command, 'candidates' | 'replacements' | 'lostUsdPerHour' | 'preferencesUsdPerHour'>;

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

const arrow = ({ replacements }: Pick<Command, 'replacements'>): string => {
  const count = replacements.length;
  return count === 0 ? '' : ` -> [${count} replacement${count === 1 ? '' : 's'}]`;
};

const names = ({ candidates }: Pick<Command, 'candidates'>): string => candidates.map(({ name }) => name).join(', ');

/** Returns the text for events while a method is still deciding. */
export const shortText = (command: Command): string => `${decisionOf(command)}: [${names(command)}]${arrow(command)}`;

export const savingsText = (command: Money): string => `(savings: $${billedSavingsOf(command).toFixed(2)})`;

/** Returns the text for logs. */
export function longText(command: Command, id: string): string {
  const pools = [...new Set(command.candidates.map(({ nodePool }) => nodePool.metadata.name))].join(',');
  return `${command.reason}/${id}: ${decisionOf(command)}: nodepools=[${pools}]: [${names(command)}]${arrow(command)} ${savingsText(command)}`;
}
