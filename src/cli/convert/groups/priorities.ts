/** Converts priorities of cluster-autoscaler's expander to weights of NodePools. */

import { parse } from 'yaml';
import { regularExpression } from '../../../api/schema/regexp.ts';
import type { Field } from '../../../lib/field.ts';
import { InputError, messageOf } from '../../objects/errors.ts';
import type { TakeNote } from '../notes.ts';
import type { DocumentPart } from './document-part.ts';
import { textOf } from './fields.ts';
import type { NodeGroup } from './node-group.ts';

const MOST_WEIGHT = 100;

/** Patterns by priority, highest priority first. */
type Priorities = readonly (readonly [priority: number, patterns: readonly string[]])[];

/** Sets the weight of each group to the first priority with a pattern that matches the group's name. */
export function applyPriorities(
  groups: readonly NodeGroup[],
  { field, path: own }: DocumentPart,
  note: TakeNote,
): void {
  const path = own.length > 0 ? own : ['data', 'priorities'];
  const priorities = readPriorities(field.at('data').at('priorities'));
  const weights = weightsOf(priorities.map(([priority]) => priority));
  for (const group of groups) {
    const found = priorities.find(([, patterns]) => patterns.some((one) => regularExpression(one).test(group.name)));
    if (found === undefined) {
      note(
        'lost',
        path,
        `no pattern matches ${group.name}; cluster-autoscaler would not select this group, and the NodePool has no weight`,
      );
      continue;
    }
    group.weight = weights.get(found[0]);
    group.onPool('changed', [], `priority ${found[0]} of cluster-autoscaler`, ['spec', 'weight']);
  }
  if (groups.length > 0)
    note(
      'changed',
      path,
      'priorities become weights: of two NodePools that a pod fits, the one with the higher weight is used',
    );
}

function readPriorities(field: Field): Priorities {
  try {
    const priorities = prioritiesIn(textOf(field) ?? '');
    for (const pattern of priorities.flatMap(([, patterns]) => patterns)) regularExpression(pattern);
    return priorities;
  } catch (error) {
    if (error instanceof InputError) throw error;
    return field.fail(`cannot be parsed as priorities with patterns: ${messageOf(error).split('\n', 1)[0]}`);
  }
}

function prioritiesIn(text: string): Priorities {
  const value = parse(text, { maxAliasCount: 0 }) as unknown;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('expected `10: [pattern]`');
  return Object.entries(value)
    .map(([priority, patterns]) => {
      if (!/^\d{1,9}$/.test(priority)) throw new Error(`${priority} is not a number`);
      if (!Array.isArray(patterns)) throw new Error(`${priority} has no list of patterns`);
      return [Number(priority), patterns.map(String)] as const;
    })
    .sort(([a], [b]) => b - a);
}

/** Maps priorities to weights. If a priority is not a valid weight, uses the order of the priorities instead. */
function weightsOf(priorities: readonly number[]): ReadonlyMap<number, number> {
  const distinct = [...new Set(priorities)].sort((a, b) => a - b);
  const fit = distinct.every((priority) => priority >= 1 && priority <= MOST_WEIGHT);
  return new Map(distinct.map((priority, index) => [priority, fit ? priority : Math.min(MOST_WEIGHT, index + 1)]));
}
