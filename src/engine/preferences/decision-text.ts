/** Texts about decisions on preferences, for `simulate`, `explain` and NodeClaims. */
import type { Plan, PreferenceDecision } from '../model.ts';

const usd = (amount: number): string => `$${amount.toFixed(4)}/h`;

/** Returns the decision on equal pods, with an error in the worth that they set. */
export function preferenceText(group: PreferenceDecision): string {
  const { invalidWorth } = group;
  return invalidWorth === undefined ? decisionText(group) : `${decisionText(group)}; ${invalidWorth}`;
}

/** Returns the decision on equal pods, for example "satisfied 1 of 6; all would add $0.1911/h and are worth $0.0064/h". */
function decisionText({ satisfied, wanted, addedUsdPerHour, worthUsdPerHour }: PreferenceDecision): string {
  const count = `satisfied ${satisfied} of ${wanted}`;
  if (addedUsdPerHour === undefined || worthUsdPerHour === undefined)
    return satisfied === wanted ? count : `${count}; there is no plan with more preferences for the same pods`;
  // amounts that are not shown do not decide
  const isFree = addedUsdPerHour < 0.00005;
  if (satisfied === wanted)
    return isFree ? count : `${count}; they add ${usd(addedUsdPerHour)} and are worth ${usd(worthUsdPerHour)}`;
  return isFree
    ? `${count}; no plan satisfies more`
    : `${count}; a plan for all would add ${usd(addedUsdPerHour)} and satisfy preferences worth ${usd(worthUsdPerHour)}`;
}

/** Returns the decision with the pods and their preferences. */
export function groupText(group: PreferenceDecision): string {
  const [first = '', ...others] = group.pods;
  const pods = others.length === 0 ? first : `${first} and ${others.length} more`;
  return `${pods} (${group.preferences.join(', ')}): ${preferenceText(group)}`;
}

/** Maximum number of groups in a line of the log. */
const MOST_IN_LOG = 5;

/** Returns the decisions of a plan for the log. Undefined without preferences that have a price. */
export function preferencesText({ preferences }: Pick<Plan, 'preferences'>): string | undefined {
  const groups = preferences?.groups ?? [];
  if (groups.length === 0) return undefined;
  const more = groups.length > MOST_IN_LOG ? [`and ${groups.length - MOST_IN_LOG} more`] : [];
  return [...groups.slice(0, MOST_IN_LOG).map(groupText), ...more].join('; ');
}

/** Returns the texts about the preferences of pods, by namespaced name. */
export const preferenceTexts = (groups: readonly PreferenceDecision[] = []): ReadonlyMap<string, string> =>
  new Map(
    groups.flatMap((group) => {
      const text = `${group.preferences.join(', ')}: ${preferenceText(group)}`;
      return group.pods.map((pod) => [pod, text] as const);
    }),
  );
