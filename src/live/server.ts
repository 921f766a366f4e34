/** Serves the live page: its files, its data as server-sent events, and individual nodes and pods as JSON. */

import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Timepiece } from '#lib/clock';
import type { OperatorHistory } from '#observe/history';
import type { Logger } from '#observe/logger';
import type { Metrics } from '#observe/metrics';
import {
  type Address,
  answer,
  boundedServer,
  type Foreign,
  foreignnessOf,
  isLoopback,
  jsonInSteps,
  listen,
  type RequestHandler,
  refuseForeign,
  send,
  stop,
} from '#process/server';
import type { ClusterState } from '#state';
import { whatIfChoices } from './choices.ts';
import { nodeDetails, podDetails } from './details.ts';
import { LiveEfficiencies } from './efficiency.ts';
import { costTimeline, logTab, type NodeLives } from './lives.ts';
import type { UseSamples } from './pod-use.ts';
import { nodeClassDetails, nodeClassList, nodePoolDetails, nodePoolList, type ObjectSources } from './pools.ts';
import type { Responses, WhatIfResponse } from './responses.ts';
import { Searches } from './search.ts';
import { LiveStream } from './stream.ts';
import type { LiveView } from './view.ts';

export interface LivePageOptions {
  readonly address: Address;
  /** Required token. Empty if no token is required. */
  readonly token: string;
  readonly view: LiveView;
  readonly cluster: ClusterState;
  /** Returns the NodeClasses of the operator. */
  readonly nodeClasses: ObjectSources['nodeClasses'];
  readonly selectionsOf: ObjectSources['selectionsOf'];
  readonly lives: NodeLives;
  /**
   * Computes the effect of a change. Returns undefined if another effect is being computed.
   * @throws Error with the name `WhatIfError` if the change cannot be made
   */
  readonly whatIf: (change: string) => Promise<WhatIfResponse | undefined>;
  readonly use: UseSamples;
  readonly clock: Timepiece;
  /** Undefined if the settings disable the history. */
  readonly history: OperatorHistory | undefined;
  readonly log: Logger;
  readonly metrics: Metrics;
}

interface LivePageServer {
  /** URL without a token. */
  readonly url: string;
  close(): Promise<void>;
}

/** Headers that forbid loading, running, framing and sending anything from or to other origins. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
};
/** Maximum length of a query value. Names of Kubernetes objects, including a namespace and a slash, are shorter. */
const LONGEST_QUERY = 520;
/** Seconds after which a client should reconnect if the server has too many clients. */
const RECONNECT_SECONDS = 10;
const SEARCH_SECONDS = 1;
/** Result of a search if the queue is full. */
const BUSY: unique symbol = Symbol('busy');
/** Beginning of the paths of responses. */
const API = '/api/';

/** Starts the server. @throws Error with the name of the setting if the port is not available */
export async function serveLivePage(options: LivePageOptions): Promise<LivePageServer> {
  const { address, token, log, metrics } = options;
  const access: Access = { isLocal: isLoopback(address.host), token };
  const server = boundedServer({ name: 'live-page', handler: handlerOf(options, access), log, metrics });
  const port = await listen(server, { ...address, setting: 'LIVE_PAGE' });
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return { url: `http://${host}:${port}/`, close: () => stop(server) };
}

function handlerOf(options: LivePageOptions, access: Access): RequestHandler {
  const { view, cluster, clock, log } = options;
  const assets = readAssets();
  const stream = new LiveStream(view, log);
  const searches = new Searches(cluster);
  const efficiencies = new LiveEfficiencies(options);
  const lookups: Lookups = {
    node: (query) => nodeDetails(query.get('name') ?? '', cluster, view),
    pod: (query) => podDetails(query.get('name') ?? '', cluster, view),
    nodepools: () => nodePoolList(options),
    nodepool: (query) => nodePoolDetails(query.get('name') ?? '', options),
    nodeclasses: () => nodeClassList(options),
    nodeclass: (query) => nodeClassDetails(query.get('name') ?? '', options),
    timeline: (query) => options.lives.timeline(query),
    log: (query) => logTab(options.history, query, clock.now()),
    costs: () => costTimeline(options.history),
    efficiency: (query) => efficiencies.find(query),
    choices: () => whatIfChoices(cluster),
    'what-if': (query) => whatIfAnswer(query.get('change') ?? '', options),
    search: (query) => searches.find(query.get('q') ?? '') ?? BUSY,
  };
  return async (request, response, { path, query }) => {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
    if (!isAdmitted(request, response, query, access)) return;
    const asset = assets.get(path);
    if (asset !== undefined) return answer(response, 200, asset.body, asset.type);
    if (path === '/api/events') {
      if (!stream.watch(response))
        busy(response, RECONNECT_SECONDS, 'too many clients are connected to this page, try again later\n');
      return;
    }
    const look = lookupAt(lookups, path);
    if (look === undefined) return answer(response, 404, 'not found, try /\n');
    if ([...query.values()].some((value) => value.length > LONGEST_QUERY))
      return answer(response, 400, 'the name is too long\n');
    await show(request, response, await look(query));
  };
}

