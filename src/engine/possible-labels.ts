/** Labels that a node can have before it exists, compared with a selector. */
import { HOSTNAME_LABEL, type LabelSelector, type LabelSelectorRequirement, normalizeLabel } from '#api/objects';
import type { Requirements } from './requirements.ts';
import type { ValueSet } from './value-set.ts';

/** Domains of labels that Kubernetes, the cloud or the operator add to a node when it joins. */
const ADDED_LATER = /(^|\.)(kubernetes\.io|k8s\.io|k8s\.aws|karpenter\.sh|amazonaws\.com)\//;

/** Returns the possible values of a label, or undefined if they are unknown. An undeclared label is absent. */
function possibleValues(requirements: Requirements, key: string): ValueSet | 'absent' | undefined {
  if (key === HOSTNAME_LABEL) return undefined;
  if (requirements.has(key)) return requirements.get(key);
  return ADDED_LATER.test(key) ? undefined : 'absent';
}

const expressionsOf = ({
  matchLabels = {},
  matchExpressions = [],
}: LabelSelector): readonly LabelSelectorRequirement[] => [
  ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In' as const, values: [value] })),
  ...matchExpressions,
];

/** Returns true if the selector selects a node with some of the labels that the requirements allow. */
export const maySelect = (selector: LabelSelector, requirements: Requirements): boolean =>
  expressionsOf(selector).every((expression) => mayHold(expression, requirements));

/** Returns true if the selector selects a node with any labels that the requirements allow. */
export const alwaysSelects = (selector: LabelSelector, requirements: Requirements): boolean =>
  expressionsOf(selector).every((expression) => !mayHold(opposite(expression), requirements));

const OPPOSITES = { In: 'NotIn', NotIn: 'In', Exists: 'DoesNotExist', DoesNotExist: 'Exists' } as const;

const opposite = (expression: LabelSelectorRequirement): LabelSelectorRequirement => ({
  ...expression,
  operator: OPPOSITES[expression.operator],
});

function mayHold({ key, operator, values = [] }: LabelSelectorRequirement, requirements: Requirements): boolean {
  const possible = possibleValues(requirements, normalizeLabel(key));
  if (possible === undefined) return true;
  const mayBeAbsent = possible === 'absent' || possible.allowsAbsence;
  const isAbsent = possible === 'absent' || (!possible.complement && possible.values.size === 0);
  switch (operator) {
    case 'In':
      return !isAbsent && values.some((value) => possible.has(value));
    case 'NotIn':
      return mayBeAbsent || possible.complement || [...possible.values].some((value) => !values.includes(value));
    case 'Exists':
      return !isAbsent;
    case 'DoesNotExist':
      return mayBeAbsent;
  }
}
