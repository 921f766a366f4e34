/** Valid objects with one field at an extreme, generated from the schema of the kind. */

import type { KubeObject } from '#api/objects';
import { checkSchema, customResourceDefinitions, type OpenApiSchema, structuralSchema } from '#api/schema';
import { valuesOf } from '#api/testing';
import { isObject } from '#lib';

const TEXTS: readonly string[] = [
  ...['', ' ', '0', '-1', '+1', '00', '1e1.5', '.5', '1e400', '-1e-400', '9'.repeat(25), '9'.repeat(400)],
  ...['0s', '99999999h', '2562048h', `${'9'.repeat(30)}m`, 'Never', '1h1m', '99999999999h0m'],
  ...['0%', '100%', '99%', '+0', '-100%', `+${'9'.repeat(400)}`, `+${'9'.repeat(400)}%`],
  ...['@daily', '61 * * * *', '0 0 31 2 *', 'a b c d e', '* * * * * *'],
  ...['Ti', 'T', '1Gi', '64T', 'x', 'X'.repeat(63), 'x'.repeat(64), 'x'.repeat(254), 'x'.repeat(10_000)],
  ...['a/b', 'a/b/c', '/', 'example.com/', `${'a'.repeat(250)}.com/x`, 'a b', 'ä', '\u0000', '\ud800', '🚀'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'In', 'Gt', 'true', 'null', '{}', '#{x}', '\n'],
];
const NUMBERS: readonly number[] = [0, -1, 1, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 53 - 1, 2 ** 53, 2 ** 62];

export interface Extreme<T> {
  /** The field, and a short form of its value. */
  readonly what: string;
  readonly object: T;
}

interface Change {
  readonly what: string;
  readonly value: unknown;
}

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 40 ? `${text.slice(0, 40)}… (${text.length})` : text;
};

function* changes(schema: OpenApiSchema, value: unknown, path: string): Generator<Change> {
  const put = (to: unknown): Change => ({ what: `${path} = ${shown(to)}`, value: to });
  yield put(undefined);
  if (schema.properties !== undefined) yield* ofFields(schema.properties, value, path);
  else if (schema.items !== undefined) yield* ofList(schema.items, value, path);
  else if (schema.type === 'object') yield* ofMap(valuesOf(schema) ?? {}, value, path);
  else yield* scalars(schema).map(put);
}

function scalars(schema: OpenApiSchema): readonly unknown[] {
  const candidates = [...(schema.enum ?? []), true, false, ...TEXTS, ...NUMBERS, schema.minimum, schema.maximum];
  // Values that the schema of the field rejects are not checked against the rules of the object.
  return candidates.filter((value) => value !== undefined && checkSchema(schema, value).length === 0);
}

function* ofFields(fields: Readonly<Record<string, OpenApiSchema>>, value: unknown, path: string): Generator<Change> {
  const known = isObject(value) ? value : {};
  for (const [field, schema] of Object.entries(fields))
    for (const change of changes(schema, known[field], path === '' ? field : `${path}.${field}`)) {
      const { [field]: _, ...others } = known;
      yield {
        what: change.what,
        value: change.value === undefined ? others : { ...others, [field]: change.value },
      };
    }
}

function* ofList(items: OpenApiSchema, value: unknown, path: string): Generator<Change> {
  const [first, ...others] = Array.isArray(value) ? value : [];
  yield { what: `${path} = []`, value: [] };
  for (const { what, value: item } of changes(items, first, `${path}[0]`))
    if (item !== undefined) yield { what, value: [item, ...others] };
}

function* ofMap(values: OpenApiSchema, value: unknown, path: string): Generator<Change> {
  const [entry] = Object.entries(isObject(value) ? value : {});
  const [key, given] = entry ?? ['a', '1'];
  for (const other of TEXTS) yield { what: `${path} key ${shown(other)}`, value: Object.fromEntries([[other, given]]) };
  for (const { what, value: changed } of changes(values, given, `${path}[${key}]`))
    if (changed !== undefined) yield { what, value: { [key]: changed } };
  yield {
    what: `${path} of 200`,
    value: Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`a${at}`, given])),
  };
}

/**
 * Returns the base with one field of its spec changed in every way that the API server accepts. Lists and maps get as
 * many items as in the base, so the base should have all of them.
 */
export function extremesOf<T extends KubeObject>(base: T): readonly Extreme<T>[] {
  const definition = customResourceDefinitions().find(({ spec }) => spec.names.kind === base.kind);
  const declared = definition?.spec.versions[0]?.schema.openAPIV3Schema;
  const spec = declared?.properties?.spec;
  if (declared === undefined || spec === undefined) throw new Error(`There is no schema of ${base.kind}`);
  const schema = structuralSchema(declared);
  const found: Extreme<T>[] = [];
  for (const { what, value } of changes(spec, (base as { readonly spec?: unknown }).spec, 'spec')) {
    const { spec: _, ...rest } = base as T & { readonly spec?: unknown };
    const object = schema.applyDefaults(value === undefined ? rest : { ...rest, spec: value });
    if (schema.validate(object).length === 0) found.push({ what, object: object as unknown as T });
  }
  return found;
}
