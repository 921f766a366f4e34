/**
 * Decodes the form-encoded requests of EC2 (`Filter.1.Value.2=x`) and of older query services (`Tags.member.1.Key`).
 */
import { put } from '#lib';
import { AwsError, missingParameter } from './error.ts';
import type { Member, WireShape } from './shape.ts';

export type Dialect = 'ec2' | 'query';

interface Node {
  value: string | undefined;
  readonly children: Map<string, Node>;
}

const PROTOCOL_PARAMETERS = new Set(['Action', 'Version']);

/**
 * Converts parameters to the SDK's member names and types.
 * @throws AwsError UnknownParameter, MissingParameter, InvalidParameterValue
 */
export function decodeQuery(shape: WireShape, parameters: URLSearchParams, dialect: Dialect): Record<string, unknown> {
  const root: Node = { value: undefined, children: new Map() };
  for (const [key, value] of parameters) if (!PROTOCOL_PARAMETERS.has(key)) insert(root, key, value);
  if (shape.kind === 'unit') return {};
  return read(shape, root, '', dialect) as Record<string, unknown>;
}

function insert(root: Node, key: string, value: string): void {
  let node = root;
  for (const part of key.split('.')) {
    let child = node.children.get(part);
    if (!child) {
      child = { value: undefined, children: new Map() };
      node.children.set(part, child);
    }
    node = child;
  }
  node.value = value;
}

function read(shape: WireShape, node: Node, path: string, dialect: Dialect, flattened = false): unknown {
  switch (shape.kind) {
    case 'structure':
      return readStructure(shape.members, node, path, dialect);
    case 'list':
      return readList(shape.item, node, path, dialect, flattened);
    case 'map':
      return readMap(shape, node, path, dialect, flattened);
    default:
      if (node.value === undefined || node.children.size > 0) throw unknownParameter(path);
      return readScalar(shape.kind, node.value, path);
  }
}

function readStructure(members: readonly Member[], node: Node, path: string, dialect: Dialect): object {
  const answer: Record<string, unknown> = {};
  const unread = new Set(node.children.keys());
  for (const member of members) {
    const key = parameterName(member, dialect);
    const child = node.children.get(key);
    const childPath = path ? `${path}.${key}` : key;
    if (child) {
      unread.delete(key);
      answer[member.name] = read(member.shape, child, childPath, dialect, member.flattened);
    } else if (member.required) {
      throw missingParameter(childPath);
    }
  }
  for (const key of unread) throw unknownParameter(path ? `${path}.${key}` : key);
  return answer;
}

function readList(item: Member, node: Node, path: string, dialect: Dialect, flattened: boolean): unknown[] {
  const isFlat = dialect === 'ec2' || flattened;
  const holder = isFlat ? node : node.children.get(item.xmlName ?? 'member');
  if (!holder) return [];
  return [...holder.children]
    .map(([key, child]) => ({ index: Number(key), key, child }))
    .sort((left, right) => left.index - right.index)
    .map(({ index, key, child }) => {
      if (!Number.isInteger(index) || index < 1) throw unknownParameter(`${path}.${key}`);
      return read(item.shape, child, `${path}.${key}`, dialect);
    });
}

function readMap(
  shape: { readonly key: Member; readonly value: Member },
  node: Node,
  path: string,
  dialect: Dialect,
  flattened: boolean,
): object {
  const holder = flattened ? node : node.children.get('entry');
  const answer: Record<string, unknown> = {};
  for (const [index, entry] of holder?.children ?? []) {
    const key = entry.children.get(shape.key.xmlName ?? 'key')?.value;
    const value = entry.children.get(shape.value.xmlName ?? 'value');
    if (key === undefined || !value) throw unknownParameter(`${path}.${index}`);
    put(answer, key, read(shape.value.shape, value, `${path}.${index}`, dialect));
  }
  return answer;
}

type ScalarKind = Exclude<WireShape['kind'], 'structure' | 'list' | 'map'>;

function readScalar(kind: ScalarKind, text: string, path: string): unknown {
  const invalid = (type: string): AwsError =>
    new AwsError('InvalidParameterValue', `Invalid value '${text}' for ${path}: expected ${type}`);
  switch (kind) {
    case 'boolean':
      if (text !== 'true' && text !== 'false') throw invalid('true or false');
      return text === 'true';
    case 'number': {
      const value = Number(text);
      if (text === '' || !Number.isFinite(value)) throw invalid('a number');
      return value;
    }
    case 'timestamp': {
      const value = new Date(text);
      if (Number.isNaN(value.getTime())) throw invalid('a date and time');
      return value;
    }
    case 'blob':
      return new Uint8Array(Buffer.from(text, 'base64'));
    default:
      return text;
  }
}

function parameterName(member: Member, dialect: Dialect): string {
  if (dialect === 'query') return member.xmlName ?? member.name;
  if (member.queryName) return member.queryName;
  const name = member.xmlName ?? member.name;
  return name.charAt(0).toUpperCase() + name.slice(1);
}

const unknownParameter = (path: string): AwsError =>
  new AwsError('UnknownParameter', `The parameter ${path} is not recognized`);
