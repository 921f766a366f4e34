/**
 * Shapes of requests and responses, read from the schemas in the AWS SDK clients. They define all members, list names
 * and types of the wire format, so no second declaration is needed.
 *
 * A static schema is an array: `[1, ns, name, traits, item]` a list, `[2, …, key, value]` a map, `[3, …, names,
 * members, required]` a structure (4 a union), `[9, …, input, output]` an operation, `[0, …, target]` a named simple
 * type. A member is `[schema, traits]`, and numbers are the simple types.
 */

export type WireShape =
  | { readonly kind: 'string' | 'boolean' | 'number' | 'timestamp' | 'blob' | 'document' | 'unit' }
  | { readonly kind: 'list'; readonly item: Member }
  | { readonly kind: 'map'; readonly key: Member; readonly value: Member }
  | { readonly kind: 'structure'; readonly name: string; readonly members: readonly Member[] };

export interface Member {
  readonly name: string;
  readonly required: boolean;
  /** Element name in XML, which is also the base of the EC2 parameter name. */
  readonly xmlName: string | undefined;
  readonly queryName: string | undefined;
  readonly flattened: boolean;
  readonly isToken: boolean;
  /** Resolved on first read, because shapes may contain themselves. */
  readonly shape: WireShape;
}

export interface OperationShape {
  readonly name: string;
  readonly input: WireShape;
  readonly output: WireShape;
  /** Method and path pattern, for REST services. */
  readonly http: { readonly method: string; readonly pattern: string } | undefined;
}

type Traits = Readonly<Record<string, unknown>>;
type Schema = number | string | readonly unknown[] | (() => Schema);

/** Bit 2 of a numeric trait set marks an idempotency token. */
const IDEMPOTENCY_TOKEN = 4;
const LIST_BIT = 64;
const MAP_BIT = 128;

const known = new WeakMap<readonly unknown[], WireShape>();

/** Parses an operation from its static schema. @throws Error if the SDK's format differs from the description above */
export function operationShape(schema: unknown): OperationShape {
  const [kind, , name, traits, input, output] = schema as readonly unknown[];
  if (kind !== 9 || typeof name !== 'string') throw new TypeError('Cannot read an operation schema of the AWS SDK');
  const http = traitsOf(traits).http as readonly [string, string] | undefined;
  return {
    name,
    input: shapeOf(input as Schema),
    output: shapeOf(output as Schema),
    http: http && { method: http[0], pattern: http[1] },
  };
}

function shapeOf(schema: Schema): WireShape {
  if (typeof schema === 'function') return shapeOf(schema());
  if (typeof schema === 'string') return { kind: 'unit' };
  if (typeof schema === 'number') return simpleShape(schema);
  const seen = known.get(schema);
  if (seen) return seen;
  const shape = compositeShape(schema);
  known.set(schema, shape);
  return shape;
}

function simpleShape(code: number): WireShape {
  if (code >= MAP_BIT) return { kind: 'map', key: member('key', 0), value: member('value', code & (LIST_BIT - 1)) };
  if (code >= LIST_BIT) return { kind: 'list', item: member('member', code & (LIST_BIT - 1)) };
  if (code === 0) return { kind: 'string' };
  if (code === 2) return { kind: 'boolean' };
  if (code >= 4 && code <= 7) return { kind: 'timestamp' };
  if (code === 15) return { kind: 'document' };
  if (code === 21 || code === 42) return { kind: 'blob' };
  return { kind: 'number' };
}

function compositeShape(schema: readonly unknown[]): WireShape {
  const [kind, , name] = schema;
  if (kind === 0) return shapeOf(schema[4] as Schema);
  if (kind === 1) return { kind: 'list', item: member('member', schema[4]) };
  if (kind === 2) return { kind: 'map', key: member('key', schema[4] ?? 0), value: member('value', schema[5]) };
  const names = schema[4] as readonly string[];
  const types = schema[5] as readonly unknown[];
  const required = typeof schema[6] === 'number' ? schema[6] : 0;
  const members = names.map((memberName, index) => member(memberName, types[index], index < required));
  return { kind: 'structure', name: String(name), members };
}

function member(name: string, type: unknown, required = false): Member {
  const isMember = Array.isArray(type) && type.length === 2;
  const schema = (isMember ? type[0] : type) as Schema;
  const traits = traitsOf(isMember ? type[1] : 0);
  return {
    name,
    required,
    xmlName: traits.xmlName as string | undefined,
    queryName: traits.ec2QueryName as string | undefined,
    flattened: traits.xmlFlattened === 1,
    isToken: traits.idempotencyToken === 1,
    get shape(): WireShape {
      return shapeOf(schema);
    },
  };
}

function traitsOf(traits: unknown): Traits {
  if (typeof traits === 'object' && traits !== null) return traits as Traits;
  return typeof traits === 'number' && (traits & IDEMPOTENCY_TOKEN) !== 0 ? { idempotencyToken: 1 } : {};
}
