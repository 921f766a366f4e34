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
