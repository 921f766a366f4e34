/** Parts of the local AWS catalogue, because parsing all types would take most of a test's time. */

import { type Catalogue, standardZones } from '#local/aws';
import { ruleBuiltCatalogue } from '#local/machines';

/** Returns all types in the default zones of the local AWS. */
export const wholeCatalogue = (): Catalogue => ruleBuiltCatalogue(standardZones('us-west-2'), 1);

/** Returns the types whose names match the pattern. */
export function catalogueOf(names: RegExp): Catalogue {
  const whole = wholeCatalogue();
  return { ...whole, types: whole.types.filter(({ InstanceType = '' }) => names.test(InstanceType)) };
}
