/** Lists: selection, pagination and the semantics of resourceVersion. */
import type { Core } from '../core.ts';
import type { Json } from '../json.ts';
import type { Resource } from '../resources/registry.ts';
import { groupVersion } from '../resources/registry.ts';
import { fieldSelector, labelSelector } from '../selectors.ts';
import { badRequest, expiredError, fieldForbidden, invalid, StatusError } from '../status.ts';
import type { StoredEntry } from '../storage/entry.ts';
import { partialMetadata, printedTable } from '../table/index.ts';
import { type ApiCall, send, sendJson } from './call.ts';
import { includeOf } from './media.ts';

export interface Selection {
  readonly matches: (entry: StoredEntry) => boolean;
  readonly selectsAll: boolean;
}

/**
 * Returns the selection of the query's selectors.
 * @throws StatusError 400
 */
export function selection(query: URLSearchParams, resource: Resource, namespace: string | undefined): Selection {
  const labels = labelSelector(query.get('labelSelector') ?? undefined);
  const fields = fieldSelector(query.get('fieldSelector') ?? undefined, resource);
  const prefix = namespace === undefined ? '' : `${namespace}/`;
  return {
    selectsAll: !labels && !fields,
    matches: (entry) =>
      entry.key.startsWith(prefix) &&
      (!labels || labels(entry.object.metadata.labels ?? {})) &&
      (!fields || fields(entry.in(resource))),
  };
}

const CONTINUE_EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
/** Revision in a token that means the latest state. */
const NOW = -1;

/** Start of the next page: the revision of the first page and the last key sent. */
interface Position {
  readonly rv: number;
  readonly start: string;
}

const token = (position: Position): string => Buffer.from(JSON.stringify(position)).toString('base64url');

function position(text: string): Position {
  try {
    const { rv, start } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Position;
    if (Number.isInteger(rv) && typeof start === 'string') return { rv, start };
  } catch {
    // falls through to the error for malformed tokens
  }
  throw badRequest('continue key is not valid: the token was not created by this server');
}

/**
 * Returns the requested revision.
 *
 * @param malformed the error if it is not a number; the default is the error of a list
 */
export function revisionOf(
  text: string,
  malformed: (message: string) => StatusError = (message) => badRequest(`invalid resource version: ${message}`),
): number {
  const revision = Number(text);
  if (Number.isInteger(revision) && revision >= 0) return revision;
  const quoted = JSON.stringify(text);
  throw malformed(`resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`);
}

/**
 * Returns the requested revision of a list.
 * @throws StatusError 504 if it is in the future
 */
function listableRevision(core: Core, text: string): number {
  const revision = revisionOf(text);
  if (revision > core.store.revision) {
    const message = `Timeout: Too large resource version: ${revision}, current: ${core.store.revision}`;
    throw new StatusError(504, 'Timeout', message, {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    });
  }
  return revision;
}

interface Page {
  readonly entries: readonly StoredEntry[];
  readonly metadata: Json;
}

function snapshot(
  core: Core,
  resource: Resource,
  namespace: string | undefined,
  revision: number,
  resumed: Position | undefined,
): readonly StoredEntry[] {
  if (revision === core.store.revision) return core.store.list(resource.storage, namespace);
  const entries = core.store.listAt(resource.storage, namespace, revision);
  if (entries) return entries;
  if (!resumed) throw expiredError('The resourceVersion for the provided list is too old.');
  const error = expiredError(CONTINUE_EXPIRED);
  error.continueToken = token({ rv: NOW, start: resumed.start });
  throw error;
}

function page({ core, query }: ApiCall, resource: Resource, namespace: string | undefined): Page {
  const from = query.get('continue');
  const exact = query.get('resourceVersionMatch') === 'Exact';
  const named = query.get('resourceVersion') ?? '';
  const resumed = from ? position(from) : undefined;
  const asked = named === '' || resumed ? core.store.revision : listableRevision(core, named);
  const resumedAt = resumed?.rv === NOW ? core.store.revision : resumed?.rv;
  const revision = resumedAt ?? (exact ? asked : core.store.revision);
  if (query.has('resourceVersionMatch') && named === '') {
    throw invalidListOptions('resourceVersionMatch is forbidden unless resourceVersion is provided');
  }
  const { matches, selectsAll } = selection(query, resource, namespace);
  const found = snapshot(core, resource, namespace, revision, resumed).filter(matches);
  const start = resumed ? found.findIndex(({ key }) => key > resumed.start) : 0;
  const rest = start < 0 ? [] : found.slice(start);
  const limit = Number(query.get('limit') ?? 0);
  if (!Number.isInteger(limit)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(query.get('limit'))}: invalid syntax`);
  }
  const entries = limit > 0 ? rest.slice(0, limit) : rest;
  const last = entries.at(-1);
  const more = last !== undefined && rest.length > entries.length;
  return {
    entries,
    metadata: {
      resourceVersion: String(revision),
      ...(more && {
        continue: token({ rv: revision, start: last.key }),
        // If there is a selector, the remaining items have not been counted.
        ...(selectsAll && { remainingItemCount: rest.length - entries.length }),
      }),
    },
  };
}

/** Returns the error for contradictory query parameters. */
export function invalidListOptions(why: string): StatusError {
  const cause = fieldForbidden('resourceVersionMatch', why);
  return invalid({ group: 'meta.k8s.io', plural: '', kind: 'ListOptions' }, '', [cause]);
}

/** Serves a list request. */
export function serveList(call: ApiCall, resource: Resource, namespace: string | undefined): undefined {
  const { entries, metadata } = page(call, resource, namespace);
  if (call.wanted.as === 'table') {
    send(call, printedTable(resource, entries, metadata, includeOf(call.query), call.core.clock.now()));
  } else if (call.wanted.as === 'partial') {
    const items = entries.map((entry) => partialMetadata(entry, resource));
    send(call, { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items });
  } else sendList(call, resource, entries, metadata);
}

/** Sends a list of whole objects. */
export function sendList(
  call: ApiCall,
  resource: Resource,
  entries: readonly StoredEntry[],
  metadata: Json,
): undefined {
  // Lists of custom resources contain an empty `continue` on the last page.
  const ends = resource.model === undefined && metadata.continue === undefined ? { continue: '' } : {};
  const head = { kind: resource.listKind, apiVersion: groupVersion(resource), metadata: { ...ends, ...metadata } };
  const items = entries.map((entry) => entry.itemJson(resource)).join(',');
  sendJson(call, `${JSON.stringify(head).slice(0, -1)},"items":[${items}]}`);
}
