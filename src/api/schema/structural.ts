/**
 * Processes objects of any CustomResourceDefinition as the API server does before it stores them: removes unknown fields, adds
 * defaults, and checks the schema, list types and rules.
 */
import { cloneJson, isObject, type JsonObject, own, put } from '#lib';
import { blocksRules, type Cause, duplicate, invalid, RULES_NOT_CHECKED, show } from './cause.ts';
import { checkSchema } from './check.ts';
import { fieldOf, mapKey, type OpenApiSchema, valuesOf } from './openapi.ts';
import { brokenRules, compileRules } from './rules.ts';

export type { Cause } from './cause.ts';

export interface StructuralSchema {
  /** Number of rules that are not evaluated because they call unsupported functions. */
  readonly unknownRules: number;
  /** Returns the object without undeclared fields, and the paths of these fields, such as `spec.bogus`. */
  prune<T>(object: T): { readonly object: T; readonly unknown: string[] };
  /** Returns a copy with defaults and without nulls that have no meaning. */
  applyDefaults<T>(object: T): T;
  /**
   * Returns `details.causes` of the 422 response of an API server. The list is empty if the object is valid.
   *
   * @param old the stored object that an update replaces. Transition rules compare with it, and errors in unchanged parts are
   *   ignored
   * @param part `status` for the status subresource, whose messages have paths relative to it
   * @param known errors of the object's metadata, which may prevent the evaluation of rules
   */
  validate(object: unknown, old?: unknown, part?: 'status', known?: readonly Cause[]): Cause[];
}

/**
 * Prepares `spec.versions[].schema.openAPIV3Schema` of a CustomResourceDefinition for use.
 *
 * @param scale `subresources.scale` of the same version, whose replica counts are checked
 * @throws {CelError} if a rule is not an expression.
 */
export function structuralSchema(openAPIV3Schema: unknown, scale?: ScalePaths): StructuralSchema {
  const schema = openAPIV3Schema as OpenApiSchema;
  return {
    unknownRules: compileRules(schema),
    prune: <T>(object: T) => prune(schema, object) as { object: T; unknown: string[] },
    applyDefaults: <T>(object: T) => withDefaults(schema, object) as T,
    validate: (object, old, part, known = []) => {
      const structural = [
        ...structuralFaults(schema, object, old, part),
        ...(scale ? scaleFaults(scale, object, part) : []),
        ...duplicates(schema, object, old),
      ];
      if ([...known, ...structural].some(blocksRules)) return [...structural, RULES_NOT_CHECKED];
      return [...structural, ...brokenRules(schema, object, old)];
    },
  };
}

function structuralFaults(schema: OpenApiSchema, object: unknown, old: unknown, part: 'status' | undefined): Cause[] {
  if (part === undefined) return checkSchema(schema, object, old);
  const inner = schema.properties?.[part];
  const value = isObject(object) ? object[part] : undefined;
  if (!inner || value === undefined) return [];
  return checkSchema(inner, value, isObject(old) ? old[part] : undefined, part);
}

/**
 * Finds duplicates in lists that are sets or have keys.
 * @param old the replaced value. Parts that are identical to it are not checked again.
 */
function duplicates(schema: OpenApiSchema | undefined, value: unknown, old?: unknown, path = ''): Cause[] {
  if (!schema || (value === old && typeof value === 'object')) return [];
  if (Array.isArray(value)) {
    return [
      ...findRepeated(schema, value, path),
      ...value.flatMap((item, index) => duplicates(schema.items, item, undefined, `${path}[${index}]`)),
    ];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, field]) => {
    const declared = schema.properties !== undefined && Object.hasOwn(schema.properties, key);
    const at = declared ? (path === '' ? key : `${path}.${key}`) : `${path}[${key}]`;
    return duplicates(fieldOf(schema, key), field, isObject(old) ? own(old, key) : undefined, at);
  });
}

function findRepeated(schema: OpenApiSchema, items: readonly unknown[], path: string): Cause[] {
  const listType = schema['x-kubernetes-list-type'];
  if (listType !== 'set' && listType !== 'map') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const misfit = listType === 'map' ? items.findIndex((item) => item !== null && !isObject(item)) : -1;
  if (misfit >= 0) {
    return [invalid(`${path}[${misfit}]`, items[misfit], 'must be an object for an array of list-type map')];
  }
  const times = new Map<string, number>();
  return items.flatMap((item, index) => {
    const identity = listType === 'map' ? mapKey(item, keys) : show(item);
    const time = (times.get(identity) ?? 0) + 1;
    times.set(identity, time);
    // only the first repetition is reported
    return time === 2 ? [duplicate(`${path}[${index}]`, identity)] : [];
  });
}

