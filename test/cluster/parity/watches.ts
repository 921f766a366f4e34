/** Watches as client libraries open them, with requests during the watch. */
import type { Line, Request, Server } from '../harness/http.ts';
import { METADATA, TABLE } from './script.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const POOLS = '/apis/karpenter.sh/v1/nodepools';

export interface WatchCase {
  readonly name: string;
  /** The collection, which is listed first and watched from the version of the list. */
  readonly path: string;
  readonly query: string;
  readonly accept?: string;
  /** Requests before the watch opens. */
  readonly before?: readonly Request[];
  /** Requests while the watch is open. */
  readonly during?: readonly Request[];
  /** Number of events. */
  readonly events: number;
  /** Start version instead of the version of the list. */
  readonly from?: string;
}

const map = (name: string, labels: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels },
});
const create = (name: string, labels: object = {}): Request => ({
  method: 'POST',
  path: MAPS,
  body: map(name, labels),
});
const merge = (path: string, body: object): Request => ({
  method: 'PATCH',
  path,
  body,
  contentType: 'application/merge-patch+json',
});
const remove = (path: string): Request => ({ method: 'DELETE', path });
const relabel = (name: string, labels: object): Request => merge(`${MAPS}/${name}`, { metadata: { labels } });

const pool = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'watched', finalizers: ['example.com/hold'] },
  spec: {
    template: {
      spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'x' }, requirements: [] },
    },
  },
};

export const WATCHES: readonly WatchCase[] = [
  {
    name: 'what comes, changes and goes',
    path: MAPS,
    query: 'labelSelector=w=1',
    during: [
      create('w1', { w: '1' }),
      create('other', { w: '2' }),
      merge(`${MAPS}/w1`, { data: { a: '1' } }),
      merge(`${MAPS}/w1`, { data: { a: '1' } }),
      remove(`${MAPS}/w1`),
      remove(`${MAPS}/other`),
    ],
    events: 3,
  },
  {
    name: 'what leaves the selection and comes back',
    path: MAPS,
    query: 'labelSelector=w=1',
    before: [create('w2', { w: '1' })],
    during: [
      relabel('w2', { w: '2' }),
      merge(`${MAPS}/w2`, { data: { unseen: '1' } }),
      relabel('w2', { w: '1' }),
      remove(`${MAPS}/w2`),
    ],
    events: 3,
  },
  {
    name: 'one by its name',
    path: MAPS,
    query: 'fieldSelector=metadata.name%3Dw3',
    during: [create('w3'), create('w4'), remove(`${MAPS}/w4`), remove(`${MAPS}/w3`)],
    events: 2,
  },
  {
    name: 'what a finalizer holds',
    path: POOLS,
    query: '',
    during: [
      { method: 'POST', path: POOLS, body: pool },
      remove(`${POOLS}/watched`),
      merge(`${POOLS}/watched/status`, { status: { resources: { cpu: '1' } } }),
      merge(`${POOLS}/watched`, { metadata: { finalizers: [] } }),
    ],
    events: 4,
  },
  {
    name: 'as a table',
    path: MAPS,
    query: 'labelSelector=w=5',
    accept: TABLE,
    during: [create('w5', { w: '5' }), merge(`${MAPS}/w5`, { data: { a: '1' } }), remove(`${MAPS}/w5`)],
    events: 3,
  },
  {
    name: 'the metadata only',
    path: MAPS,
    query: 'labelSelector=w=6',
    accept: METADATA,
    during: [create('w6', { w: '6' }), remove(`${MAPS}/w6`)],
    events: 2,
  },
  {
    name: 'a list that comes as events, with a bookmark at its end',
    path: MAPS,
    query: 'labelSelector=w=7&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
    before: [create('w7a', { w: '7' }), create('w7b', { w: '7' })],
    events: 3,
    from: '',
  },
  {
    name: 'a list of metadata that comes as events, with a bookmark at its end',
    path: MAPS,
    query: 'labelSelector=w=9&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
    accept: METADATA,
    before: [create('w9', { w: '9' })],
    events: 2,
    from: '',
  },
  {
    name: 'a list of metadata of custom resources that comes as events, with a bookmark at its end',
    path: POOLS,
    query: 'labelSelector=w=9&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
    accept: METADATA,
    events: 1,
    from: '',
  },
  {
    name: 'a table that comes as events, with a bookmark at its end',
    path: MAPS,
    query: 'labelSelector=w=10&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
    accept: TABLE,
    before: [create('w10', { w: '10' })],
    events: 2,
    from: '',
  },
  {
    name: 'from any version, what is there comes first',
    path: MAPS,
    query: 'labelSelector=w=8',
    before: [create('w8', { w: '8' })],
    during: [remove(`${MAPS}/w8`)],
    events: 2,
    from: '0',
  },
  { name: 'from a version that is no number', path: MAPS, query: '', events: 1, from: 'abc' },
  { name: 'initial events without a match rule', path: MAPS, query: 'sendInitialEvents=true', events: 1, from: '' },
];

/** Returns the events of a watch, or the response if the server does not open the watch. */
export async function watchEvents(server: Server, test: WatchCase): Promise<readonly Line[]> {
  for (const request of test.before ?? []) await server.send(request);
  const list = await server.send({ method: 'GET', path: test.path });
  const { resourceVersion } = (list.body as { readonly metadata: { readonly resourceVersion: string } }).metadata;
  const query = `watch=true&resourceVersion=${test.from ?? resourceVersion}&timeoutSeconds=5&${test.query}`;
  const events = server.watch(`${test.path}?${query}`, ({ length }) => length >= test.events, test.accept);
  // Past events are sent immediately. A watch without a start version must be open before new changes.
  for (const request of test.during ?? []) await server.send(request);
  return events;
}
