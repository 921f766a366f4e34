/** Unexpected responses of an API server, or of a proxy in front of it. */
import { EVENT, type Kind, NODE, NODE_CLAIM, NODE_POOL, POD } from '#api/objects';
import type { ProxiedRequest, Spoiled } from './rewriting-proxy.ts';

export interface Disturbance {
  readonly name: string;
  readonly spoil: (request: ProxiedRequest) => Spoiled | undefined;
  /** Pattern of the expected log line. Undefined for disturbances that delay requests without a failure. */
  readonly told?: RegExp;
  /** Indicates that the requests for the lease fail as well, so that the process may exit. */
  readonly isAboutLease?: boolean;
}

type Spoil = Disturbance['spoil'];
type Chosen = (request: ProxiedRequest) => boolean;

const isWatch: Chosen = ({ url }) => url.includes('watch=true');
const isLease: Chosen = ({ url }) => url.includes('/leases/');
const isWrite: Chosen = ({ method }) => method !== 'GET';
const isRead: Chosen = (request) => !isWrite(request) && !isWatch(request);
const isNoWatch: Chosen = (request) => !isWatch(request);
const isList: Chosen = (request) => isRead(request) && /\/[a-z0-9]+(\?|$)/.test(request.url);
const every: Chosen = () => true;
const about =
  (kind: Kind, chosen: Chosen = every): Chosen =>
  (request) =>
    new RegExp(`/${kind.plural}([/?]|$)`).test(request.url) && chosen(request);

/** Disturbs the selected requests. Requests for the lease are excluded unless they are selected explicitly. */
const only =
  (chosen: Chosen, spoiled: Spoiled | ((request: ProxiedRequest) => Spoiled | undefined)): Spoil =>
  (request) => {
    if (isLease(request) || !chosen(request)) return undefined;
    return typeof spoiled === 'function' ? spoiled(request) : spoiled;
  };

const HTML = '<html><body><h1>Welcome to our load balancer</h1></body></html>';
const instead = (status: number, body: string, headers = {}): Spoiled => ({ kind: 'instead', status, body, headers });
const failure = (code: number, reason: string, headers = {}): Spoiled =>
  instead(
    code,
    JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message: 'no' }),
    { 'content-type': 'application/json', ...headers },
  );
const busy = (wait?: string): Spoiled =>
  failure(429, 'TooManyRequests', wait === undefined ? {} : { 'retry-after': wait });
const changed = (change: (list: Record<string, unknown> & List) => unknown): Spoiled => ({
  kind: 'changed',
  change: (text) => JSON.stringify(change(JSON.parse(text))),
});
interface List {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly items: readonly object[];
}
const lines = (change: (line: string) => string): Spoiled => ({ kind: 'lines', change });
const asOf = (resourceVersion: string): Spoiled =>
  changed((list) => ({ ...list, metadata: { ...list.metadata, resourceVersion } }));
const continued = (token: string): Spoiled =>
  changed((list) => ({ ...list, metadata: { ...list.metadata, continue: token } }));

let tokens = 0;

/** Disturbs lists after expired watches: each watch that begins at a version before the disturbance expires. */
function listing(spoiled: Spoiled | ((request: ProxiedRequest) => Spoiled | undefined)): Spoil {
  const listed = new Set<string>();
  const spoil = only(isList, spoiled);
  return (request) => {
    const [path = ''] = request.url.split('?');
    if (isWatch(request)) return listed.has(path) ? undefined : failure(410, 'Expired');
    // Lists of one node's pods are no part of a watch.
    if (isList(request) && !request.url.includes('fieldSelector')) listed.add(path);
    return spoil(request);
  };
}

const REQUEST = /"kube-request":"[A-Z]+ \/apis?\//;
const WATCH = /failed watching, retrying.*"kube-request":"GET \/api/;
const LIST = /failed listing, retrying.*"kube-request":"GET \/api/;
const WRITE = /"kube-request":"(POST|PUT|PATCH|DELETE) \/apis?\//;

const forbidden = (kind: Kind, told = REQUEST): Disturbance => ({
  name: `403 about ${kind.plural}`,
  spoil: only(about(kind), failure(403, 'Forbidden')),
  told,
});

/** Disturbances of all requests. */
const EVERYWHERE: readonly Disturbance[] = [
  ...[undefined, '1', '100000', '-5', 'soon'].map((wait) => ({
    name: `429 with Retry-After ${wait}`,
    spoil: only(every, busy(wait)),
    told: REQUEST,
  })),
  { name: '500', spoil: only(every, failure(500, 'InternalError')), told: REQUEST },
  { name: '502 with a page of HTML', spoil: only(every, instead(502, HTML)), told: REQUEST },
  { name: '503', spoil: only(every, failure(503, 'ServiceUnavailable', { 'retry-after': '1' })), told: REQUEST },
  { name: '504', spoil: only(every, failure(504, 'Timeout')), told: REQUEST },
  { name: '404 with a page of HTML', spoil: only(every, instead(404, HTML)), told: REQUEST },
  { name: '404 without a Status', spoil: only(every, instead(404, '404 page not found\n')), told: REQUEST },
  { name: '200 with a page of HTML', spoil: only(every, instead(200, HTML)), told: REQUEST },
  ...['', '{}', 'null', '[]'].map((body) => ({
    name: `200 with ${JSON.stringify(body)}`,
    spoil: only(every, instead(200, body)),
    told: REQUEST,
  })),
  { name: 'bodies that are cut', spoil: only(isNoWatch, { kind: 'cut', share: 0.5 }), told: REQUEST },
  { name: 'answers after a while', spoil: only(isNoWatch, { kind: 'late', ms: 50 }) },
];

