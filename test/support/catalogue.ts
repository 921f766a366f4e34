/** Parts of the local AWS catalogue, because parsing all types would take most of a test's time. */
import { ruleBuiltCatalogue } from '../../src/local/aws/catalogue/catalogue.ts';
import { standardZones } from '../../src/local/aws/open-account.ts';
import type { Catalogue } from '../../src/local/aws/options.ts';

/** Returns all types in the default zones of the local AWS. */
export const wholeCatalogue = (): Catalogue => ruleBuiltCatalogue(standardZones('us-west-2'), 1);

/** Returns the types whose names match the pattern. */
export function catalogueOf(names: RegExp): Catalogue {
  const whole = wholeCatalogue();
  return { ...whole, types: whole.types.filter(({ InstanceType = '' }) => names.test(InstanceType)) };
}
