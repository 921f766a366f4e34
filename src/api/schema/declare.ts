/**
 * Declares the schema of a custom resource. A declaration is a TypeBox schema whose JSON form is the OpenAPI v3 schema
 * of a CustomResourceDefinition, so static type, defaults, validation, CRD and reference docs come from one place.
 */
import { type Static, type TArray, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import type { StringMap } from '../kubernetes.ts';

/** A rule in the Common Expression Language that the API server evaluates on the schema that carries it. */
export interface CelRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

interface Annotations {
  /** What the field means to the person who sets it; ends up in the CRD and in the reference docs. */
  readonly description?: string;
  /** Stored by the API server where the field is left out. */
  readonly default?: unknown;
  readonly rules?: readonly CelRule[];
}

interface StringOptions extends Annotations {
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: 'date-time';
}

interface IntegerOptions extends Annotations {
  readonly minimum?: number;
  readonly maximum?: number;
}

interface ListOptions extends Annotations {
  readonly minItems?: number;
  readonly maxItems?: number;
  /** How server-side apply merges the list and whether items must differ. */
  readonly merge?: 'atomic' | 'set' | { readonly mapKeys: readonly string[] };
  /** Keywords that a released schema carries on the array itself. */
  readonly keywords?: Readonly<Record<string, unknown>>;
}

interface MapOptions extends Annotations {
  readonly maxProperties?: number;
  readonly atomic?: boolean;
}

/** What a declared schema describes, all of it read-only: objects of the API are never changed in place. */
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

/** A rule with its message. */
export const rule = (expression: string, message: string): CelRule => ({ rule: expression, message });

/** A field that may be left out. */
export const optional = Type.Optional;

export const object = <Properties extends TProperties>(
  properties: Properties,
  options: Annotations & { readonly mapType?: 'atomic' } = {},
): TObject<Properties> => {
  const { mapType, ...annotations } = options;
  return Type.Object(properties, { ...keywords(annotations), ...(mapType && { 'x-kubernetes-map-type': mapType }) });
};

/** An object whose fields the API server neither knows nor prunes; only fields that are null it drops. */
export const openObject = (options: Annotations = {}) =>
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: { 'x-kubernetes-preserve-unknown-fields': true },
    ...keywords(options),
  });

export const text = (options: StringOptions = {}) => Type.String(keywords(options));

/** An RFC 3339 time. */
export const time = (options: Annotations = {}) => text({ format: 'date-time', ...options });

export const choice = <const Values extends readonly string[]>(values: Values, options: Annotations = {}) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], ...keywords(options) });

export const flag = (options: Annotations = {}) => Type.Boolean(keywords(options));

export const int32 = (options: IntegerOptions = {}) => Type.Integer({ format: 'int32', ...keywords(options) });

export const int64 = (options: IntegerOptions = {}) => Type.Integer({ format: 'int64', ...keywords(options) });

/** An integer without a declared width. */
export const integer = (options: IntegerOptions = {}) => Type.Integer(keywords(options));

export const list = <Item extends TSchema>(items: Item, options: ListOptions = {}): TArray<Item> => {
  const { merge, keywords: extra, ...annotations } = options;
  return Type.Array(items, { ...keywords(annotations), ...extra, ...mergeKeywords(merge) });
};

function mergeKeywords(merge: ListOptions['merge']): Record<string, unknown> {
  if (merge === undefined) return {};
  if (typeof merge === 'string') return { 'x-kubernetes-list-type': merge };
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [...merge.mapKeys] };
}

/** A map from text to text; `value` constrains each value. */
export const stringMap = (options: MapOptions & { readonly value?: StringOptions } = {}) => {
  const { value, atomic, ...annotations } = options;
  return Type.Unsafe<StringMap>({
    type: 'object',
    additionalProperties: { type: 'string', ...keywords(value ?? {}) },
    ...keywords(annotations),
    ...(atomic && { 'x-kubernetes-map-type': 'atomic' }),
  });
};

const QUANTITY_PATTERN =
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';

/** A map from resource name to quantity, each a number or text such as `100m` or `4Gi`. */
export const quantityMap = (options: MapOptions = {}) =>
  Type.Unsafe<Record<string, string | number>>({
    type: 'object',
    additionalProperties: {
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      pattern: QUANTITY_PATTERN,
      'x-kubernetes-int-or-string': true,
    },
    ...keywords(options),
  });
