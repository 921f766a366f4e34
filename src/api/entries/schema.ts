export { customResourceDefinition, customResourceDefinitions, DECLARATIONS } from '../crds.ts';
export {
  type Cause,
  invalid,
  notSupported,
  RULES_NOT_CHECKED,
  requiredValue,
  show,
  tooLong,
  tooMany,
} from '../schema/cause.ts';
export { celValue, type Expression, expressionCompiler } from '../schema/cel.ts';
export { CostError, countingCompiler, withinCost } from '../schema/cel-cost.ts';
export { nodesOf } from '../schema/cel-nodes.ts';
export { matchesInserts, registerMatches, withInserts } from '../schema/celfunctions.ts';
export { checkSchema } from '../schema/check.ts';
export {
  choice,
  type Declared,
  exampleOf,
  integer,
  list,
  number,
  object,
  optional,
  text,
  time,
} from '../schema/declare.ts';
export { formatValue, infinite, unknownFields } from '../schema/file-faults.ts';
export type { OpenApiSchema } from '../schema/openapi.ts';
export { regularExpression } from '../schema/regexp.ts';
export { type StructuralSchema, structuralSchema } from '../schema/structural.ts';
