/** Decodes a built-in object from a client: checks field types, and drops unknown fields. */
import { put } from '#lib';
import { isRecord, type Json } from '../json.ts';
import { fieldShape, type ResourceShape } from '../resources/shape.ts';
import { badRequest } from '../status.ts';

/**
 * Drops nulls and fields that the shape does not have, and converts quantities to text.
 *
 * @param known a decoded object; parts shared with it are not copied
 * @param unknown receives the paths of dropped fields
 * @param kind kind of the object in errors
 * @param path path of the value in its object
 * @throws StatusError 400 if a field has the wrong type
 */
export function decode(
  value: unknown,
  shape: ResourceShape,
  unknown: string[],
  kind: string,
  { path = '', known }: { readonly path?: string; readonly known?: unknown } = {},
): unknown {
  return read(value, shape, { unknown, kind }, path, known);
}

interface Reading {
  readonly unknown: string[];
  readonly kind: string;
}

function read(value: unknown, shape: ResourceShape, reading: Reading, path: string, known?: unknown): unknown {
  if (value === known && typeof value === 'object' && value !== null) return value;
  switch (shape.type) {
    case 'any':
      return value;
    case 'object':
    case 'map':
      return readFields(value, shape, reading, path, known);
    case 'list':
      if (!Array.isArray(value)) throw typeError(value, '[]', reading, path);
      return value.map((item, i) => read(item, shape.items ?? { type: 'any' }, reading, `${path}[${i}]`));
    case 'quantity':
      return readQuantity(value, reading);
    case 'intOrString':
      if (typeof value !== 'string' && !Number.isInteger(value))
        throw typeError(value, 'intstr.IntOrString', reading, path);
      return value;
    case 'integer':
      if (!Number.isInteger(value)) throw typeError(value, 'int64', reading, path);
      return value;
    default:
      return readScalar(value, shape.type, reading, path);
  }
}

function readScalar(value: unknown, type: string, reading: Reading, path: string): unknown {
  const sent: string = typeof value;
  if (sent !== type) throw typeError(value, type === 'boolean' ? 'bool' : type, reading, path);
  return value;
}

function readFields(value: unknown, shape: ResourceShape, reading: Reading, path: string, known: unknown): Json {
  if (!isRecord(value))
    throw typeError(value, shape.type === 'map' ? 'map[string]string' : (shape.name ?? 'struct'), reading, path);
  const out: Json = {};
  for (const [name, field] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    if (shape.type === 'object' && !shape.fields?.has(name)) reading.unknown.push(at);
    else if (field !== null && field !== undefined) {
      const child = fieldShape(shape, name);
      const value = read(field, child, reading, at, isRecord(known) ? known[name] : undefined);
      if (!isEmptyMap(value, child)) put(out, name, value);
    }
  }
  return out;
}

/** Kubernetes' own types omit empty maps. */
const isEmptyMap = (value: unknown, { type }: ResourceShape): boolean =>
  type === 'map' && isRecord(value) && Object.keys(value).length === 0;

const QUANTITY = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+|[KMGTPE]i|[numkMGTPE])?$/;

function readQuantity(value: unknown, { kind }: Reading): string {
  const written = typeof value === 'number' ? String(value) : value;
  if (typeof written === 'string' && QUANTITY.test(written)) return written;
  throw badRequest(
    `${kind} in version "v1" cannot be handled as a ${kind}: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
  );
}

function typeError(value: unknown, wanted: string, { kind }: Reading, path: string): Error {
  const sent = Array.isArray(value)
    ? 'array'
    : isRecord(value)
      ? 'object'
      : typeof value === 'boolean'
        ? 'bool'
        : typeof value;
  return badRequest(
    `${kind} in version "v1" cannot be handled as a ${kind}: json: cannot unmarshal ${sent} into Go struct field ${kind}.${path} of type ${wanted}`,
  );
}
