/** A decision to disrupt: which nodes go, and what must be there before they do. */
import type { Plan, PlannedClaim } from '../model.ts';
import { nodeUsdPerHour } from '../purchase.ts';
import type { Candidate } from './candidates/candidates.ts';
import type { DisruptionReason } from './reasons.ts';

export interface Command {
  readonly reason: DisruptionReason;
  readonly candidates: readonly Candidate[];
  /** To be created, and initialised, before the candidates are deleted. */
  readonly replacements: readonly PlannedClaim[];
  /** What the simulation placed on existing nodes; missing when none was needed. */
  readonly plan?: Plan;
  /** The part of the candidates' price that is not saved, because commitments cover it; nothing when left out. */
  readonly lostUsdPerHour?: number;
}

export type Decision = 'delete' | 'replace';

export const decisionOf = ({ replacements }: Pick<Command, 'replacements'>): Decision =>
  replacements.length === 0 ? 'delete' : 'replace';

/** USD per hour saved, by what the nodes cost with everything, and what commitments cover of it. */
export const savingsOf = ({ candidates, replacements, lostUsdPerHour = 0 }: Money): number =>
  sum(candidates.map(({ usdPerHour }) => usdPerHour)) - lostUsdPerHour - sum(replacements.map(nodeUsdPerHour));

/**
 * USD per hour that interruptions of the replacements are expected to cost beyond those of the candidates. Never less than
 * nothing: pods are not moved in order to be moved less.
 */
export const addedRiskOf = ({ candidates, replacements }: Money): number =>
  Math.max(
    0,
    sum(replacements.map(({ spotRiskUsdPerHour = 0 }) => spotRiskUsdPerHour)) -
      sum(candidates.map(({ spotRiskUsdPerHour }) => spotRiskUsdPerHour)),
  );

/** Whether the replacements are in spot pools that were interrupted of late, which is expected to cost more than is saved. */
export const isTooRisky = (command: Money): boolean => {
  const added = addedRiskOf(command);
  return added > 0 && added >= savingsOf(command);
};

type Money = Pick<Command, 'candidates' | 'replacements' | 'lostUsdPerHour'>;

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

const arrow = ({ replacements }: Pick<Command, 'replacements'>): string => {
  const count = replacements.length;
  return count === 0 ? '' : ` -> [${count} replacement${count === 1 ? '' : 's'}]`;
};

const names = ({ candidates }: Pick<Command, 'candidates'>): string => candidates.map(({ name }) => name).join(', ');

/** For events while a method still deliberates. */
export const shortText = (command: Command): string => `${decisionOf(command)}: [${names(command)}]${arrow(command)}`;

export const savingsText = (command: Money): string => `(savings: $${savingsOf(command).toFixed(2)})`;

/** For logs. */
export function longText(command: Command, id: string): string {
  const pools = [...new Set(command.candidates.map(({ nodePool }) => nodePool.metadata.name))].join(',');
  return `${command.reason}/${id}: ${decisionOf(command)}: nodepools=[${pools}]: [${names(command)}]${arrow(command)} ${savingsText(command)}`;
}
