/** Decodes and encodes the JSON of SQS, SSM, Pricing and EKS. */
import { AwsError } from './error.ts';
import type { WireShape } from './shape.ts';

/**
 * Converts parsed JSON to the SDK's types: dates from epoch seconds, bytes from base64. Unknown members are removed, as
 * these services do.
 * @throws AwsError SerializationException, ValidationException
 */
export function decodeJson(shape: WireShape, value: unknown, path = ''): unknown {
  switch (shape.kind) {
    case 'structure':
      return decodeStructure(shape, value, path);
    case 'list':
      if (!Array.isArray(value)) throw typeError(path, 'a list');
      return value.map((item, index) => decodeJson(shape.item.shape, item, `${path}[${index}]`));
    case 'map':
      return Object.fromEntries(
        Object.entries(record(value, path)).map(([key, item]) => [
          key,
          decodeJson(shape.value.shape, item, `${path}.${key}`),
        ]),
      );
    case 'timestamp':
      if (typeof value !== 'number') throw typeError(path, 'a timestamp');
      return new Date(value * 1000);
    case 'blob':
      if (typeof value !== 'string') throw typeError(path, 'base64 text');
      return new Uint8Array(Buffer.from(value, 'base64'));
    case 'document':
    case 'unit':
      return value;
    default:
      if (typeof value !== shape.kind) throw typeError(path, `a ${shape.kind}`);
      return value;
  }
}

function decodeStructure(shape: Extract<WireShape, { kind: 'structure' }>, value: unknown, path: string): object {
  const source = record(value, path);
  const answer: Record<string, unknown> = {};
  for (const member of shape.members) {
    const item = source[member.name];
    const memberPath = path ? `${path}.${member.name}` : member.name;
    if (item !== undefined && item !== null) answer[member.name] = decodeJson(member.shape, item, memberPath);
    else if (member.required) throw absent(memberPath);
  }
  return answer;
}

/** Converts the SDK's types to JSON values, the inverse of `decodeJson`. */
export function encodeJson(shape: WireShape, value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  switch (shape.kind) {
    case 'structure': {
      const source = value as Record<string, unknown>;
      return Object.fromEntries(
        shape.members
          .filter((member) => source[member.name] !== undefined)
          .map((member) => [member.name, encodeJson(member.shape, source[member.name])]),
      );
    }
    case 'list':
      return (value as readonly unknown[]).map((item) => encodeJson(shape.item.shape, item));
    case 'map':
      return Object.fromEntries(
        Object.entries(value as Record<string, unknown>).map(([key, item]) => [
          key,
          encodeJson(shape.value.shape, item),
        ]),
      );
    case 'timestamp':
      return (value as Date).getTime() / 1000;
    case 'blob':
      return Buffer.from(value as Uint8Array).toString('base64');
    default:
      return value;
  }
}

function record(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw typeError(path, 'an object');
  return value as Record<string, unknown>;
}

const typeError = (path: string, type: string): AwsError =>
  new AwsError('SerializationException', `Cannot read ${path || 'the request'}: expected ${type}`);

const absent = (path: string): AwsError =>
  new AwsError(
    'ValidationException',
    `1 validation error detected: Value at '${path}' failed to satisfy constraint: Member must not be null`,
  );
