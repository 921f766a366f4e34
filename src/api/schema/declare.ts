/**
 * Declares the schema of a custom resource. A declaration is a TypeBox schema whose JSON form is the OpenAPI v3 schema
 * of a CustomResourceDefinition, so static type, defaults, validation, CRD and reference docs come from one place.
 */
import type {
  Static,
  TArray,
  TBoolean,
  TInteger,
  TNumber,
  TObject,
  TOptional,
  TProperties,
  TSchema,
  TString,
  TUnsafe,
} from 'typebox';
import type { StringMap } from '../kubernetes.ts';

/** Validation rule of a schema in the Common Expression Language. */
export interface CelRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

interface Annotations {
  /** Description of the field for users, in the CRD and in the reference. */
  readonly description?: string;
  /** Value that the API server stores if the field is not set. */
  readonly default?: unknown;
  readonly rules?: readonly CelRule[];
}

interface StringOptions extends Annotations {
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: 'date-time';
}

interface NumberOptions extends Annotations {
  readonly minimum?: number;
  readonly maximum?: number;
}

interface ListOptions extends Annotations {
  readonly minItems?: number;
  readonly maxItems?: number;
  /** Merge strategy for server-side apply. Sets and lists with keys must not have duplicates. */
  readonly merge?: 'atomic' | 'set' | { readonly mapKeys: readonly string[] };
  /** Further keywords of the array in a released schema. */
  readonly keywords?: Readonly<Record<string, unknown>>;
}

interface MapOptions extends Annotations {
  readonly maxProperties?: number;
  readonly atomic?: boolean;
}

/** Static type of a declared schema, read-only because API objects are never changed in place. */
export type Declared<Schema extends TSchema> = Frozen<Static<Schema>>;

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;

const keywords = ({ rules, ...rest }: Annotations): Record<string, unknown> => ({
  ...rest,
  ...(rules && { 'x-kubernetes-validations': rules.map((rule) => ({ ...rule })) }),
});

/** Returns a rule with its message. */
export const rule = (expression: string, message: string): CelRule => ({ rule: expression, message });

const KIND = '~kind';
const OPTIONAL = '~optional';

/** Creates a schema as TypeBox does, with a hidden kind. TypeBox itself would load 370 files at the start of each program. */
const schema = <Schema extends TSchema>(kind: string, form: object): Schema =>
  Object.defineProperty({ ...form }, KIND, { value: kind }) as Schema;

/** Declares the static type of a schema. */
export const unsafe = <T>(form: object): TUnsafe<T> => schema('Unsafe', form);

/** Declares an optional field. */
export const optional = <Schema extends TSchema>(field: Schema): TOptional<Schema> =>
  Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(field), [OPTIONAL]: { value: true } },
  ) as TOptional<Schema>;

export const object = <Properties extends TProperties>(
  properties: Properties,
  options: Annotations & { readonly mapType?: 'atomic' } = {},
): TObject<Properties> => {
  const { mapType, ...annotations } = options;
  const required = Object.keys(properties).filter((key) => !Object.hasOwn(properties[key] as object, OPTIONAL));
  return schema('Object', {
    type: 'object',
    ...(required.length > 0 && { required }),
    properties,
    ...keywords(annotations),
    ...(mapType && { 'x-kubernetes-map-type': mapType }),
  });
};

/** Declares an object with any fields. The API server keeps them, except fields that are null. */
export const openObject = (options: Annotations = {}) =>
  unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: { 'x-kubernetes-preserve-unknown-fields': true },
    ...keywords(options),
  });

/** Values that match, by pattern. Messages have them instead of the regular expression, and CRDs do not contain them. */
const EXAMPLES = new Map<string, string>();

/** Declares a value that matches a pattern, and returns the pattern. */
export function patternLike(pattern: string, example: string): string {
  EXAMPLES.set(pattern, example);
  return pattern;
}

/** Returns a value that matches a declared pattern. */
export const exampleOf = (pattern: string): string | undefined => EXAMPLES.get(pattern);

export const text = (options: StringOptions = {}): TString =>
  schema('String', { type: 'string', ...keywords(options) });

/** Declares an RFC 3339 time. */
export const time = (options: Annotations = {}) => text({ format: 'date-time', ...options });

export const choice = <const Values extends readonly string[]>(values: Values, options: Annotations = {}) =>
  unsafe<Values[number]>({ type: 'string', enum: [...values], ...keywords(options) });

export const flag = (options: Annotations = {}): TBoolean =>
  schema('Boolean', { type: 'boolean', ...keywords(options) });

export const number = (options: NumberOptions = {}): TNumber =>
  schema('Number', { type: 'number', ...keywords(options) });

export const int32 = (options: NumberOptions = {}): TInteger =>
  schema('Integer', { type: 'integer', format: 'int32', ...keywords(options) });

export const int64 = (options: NumberOptions = {}): TInteger =>
  schema('Integer', { type: 'integer', format: 'int64', ...keywords(options) });

/** Declares an integer without a width. */
export const integer = (options: NumberOptions = {}): TInteger =>
  schema('Integer', { type: 'integer', ...keywords(options) });

export const list = <Item extends TSchema>(items: Item, options: ListOptions = {}): TArray<Item> => {
  const { merge, keywords: extra, ...annotations } = options;
  return schema('Array', { type: 'array', items, ...keywords(annotations), ...extra, ...mergeKeywords(merge) });
};

function mergeKeywords(merge: ListOptions['merge']): Record<string, unknown> {
  if (merge === undefined) return {};
  if (typeof merge === 'string') return { 'x-kubernetes-list-type': merge };
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [...merge.mapKeys] };
}

/** Declares a map of strings. `value` constrains each value. */
export const stringMap = (options: MapOptions & { readonly value?: StringOptions } = {}) => {
  const { value, atomic, ...annotations } = options;
  return unsafe<StringMap>({
    type: 'object',
    additionalProperties: { type: 'string', ...keywords(value ?? {}) },
    ...keywords(annotations),
    ...(atomic && { 'x-kubernetes-map-type': 'atomic' }),
  });
};

const QUANTITY_PATTERN = patternLike(
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
  '1500m',
);

/** Declares a map from resource names to quantities: numbers, or strings such as `100m` or `4Gi` that match the pattern. */
export const quantityMap = ({
  pattern = QUANTITY_PATTERN,
  ...options
}: MapOptions & { readonly pattern?: string } = {}) =>
  unsafe<Record<string, string | number>>({
    type: 'object',
    additionalProperties: {
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      pattern,
      'x-kubernetes-int-or-string': true,
    },
    ...keywords(options),
  });