const LISTS: readonly Disturbance[] = [
  {
    name: 'lists of null',
    spoil: listing(changed((list) => ({ ...list, items: null }))),
    told: LIST,
  },
  {
    name: 'lists whose items have no metadata',
    spoil: listing(changed((list) => ({ ...list, items: list.items.map(() => ({ spec: {} })) }))),
    told: LIST,
  },
  { name: 'lists that go on for ever', spoil: listing(() => continued(`t${++tokens}`)), told: LIST },
  { name: 'lists that repeat themselves', spoil: listing(continued('same')), told: LIST },
  {
    name: '410 on the second page',
    spoil: listing(({ url }) => (url.includes('continue=') ? failure(410, 'Expired') : continued('next'))),
  },
  // the watches that begin at this version fail
  ...['1', 'abc'].map((version) => ({
    name: `lists of version ${version}`,
    spoil: listing(asOf(version)),
  })),
];

const WATCHES: readonly Disturbance[] = [
  {
    name: 'watches of which each line is cut',
    spoil: only(
      isWatch,
      lines((line) => `${line.slice(0, 30)}\n`),
    ),
  },
  { name: 'watches of garbage', spoil: only(isWatch, instead(200, '\u0000\ufffd{]\n')), told: WATCH },
  { name: 'watches without objects', spoil: only(isWatch, instead(200, '{"type":"ADDED"}\n')), told: WATCH },
  { name: 'watches of a page of HTML', spoil: only(isWatch, instead(200, HTML)), told: WATCH },
  { name: 'watches that end at once', spoil: only(isWatch, instead(200, '')), told: /failed watching, retrying/ },
  { name: 'watches that nothing comes of', spoil: only(isWatch, { kind: 'stuck', share: 0 }) },
  { name: '410 to watches', spoil: only(isWatch, failure(410, 'Expired')), told: WATCH },
  {
    name: '410 as an event',
    spoil: only(isWatch, instead(200, '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n')),
    told: WATCH,
  },
  { name: '429 with Retry-After 1 to watches', spoil: only(isWatch, busy('1')), told: WATCH },
  { name: '403 to watches', spoil: only(isWatch, failure(403, 'Forbidden')), told: WATCH },
];

const WRITES: readonly Disturbance[] = [
  { name: '409 to writes', spoil: only(isWrite, failure(409, 'Conflict')), told: WRITE },
  { name: '409 without a Status to writes', spoil: only(isWrite, instead(409, '')), told: WRITE },
  { name: '422 to writes', spoil: only(isWrite, failure(422, 'Invalid')), told: WRITE },
  { name: '403 to writes', spoil: only(isWrite, failure(403, 'Forbidden')), told: WRITE },
  { name: 'a success that is none to writes', spoil: only(isWrite, instead(200, HTML)), told: WRITE },
  { name: 'writes whose answer is lost', spoil: only(isWrite, { kind: 'cut', share: 0 }), told: WRITE },
  { name: 'writes that are answered late', spoil: only(isWrite, { kind: 'late', ms: 100 }) },
];

const KINDS: readonly Disturbance[] = [
  ...[POD, NODE, NODE_CLAIM, NODE_POOL].map((kind) => forbidden(kind)),
  forbidden(EVENT, /failed recording event.*"kube-request":"POST/),
  { name: '500 about NodeClaims', spoil: only(about(NODE_CLAIM), failure(500, 'InternalError')), told: REQUEST },
  {
    name: 'lists of no pods',
    spoil: listing((request) => (about(POD)(request) ? changed((list) => ({ ...list, items: null })) : undefined)),
    told: LIST,
  },
  {
    name: 'discovery that fails',
    spoil: ({ url }) => (/^\/(version|apis\/[a-z.]+\/v1$)/.test(url) ? failure(500, 'InternalError') : undefined),
  },
];

const LEASE: readonly Disturbance[] = [
  {
    name: 'the lease is answered late',
    spoil: (request) => (isLease(request) ? { kind: 'late', ms: 100 } : undefined),
  },
  {
    name: 'the lease is answered too late',
    spoil: (request) => (isLease(request) ? { kind: 'late', ms: 3_000 } : undefined),
    told: /leader election lost.*did not respond to the request for the lease within/,
    isAboutLease: true,
  },
  {
    name: 'the lease conflicts',
    spoil: (request) => (isLease(request) && isWrite(request) ? failure(409, 'Conflict') : undefined),
    told: /leader election lost.*"kube-request":"PUT/,
    isAboutLease: true,
  },
  {
    name: 'nothing is served, the lease neither',
    spoil: () => failure(500, 'InternalError'),
    told: /leader election lost.*"kube-request":"GET/,
    isAboutLease: true,
  },
];

export const DISTURBANCES: readonly Disturbance[] = [
  ...EVERYWHERE,
  ...LISTS,
  ...WATCHES,
  ...WRITES,
  ...KINDS,
  ...LEASE,
];
