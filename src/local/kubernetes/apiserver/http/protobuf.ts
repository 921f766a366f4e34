/**
 * Decodes request bodies in Kubernetes' protobuf encoding. kubectl's typed commands and Go controllers send this
 * encoding.
 */
import { isRecord, type Json } from '../json.ts';
import { badRequest, StatusError } from '../status.ts';
import { CORE_FIELDS } from './protobuf-fields-core.ts';
import { GROUP_FIELDS } from './protobuf-fields-groups.ts';

interface Field {
  readonly name: string;
  readonly type: string;
  /** Package of messages that are named without a package. */
  readonly pkg: string;
}

type Message = ReadonlyMap<number, Field>;

/** One encoded field: its number, and a number or bytes. */
interface Wire {
  readonly number: number;
  readonly value: bigint | Buffer;
}

const MAGIC = Buffer.from('k8s\0');

/** Packages of groups if the package name is not the first label of the group. */
const PACKAGES: Readonly<Record<string, string>> = { '': 'core', 'rbac.authorization.k8s.io': 'rbac' };

let messages: ReadonlyMap<string, Message> | undefined;

function load(): ReadonlyMap<string, Message> {
  const lines = `${CORE_FIELDS.trim()}\n${GROUP_FIELDS.trim()}`.split('\n');
  return new Map(
    lines.map((line) => {
      const [name = '', ...fields] = line.split(' ');
      const pkg = name.slice(0, name.lastIndexOf('.'));
      const parsed = fields.map((field) => {
        const [number, json = '', type = ''] = field.split(':');
        return [Number(number), { name: json, type, pkg }] as const;
      });
      return [name, new Map(parsed)] as const;
    }),
  );
}

function messageOf(name: string): Message | undefined {
  messages ??= load();
  return messages.get(name);
}

/**
 * Returns the object in a protobuf body as JSON.
 *
 * @throws StatusError 415 if the kind is supported as JSON only, 400 if the bytes are not a valid message
 */
