/** Parts that the schemas of several outputs share. */
import { Type } from 'typebox';

export const time = (description: string) => Type.String({ format: 'date-time', description });
export const text = (description: string) => Type.String({ description });
export const texts = (description: string) => Type.Array(Type.String(), { description });
export const usd = (description: string) => Type.Number({ description });
export const count = (description: string) => Type.Integer({ minimum: 0, description });

export const OBJECT_NAME = Type.Object(
  { kind: Type.String(), namespace: Type.Optional(Type.String()), name: Type.String() },
  { description: 'An object of the cluster' },
);

export const REQUIREMENT = Type.Object(
  {
    key: Type.String(),
    operator: Type.Enum(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte']),
    values: Type.Optional(Type.Array(Type.String())),
    minValues: Type.Optional(Type.Integer()),
  },
  { description: 'A requirement on a label, as in a NodePool' },
);

export const UNKNOWN = texts('Unknown facts on which the result depends; absent if there are none');

/** Comparison of the benefit of a move with its price. */
export const WORTH = Type.Optional(
  Type.Object(
    {
      netUsdPerHour: usd('Savings in USD per hour, with planning figures'),
      billedUsdPerHour: Type.Optional(usd('Savings on the bill in USD per hour, if planning figures change them')),
      hours: Type.Number({ description: 'Expected duration of the savings' }),
      benefitUsd: usd('Expected savings'),
      evictionsUsd: usd('Price of the evictions'),
      lostWorkUsd: usd('Price of work that Jobs do again'),
      endedJobsUsd: usd('Price of the work of all running pods of Jobs that the evictions end'),
      startUsd: usd('Price of the time in which pods and replacements start'),
      keptUsd: usd('Price of other nodes with Jobs, for the time that moved pods keep them after the Jobs'),
      priceUsd: usd('Sum of these prices'),
      neededUsd: usd('Benefit that the move needs: its price, or twice its price under the policy Balanced'),
      pods: count('Pods that are evicted'),
    },
    { description: 'Comparison of the benefit of the move with its price; absent if moves have no price' },
  ),
);