/** Returns a copy of the object with defaults and without nulls that have no meaning, as the API server stores it. */
const withDefaults = (schema: OpenApiSchema, value: unknown): unknown =>
  withoutNulls(schema, fillDefaults(schema, value));

function fillDefaults(schema: OpenApiSchema | undefined, value: unknown): unknown {
  if (!schema) return value;
  if (Array.isArray(value)) return value.map((item) => fillDefaults(schema.items, orDefault(schema.items, item)));
  if (!isObject(value)) return value;
  const fields: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(value)) {
    const known = fieldOf(schema, key);
    put(fields, key, fillDefaults(known, orDefault(known, field)));
  }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (property.default !== undefined && !Object.hasOwn(fields, key)) {
      put(fields, key, fillDefaults(property, cloneJson(property.default)));
    }
  }
  return fields;
}

const orDefault = (schema: OpenApiSchema | undefined, value: unknown): unknown =>
  value === null && schema?.default !== undefined && !schema.nullable ? cloneJson(schema.default) : value;

function withoutNulls(schema: OpenApiSchema | undefined, value: unknown): unknown {
  if (!schema) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(schema.items, item));
  if (!isObject(value)) return value;
  const fields: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(value)) {
    const known = fieldOf(schema, key) ?? valuesOf(schema);
    if (field === null && known && !known.nullable) continue;
    put(fields, key, withoutNulls(known, field));
  }
  return fields;
}

const RESOURCE_FIELDS = new Set(['apiVersion', 'kind', 'metadata']);

/** Returns a copy of the object without undeclared fields, and their sorted paths. */
function prune(schema: OpenApiSchema, value: unknown): { object: unknown; unknown: string[] } {
  const unknown: string[] = [];
  return { object: pruneValue(schema, value, '', unknown, true), unknown: unknown.sort() };
}

function pruneValue(
  schema: OpenApiSchema,
  value: unknown,
  path: string,
  unknown: string[],
  isResource: boolean,
): unknown {
  if (Array.isArray(value)) {
    const items = schema.items ?? {};
    const embedded = items['x-kubernetes-embedded-resource'] === true;
    return value.map((item, index) => pruneValue(items, item, `${path}[${index}]`, unknown, embedded));
  }
  return isObject(value) ? prunedObject(schema, value, path, unknown, isResource) : value;
}

function prunedObject(
  schema: OpenApiSchema,
  value: JsonObject,
  path: string,
  unknown: string[],
  isResource: boolean,
): JsonObject {
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
  const kept: [string, unknown][] = [];
  for (const [key, field] of Object.entries(value)) {
    const at = path === '' ? key : `${path}.${key}`;
    const known = fieldOf(schema, key);
    if (isResource && RESOURCE_FIELDS.has(key)) kept.push([key, field]);
    else if (known) {
      kept.push([key, pruneValue(known, field, at, unknown, known['x-kubernetes-embedded-resource'] === true)]);
    } else if (open) kept.push([key, field]);
    else unknown.push(at);
  }
  return Object.fromEntries(kept);
}

/** `subresources.scale` of a CustomResourceDefinition. */
interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath?: string;
}

const MAX_INT32 = 2 ** 31 - 1;

/** Returns the errors of replica counts. Writes of the status do not check the desired count. */
const scaleFaults = (
  { specReplicasPath, statusReplicasPath }: ScalePaths,
  object: unknown,
  part: 'status' | undefined,
): Cause[] => [
  ...(part === 'status' ? [] : faultsAt(specReplicasPath, object)),
  ...(statusReplicasPath === undefined ? [] : faultsAt(statusReplicasPath, object)),
];

function faultsAt(path: string, object: unknown): Cause[] {
  const accessorFault = (value: unknown, expected: string): Cause[] => [
    invalid(
      path,
      0,
      `${path} accessor error: ${formatValue(value)} is of the type ${goType(value)}, expected ${expected}`,
    ),
  ];
  let value = object;
  for (const key of path.split('.').filter((part) => part !== '')) {
    if (value === undefined || value === null) return [];
    if (!isObject(value)) return accessorFault(value, 'map[string]interface{}');
    value = own(value, key);
  }
  if (value === undefined) return [];
  if (typeof value !== 'number' || !Number.isInteger(value)) return accessorFault(value, 'int64');
  if (value < 0) return [invalid(path, value, 'should be a non-negative integer')];
  return value > MAX_INT32 ? [invalid(path, value, `should be less than or equal to ${MAX_INT32}`)] : [];
}

const formatValue = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value));

function goType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (isObject(value)) return 'map[string]interface {}';
  if (value === null) return '<nil>';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
}
