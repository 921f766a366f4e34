/** Evaluates the rules (`x-kubernetes-validations`) of a schema on an object and all its parts. */

import { isObject, sameJson, tryRun } from '#lib';
import { type Cause, duplicate, invalid, invalidWhole, requiredValue, show } from './cause.ts';
import { absent, CelError, celValue, compile, type Program, present } from './cel.ts';
import type { CelRule } from './declare.ts';
import { counterpartIn, fieldOf, type OpenApiSchema } from './openapi.ts';

interface CompiledRule extends CelRule {
  readonly program: Program;
  readonly explain: Program | undefined;
}

/** Compiled rules by schema, compiled on first use. */
const compiledRules = new WeakMap<OpenApiSchema, readonly CompiledRule[]>();
const carriers = new WeakMap<OpenApiSchema, boolean>();
/** True for schemas with transition rules. */
const comparers = new WeakMap<OpenApiSchema, boolean>();
/** Transition rule that an unchanged value satisfies. */
const UNCHANGED = 'self == oldSelf';

/** Returns the rules that a value violates. Transition rules are satisfied if there is no earlier state. */
export const brokenRules = (schema: OpenApiSchema, value: unknown, old?: unknown): Cause[] =>
  walk(schema, value, old, '');

function walk(schema: OpenApiSchema | undefined, value: unknown, old: unknown, path: string): Cause[] {
  if (!schema || value === null || !carriesRules(schema)) return [];
  // an unchanged part satisfies all rules except transition rules, because it was valid when it was stored
  if (value === old && typeof value === 'object' && !compares(schema)) return [];
  const own = rulesOf(schema).flatMap((rule) => evaluate(rule, schema, value, old, path));
  if (Array.isArray(value)) {
    const before = counterpartIn(schema, old);
    return [...own, ...value.flatMap((item, index) => walk(schema.items, item, before(item), `${path}[${index}]`))];
  }
  if (!isObject(value)) return own;
  const before = isObject(old) ? old : {};
  const inner = Object.entries(value).flatMap(([key, field]) => {
    const declared = schema.properties !== undefined && Object.hasOwn(schema.properties, key);
    const at = declared ? join(path, key) : `${path}[${key}]`;
    return walk(fieldOf(schema, key), field, Object.hasOwn(before, key) ? before[key] : undefined, at);
  });
  return [...own, ...inner];
}

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

/**
 * Compiles every rule of a schema, so that an invalid rule is reported before the first object. Returns the number of rules that
 * are not evaluated because they call unsupported functions.
 *
 * @throws {CelError} if a rule is not an expression.
 */
export function compileRules(schema: OpenApiSchema): number {
  const own = rulesOf(schema).filter(({ program }) => !program.isKnown).length;
  return partsOf(schema).reduce((sum, inner) => sum + compileRules(inner), own);
}

const partsOf = ({ items, properties, additionalProperties }: OpenApiSchema): OpenApiSchema[] =>
  [items, ...Object.values(properties ?? {}), additionalProperties].filter(isObject);

function carriesRules(schema: OpenApiSchema): boolean {
  const known = carriers.get(schema);
  if (known !== undefined) return known;
  const found = (schema['x-kubernetes-validations'] ?? []).length > 0 || partsOf(schema).some(carriesRules);
  carriers.set(schema, found);
  return found;
}

function compares(schema: OpenApiSchema): boolean {
  const known = comparers.get(schema);
  if (known !== undefined) return known;
  const found = rulesOf(schema).some(({ program }) => program.usesOldSelf) || partsOf(schema).some(compares);
  comparers.set(schema, found);
  return found;
}

function rulesOf(schema: OpenApiSchema): readonly CompiledRule[] {
  const known = compiledRules.get(schema);
  if (known) return known;
  const rules = (schema['x-kubernetes-validations'] ?? []).map((rule) => ({
    ...rule,
    program: compile(rule.rule),
    explain: rule.messageExpression === undefined ? undefined : compile(rule.messageExpression),
  }));
  compiledRules.set(schema, rules);
  return rules;
}

function evaluate(rule: CompiledRule, schema: OpenApiSchema, value: unknown, old: unknown, path: string): Cause[] {
  const { program, optionalOldSelf } = rule;
  if (!program.isKnown) return [];
  if (program.usesOldSelf && old === undefined && !optionalOldSelf) return [];
  if (!program.usesOldSelf && old !== undefined && sameJson(value, old)) return [];
  if (value === old && rule.rule === UNCHANGED && !optionalOldSelf) return [];
  const self = celValue(schema, value);
  const oldSelf = earlier(schema, old, optionalOldSelf === true);
  try {
    return program.run(self, oldSelf) === true ? [] : [causeOf(rule, value, self, oldSelf, path)];
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return [invalid(path, typeOf(value), `${error.message} evaluating rule: ${rule.message ?? rule.rule}`)];
  }
}

function earlier(schema: OpenApiSchema, old: unknown, optional: boolean): unknown {
  if (!optional) return celValue(schema, old);
  return old === undefined ? absent() : present(celValue(schema, old));
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' ? 'integer' : typeof value;
}

function causeOf(rule: CompiledRule, value: unknown, self: unknown, oldSelf: unknown, path: string): Cause {
  const detail = messageOfRule(rule, self, oldSelf) ?? rule.message ?? `failed rule: ${rule.rule}`;
  const field = path + (rule.fieldPath ?? '');
  switch (rule.reason) {
    case 'FieldValueRequired':
      return requiredValue(field, detail);
    case 'FieldValueForbidden':
      return { field, reason: rule.reason, message: `Forbidden: ${detail}` };
    case 'FieldValueDuplicate':
      return duplicate(field, show(value));
    default:
      return typeof value === 'object' ? invalidWhole(field, detail) : invalid(field, value, detail);
  }
}

/** Returns the message of an expression, or undefined if it fails or returns no message. */
function messageOfRule(rule: CompiledRule, self: unknown, oldSelf: unknown): string | undefined {
  const text = tryRun(() => rule.explain?.run(self, oldSelf));
  return typeof text === 'string' && text.trim() !== '' && !text.includes('\n') ? text : undefined;
}
