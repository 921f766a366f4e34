/** An API server for one test file, and a plain HTTP client. */
import { steadyClock } from '#lib/clock';
import {
  type ApiServerOptions,
  type LocalApiServer,
  startApiServer,
} from '../../../../../src/local/kubernetes/apiserver/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
export type Body = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface TestServer {
  readonly server: LocalApiServer;
  /** Advances the clock of the server. */
  advance(ms: number): void;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Like call, but fails the test if the response is an error. */
  ok(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Body>;
  patch(type: string, path: string, body: unknown): Promise<Answer>;
  /** Reads watch events until `enough` returns true. */
  watch(
    path: string,
    enough: (events: readonly Body[]) => boolean,
    headers?: Record<string, string>,
  ): Promise<readonly Body[]>;
}

export const START = Date.parse('2026-03-01T12:00:00Z');

export async function testServer(options: Partial<ApiServerOptions> = {}): Promise<TestServer> {
  let now = START;
  // real time for bookmarks and the ends of watches
  const { after } = steadyClock();
  const clock = { now: () => now, sleep: () => Promise.resolve(), after };
  const server = await startApiServer({ clock, ...options });
  const call: TestServer['call'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
  const ok: TestServer['ok'] = async (...request) => {
    const answer = await call(...request);
    if (answer.status >= 300) throw new Error(`${request[0]} ${request[1]}: ${answer.status} ${answer.body.message}`);
    return answer.body;
  };
  return {
    server,
    advance: (ms) => {
      now += ms;
    },
    call,
    ok,
    patch: (type, path, body) => call('PATCH', path, body, { 'content-type': `application/${type}` }),
    watch: async (path, enough, headers = {}) => {
      const abort = new AbortController();
      const response = await fetch(`${server.url}${path}`, { headers, signal: abort.signal });
      const events: Body[] = [];
      let rest = '';
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        events.push(...lines.map((line) => JSON.parse(line)));
        if (enough(events)) break;
      }
      abort.abort();
      return events;
    },
  };
}

/** Returns the paths of all collections of the server, over all namespaces. */
export async function everyCollection(api: TestServer): Promise<readonly string[]> {
  const { groups } = await api.ok('GET', '/apis');
  const versions = groups.flatMap((group: Body) => group.versions.map((one: Body) => `/apis/${one.groupVersion}`));
  const paths: string[] = [];
  for (const path of ['/api/v1', ...versions]) {
    const { resources } = await api.ok('GET', path);
    const listed = resources.filter(({ verbs }: Body) => verbs.includes('watch'));
    paths.push(...listed.map(({ name }: Body) => `${path}/${name}`));
  }
  return paths;
}

/** Waits for asynchronous effects: garbage collection, budgets, cleanup. */
export async function eventually<T>(read: () => Promise<T> | T, holds: (value: T) => boolean): Promise<T> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const value = await read();
    if (holds(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`still not so: ${JSON.stringify(await read())}`);
}

export const PODS = '/api/v1/namespaces/default/pods';

export const pod = (name: string, extra: { metadata?: object; spec?: object; status?: object } = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...extra.metadata },
  spec: { containers: [{ name: 'main', image: 'pause:3.9' }], ...extra.spec },
  ...(extra.status && { status: extra.status }),
});

export const deployment = (name: string, extra: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'main', image: 'pause:3.9', env: [{ name: 'A', value: '1' }] }] },
    },
    ...extra,
  },
});

/** A custom resource with a rule, a default, a status and a scale subresource. */
export const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', shortNames: ['wd'], categories: ['toys'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } },
        additionalPrinterColumns: [
          { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
          { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['color'],
                properties: {
                  color: { type: 'string', enum: ['red', 'blue'] },
                  size: { type: 'integer', default: 1, maximum: 10 },
                  parts: {
                    type: 'array',
                    items: { type: 'object', properties: { name: { type: 'string' }, count: { type: 'integer' } } },
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                  },
                },
                'x-kubernetes-validations': [
                  { rule: "self.color != 'red' || self.size < 5", message: 'red ones are small' },
                ],
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
};

export const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets';
export const widget = (name: string, spec: object = { color: 'blue' }) => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name },
  spec,
});
