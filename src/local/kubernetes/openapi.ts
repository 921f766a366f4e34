/** OpenAPI documents: enough for kubectl's apply, explain and field validation. */
import type { Json } from './json.ts';
import { modelShape } from './models.ts';
import type { Registry, Resource } from './resources.ts';
import type { Shape } from './shape.ts';

const PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation', 'force', 'pretty'].map((name) => ({
  name,
  in: 'query',
  schema: { type: name === 'force' ? 'boolean' : 'string', uniqueItems: true },
}));

/** `api/v1`, `apis/apps/v1`: the names of the documents. */
const documentName = ({ group, version }: Pick<Resource, 'group' | 'version'>): string =>
  group === '' ? `api/${version}` : `apis/${group}/${version}`;

/** `/openapi/v3` */
export function openApiIndex(registry: Registry): Json {
  const names = new Set(registry.all().map(documentName));
  const paths = [...names].map(
    (name) => [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${registry.generation}` }] as const,
  );
  return { paths: Object.fromEntries(paths) };
}

/** `/openapi/v3/NAME`; undefined when the group version is not served. */
export function openApiDocument(registry: Registry, name: string): Json | undefined {
  const resources = registry.all().filter((resource) => documentName(resource) === name);
  if (resources.length === 0) return undefined;
  const schemas: Json = {};
  const paths: Json = {};
  for (const resource of resources) {
    const reference = resource.schema ? customSchema(resource, schemas) : builtinSchema(resource, schemas);
    Object.assign(paths, pathsOf(resource, reference));
  }
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.36.0' },
    paths,
    components: { schemas },
  };
}

const kindOf = ({ group, version, kind }: Resource): Json => ({ group, version, kind });
const refTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

function customSchema(resource: Resource, schemas: Json): string {
  const name = `${resource.group.split('.').reverse().join('.')}.${resource.version}.${resource.kind}`;
  const { properties, ...rest } = (resource.schema?.openapi ?? {}) as { properties?: Json };
  const metadata = { allOf: [shapeSchema(modelShape('V1ObjectMeta'), schemas)], default: {} };
  schemas[name] = {
    ...rest,
    properties: { ...properties, metadata },
    'x-kubernetes-group-version-kind': [kindOf(resource)],
  };
  return name;
}

function builtinSchema(resource: Resource, schemas: Json): string {
  const shape = modelShape(resource.model ?? '');
  shapeSchema(shape, schemas);
  const name = schemaName(shape);
  schemas[name] = { ...(schemas[name] as Json), 'x-kubernetes-group-version-kind': [kindOf(resource)] };
  return name;
}

const schemaName = (shape: Shape): string => `io.k8s.${shape.name ?? 'Object'}`;

/** The schema of a shape; objects are put among the document's schemas and referred to. */
function shapeSchema(shape: Shape, schemas: Json): Json {
  switch (shape.type) {
    case 'object': {
      const name = schemaName(shape);
      if (name in schemas) return refTo(name);
      const properties: Json = {};
      schemas[name] = { type: 'object', properties };
      for (const [field, inner] of shape.fields ?? []) properties[field] = shapeSchema(inner, schemas);
      return refTo(name);
    }
    case 'map':
      return { type: 'object', additionalProperties: shapeSchema(shape.items ?? { type: 'any' }, schemas) };
    case 'list':
      return listSchema(shape, schemas);
    case 'intOrString':
    case 'quantity':
      return { oneOf: [{ type: 'string' }, { type: 'number' }] };
    case 'any':
      return {};
    default:
      return { type: shape.type };
  }
}

function listSchema(shape: Shape, schemas: Json): Json {
  return {
    type: 'array',
    items: shapeSchema(shape.items ?? { type: 'any' }, schemas),
    ...(shape.keys && { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': shape.keys }),
    ...(shape.mergeKey !== undefined && {
      'x-kubernetes-patch-merge-key': shape.mergeKey,
      'x-kubernetes-patch-strategy': 'merge',
    }),
  };
}

/**
 * The paths of a resource's objects. The strategic media type is left out of the built-in kinds' patch operations on
 * purpose: kubectl then computes patches from its own types, which know more than these documents.
 */
function pathsOf(resource: Resource, schema: string): Json {
  const base = `/${documentName(resource)}${resource.namespaced ? '/namespaces/{namespace}' : ''}/${resource.plural}`;
  const kind = { 'x-kubernetes-group-version-kind': kindOf(resource) };
  const content = { 'application/json': { schema: refTo(schema) } };
  const answer = { responses: { 200: { description: 'OK', content } } };
  const patch = {
    'application/json-patch+json': {},
    'application/merge-patch+json': {},
    'application/apply-patch+yaml': {},
  };
  const action = (name: string): Json => ({ ...kind, 'x-kubernetes-action': name, ...answer });
  return {
    [base]: {
      get: action('list'),
      post: { ...action('post'), parameters: PARAMETERS, requestBody: { content } },
    },
    [`${base}/{name}`]: {
      get: action('get'),
      put: { ...action('put'), parameters: PARAMETERS, requestBody: { content } },
      patch: { ...action('patch'), parameters: PARAMETERS, requestBody: { content: patch } },
      delete: { ...action('delete'), parameters: PARAMETERS },
    },
  };
}

/** `/openapi/v2` as JSON: a document without paths, which clients that know version 3 do not need. */
export const openApiV2 = (): Json => ({
  swagger: '2.0',
  info: { title: 'Kubernetes', version: 'v1.36.0' },
  paths: {},
  definitions: {},
});

/** The same as protobuf (gnostic's openapi.v2.Document): swagger, info {title, version} and empty paths. */
export function openApiV2Protobuf(): Buffer {
  const field = (number: number, content: Buffer): Buffer =>
    Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content]);
  const info = Buffer.concat([field(1, Buffer.from('Kubernetes')), field(2, Buffer.from('v1.36.0'))]);
  return Buffer.concat([field(1, Buffer.from('2.0')), field(2, info), field(8, Buffer.alloc(0))]);
}
