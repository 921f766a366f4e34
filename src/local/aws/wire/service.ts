/** A service: its protocol and handlers, and the decoding and encoding of calls. */
import { own, put } from '#lib';
import { AwsError } from './error.ts';
import { decodeJson, encodeJson } from './json.ts';
import { decodeQuery } from './query.ts';
import { type Member, type OperationShape, operationShape, type WireShape } from './shape.ts';

/** Context of a call besides its input. */
export interface AwsCall {
  readonly requestId: string;
  /** Aborts when the client disconnects or the server closes. */
  readonly signal: AbortSignal;
}

/** One function per action, with input and output in the SDK's types. */
// biome-ignore lint/suspicious/noExplicitAny: the input has the type of the action's shape; each handler declares its own type
export type Handlers = Readonly<Record<string, (input: any, call: AwsCall) => unknown>>;

type Protocol = 'ec2' | 'query' | 'json-1.0' | 'json-1.1' | 'rest-json';

export interface AwsService {
  readonly name: string;
  readonly protocol: Protocol;
  /** XML namespace, or the prefix of `X-Amz-Target`. */
  readonly namespace: string;
  readonly handlers: Handlers;
  /** Loads the SDK client whose schemas describe the wire format, on the first request, because clients are large. */
  readonly load: () => Promise<object>;
  /** Error codes of the older query protocol, if they differ. */
  readonly queryCodes?: Readonly<Record<string, string>>;
}

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** If true, the connection is reset without a response. */
  readonly reset?: true;
}

/** Action and input of a decoded request. */
export interface Decoded {
  readonly shape: OperationShape;
  readonly input: Record<string, unknown>;
}

const modules = new Map<string, Promise<Record<string, unknown>>>();
const shapes = new WeakMap<object, OperationShape>();

/** @throws AwsError InvalidAction, or a decoding error */
export async function decodeInput(service: AwsService, request: HttpRequest): Promise<Decoded> {
  const { protocol } = service;
  if (protocol === 'rest-json') return decodeRest(service, request);
  if (protocol === 'ec2' || protocol === 'query') {
    const parameters = new URLSearchParams(request.body || request.path.split('?')[1]);
    const shape = await operationOf(service, parameters.get('Action') ?? '');
    return { shape, input: decodeQuery(shape.input, parameters, protocol) };
  }
  const shape = await operationOf(service, actionOf(service, request));
  return { shape, input: decodeJson(shape.input, parseJson(request.body)) as Record<string, unknown> };
}

/** Returns the action of a request without decoding its input, or an empty string. */
export function actionOf(service: AwsService, request: HttpRequest): string {
  if (service.protocol === 'rest-json') return '';
  if (service.protocol === 'ec2' || service.protocol === 'query') {
    return new URLSearchParams(request.body || request.path.split('?')[1]).get('Action') ?? '';
  }
  const target = request.headers['x-amz-target'];
  return typeof target === 'string' ? (target.split('.').at(-1) ?? '') : '';
}

async function decodeRest(service: AwsService, { method, path, body }: HttpRequest): Promise<Decoded> {
  const [pathname = '/', search = ''] = path.split('?');
  for (const action of Object.keys(service.handlers)) {
    const shape = await operationOf(service, action);
    const labels = shape.http?.method === method && matchPath(shape.http.pattern, pathname);
    if (!labels) continue;
    const query = Object.fromEntries(new URLSearchParams(search));
    const source = { ...query, ...(body ? (parseJson(body) as object) : {}), ...labels };
    return { shape, input: decodeJson(shape.input, source) as Record<string, unknown> };
  }
  throw new AwsError(
    'UnknownOperationException',
    `The local AWS does not support the ${service.name} operation ${method} ${pathname}`,
    404,
  );
}

/** Matches `/clusters/{name}` with `/clusters/demo`. Returns undefined if they differ. */
function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== given.length) return undefined;
  const labels: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith('{')) put(labels, part.slice(1, -1), decodeURIComponent(value));
    else if (part !== value) return undefined;
  }
  return labels;
}

/** @throws AwsError InvalidAction */
export async function operationOf(service: AwsService, action: string): Promise<OperationShape> {
  if (own(service.handlers, action) === undefined) {
    throw new AwsError(
      'InvalidAction',
      `The action ${action || '(none)'} is not valid for this web service: the local AWS does not support it.`,
    );
  }
  let loading = modules.get(service.name);
  if (!loading) {
    loading = service.load() as Promise<Record<string, unknown>>;
    modules.set(service.name, loading);
  }
  const loaded = await loading;
  // In a bundle, a CommonJS package has only a default export.
  const exported = (loaded.default ?? loaded) as Record<string, unknown>;
  const schema = exported[`${action}$`] as object;
  const known = shapes.get(schema);
  if (known) return known;
  const shape = operationShape(schema);
  shapes.set(schema, shape);
  return shape;
}