type Lookups = {
  readonly [Path in keyof Responses]: (
    query: URLSearchParams,
  ) => LookedUp<Responses[Path]> | Promise<LookedUp<Responses[Path]>>;
};
/** Response to a lookup, or the reason why there is none. Undefined if the object does not exist. */
type LookedUp<Response> = Response | typeof BUSY | Invalid | undefined;

function lookupAt(lookups: Lookups, path: string): Lookups[keyof Lookups] | undefined {
  const name = path.startsWith(API) ? path.slice(API.length) : '';
  return Object.hasOwn(lookups, name) ? lookups[name as keyof Lookups] : undefined;
}

/** Result of an invalid request, which gets status 400. */
class Invalid {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

async function whatIfAnswer(change: string, { whatIf }: LivePageOptions): Promise<LookedUp<WhatIfResponse>> {
  try {
    return (await whatIf(change.trim())) ?? BUSY;
  } catch (error) {
    if (error instanceof Error && error.name === 'WhatIfError') return new Invalid(error.message);
    throw error;
  }
}

async function show(request: IncomingMessage, response: ServerResponse, found: unknown): Promise<void> {
  if (found === BUSY) return busy(response, SEARCH_SECONDS, 'too many requests are waiting, try again in a second\n');
  if (found instanceof Invalid) return answer(response, 400, `${found.text}\n`);
  if (found === undefined) return answer(response, 404, 'the object does not exist\n');
  await send(request, response, { ...(await jsonInSteps(found)), type: 'application/json' });
}

/** Responds with status 503 and the seconds after which the client should try again. */
function busy(response: ServerResponse, seconds: number, text: string): void {
  response.setHeader('retry-after', String(seconds));
  answer(response, 503, text);
}

function isAdmitted(
  request: IncomingMessage,
  response: ServerResponse,
  query: URLSearchParams,
  access: Access,
): boolean {
  const result = admission(request, query, access);
  if (result === 'admitted') return true;
  if (result === 'enter') {
    response.setHeader('set-cookie', cookieFor(access.token));
    response.setHeader('location', '/');
    answer(response, 303, 'see /\n');
  } else if (result === 'no-token')
    answer(response, 401, 'open /?token=TOKEN with the token of LIVE_PAGE_TOKEN, or send it as a Bearer token\n');
  else refuseForeign(response, result);
  return false;
}

const COOKIE = 'karpenter_live';

interface Access {
  /** True if the page is served only on loopback. The Host header must then name a loopback host. */
  readonly isLocal: boolean;
  /** Required token. Empty if no token is required. */
  readonly token: string;
}

/** `enter` sets the cookie and removes the token from the address. */
type Admission = 'admitted' | 'enter' | 'no-token' | Foreign;

/** Decides if a request is admitted. The page permits no writes, but the cluster data that it shows is confidential. */
export function admission({ headers }: IncomingMessage, query: URLSearchParams, { isLocal, token }: Access): Admission {
  const foreign = foreignnessOf({ headers }, isLocal);
  if (foreign !== undefined) return foreign;
  if (token === '') return 'admitted';
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (isSame(bearer, token) || isSame(cookieOf(headers.cookie), proofOf(token))) return 'admitted';
  return isSame(query.get('token') ?? undefined, token) ? 'enter' : 'no-token';
}

/** Returns the cookie for the response to `enter`. The cookie proves knowledge of the token but does not contain it. */
export const cookieFor = (token: string): string => `${COOKIE}=${proofOf(token)}; Path=/; HttpOnly; SameSite=Strict`;

const proofOf = (token: string): string => createHash('sha256').update(`karpenter live page ${token}`).digest('hex');

function cookieOf(header: string | undefined): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([name]) => name === COOKIE)?.[1];
}

/** Compares two texts in a time that does not depend on the position of the first difference. */
function isSame(given: string | undefined, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(expected));
}

interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** All files that the server serves. */
const FILES = [
  'index.html',
  'style.css',
  'icon.svg',
  'app.js',
  'dom.js',
  'efficiency-view.js',
  'format.js',
  'log-view.js',
  'map-layout.js',
  'map.js',
  'node-columns.js',
  'nodes.js',
  'object-views.js',
  'panels.js',
  'parts.js',
  'sentences.js',
  'timeline-layout.js',
  'timeline-view.js',
  'views.js',
  'what-if-view.js',
];

/** Reads the files by path. @throws Error if a file is missing from the installation */
function readAssets(): ReadonlyMap<string, Asset> {
  const files = FILES.map((file): readonly [string, Asset] => {
    const body = readFileSync(new URL(`./page/${file}`, import.meta.url));
    return [`/${file}`, { type: TYPES[file.slice(file.lastIndexOf('.') + 1)] ?? 'text/plain', body }];
  });
  const assets = new Map(files);
  const index = assets.get('/index.html');
  if (index !== undefined) assets.set('/', index);
  return assets;
}
