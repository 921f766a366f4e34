/** Adds the selector that matched nothing to the message of a condition, because the message itself is Karpenter's. */
import type { Condition, KubeObject } from './kubernetes.ts';

/** Fields of selector terms by the reason of the condition. */
const FIELDS: ReadonlyMap<string | undefined, string> = new Map<string | undefined, string>([
  ['SubnetsNotFound', 'subnetSelectorTerms'],
  ['SecurityGroupsNotFound', 'securityGroupSelectorTerms'],
  ['AMINotFound', 'amiSelectorTerms'],
]);

type SelectorTerm = Readonly<Record<string, unknown>>;

/** Returns the condition with the selector in its message if the reason is that the selector matched nothing. */
export function withSelector(object: KubeObject, condition: Condition): Condition {
  const field = FIELDS.get(condition.reason);
  if (field === undefined) return condition;
  const { spec } = object as { readonly spec?: Readonly<Record<string, readonly SelectorTerm[] | undefined>> };
  const text = selectorText(spec?.[field] ?? []);
  return text === '' ? condition : { ...condition, message: `${condition.message}: ${text}` };
}

/** Returns the terms as `tag team=a and id subnet-1, or name nodes`. */
const selectorText = (terms: readonly SelectorTerm[]): string =>
  terms
    .map((term) =>
      Object.entries(term)
        .flatMap(([field, value]) =>
          typeof value === 'object' && value !== null
            ? Object.entries(value).map(([key, tag]) => `tag ${key}=${tag}`)
            : [`${field} ${value}`],
        )
        .join(' and '),
    )
    .join(', or ');
