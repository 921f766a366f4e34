/** Validates values with the OpenAPI keywords of a schema. Ignores errors that an update does not change. */

import { isObject, type JsonObject, own, sameJson } from '#lib';
import { type Cause, invalid, NO_FIELD, notSupported, requiredValue, tooLong, tooMany, typeInvalid } from './cause.ts';
import { counterpartIn, fieldOf, type OpenApiSchema } from './openapi.ts';
import { regularExpression } from './regexp.ts';

/** Position of a value. Messages have its path within the checked part, fields its path within the object. */
interface Place {
  readonly base: string;
  readonly path: string;
}

const fieldAt = ({ base, path }: Place): string => (base === '' ? path : path === '' ? base : `${base}.${path}`);
const child = ({ base, path }: Place, key: string): Place => ({ base, path: path === '' ? key : `${path}.${key}` });
const item = ({ base, path }: Place, index: number): Place => ({ base, path: `${path}[${index}]` });

/**
 * Returns the errors of a value.
 *
 * @param base path of the value within its object, if only a part of the object is checked
 * @param old the replaced value, if there is one
 */
export const checkSchema = (schema: OpenApiSchema, value: unknown, old?: unknown, base = ''): Cause[] =>
  check(schema, value, { base, path: '' }, old);

function check(schema: OpenApiSchema, value: unknown, at: Place, old: unknown): Cause[] {
  if (old !== undefined && sameJson(value, old)) return [];
  if (value === null)
    return schema.nullable ? [] : [...typeFaults(schema, value, at), ...enumFaults(schema, value, at)];
  return [
    ...typeFaults(schema, value, at),
    ...combinationFaults(schema, value, at),
    ...scalarFaults(schema, value, at),
    ...(Array.isArray(value) ? listFaults(schema, value, at, old) : []),
    ...enumFaults(schema, value, at),
    ...(isObject(value) ? objectFaults(schema, value, at, old) : []),
  ];
}

/** Larger integers are parsed as floating-point numbers. */
const isInt64 = (value: number): boolean => Number.isInteger(value) && Math.abs(value) < 2 ** 63;

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return isInt64(value) ? 'integer' : 'number';
  return typeof value;
}

/** Names of types in messages if the schema has a format. */
const FORMAT_NAMES: Readonly<Record<string, string>> = { number: 'float64', integer: 'int64', boolean: '', object: '' };

function typeFaults(schema: OpenApiSchema, value: unknown, at: Place): Cause[] {
  const expected = schema['x-kubernetes-int-or-string'] ? ['integer', 'string'] : schema.type ? [schema.type] : [];
  const actual = typeName(value);
  // the API server accepts a list for a string with a format
  if (Array.isArray(value) && schema.type === 'string' && schema.format !== undefined) return [];
  const fits =
    expected.length === 0 || expected.includes(actual) || (actual === 'integer' && expected.includes('number'));
  if (fits) return [];
  const name = schema.format === undefined ? undefined : own(FORMAT_NAMES, actual);
  const wanted = name === undefined ? expected.join(',') : schema.format;
  const given = name ?? actual;
  return [typeInvalid(fieldAt(at), given, `${at.path} in body must be of type ${wanted}: "${given}"`)];
}

const enumFaults = (schema: OpenApiSchema, value: unknown, at: Place): Cause[] =>
  schema.enum && !schema.enum.some((allowed) => sameJson(allowed, value))
    ? [notSupported(fieldAt(at), value, schema.enum)]
    : [];

function combinationFaults(schema: OpenApiSchema, value: unknown, at: Place): Cause[] {
  const faults: Cause[] = [];
  const tries = (options: readonly OpenApiSchema[] | undefined) =>
    (options ?? []).map((option) => check(option, value, at, undefined));
  const whole = (detail: string): Cause => invalid(NO_FIELD, '', `${JSON.stringify(at.path)} ${detail}`);
  const any = tries(schema.anyOf);
  if (any.length > 0 && any.every((found) => found.length > 0)) {
    faults.push(whole('must validate at least one schema (anyOf)'), ...(any[0] ?? []));
  }
  const one = tries(schema.oneOf);
  if (one.length > 0 && one.filter((found) => found.length === 0).length !== 1) {
    faults.push(whole('must validate one and only one schema (oneOf)'));
  }
  const all = tries(schema.allOf).flat();
  if (all.length > 0) faults.push(whole('must validate all the schemas (allOf)'), ...all);
  if (schema.not && check(schema.not, value, at, undefined).length === 0) {
    faults.push(whole('must not validate the schema (not)'));
  }
  return faults;
}

function scalarFaults(schema: OpenApiSchema, value: unknown, at: Place): Cause[] {
  if (typeof value === 'string') return textFaults(schema, value, at);
  return typeof value === 'number' ? numberFaults(schema, value, at) : [];
}

