/** Converts the controller's policies of any release to the current policies. */
import type { Notes } from '../notes.ts';
import { type Difference, policyDifferences } from './compare.ts';
import { type OwnStatement, ownPart } from './own-statements.ts';
import { type GivenParameters, type PolicyParameters, parametersOf } from './parameters.ts';
import { type NamedPolicy, policiesFor } from './policies.ts';
import { actionsOf, coversAction, type SourceStatement } from './statements.ts';

interface ConvertedPolicies {
  readonly policies: readonly NamedPolicy[];
  readonly differences: readonly Difference[];
}

/** Maximum length of a managed policy in IAM, in characters without white space. */
const MOST_CHARACTERS = 6144;

/** @param where place in notes that concern all policies */
export function convertPolicies(
  old: readonly SourceStatement[],
  given: GivenParameters,
  { notes, where }: { readonly notes: Notes; readonly where: string },
): ConvertedPolicies {
  const note = notes.on(where);
  const parameters = parametersOf(
    old.map(({ statement }) => statement),
    given,
    (name, text, flag) => note('assumed', [name], `${text}; set it with ${flag}`),
  );
  const own = old.flatMap((source) => ownPart(source) ?? []);
  for (const { where: place, why } of own) notes.on(place)('changed', [], `kept unchanged: ${why}`);
  const policies = [...policiesFor(parameters), ...ownPolicy(own, parameters)];
  for (const { name, document } of policies) {
    const size = JSON.stringify(document).length;
    if (size > MOST_CHARACTERS)
      note('lost', [name], `has ${size} characters, but IAM allows ${MOST_CHARACTERS} in a managed policy; split it`);
  }
  const isKept = (action: string): boolean =>
    own.some(({ statement }) => actionsOf(statement).some((pattern) => coversAction(pattern, action)));
  return { policies, differences: policyDifferences(old, policies.slice(0, own.length > 0 ? -1 : undefined), isKept) };
}

/**
 * Returns a separate policy for statements of the owner, so that the remaining policies can be compared with the next
 * release.
 */
function ownPolicy(own: readonly OwnStatement[], { clusterName }: PolicyParameters): readonly NamedPolicy[] {
  if (own.length === 0) return [];
  const Statement = own.map(({ statement }) => statement);
  return [{ name: `KarpenterControllerOwnPolicy-${clusterName}`, document: { Version: '2012-10-17', Statement } }];
}
