/** OpenAPI documents with the parts that kubectl needs for apply, explain and field validation. */
import type { Json } from '../json.ts';
import { modelShape } from '../resources/models.ts';
import type { Registry, Resource } from '../resources/registry.ts';
import type { ResourceShape } from '../resources/shape.ts';

const PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation', 'force', 'pretty'].map((name) => ({
  name,
  in: 'query',
  schema: { type: name === 'force' ? 'boolean' : 'string', uniqueItems: true },
}));

/** Returns the name of a document, for example `api/v1` or `apis/apps/v1`. */
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

/** `/openapi/v3/NAME`. Returns undefined if the group version is not served. */
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

/** Fields of every object. Kubernetes uses these descriptions instead of the descriptions in the definition. */
const TYPE_META: Json = {
  apiVersion: {
    type: 'string',
    description:
      'APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources',
  },
  kind: {
    type: 'string',
    description:
      'Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds',
  },
};
const METADATA_DESCRIPTION =
  "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

function customSchema(resource: Resource, schemas: Json): string {
  const name = `${resource.group.split('.').reverse().join('.')}.${resource.version}.${resource.kind}`;
  const { properties, ...rest } = (resource.schema?.openapi ?? {}) as { properties?: Json };
  const metadata = {
    description: METADATA_DESCRIPTION,
    allOf: [shapeSchema(modelShape('V1ObjectMeta'), schemas)],
    default: {},
  };
  schemas[name] = {
    ...rest,
    properties: { ...properties, ...TYPE_META, metadata },
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

/** Returns the name as Kubernetes spells it: `V1Container` and `CoreV1Event` are Container and Event in version 1. */
function schemaName({ name = 'Object' }: ResourceShape): string {
  const [, version = '', kind = name] = /^(?:[A-Z][a-z]+)?(V\d+(?:(?:alpha|beta)\d+)?)(\D.*)$/.exec(name) ?? [];
  return `io.k8s.api.${version.toLowerCase()}.${kind}`;
}

/** Types that are not objects, but have names. */
const NAMED_TYPES: Readonly<Record<string, Json>> = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': {
    format: 'int-or-string',
    oneOf: [{ type: 'integer' }, { type: 'string' }],
  },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { oneOf: [{ type: 'string' }, { type: 'number' }] },
};

function namedType(name: string, schemas: Json): Json {
  schemas[name] = NAMED_TYPES[name];
  return refTo(name);
}

/** Clients would treat an empty schema as a missing one. */
const ANYTHING: Json = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** Returns the schema of a shape. Adds schemas of objects to the document, and returns references to them. */
function shapeSchema(shape: ResourceShape, schemas: Json): Json {
  switch (shape.type) {
    case 'object':
      return objectSchema(shape, schemas);
    case 'map':
      return { type: 'object', additionalProperties: shapeSchema(shape.items ?? { type: 'any' }, schemas) };
    case 'list':
      return listSchema(shape, schemas);
    case 'intOrString':
      return namedType('io.k8s.apimachinery.pkg.util.intstr.IntOrString', schemas);
    case 'quantity':
      return namedType('io.k8s.apimachinery.pkg.api.resource.Quantity', schemas);
    case 'any':
      if (shape.name === undefined) return ANYTHING;
      schemas[schemaName(shape)] = ANYTHING;
      return refTo(schemaName(shape));
    default:
      return { type: shape.type };
  }
}

function objectSchema(shape: ResourceShape, schemas: Json): Json {
  const name = schemaName(shape);
  if (Object.hasOwn(schemas, name)) return refTo(name);
  const properties: Json = {};
  schemas[name] = { type: 'object', properties };
  for (const [field, inner] of shape.fields ?? []) properties[field] = shapeSchema(inner, schemas);
  return refTo(name);
}

function listSchema(shape: ResourceShape, schemas: Json): Json {
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
 * Returns the paths of a resource's objects. The patch operations of built-in kinds omit the strategic media type
 * intentionally. Therefore kubectl computes patches from its own types, which are more complete than these documents.
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

/** Returns `/openapi/v2` as JSON: a document without paths. Clients that support version 3 do not need paths. */
export const openApiV2 = (): Json => ({
  swagger: '2.0',
  info: { title: 'Kubernetes', version: 'v1.36.0' },
  paths: {},
  definitions: {},
});

/**
 * Returns the same document as protobuf (gnostic's openapi.v2.Document): swagger, info {title, version} and empty
 * paths.
 */
export function openApiV2Protobuf(): Buffer {
  const field = (number: number, content: Buffer): Buffer =>
    Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content]);
  const info = Buffer.concat([field(1, Buffer.from('Kubernetes')), field(2, Buffer.from('v1.36.0'))]);
  return Buffer.concat([field(1, Buffer.from('2.0')), field(2, info), field(8, Buffer.alloc(0))]);
}
