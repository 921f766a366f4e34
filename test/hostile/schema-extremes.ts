/**
 * Extreme values of every field of a custom resource, from its schema. Each object is valid except for one field,
 * which has an unusual value that the schema allows.
 */
import fc from 'fast-check';
import type { KubeObject } from '#api/objects';
import { customResourceDefinitions, type OpenApiSchema, type StructuralSchema, structuralSchema } from '#api/schema';
import { NUMBERS, ODD_KEYS, QUANTITIES, TEXTS } from './odd-values.ts';

/** A field, and an object for each unusual value. */
export interface Field {
  readonly path: string;
  readonly objects: readonly KubeObject[];
}

type Path = readonly (string | typeof ITEM)[];
/** Path element for the first item of a list. */
const ITEM = Symbol('item');

/** Maximum number of values per field. */
const PER_FIELD = 10;
/** Number of values that are generated from the field's pattern, in addition to matching texts. */
const FROM_PATTERN = 4;

/** @param base a valid object with as many fields as possible */
export function fieldsOf(base: KubeObject, perField = PER_FIELD): readonly Field[] {
  const definition = customResourceDefinitions().find(({ spec }) => spec.names.kind === base.kind);
  const version = definition?.spec.versions[0];
  if (version === undefined) throw new Error(`there is no definition of kind ${base.kind}`);
  const schema = version.schema.openAPIV3Schema;
  const judge = structuralSchema(schema, version.subresources.scale);
  const faults = judge.validate(judge.applyDefaults(base));
  if (faults.length > 0) throw new Error(`${base.kind} is not sound: ${JSON.stringify(faults)}`);
  const spec = schema.properties?.spec ?? {};
  return walk(spec, ['spec'])
    .map(({ path, values }) => ({
      path: shown(path),
      objects: soundOnes({ base, judge, spec }, path, values, perField),
    }))
    .filter(({ objects }) => objects.length > 0);
}

interface Candidates {
  readonly path: Path;
  readonly values: readonly unknown[];
}

function walk(schema: OpenApiSchema, path: Path): Candidates[] {
  const own = { path, values: extremes(schema) };
  if (schema.items) return [own, ...walk(schema.items, [...path, ITEM])];
  const below = Object.entries(schema.properties ?? {}).flatMap(([key, field]) => walk(field, [...path, key]));
  return schema.properties ? below : [own];
}

function extremes(schema: OpenApiSchema): readonly unknown[] {
  if (schema.enum) return schema.enum;
  if (schema['x-kubernetes-int-or-string']) return [...QUANTITIES, ...NUMBERS];
  if (schema.items) return lists(schema, schema.items);
  if (schema.type === 'object') return maps(schema);
  if (schema.type === 'boolean') return [true, false];
  if (schema.type === 'string') return texts(schema);
  return [schema.minimum, schema.maximum, ...NUMBERS].filter((number) => number !== undefined);
}

const texts = ({ pattern, format, maxLength }: OpenApiSchema): readonly string[] => [
  ...(pattern === undefined ? [] : fromPattern(pattern)),
  ...(format === 'date-time' ? ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999Z'] : []),
  ...(maxLength === undefined ? [] : ['a'.repeat(maxLength)]),
  ...TEXTS,
];

/** Returns samples for a pattern, or none if the pattern is not supported. */
function fromPattern(pattern: string): readonly string[] {
  try {
    return fc.sample(fc.stringMatching(new RegExp(pattern)), { seed: 1, numRuns: FROM_PATTERN });
  } catch {
    return [];
  }
}

function maps(schema: OpenApiSchema): readonly unknown[] {
  const valued = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : { type: 'string' };
  const values = extremes(valued);
  const ordinary = valued['x-kubernetes-int-or-string'] ? '1' : 'x';
  return [
    {},
    ...ODD_KEYS.map((key) => ({ [key]: ordinary })),
    Object.fromEntries(
      Array.from({ length: schema.maxProperties ?? 2_000 }, (_, i) => [`example.com/k${i}`, ordinary]),
    ),
    { ['k'.repeat(10_000)]: ordinary },
    ...values.map((value) => ({ 'example.com/key': value, cpu: value })),
  ];
}

/** Returns an empty list, one with two equal items, and one of the maximum length. */
const lists = (schema: OpenApiSchema, items: OpenApiSchema): readonly unknown[] => {
  const sample = sampleOf(items);
  return [[], [sample, sample], Array.from({ length: schema.maxItems ?? 500 }, () => sample)];
};

/** Returns the simplest value of a schema. */
function sampleOf(schema: OpenApiSchema): unknown {
  if (schema.enum) return schema.enum[0];
  if (schema['x-kubernetes-int-or-string']) return '1';
  if (schema.items) return [];
  if (schema.type === 'object')
    return Object.fromEntries((schema.required ?? []).map((key) => [key, sampleOf(schema.properties?.[key] ?? {})]));
  if (schema.type === 'boolean') return true;
  return schema.type === 'string' ? (texts(schema).find((text) => text !== '') ?? 'x') : (schema.minimum ?? 1);
}

interface Judging {
  readonly base: KubeObject;
  readonly judge: StructuralSchema;
  readonly spec: OpenApiSchema;
}

function soundOnes({ base, judge, spec }: Judging, path: Path, values: readonly unknown[], most: number): KubeObject[] {
  const found: KubeObject[] = [];
  const seen = new Set<string>();
  for (const value of values) {
    if (found.length >= most) break;
    const object = withValue(base, path, value, { properties: { spec } }) as KubeObject;
    const text = JSON.stringify(object);
    if (seen.has(text)) continue;
    seen.add(text);
    if (judge.validate(judge.applyDefaults(object)).length === 0) found.push(object);
  }
  return found;
}

/** Returns a copy with the value at the path. Missing parents get the simplest value of the schema. */
function withValue(target: unknown, [step, ...rest]: Path, value: unknown, schema: OpenApiSchema): unknown {
  if (step === undefined) return value;
  if (step === ITEM) {
    const [first = sampleOf(schema.items ?? {}), ...others] = (target as readonly unknown[] | undefined) ?? [];
    return [withValue(first, rest, value, schema.items ?? {}), ...others];
  }
  const object = (target ?? sampleOf(schema)) as Record<string, unknown>;
  return { ...object, [step]: withValue(object[step], rest, value, schema.properties?.[step] ?? {}) };
}

const shown = (path: Path): string =>
  path.map((step, index) => (step === ITEM ? '[]' : `${index === 0 ? '' : '.'}${step}`)).join('');
