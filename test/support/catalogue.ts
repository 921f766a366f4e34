/** Parts of the local AWS's catalogue. Most of the time of a test with all of its types would go to parsing them. */
import { ruleBuiltCatalogue } from '../../src/local/aws/catalogue/catalogue.ts';
import { standardZones } from '../../src/local/aws/open-account.ts';
import type { Catalogue } from '../../src/local/aws/options.ts';

/** All types, in the zones that the local AWS has by default. */
export const wholeCatalogue = (): Catalogue => ruleBuiltCatalogue(standardZones('us-west-2'), 1);

/** The types whose names match the pattern. */
export function catalogueOf(names: RegExp): Catalogue {
  const whole = wholeCatalogue();
  return { ...whole, types: whole.types.filter(({ InstanceType = '' }) => names.test(InstanceType)) };
}
