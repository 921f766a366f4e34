/** Computes instance types with the prices that one more instance adds to the bill. */
import { CAPACITY_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import { requirementsOf } from '../instance-types.ts';
import type { InstanceType, Offering } from '../model.ts';
import type { Usage } from './commitment.ts';
import { type Ledger, marginalPrice } from './ledger.ts';

/** Returns an on-demand offering as usage for commitments, or undefined for other capacity types. */
export function usageOfOffering(instanceType: string, offering: Offering): Usage | undefined {
  const requirements = requirementsOf(offering);
  if (!requirements.get(CAPACITY_TYPE_LABEL).values.has('on-demand')) return undefined;
  const { usdPerHour, listUsdPerHour = usdPerHour } = offering;
  return { instanceType, zone: requirements.get(ZONE_LABEL).any(), usdPerHour, listUsdPerHour };
}

/** Returns the on-demand offerings of a type in a list. */
export const onDemandUsages = (types: readonly InstanceType[], name: string): readonly Usage[] =>
  (types.find((type) => type.name === name)?.offerings ?? []).flatMap(
    (offering) => usageOfOffering(name, offering) ?? [],
  );

/** Cached lists by unused commitments, because a search computes the same lists again and again. */
const known = new WeakMap<readonly InstanceType[], Map<string, readonly InstanceType[]>>();
/** Maximum number of cached lists for each original list. */
const MOST_KEPT = 32;

/**
 * Returns the types with their on-demand offerings at marginal prices. Types without coverage stay the same objects. If no type
 * has coverage, the list stays the same object.
 */
export function coveredTypes(types: readonly InstanceType[], ledger: Ledger): readonly InstanceType[] {
  if (ledger.isEmpty) return types;
  const lists = known.get(types) ?? new Map<string, readonly InstanceType[]>();
  known.set(types, lists);
  const key = `${ledger.rest.map(({ name }) => name).join('\n')}\n${ledger.identity}`;
  const found = lists.get(key) ?? repriced(types, ledger);
  if (lists.size >= MOST_KEPT) lists.clear();
  lists.set(key, found);
  return found;
}

function repriced(types: readonly InstanceType[], ledger: Ledger): readonly InstanceType[] {
  let isSame = true;
  const made = types.map((type) => {
    const offerings = type.offerings.map((offering) => {
      const usage = usageOfOffering(type.name, offering);
      const cover = usage && ledger.cover(usage);
      return usage === undefined || cover === undefined
        ? offering
        : { ...offering, usdPerHour: marginalPrice(usage, cover) };
    });
    if (offerings.every((offering, at) => offering === type.offerings[at])) return type;
    isSame = false;
    return { ...type, offerings };
  });
  return isSame ? types : made;
}