function textFaults(schema: OpenApiSchema, value: string, at: Place): Cause[] {
  const { maxLength, minLength, pattern, format } = schema;
  const field = fieldAt(at);
  const length = [...value].length;
  const formatFaults =
    format !== undefined && own(FORMATS, format)?.(value) === false
      ? [typeInvalid(field, value, `${at.path} in body must be of type ${format}: ${JSON.stringify(value)}`)]
      : [];
  if (maxLength !== undefined && length > maxLength) return [tooLong(field, maxLength), ...formatFaults];
  if (minLength !== undefined && length < minLength) {
    return [invalid(field, value, `${at.path} in body should be at least ${minLength} chars long`), ...formatFaults];
  }
  if (pattern !== undefined && !regularExpression(pattern).test(value)) {
    return [invalid(field, value, `${at.path} in body should match '${pattern}'`), ...formatFaults];
  }
  return formatFaults;
}

const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d+)?([Zz]|[+-]\d{2}:?\d{2})$/;

function isDateTime(value: string): boolean {
  const [, year, month, day, hour, minute, second] = (RFC3339.exec(value) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const inDay = (hour ?? 24) < 24 && (minute ?? 60) < 60 && (second ?? 60) < 60;
  return month >= 1 && month <= 12 && day >= 1 && day <= lastDay && inDay;
}

const IPV4 = /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(?!$)|$)){4}$/;

/** Formats that the API server validates. It accepts any text for other formats. */
const FORMATS: Readonly<Record<string, (value: string) => boolean>> = {
  'date-time': isDateTime,
  datetime: isDateTime,
  date: (value) => isDateTime(`${value}T00:00:00Z`),
  byte: (value) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value),
  ipv4: (value) => IPV4.test(value),
  uuid: (value) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(value),
};

/** Returns true if the schema has no integer type, or if the number is in its range. */
function isInRange({ type, format }: OpenApiSchema, value: number): boolean {
  if (type !== 'integer') return true;
  return isInt64(value) && (format !== 'int32' || (value >= -(2 ** 31) && value < 2 ** 31));
}

function numberFaults(schema: OpenApiSchema, value: number, at: Place): Cause[] {
  const { maximum, minimum, multipleOf } = schema;
  const faults = isInRange(schema, value)
    ? []
    : [
        invalid(
          NO_FIELD,
          '',
          `Checked value must be of type integer ${schema.format ? `with format ${schema.format}` : '(default format)'} in ${at.path}`,
        ),
      ];
  const fault = (detail: string) => faults.push(invalid(fieldAt(at), value, `${at.path} in body should be ${detail}`));
  if (multipleOf !== undefined && value % multipleOf !== 0) fault(`a multiple of ${multipleOf}`);
  if (maximum !== undefined && schema.exclusiveMaximum && value >= maximum) fault(`less than ${maximum}`);
  else if (maximum !== undefined && value > maximum) fault(`less than or equal to ${maximum}`);
  if (minimum !== undefined && schema.exclusiveMinimum && value <= minimum) fault(`greater than ${minimum}`);
  else if (minimum !== undefined && value < minimum) fault(`greater than or equal to ${minimum}`);
  return faults;
}

function listFaults(schema: OpenApiSchema, values: readonly unknown[], at: Place, old: unknown): Cause[] {
  const { items, minItems, maxItems } = schema;
  const before = counterpartIn(schema, old);
  const faults = items ? values.flatMap((value, index) => check(items, value, item(at, index), before(value))) : [];
  if (minItems !== undefined && values.length < minItems) {
    faults.push(invalid(fieldAt(at), values.length, `${at.path} in body should have at least ${minItems} items`));
  }
  if (maxItems !== undefined && values.length > maxItems) faults.push(tooMany(fieldAt(at), values.length, maxItems));
  return faults;
}

function objectFaults(schema: OpenApiSchema, value: JsonObject, at: Place, old: unknown): Cause[] {
  const { minProperties, maxProperties } = schema;
  const count = Object.keys(value).length;
  const faults: Cause[] = [];
  if (maxProperties !== undefined && count > maxProperties) faults.push(tooMany(fieldAt(at), count, maxProperties));
  if (minProperties !== undefined && count < minProperties) {
    faults.push(invalid(fieldAt(at), count, `${at.path} in body should have at least ${minProperties} properties`));
  }
  const missing = (schema.required ?? []).filter((key) => !Object.hasOwn(value, key));
  faults.push(...missing.map((key) => requiredValue(fieldAt(child(at, key)))));
  const before: JsonObject = isObject(old) ? old : {};
  for (const [key, field] of Object.entries(value)) {
    const known = fieldOf(schema, key);
    if (known)
      faults.push(...check(known, field, child(at, key), Object.hasOwn(before, key) ? before[key] : undefined));
  }
  return faults;
}
