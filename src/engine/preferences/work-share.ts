/**
 * Limits the preferences that a solve compares. Their work grows with the number of different preferences multiplied by the
 * number of different pods that each of them counts. Namespaces share the work, so that a namespace with thousands of different
 * preferences only loses its own.
 */

import type { EnginePod } from '../input.ts';
import { namespaceOf } from '../pods.ts';
import { Requirements } from '../requirements.ts';
import type { CompiledSnapshot } from '../solver/compiled-snapshot.ts';
import { ByLabels } from '../topology/running-pods.ts';
import { preferencesOf } from './preferences.ts';

/** Maximum number of pairs of a preference and a group of equal pods that it counts. */
export const MOST_PAIRS = 500_000;

/** Returns the pods whose preferences exceed the limit. @param groups lists of equal pods */
export function beyondLimit(
  { topology }: Pick<CompiledSnapshot, 'topology'>,
  groups: readonly (readonly EnginePod[])[],
  most = MOST_PAIRS,
): readonly EnginePod[] {
  const wishes = groups.reduce((sum, [pod]) => sum + (pod === undefined ? 0 : preferencesOf(pod).length), 0);
  if (wishes * groups.length <= most) return [];
  const byLabels = new ByLabels<true[]>();
  for (const [pod] of groups) if (pod !== undefined) byLabels.set(pod, [...(byLabels.get(pod) ?? []), true]);
  const pairsOf = (pod: EnginePod): number => {
    const rules = topology.ownRulesOf(pod);
    return preferencesOf(pod).reduce((sum, { rule }) => {
      const own = rule instanceof Requirements ? undefined : rules[rule];
      return sum + 1 + (own === undefined ? 0 : byLabels.countedBy(own.rule).flat().length);
    }, 0);
  };
  const byNamespace = [...Map.groupBy(groups, ([pod]) => (pod === undefined ? '' : namespaceOf(pod))).values()];
  const beyond: EnginePod[] = [];
  let left = most;
  for (const [at, own] of byNamespace.toSorted((a, b) => a.length - b.length).entries()) {
    let allowance = left / (byNamespace.length - at);
    for (const pods of own) {
      const [pod] = pods;
      const pairs = pod === undefined || allowance <= 0 ? Number.POSITIVE_INFINITY : pairsOf(pod);
      allowance -= pairs;
      if (allowance < 0) beyond.push(...pods);
      else left -= pairs;
    }
  }
  return beyond;
}
