/** Maps request paths to handlers. */

import { own } from '#lib';
import { at, clone, type Json, record } from '../json.ts';
import { bind } from '../operations/binding.ts';
import { evict } from '../operations/eviction.ts';
import { applyAnyPatch, parsePatch, patchType } from '../operations/patch.ts';
import { patchableScale, readScale, writeScale } from '../operations/scale.ts';
import { commit, read, type Target } from '../operations/update.ts';
import type { Resource } from '../resources/registry.ts';
import { ANY } from '../resources/shape.ts';
import { badRequest, methodNotAllowed, notFound, StatusError, success, unknownPath } from '../status.ts';
import { type ApiCall, send, sendText, warn } from './call.ts';
import { aggregatedList, groupDocument, groupList, resourceList } from './discovery.ts';
import { serveList } from './list.ts';
import { parseBody } from './media.ts';
import { isMetricsApi, serveMetrics } from './metrics-api.ts';
import { answer, deleteOptions, serveCreate, serveDeleteCollection, serveObject, writeOptions } from './objects.ts';
import { openApiDocument, openApiIndex, openApiV2, openApiV2Protobuf } from './openapi.ts';
import { REVIEWS, tokenRequest } from './reviews.ts';
import type { Watches } from './watch.ts';

/** Version of the local server. */
export const SERVER_VERSION = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0-local',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '2026-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: `${process.platform}/${process.arch}`,
};

const HEALTH = new Set(['healthz', 'livez', 'readyz']);
const V2_PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/** @throws StatusError for every rejected request */
export function route(call: ApiCall, watches: Watches): undefined {
  const segments = call.path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decodeURIComponent);
  const [first = '', second = '', third = '', ...rest] = segments;
  if (HEALTH.has(first)) return sendText(call, 'ok', 'text/plain; charset=utf-8');
  if (first === 'version') return send(call, SERVER_VERSION);
  if (first === 'openapi') return serveOpenApi(call, segments);
  if (first === 'api') {
    if (second === '') return serveVersions(call);
    if (second === 'v1') return serveGroup(call, watches, '', 'v1', segments.slice(2));
  }
  if (first === 'apis') {
    if (second === '') return serveGroups(call);
    if (third === '') return sendDocument(call, groupDocument(call.core.registry, second));
    return serveGroup(call, watches, second, third, rest);
  }
  if (first === '')
    return send(call, {
      paths: ['/api', '/api/v1', '/apis', '/healthz', '/livez', '/openapi/v2', '/openapi/v3', '/readyz', '/version'],
    });
  throw unknownPath();
}

function sendDocument(call: ApiCall, document: Json | undefined): undefined {
  if (!document) throw unknownPath();
  send(call, document);
}

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

const serveAggregated = (call: ApiCall, core: boolean): undefined =>
  sendText(call, JSON.stringify(aggregatedList(call.core.registry, core)), AGGREGATED);

function serveVersions(call: ApiCall): undefined {
  if (call.wanted.aggregated) return serveAggregated(call, true);
  const serverAddress = call.request.headers.host ?? '';
  send(call, {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  });
}

function serveGroups(call: ApiCall): undefined {
  if (call.wanted.aggregated) return serveAggregated(call, false);
  send(call, groupList(call.core.registry));
}

function serveOpenApi(call: ApiCall, [, version, ...name]: readonly string[]): undefined {
  const { registry } = call.core;
  if (version === 'v3') {
    return name.length === 0
      ? send(call, openApiIndex(registry))
      : sendDocument(call, openApiDocument(registry, name.join('/')));
  }
  if (version !== 'v2') throw unknownPath();
  if (!call.request.headers.accept?.includes('protobuf')) return send(call, openApiV2());
  const document = openApiV2Protobuf();
  call.response.writeHead(200, { 'content-type': V2_PROTOBUF, 'content-length': document.length });
  call.response.end(document);
}

interface Located {
  readonly namespace: string | undefined;
  readonly plural: string;
  readonly name: string;
  readonly subresource: string;
}

/** `namespaces/NS/PLURAL/NAME/SUB`, `PLURAL/NAME/SUB`, or a namespace itself. */
function locate(segments: readonly string[]): Located {
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = segments;
  const isInside = first === 'namespaces' && third !== '' && third !== 'status' && third !== 'finalize';
  if (isInside) return { namespace: second, plural: third, name: fourth, subresource: fifth };
  return { namespace: undefined, plural: first, name: second, subresource: third };
}

