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
}

export type Decision = 'delete' | 'replace';

export const decisionOf = ({ replacements }: Pick<Command, 'replacements'>): Decision =>
  replacements.length === 0 ? 'delete' : 'replace';

/** USD per hour saved, by what the nodes cost with everything. */
export const savingsOf = ({ candidates, replacements }: Pick<Command, 'candidates' | 'replacements'>): number =>
  sum(candidates.map(({ usdPerHour }) => usdPerHour)) - sum(replacements.map(nodeUsdPerHour));

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

const arrow = ({ replacements }: Pick<Command, 'replacements'>): string => {
  const count = replacements.length;
  return count === 0 ? '' : ` -> [${count} replacement${count === 1 ? '' : 's'}]`;
};

const names = ({ candidates }: Pick<Command, 'candidates'>): string => candidates.map(({ name }) => name).join(', ');

/** For events while a method still deliberates. */
export const shortText = (command: Command): string => `${decisionOf(command)}: [${names(command)}]${arrow(command)}`;

export const savingsText = (command: Pick<Command, 'candidates' | 'replacements'>): string =>
  `(savings: $${savingsOf(command).toFixed(2)})`;

/** For logs. */
export function longText(command: Command, id: string): string {
  const pools = [...new Set(command.candidates.map(({ nodePool }) => nodePool.metadata.name))].join(',');
  return `${command.reason}/${id}: ${decisionOf(command)}: nodepools=[${pools}]: [${names(command)}]${arrow(command)} ${savingsText(command)}`;
}
