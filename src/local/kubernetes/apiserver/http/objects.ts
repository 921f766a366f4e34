/** Requests for objects: maps path, query and body to an operation, and sends its result. */
import type { IncomingMessage } from 'node:http';
import type { ApiDeleteOptions, WriteOptions } from '../core.ts';
import { at, isRecord } from '../json.ts';
import { create } from '../operations/create.ts';
import { remove } from '../operations/delete.ts';
import { type ApiPatchOptions, parsePatch, patch, patchType } from '../operations/patch.ts';
import { read, type Target, update } from '../operations/update.ts';
import type { Resource } from '../resources/registry.ts';
import {
  badRequest,
  invalid,
  methodNotAllowed,
  notSupported,
  type StatusCause,
  type StatusError,
  success,
} from '../status.ts';
import type { StoredEntry } from '../storage/entry.ts';
import { partialMetadata, printedTable } from '../table/index.ts';
import { type ApiCall, collectWarnings, send, sendJson } from './call.ts';
import { selection, sendList } from './list.ts';
import { includeOf, parseBody } from './media.ts';

const OPTIONS_KINDS: Readonly<Record<string, string>> = {
  POST: 'CreateOptions',
  PUT: 'UpdateOptions',
  PATCH: 'PatchOptions',
  DELETE: 'DeleteOptions',
};

const invalidOptions = (method: string, cause: StatusCause): StatusError =>
  invalid({ group: 'meta.k8s.io', plural: '', kind: OPTIONS_KINDS[method] ?? 'GetOptions' }, '', [cause]);

/** @throws StatusError 422 if dryRun or fieldValidation has an invalid value */
export function writeOptions(
  { query, request, method }: ApiCall,
  subresource?: WriteOptions['subresource'],
): WriteOptions & { warnings: string[] } {
  const validation = query.get('fieldValidation') || 'Warn';
  if (validation !== 'Strict' && validation !== 'Warn' && validation !== 'Ignore') {
    throw invalidOptions(method, notSupported('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']));
  }
  return {
    dryRun: isDryRun(query.get('dryRun'), method),
    fieldValidation: validation,
    warnings: [],
    subresource,
    fieldManager: query.get('fieldManager') || agentOf(request),
  };
}

/** Returns the name of the writing program from its user agent. */
function agentOf({ headers }: IncomingMessage): string {
  const [agent = ''] = (headers['user-agent'] ?? '').split('/');
  return agent || 'unknown';
}

function isDryRun(value: unknown, method: string): boolean {
  const values = Array.isArray(value) ? value : value ? [value] : [];
  if (values.some((one) => one !== 'All')) throw invalidOptions(method, notSupported('dryRun', values, ['All']));
  return values.length > 0;
}

/** Sends an object in the requested form. */
export function answer(call: ApiCall, resource: Resource, entry: StoredEntry, code = 200): undefined {
  if (call.wanted.as === 'table') {
    const metadata = { resourceVersion: entry.object.metadata.resourceVersion };
    send(call, printedTable(resource, [entry], metadata, includeOf(call.query), call.core.clock.now()), code);
  } else if (call.wanted.as === 'partial') send(call, partialMetadata(entry, resource), code);
  else sendJson(call, entry.json(resource), code);
}

export function serveCreate(call: ApiCall, resource: Resource, namespace: string | undefined): undefined {
  const options = writeOptions(call);
  const body = parseBody(call.body, call.request.headers['content-type']);
  const entry = collectWarnings(call, options.warnings, () => create(call.core, resource, namespace, body, options));
  answer(call, resource, entry, 201);
}

/** Serves requests for one object, for its status, or for the resources of a pod. */
export function serveObject(call: ApiCall, target: Target, subresource?: WriteOptions['subresource']): undefined {
  const { core, method } = call;
  const { resource } = target;
  if (method === 'GET' || method === 'HEAD') return answer(call, resource, read(core, target));
  if (method === 'DELETE' && subresource === undefined) return serveDelete(call, target);
  const options = writeOptions(call, subresource);
  if (method === 'PUT') {
    const body = parseBody(call.body, call.request.headers['content-type']);
    const entry = collectWarnings(call, options.warnings, () => update(core, target, body, options));
    return answer(call, resource, entry);
  }
  if (method !== 'PATCH') throw methodNotAllowed();
  servePatch(call, target, options);
}

