/** Section `spot` of a NodePolicy: use of spot capacity. */
import { type Declared, int32, object, optional, rule, text } from './schema/declare.ts';

/** A share of at most 100 %. */
const PART = '^(100|[0-9]{1,2}(\\.[0-9]{1,2})?)%$';

export const spotSection = object(
  {
    maxPrice: optional(
      text({
        description:
          'Maximum price of spot offerings as a share of the on-demand price of their instance type, such as `60%`. Nodes are not launched with more expensive offerings. Nodes that exist are kept.',
        pattern: PART,
      }),
    ),
    consolidationTypes: optional(
      int32({
        description:
          'Number of cheaper instance types that the replacement of a spot node by a spot node must have, and with which it is launched. Default: 15.',
        minimum: 1,
        maximum: 60,
      }),
    ),
  },
  {
    description: 'Use of spot capacity.',
    rules: [
      rule(
        'has(self.maxPrice) || has(self.consolidationTypes)',
        "at least one of 'maxPrice' and 'consolidationTypes' must be set",
      ),
    ],
  },
);

export type SpotSection = Declared<typeof spotSection>;
