/** Content negotiation: media types of requests and responses. */
import { parse, stringify } from 'yaml';
import type { Json } from '../json.ts';
import { badRequest, StatusError } from '../status.ts';
import type { IncludeObject } from '../table/index.ts';
import { decodeProtobuf } from './protobuf.ts';

export interface Wanted {
  readonly as: 'object' | 'table' | 'partial';
  readonly yaml: boolean;
  /** Version of aggregated discovery that the client accepts. */
  readonly aggregated?: string;
}

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const PLAIN: Wanted = { as: 'object', yaml: false };

function parameters(range: string): { readonly type: string; readonly as: string; readonly version: string } {
  const [type = '', ...rest] = range.split(';').map((part) => part.trim());
  const value = (name: string): string =>
    rest.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
  return { type, as: value('as'), version: value('v') };
}

function choice(range: string): Wanted | undefined {
  const { type, as, version } = parameters(range);
  if (type === 'application/yaml' && as === '') return { as: 'object', yaml: true };
  if (!['application/json', 'application/*', '*/*', 'text/plain'].includes(type)) return undefined;
  if (as === 'Table') return version === 'v1' ? { as: 'table', yaml: false } : undefined;
  if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return { as: 'partial', yaml: false };
  if (as === 'APIGroupDiscoveryList') return version === 'v2' ? { ...PLAIN, aggregated: version } : undefined;
  return as === '' ? PLAIN : undefined;
}

/**
 * Returns the first supported form in an Accept header.
 * @throws StatusError 406 if none is supported
 */
export function negotiate(accept: string | undefined): Wanted {
  if (!accept) return PLAIN;
  for (const range of accept.split(',')) {
    const found = choice(range.trim());
    if (found) return found;
  }
  // clients that prefer protobuf decode a response by its content type, and all of them know JSON
  if (accept.split(',').some((range) => parameters(range).type === PROTOBUF)) return PLAIN;
  throw new StatusError(
    406,
    'NotAcceptable',
    'only the following media types are accepted: application/json, application/yaml',
    {},
  );
}

/**
 * Parses a request body.
 * @throws StatusError 400 if it cannot be parsed, 415 if its format is not supported
 */
export function parseBody(body: Buffer, contentType: string | undefined): unknown {
  const type = contentType?.split(';')[0]?.trim() ?? 'application/json';
  if (body.length === 0) return undefined;
  if (type.includes('protobuf')) return decodeProtobuf(body);
  if (!type.endsWith('yaml') && !type.endsWith('json')) {
    throw new StatusError(
      415,
      'UnsupportedMediaType',
      'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
    );
  }
  try {
    return type.endsWith('yaml') ? parse(body.toString()) : JSON.parse(body.toString());
  } catch (error) {
    throw badRequest(
      `couldn't get version/kind; json parse error: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

export const encode = (value: Json, { yaml }: Wanted): string => (yaml ? stringify(value) : JSON.stringify(value));

/** Returns the includeObject parameter of table requests. */
export function includeOf(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject');
  return value === 'Object' || value === 'None' ? value : 'Metadata';
}