function servePatch(call: ApiCall, target: Target, options: WriteOptions & { warnings: string[] }): undefined {
  const { core, query, request } = call;
  const { resource, namespace, name } = target;
  const type = patchType(request.headers['content-type'] ?? '', resource);
  const existed = core.store.get(resource.storage, namespace, name) !== undefined;
  const patching: ApiPatchOptions = {
    ...options,
    ...(type === 'apply' && { fieldManager: query.get('fieldManager') ?? undefined }),
    force: query.get('force') === 'true',
  };
  const parsed = parsePatch(type, call.body.toString());
  const entry = collectWarnings(call, options.warnings, () => patch(core, target, type, parsed, patching));
  answer(call, resource, entry, existed ? 200 : 201);
}

const POLICIES = ['Background', 'Foreground', 'Orphan'] as const;

/**
 * Returns delete options from the body and the query. The body has precedence.
 * @throws StatusError 400
 */
export function deleteOptions(body: unknown, query: URLSearchParams): ApiDeleteOptions {
  const options = isRecord(body) ? body : {};
  const grace = options.gracePeriodSeconds ?? query.get('gracePeriodSeconds') ?? undefined;
  const written = options.propagationPolicy ?? query.get('propagationPolicy') ?? undefined;
  const policy = POLICIES.find((one) => one === written);
  if (written !== undefined && !policy) {
    throw badRequest(
      `propagationPolicy: Unsupported value: ${JSON.stringify(written)}: supported values: "Background", "Foreground", "Orphan"`,
    );
  }
  const uid = at(options, 'preconditions', 'uid');
  const resourceVersion = at(options, 'preconditions', 'resourceVersion');
  return {
    dryRun: isDryRun(options.dryRun ?? query.get('dryRun'), 'DELETE'),
    gracePeriodSeconds: grace === undefined ? undefined : Number(grace),
    propagationPolicy: policy ?? (options.orphanDependents === true ? 'Orphan' : undefined),
    uid: typeof uid === 'string' ? uid : undefined,
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : undefined,
  };
}

/** Kinds whose delete returns the object even if it is removed immediately. */
const RETURNS_OBJECT: ReadonlySet<string> = new Set([
  'pods',
  'services',
  'persistentvolumes',
  'persistentvolumeclaims',
  'serviceaccounts',
  'resourcequotas',
  'podtemplates',
]);

function serveDelete(call: ApiCall, target: Target): undefined {
  const { resource, name } = target;
  const body = parseBody(call.body, call.request.headers['content-type']);
  const { entry, removed } = remove(call.core, target, deleteOptions(body, call.query));
  if (!removed || RETURNS_OBJECT.has(resource.storage)) return answer(call, resource, entry);
  const { uid } = entry.object.metadata;
  send(
    call,
    success({
      name,
      ...(resource.group !== '' && { group: resource.group }),
      kind: resource.plural,
      ...(uid !== undefined && { uid }),
    }),
  );
}

/** Deletes every object that matches the selectors. */
export function serveDeleteCollection(call: ApiCall, resource: Resource, namespace: string | undefined): undefined {
  const { core, query } = call;
  const options = deleteOptions(parseBody(call.body, call.request.headers['content-type']), query);
  const { matches } = selection(query, resource, namespace);
  const { revision } = core.store;
  const entries = core.store.list(resource.storage, namespace).filter(matches);
  for (const { object } of entries) {
    const { name, namespace: own } = object.metadata;
    remove(core, { resource, namespace: own, name }, options);
  }
  // Lists the objects in their state before the deletion.
  sendList(call, resource, entries, { resourceVersion: String(revision) });
}