export function decodeProtobuf(body: Buffer): Json {
  if (!body.subarray(0, 4).equals(MAGIC)) throw badRequest('the body is not a Kubernetes protobuf message');
  const envelope = wires(body.subarray(4));
  const type = wires(bytes(envelope, 1));
  const apiVersion = bytes(type, 1).toString();
  const kind = bytes(type, 2).toString();
  const slash = apiVersion.indexOf('/');
  const group = apiVersion.slice(0, Math.max(slash, 0));
  const pkg = PACKAGES[group] ?? group.split('.')[0];
  const isOptions = kind === 'DeleteOptions';
  const message = messageOf(isOptions ? 'meta/v1.DeleteOptions' : `${pkg}/${apiVersion.slice(slash + 1)}.${kind}`);
  if (!message) {
    throw new StatusError(
      415,
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - ${kind} is only accepted as: application/json, application/yaml`,
      {},
    );
  }
  return { apiVersion, kind, ...readMessage(bytes(envelope, 2), message) };
}

const bytes = (fields: readonly Wire[], number: number): Buffer => {
  const found = fields.find((field) => field.number === number)?.value;
  return Buffer.isBuffer(found) ? found : Buffer.alloc(0);
};

const integer = (fields: readonly Wire[], number: number): number => {
  const found = fields.find((field) => field.number === number)?.value;
  return typeof found === 'bigint' ? Number(BigInt.asIntN(64, found)) : 0;
};

/** Splits a message into its fields. */
function wires(buffer: Buffer): Wire[] {
  const found: Wire[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer[at++];
      if (byte === undefined) throw badRequest('the protobuf message ends too early');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const run = (length: number): Buffer => {
    if (at + length > buffer.length) throw badRequest('the protobuf message ends too early');
    at += length;
    return buffer.subarray(at - length, at);
  };
  while (at < buffer.length) {
    const tag = Number(varint());
    const kind = tag & 7;
    const value = kind === 0 ? varint() : run(kind === 2 ? Number(varint()) : kind === 1 ? 8 : 4);
    found.push({ number: tag >> 3, value });
  }
  return found;
}

function readMessage(buffer: Buffer, message: Message): Json {
  const out: Json = {};
  for (const { number, value } of wires(buffer)) {
    const field = message.get(number);
    if (field) readField(out, field, value);
  }
  return out;
}

function readField(out: Json, { name, type, pkg }: Field, wire: bigint | Buffer): void {
  const inner = type.slice(1);
  if (type.startsWith('[')) {
    const list = Array.isArray(out[name]) ? out[name] : [];
    out[name] = [...list, value(inner, pkg, wire)];
  } else if (type.startsWith('{')) {
    const entry = wires(Buffer.isBuffer(wire) ? wire : Buffer.alloc(0));
    out[name] = { ...(isRecord(out[name]) && out[name]), [bytes(entry, 1).toString()]: mapValue(inner, pkg, entry) };
  } else if (name === '') Object.assign(out, value(type.replace('*', ''), pkg, wire));
  else if (type.startsWith('*') || type.startsWith('!')) out[name] = value(inner, pkg, wire);
  else {
    const read = value(type, pkg, wire);
    // non-pointer fields are encoded even if they are empty
    if (!isEmpty(read)) out[name] = read;
  }
}

/** Returns the value of a map entry. A list of text is wrapped in a separate message. */
function mapValue(type: string, pkg: string, entry: readonly Wire[]): unknown {
  const content = bytes(entry, 2);
  return type.startsWith('[')
    ? wires(content).map((item) => value(type.slice(1), pkg, item.value))
    : value(type, pkg, content);
}

const isEmpty = (read: unknown): boolean =>
  read === '' || read === 0 || read === false || (isRecord(read) && Object.keys(read).length === 0);

function value(type: string, pkg: string, wire: bigint | Buffer): unknown {
  if (!Buffer.isBuffer(wire)) return type === 't' ? wire !== 0n : Number(BigInt.asIntN(64, wire));
  switch (type[0]) {
    case 'm': {
      const name = type.slice(1);
      const message = messageOf(name.includes('/') ? name : `${pkg}.${name}`);
      return message ? readMessage(wire, message) : {};
    }
    case 'y':
      return wire.toString('base64');
    case 'q':
      return bytes(wires(wire), 1).toString();
    case 'T':
    case 'u':
      return time(wire, type === 'u');
    case 'o': {
      const fields = wires(wire);
      return integer(fields, 1) === 1 ? bytes(fields, 3).toString() : integer(fields, 2);
    }
    case 'r':
      return JSON.parse(bytes(wires(wire), 1).toString() || 'null');
    case 'B':
      return schemaOrBoolean(wires(wire));
    case 'A':
    case 'S':
      return schemaOrList(wires(wire), type === 'A' ? SCHEMA : 's');
    case 'd':
      return wire.readDoubleLE();
    default:
      return wire.toString();
  }
}

const SCHEMA = 'mapiextensions/v1.JSONSchemaProps';

/** JSONSchemaPropsOrBool: a boolean that allows all values, and the schema of allowed values. */
function schemaOrBoolean(fields: readonly Wire[]): unknown {
  const schema = fields.find(({ number }) => number === 2);
  return schema ? value(SCHEMA, '', schema.value) : integer(fields, 1) !== 0;
}

/** JSONSchemaPropsOrArray and JSONSchemaPropsOrStringArray: a schema, or a list of schemas or names. */
function schemaOrList(fields: readonly Wire[], items: string): unknown {
  const schema = fields.find(({ number }) => number === 1);
  if (schema) return value(SCHEMA, '', schema.value);
  return fields.filter(({ number }) => number === 2).map((item) => value(items, '', item.value));
}

/** Returns RFC 3339, or an empty text for the zero time. */
function time(wire: Buffer, micro: boolean): string {
  const fields = wires(wire);
  if (fields.length === 0) return '';
  const seconds = integer(fields, 1);
  const iso = new Date(seconds * 1000).toISOString().slice(0, 19);
  return micro ? `${iso}.${String(Math.floor(integer(fields, 2) / 1000)).padStart(6, '0')}Z` : `${iso}Z`;
}