function serveGroup(
  call: ApiCall,
  watches: Watches,
  group: string,
  version: string,
  segments: readonly string[],
): undefined {
  const { registry } = call.core;
  if (segments.length === 0) return sendDocument(call, resourceList(registry, group, version));
  const { namespace, plural, name, subresource } = locate(segments);
  if (isMetricsApi(group, version)) return serveMetrics(call, { namespace, plural, name });
  const review = REVIEWS[`${group}/${version}/${plural}`];
  if (review && call.method === 'POST') {
    const body = record(parseBody(call.body, call.request.headers['content-type']));
    return send(call, review.answer({ ...body, kind: review.kind, apiVersion: `${group}/${version}` }), 201);
  }
  const resource = registry.find(group, version, plural);
  if (resource === undefined && resourceList(registry, group, version) === undefined)
    return sendText(call, '404 page not found\n', 'text/plain; charset=utf-8', 404);
  if (!resource || (namespace !== undefined && !resource.namespaced)) throw unknownPath();
  warn(call, resource.warnings ?? []);
  if (name === '') return serveCollection(call, watches, resource, namespace);
  const scope = namespace === undefined && resource.namespaced ? '' : namespace;
  const target = { resource, namespace: scope, name };
  if (subresource !== '') return serveSubresource(call, target, subresource);
  if (call.method === 'GET' && isWatch(call)) {
    call.query.set('fieldSelector', `metadata.name=${name}`);
    return watches.serve(call, resource, namespace);
  }
  serveObject(call, target);
}

const isWatch = ({ query }: ApiCall): boolean => ['true', '1'].includes(query.get('watch') ?? '');

function serveCollection(
  call: ApiCall,
  watches: Watches,
  resource: Resource,
  namespace: string | undefined,
): undefined {
  switch (call.method) {
    case 'GET':
    case 'HEAD':
      return isWatch(call) ? watches.serve(call, resource, namespace) : serveList(call, resource, namespace);
    case 'POST':
      return serveCreate(call, resource, namespace);
    case 'DELETE':
      return serveDeleteCollection(call, resource, namespace);
    default:
      throw methodNotAllowed();
  }
}

/** Requests on subresources other than status. */
type Handler = (call: ApiCall, target: Target) => undefined;

const bodyOf = (call: ApiCall): unknown => parseBody(call.body, call.request.headers['content-type']);

const serveEviction: Handler = (call, target) => {
  if (call.method !== 'POST') throw methodNotAllowed();
  const body = bodyOf(call);
  const name = at(body, 'metadata', 'name');
  if (name !== undefined && name !== '' && name !== target.name)
    throw badRequest('name in URL does not match name in Eviction object');
  evict(call.core, target, deleteOptions(at(body, 'deleteOptions'), call.query));
  send(call, success(undefined, 201), 201);
};

const serveBinding: Handler = (call, target) => {
  if (call.method !== 'POST') throw methodNotAllowed();
  bind(call.core, target, bodyOf(call), call.query.get('dryRun') === 'All');
  send(call, success(undefined, 201), 201);
};

const serveScale: Handler = (call, target) => {
  const { core, method } = call;
  if (method === 'GET') return send(call, readScale(core, target));
  if (method === 'PUT') return send(call, writeScale(core, target, bodyOf(call), writeOptions(call)));
  if (method !== 'PATCH') throw methodNotAllowed();
  const type = patchType(call.request.headers['content-type'] ?? '', target.resource);
  const scale = applyAnyPatch(type, patchableScale(core, target), parsePatch(type, call.body.toString()), ANY);
  return send(call, writeScale(core, target, scale, writeOptions(call)));
};

const serveToken: Handler = (call, target) => {
  read(call.core, target);
  const token = tokenRequest(record(bodyOf(call)), target.namespace ?? '', target.name, call.core.clock.now());
  send(call, token, 201);
};

/** Replaces the finalizers of a namespace. Its deletion ends with such a request. */
const serveFinalize: Handler = (call, target) => {
  const entry = read(call.core, target);
  const next = clone(entry.object);
  next.spec = { ...record(next.spec), finalizers: at(bodyOf(call), 'spec', 'finalizers') ?? [] };
  answer(call, target.resource, commit(call.core, target.resource, entry, next));
};

const refuse =
  (what: string): Handler =>
  (call, target) => {
    read(call.core, target);
    throw new StatusError(
      400,
      'BadRequest',
      `${what} of pod ${JSON.stringify(target.name)} is not available: the local cluster does not run container processes`,
    );
  };

const HANDLERS: Readonly<Record<string, Handler>> = {
  status: (call, target) => serveObject(call, target, 'status'),
  resize: (call, target) => serveObject(call, target, 'resize'),
  scale: serveScale,
  eviction: serveEviction,
  binding: serveBinding,
  token: serveToken,
  finalize: serveFinalize,
  log: refuse('The log'),
  exec: refuse('A command'),
  attach: refuse('The terminal'),
  portforward: refuse('A port'),
};

/** @throws StatusError 404 if the resource does not have this subresource */
function serveSubresource(call: ApiCall, target: Target, name: string): undefined {
  const { resource } = target;
  const has =
    (name === 'status' && resource.status) ||
    (name === 'scale' && resource.scale) ||
    Object.hasOwn(resource.subresources, name);
  const handler = own(HANDLERS, name);
  if (!has || !handler) throw resource.model === undefined ? notFound(resource, target.name) : unknownPath();
  handler(call, target);
}