function parseJson(body: string): unknown {
  try {
    return body === '' ? {} : JSON.parse(body);
  } catch {
    throw new AwsError('SerializationException', 'The request body is not JSON');
  }
}

const XML = { 'content-type': 'text/xml;charset=UTF-8' };

export function encodeOutput(
  service: AwsService,
  shape: OperationShape,
  answer: unknown,
  requestId: string,
): HttpAnswer {
  const headers = { 'x-amzn-requestid': requestId };
  switch (service.protocol) {
    case 'ec2': {
      const members = encodeXml(shape.output, answer);
      const body = `<${shape.name}Response xmlns="${service.namespace}"><requestId>${requestId}</requestId>${members}</${shape.name}Response>`;
      return { status: 200, headers: { ...headers, ...XML }, body: DECLARATION + body };
    }
    case 'query': {
      const result = `<${shape.name}Result>${encodeXml(shape.output, answer)}</${shape.name}Result>`;
      const metadata = `<ResponseMetadata><RequestId>${requestId}</RequestId></ResponseMetadata>`;
      const body = `<${shape.name}Response xmlns="${service.namespace}">${result}${metadata}</${shape.name}Response>`;
      return { status: 200, headers: { ...headers, ...XML }, body: DECLARATION + body };
    }
    default:
      return {
        status: 200,
        headers: { ...headers, 'content-type': contentType(service.protocol) },
        body: JSON.stringify(encodeJson(shape.output, answer) ?? {}),
      };
  }
}

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';

const contentType = (protocol: Protocol): string =>
  protocol === 'rest-json' ? 'application/json' : `application/x-amz-${protocol}`;

/** Encodes an error in the service's protocol. */
export function encodeError(service: AwsService, error: AwsError, requestId: string): HttpAnswer {
  const { code, message, status } = error;
  const headers = { 'x-amzn-requestid': requestId };
  const text = `<Code>${escapeXml(code)}</Code><Message>${escapeXml(message)}</Message>`;
  const fault = status >= 500 ? 'Receiver' : 'Sender';
  switch (service.protocol) {
    case 'ec2': {
      const body = `<Response><Errors><Error>${text}</Error></Errors><RequestID>${requestId}</RequestID></Response>`;
      return { status, headers: { ...headers, ...XML }, body: DECLARATION + body };
    }
    case 'query': {
      const inner = `<Error><Type>${fault}</Type>${text}</Error><RequestId>${requestId}</RequestId>`;
      const body = `<ErrorResponse xmlns="${service.namespace}">${inner}</ErrorResponse>`;
      return { status, headers: { ...headers, ...XML }, body: DECLARATION + body };
    }
    default: {
      const queryCode = service.queryCodes && `${service.queryCodes[code] ?? code};${fault}`;
      return {
        status,
        headers: {
          ...headers,
          'content-type': contentType(service.protocol),
          'x-amzn-errortype': code,
          ...(queryCode ? { 'x-amzn-query-error': queryCode } : {}),
        },
        body: JSON.stringify({ __type: `com.amazonaws.${service.name}#${code}`, message, ...error.details }),
      };
    }
  }
}

/** Encodes the XML responses of EC2 and of the query services. */
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\r': '&#xD;',
};

export const escapeXml = (text: string): string => text.replace(/[&<>"'\r]/g, (character) => ENTITIES[character] ?? '');

/** Encodes the members of a structure without a surrounding element. */
export function encodeXml(shape: WireShape, value: unknown): string {
  if (shape.kind !== 'structure') return '';
  return shape.members.map((member) => element(member, (value as Record<string, unknown>)[member.name])).join('');
}

function element(member: Member, value: unknown): string {
  if (value === undefined || value === null) return '';
  const name = member.xmlName ?? member.name;
  const { shape } = member;
  if (shape.kind === 'list' && member.flattened) {
    return (value as readonly unknown[]).map((item) => wrap(name, content(shape.item.shape, item))).join('');
  }
  return wrap(name, content(shape, value));
}

const wrap = (name: string, inner: string): string => (inner === '' ? `<${name}/>` : `<${name}>${inner}</${name}>`);

function content(shape: WireShape, value: unknown): string {
  switch (shape.kind) {
    case 'structure':
      return encodeXml(shape, value);
    case 'list': {
      const name = shape.item.xmlName ?? 'member';
      return (value as readonly unknown[]).map((item) => wrap(name, content(shape.item.shape, item))).join('');
    }
    case 'map':
      return Object.entries(value as Record<string, unknown>)
        .map(([key, item]) => {
          const name = wrap(shape.key.xmlName ?? 'key', escapeXml(key));
          return `<entry>${name}${wrap(shape.value.xmlName ?? 'value', content(shape.value.shape, item))}</entry>`;
        })
        .join('');
    case 'timestamp':
      return (value as Date).toISOString();
    case 'blob':
      return Buffer.from(value as Uint8Array).toString('base64');
    default:
      return escapeXml(String(value));
  }
}
