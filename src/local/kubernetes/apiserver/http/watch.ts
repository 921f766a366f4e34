/** Watches: a stream of changes after a revision, as one JSON object per line. */
import type { ServerResponse } from 'node:http';
import type { Clock } from '#lib/clock';
import type { Metadata } from '../json.ts';
import { groupVersion, type Resource } from '../resources/registry.ts';
import { expiredError, StatusError } from '../status.ts';
import { StoredEntry } from '../storage/entry.ts';
import type { StoredChange } from '../storage/history.ts';
import { partialMetadata, printedTable } from '../table/index.ts';
import type { ApiCall } from './call.ts';
import { invalidListOptions, revisionOf, selection } from './list.ts';
import { includeOf } from './media.ts';

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';
/** Bytes that may wait for a slow client. Beyond this limit the watch is closed, as on a real server. */
const BUFFER_LIMIT = 64 * 1024 * 1024;
const LONGEST_SECONDS = 3600;

export interface Watches {
  /** @throws StatusError before the stream starts */
  serve(call: ApiCall, resource: Resource, namespace: string | undefined): undefined;
  /** Breaks every connection. */
  drop(): undefined;
  /** Ends every stream gracefully. */
  end(): undefined;
}

/** @param bookmarkIntervalMs time between bookmarks, in milliseconds of the server's clock */
export function createWatches(bookmarkIntervalMs: number): Watches {
  const open = new Set<ServerResponse>();
  return {
    serve: (call, resource, namespace) => {
      open.add(call.response);
      call.response.once('close', () => open.delete(call.response));
      serveWatch(call, resource, namespace, bookmarkIntervalMs);
    },
    drop: () => {
      for (const response of open) response.destroy();
    },
    end: () => {
      for (const response of open) response.end();
    },
  };
}

/** Returns the start of a watch: the current state, or a revision. */
function startOf({ core, query }: ApiCall): {
  readonly initial: boolean;
  readonly revision: number;
  readonly marksEnd: boolean;
} {
  const named = query.get('resourceVersion') ?? '';
  const marksEnd = query.get('sendInitialEvents') === 'true';
  if (query.has('sendInitialEvents') && query.get('resourceVersionMatch') !== 'NotOlderThan') {
    throw invalidListOptions('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  }
  if (named !== '') revisionOf(named, (message) => new StatusError(500, '', message));
  const fromNow = named === '' || named === '0';
  const initial = marksEnd || (fromNow && query.get('sendInitialEvents') !== 'false');
  return { initial, marksEnd, revision: initial || fromNow ? core.store.revision : Number(named) };
}

function serveWatch(
  call: ApiCall,
  resource: Resource,
  namespace: string | undefined,
  bookmarkIntervalMs: number,
): undefined {
  const { core, query, response } = call;
  const { store } = core;
  const { matches } = selection(query, resource, namespace);
  const start = startOf(call);
  const missed = store.since(resource.storage, start.revision);
  response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
  // sends the headers immediately, so that clients detect the open watch
  response.flushHeaders();
  const render = renderer(call, resource);
  const write = (type: string, object: string): undefined => {
    response.write(`{"type":"${type}","object":${object}}\n`);
    if (response.writableLength > BUFFER_LIMIT) response.destroy();
  };
  if (!missed) {
    write(
      'ERROR',
      JSON.stringify(
        expiredError(`too old resource version: ${start.revision} (${store.compacted(resource.storage)})`),
      ),
    );
    response.end();
    return;
  }
  if (start.initial)
    for (const entry of store.list(resource.storage, namespace)) if (matches(entry)) write('ADDED', render(entry));
  const tell = (change: StoredChange): undefined => {
    // A watch may start at a future revision. It then waits for this revision.
    if (change.revision <= start.revision) return;
    const seen = transition(change, matches);
    if (seen) write(seen.type, render(seen.entry));
  };
  for (const change of missed) tell(change);
  const bookmark = (end: boolean): undefined =>
    // in the form of the remaining events, because a client that requested metadata cannot decode another form
    write('BOOKMARK', render(bookmarkOf(resource, store.revision, end)));
  if (start.marksEnd) bookmark(true);
  const unsubscribe = store.subscribe(tell, resource.storage);
  const isMarked = query.get('allowWatchBookmarks') === 'true';
  const stopMarks = isMarked ? repeat(core.clock, bookmarkIntervalMs, () => bookmark(false)) : undefined;
  const seconds = Number(query.get('timeoutSeconds') ?? 0) || LONGEST_SECONDS;
  const stopEnd = core.clock.after(Math.min(seconds, LONGEST_SECONDS) * 1000, () => response.end());
  response.once('close', () => {
    unsubscribe();
    stopMarks?.();
    stopEnd();
  });
}

/** Calls `fire` again and again. Returns a function that ends this. */
function repeat(clock: Clock, intervalMs: number, fire: () => void): () => void {
  const next = (): (() => void) =>
    clock.after(intervalMs, () => {
      stop = next();
      fire();
    });
  let stop = next();
  return () => stop();
}

/** Returns the event for a watch with selectors, which sees a subset of the objects. */
function transition(
  change: StoredChange,
  matches: (entry: StoredEntry) => boolean,
): { type: string; entry: StoredEntry } | undefined {
  const { type, entry, before, revision } = change;
  const seenBefore = before !== undefined && matches(before);
  if (type === 'DELETED') return seenBefore ? { type, entry } : undefined;
  const seenNow = matches(entry);
  if (seenNow) return { type: seenBefore ? 'MODIFIED' : 'ADDED', entry };
  return seenBefore ? { type: 'DELETED', entry: before.at(revision) } : undefined;
}

function renderer({ core, wanted, query }: ApiCall, resource: Resource): (entry: StoredEntry) => string {
  if (wanted.as === 'partial') return (entry) => JSON.stringify(partialMetadata(entry, resource));
  if (wanted.as === 'object') return (entry) => entry.json(resource);
  const include = includeOf(query);
  let isFirst = true;
  return (entry) => {
    const metadata = { resourceVersion: String(entry.revision) };
    const rows = printedTable(resource, [entry], metadata, include, core.clock.now());
    // The columns are sent only once.
    const shown = isFirst ? rows : { ...rows, columnDefinitions: null };
    isFirst = false;
    return JSON.stringify(shown);
  };
}

/** Returns an object of the watched kind that contains only a revision. */
const bookmarkOf = (resource: Resource, revision: number, initialEnd: boolean): StoredEntry => {
  const metadata: Partial<Metadata> = {
    resourceVersion: String(revision),
    ...(initialEnd && { annotations: { [INITIAL_EVENTS_END]: 'true' } }),
  };
  const object = { kind: resource.kind, apiVersion: groupVersion(resource), metadata: metadata as Metadata };
  return new StoredEntry('', object, revision);
};
