/** Section `spot` of NodePolicies, for NodePools and for launches. */
import { type NodePolicy, type NodePool, sectionFor } from '#api/objects';
import { shareOf, spotWaitMs } from '#api/values';
import { type InstanceType, type SpotTerms, withinSpotPrice } from '#engine/model';
import { defined, remembering } from '#lib';

/** Cached by policy, so that derived data can be cached by object. */
const termsOf = remembering(({ metadata, spec: { spot = {} } }: NodePolicy): SpotTerms => {
  const { maxPrice, consolidationTypes, share } = spot;
  return {
    policy: metadata.name,
    ...defined({
      maxPrice: shareOf(maxPrice),
      consolidationTypes,
      share: shareOf(share),
      onDemandAfterMs: spotWaitMs(spot),
    }),
  };
});

/** Returns the terms of a NodePool, or undefined if no policy sets them. */
export function spotTermsOf(nodePool: NodePool, policies: readonly NodePolicy[]): SpotTerms | undefined {
  const found = sectionFor(policies, nodePool, 'spot');
  return found && termsOf(found.policy);
}

/** Lists of types by their original list and by the terms. */
const lists = new WeakMap<readonly InstanceType[], WeakMap<SpotTerms, readonly InstanceType[]>>();

/** Returns the instance types that launches may use. Returns one list for equal arguments, because results are cached by list. */
export function launchableTypes(types: readonly InstanceType[], terms: SpotTerms | undefined): readonly InstanceType[] {
  if (terms?.maxPrice === undefined) return types;
  const known = lists.get(types) ?? new WeakMap<SpotTerms, readonly InstanceType[]>();
  lists.set(types, known);
  const found = known.get(terms) ?? withinSpotPrice(types, terms);
  known.set(terms, found);
  return found;
}
