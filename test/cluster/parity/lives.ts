/**
 * Objects under the common controllers on both servers: garbage collection, deletion of namespaces and definitions,
 * evictions.
 */
import type { Answer, Server } from '../harness/http.ts';
import { eventually } from '../harness/processes.ts';
import type { Json } from './script.ts';

const LIMIT_MS = 60_000;

/** A sequence of requests to a server, with equal results on both servers. */
export interface Life {
  readonly name: string;
  /** @param namespace existing namespace for this sequence only */
  live(server: Server, namespace: string): Promise<unknown>;
}

interface Metadata {
  readonly name: string;
  readonly uid: string;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly { readonly name: string }[];
  readonly deletionTimestamp?: string;
}

const metadataOf = ({ body }: Answer): Metadata => (body as { readonly metadata: Metadata }).metadata;
const maps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
const pods = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;

const merge = (server: Server, path: string, body: unknown): Promise<Answer> =>
  server.send({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });

/** @throws Error if the server rejects the object */
async function create(server: Server, path: string, body: unknown): Promise<Metadata> {
  const answer = await server.send({ method: 'POST', path, body });
  if (answer.code !== 201) throw new Error(`POST ${path}: ${JSON.stringify(answer.body)}`);
  return metadataOf(answer);
}

interface MapOptions {
  readonly owners?: readonly Metadata[];
  readonly blocks?: boolean;
  readonly held?: boolean;
}

const HOLD = 'example.com/hold';

/** Creates a ConfigMap with owners. */
const makeMap = (server: Server, namespace: string, name: string, options: MapOptions = {}): Promise<Metadata> =>
  create(server, maps(namespace), {
    metadata: {
      name,
      ...(options.held ? { finalizers: [HOLD] } : {}),
      ownerReferences: (options.owners ?? []).map((owner) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: owner.name,
        uid: owner.uid,
        ...(options.blocks ? { blockOwnerDeletion: true, controller: true } : {}),
      })),
    },
  });

const remove = (server: Server, path: string, propagationPolicy?: string): Promise<Answer> =>
  server.send({
    method: 'DELETE',
    path,
    body: { kind: 'DeleteOptions', apiVersion: 'v1', ...(propagationPolicy ? { propagationPolicy } : {}) },
  });

/** Returns the relevant state of an object, or `gone`. */
async function stateOf(server: Server, path: string): Promise<unknown> {
  const answer = await server.send({ method: 'GET', path });
  if (answer.code === 404) return 'gone';
  const { finalizers = [], ownerReferences = [], deletionTimestamp } = metadataOf(answer);
  return {
    finalizers,
    owners: ownerReferences.map(({ name }) => name),
    ...(deletionTimestamp === undefined ? {} : { isDeleting: true }),
  };
}

/** Waits until the objects have the expected states. @throws Error with the actual states */
async function become(server: Server, expected: Readonly<Record<string, unknown>>): Promise<void> {
  let last: unknown;
  const settled = async (): Promise<true | undefined> => {
    const states = await Promise.all(Object.keys(expected).map(async (path) => [path, await stateOf(server, path)]));
    last = Object.fromEntries(states);
    return JSON.stringify(last) === JSON.stringify(expected) || undefined;
  };
  try {
    await eventually(`${server.url}: objects as ${JSON.stringify(expected)}`, settled, LIMIT_MS);
  } catch (error) {
    throw new Error(`${String(error)}; they are ${JSON.stringify(last)}`, { cause: error });
  }
}

const FREE = { finalizers: [], owners: [] };
const release = (server: Server, path: string): Promise<Answer> =>
  merge(server, path, { metadata: { finalizers: null } });

const collection: readonly Life[] = [
  ...['Background', undefined].map(
    (policy): Life => ({
      name: `an owner goes ${policy ?? 'without a policy'}, and what it owns after it`,
      async live(server, namespace) {
        const at = (name: string): string => `${maps(namespace)}/${name}`;
        const owner = await makeMap(server, namespace, 'owner');
        const child = await makeMap(server, namespace, 'child', { owners: [owner] });
        await makeMap(server, namespace, 'grandchild', { owners: [child], blocks: true });
        const answer = await remove(server, at('owner'), policy);
        await become(server, { [at('owner')]: 'gone', [at('child')]: 'gone', [at('grandchild')]: 'gone' });
        return answer;
      },
    }),
  ),
  {
    name: 'an owner stays in the foreground until what blocks it has gone',
    async live(server, namespace) {
      const at = (name: string): string => `${maps(namespace)}/${name}`;
      const owner = await makeMap(server, namespace, 'owner');
      const held = await makeMap(server, namespace, 'held', { owners: [owner], blocks: true, held: true });
      await makeMap(server, namespace, 'below', { owners: [held], blocks: true });
      await makeMap(server, namespace, 'loose', { owners: [owner] });
      const answer = await remove(server, at('owner'), 'Foreground');
      await become(server, {
        [at('owner')]: { finalizers: ['foregroundDeletion'], owners: [], isDeleting: true },
        [at('held')]: { finalizers: [HOLD], owners: ['owner'], isDeleting: true },
        [at('below')]: 'gone',
        [at('loose')]: 'gone',
      });
      const again = await remove(server, at('owner'), 'Foreground');
      await release(server, at('held'));
      await become(server, { [at('owner')]: 'gone', [at('held')]: 'gone' });
      return [answer, again];
    },
  },
  {
    name: 'an owner does not wait in the foreground for what does not block it',
    async live(server, namespace) {
      const at = (name: string): string => `${maps(namespace)}/${name}`;
      const owner = await makeMap(server, namespace, 'owner');
      await makeMap(server, namespace, 'loose', { owners: [owner], held: true });
      const answer = await remove(server, at('owner'), 'Foreground');
      await become(server, {
        [at('owner')]: 'gone',
        [at('loose')]: { finalizers: [HOLD], owners: ['owner'], isDeleting: true },
      });
      return answer;
    },
  },
  {
    name: 'an owner leaves orphans',
    async live(server, namespace) {
      const at = (name: string): string => `${maps(namespace)}/${name}`;
      const owner = await makeMap(server, namespace, 'owner');
      await makeMap(server, namespace, 'child', { owners: [owner], blocks: true });
      const answer = await remove(server, at('owner'), 'Orphan');
      await become(server, { [at('owner')]: 'gone', [at('child')]: FREE });
      return answer;
    },
  },
  {
    name: 'one of two owners goes',
    async live(server, namespace) {
      const at = (name: string): string => `${maps(namespace)}/${name}`;
      const [one, two] = [await makeMap(server, namespace, 'one'), await makeMap(server, namespace, 'two')];
      await makeMap(server, namespace, 'child', { owners: [one, two] });
      await remove(server, at('one'));
      await become(server, { [at('one')]: 'gone', [at('child')]: { finalizers: [], owners: ['two'] } });
      await remove(server, at('two'));
      await become(server, { [at('child')]: 'gone' });
      return [];
    },
  },
  {
    name: 'what names an owner that never was',
    async live(server, namespace) {
      const nobody = { name: 'nobody', uid: '00000000-0000-4000-8000-000000000000' };
      await makeMap(server, namespace, 'child', { owners: [nobody] });
      await become(server, { [`${maps(namespace)}/child`]: 'gone' });
      return [];
    },
  },
  {
    name: 'a namespace ends with what is in it',
    async live(server, namespace) {
      const own = `${namespace}-inner`;
      const at = (name: string): string => `${maps(own)}/${name}`;
      await create(server, '/api/v1/namespaces', { metadata: { name: own } });
      await makeMap(server, own, 'plain');
      await makeMap(server, own, 'held', { held: true });
      const answer = await remove(server, `/api/v1/namespaces/${own}`);
      await become(server, {
        [at('plain')]: 'gone',
        [at('held')]: { finalizers: [HOLD], owners: [], isDeleting: true },
      });
      const late = await server.send({ method: 'POST', path: maps(own), body: { metadata: { name: 'late' } } });
      await release(server, at('held'));
      await become(server, { [`/api/v1/namespaces/${own}`]: 'gone' });
      return [answer, late];
    },
  },
];

const WIDGETS = '/apis/example.com/v1/widgets';
const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com';

const definitions: readonly Life[] = [
  {
    name: 'a definition ends with its custom resources',
    async live(server) {
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      const names = { plural: 'widgets', singular: 'widget', kind: 'Widget' };
      const schema = { openAPIV3Schema: { type: 'object' } };
      await create(server, path, {
        metadata: { name: 'widgets.example.com' },
        spec: {
          group: 'example.com',
          scope: 'Cluster',
          names,
          versions: [{ name: 'v1', served: true, storage: true, schema }],
        },
      });
      const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one', finalizers: [HOLD] } };
      const served = async (): Promise<true | undefined> =>
        (await server.send({ method: 'POST', path: WIDGETS, body: widget })).code === 201 || undefined;
      await eventually('the widgets to be served', served, LIMIT_MS);
      await remove(server, DEFINITION);
      await become(server, { [`${WIDGETS}/one`]: { finalizers: [HOLD], owners: [], isDeleting: true } });
      await become(server, {
        [DEFINITION]: { finalizers: ['customresourcecleanup.apiextensions.k8s.io'], owners: [], isDeleting: true },
      });
      await release(server, `${WIDGETS}/one`);
      await become(server, { [DEFINITION]: 'gone' });
      const listed = async (): Promise<Answer | undefined> => {
        const answer = await server.send({ method: 'GET', path: WIDGETS });
        return answer.code === 404 ? answer : undefined;
      };
      return eventually('the widgets to be served no more', listed, LIMIT_MS);
    },
  },
];

const pod = (name: string, labels: Json): Json => ({
  metadata: { name, labels },
  spec: { containers: [{ name: 'main', image: 'pause' }], schedulerName: 'nobody' },
});

/** Creates a pod without a kubelet whose status is running. */
async function runningPod(server: Server, namespace: string, name: string, isReady = true): Promise<void> {
  await create(server, pods(namespace), pod(name, { app: namespace }));
  await merge(server, `${pods(namespace)}/${name}/status`, {
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  });
}

const budgets = (namespace: string): string => `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;

/** Waits for a number of healthy pods in the status of the budget and returns the budget. */
const counted = (server: Server, namespace: string, name: string, healthy: number): Promise<Answer> =>
  eventually(
    'the budget to be counted',
    async () => {
      const answer = await server.send({ method: 'GET', path: `${budgets(namespace)}/${name}` });
      const { observedGeneration, currentHealthy } = (answer.body as { status: Record<string, number> }).status;
      return observedGeneration === 1 && currentHealthy === healthy ? answer : undefined;
    },
    LIMIT_MS,
  );

/** Creates a budget for the pods of the namespace, and waits for its status. */
async function budget(server: Server, namespace: string, name: string, spec: Json, healthy: number): Promise<Answer> {
  const selector = { matchLabels: { app: namespace } };
  await create(server, budgets(namespace), { metadata: { name }, spec: { selector, ...spec } });
  return counted(server, namespace, name, healthy);
}

const evict = (server: Server, namespace: string, name: string, deleteOptions: Json = {}): Promise<Answer> =>
  server.send({
    method: 'POST',
    path: `${pods(namespace)}/${name}/eviction`,
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace }, deleteOptions },
  });

const evictions: readonly Life[] = [
  {
    name: 'a budget lets one pod go, and no other',
    async live(server, namespace) {
      for (const name of ['a', 'b']) await runningPod(server, namespace, name);
      const before = await budget(server, namespace, 'one', { minAvailable: 1 }, 2);
      const tried = await evict(server, namespace, 'a', { dryRun: ['All'] });
      const first = await evict(server, namespace, 'a');
      await counted(server, namespace, 'one', 1);
      const second = await evict(server, namespace, 'b');
      return [before, tried, first, second, await stateOf(server, `${pods(namespace)}/b`)];
    },
  },
  {
    name: 'an eviction of another pod of the same name',
    async live(server, namespace) {
      for (const name of ['a', 'b']) await runningPod(server, namespace, name);
      await budget(server, namespace, 'one', { minAvailable: 1 }, 2);
      const uid = '00000000-0000-4000-8000-000000000000';
      const wrong = await evict(server, namespace, 'a', { preconditions: { uid } });
      await counted(server, namespace, 'one', 1);
      return [wrong, await evict(server, namespace, 'b')];
    },
  },
  {
    name: 'two budgets over one pod',
    async live(server, namespace) {
      await runningPod(server, namespace, 'a');
      await budget(server, namespace, 'one', { minAvailable: 1 }, 1);
      await budget(server, namespace, 'two', { minAvailable: 0 }, 1);
      return evict(server, namespace, 'a');
    },
  },
  {
    name: 'a budget that cannot be met',
    async live(server, namespace) {
      await runningPod(server, namespace, 'a');
      const before = await budget(server, namespace, 'one', { minAvailable: 3 }, 1);
      return [before, await evict(server, namespace, 'a')];
    },
  },
  ...[{}, { unhealthyPodEvictionPolicy: 'AlwaysAllow' }, { unhealthyPodEvictionPolicy: 'IfHealthyBudget' }].map(
    (policy): Life => ({
      name: `a pod that is not ready, ${JSON.stringify(policy)}`,
      async live(server, namespace) {
        await runningPod(server, namespace, 'sick', false);
        await budget(server, namespace, 'one', { minAvailable: 1, ...policy }, 0);
        return evict(server, namespace, 'sick');
      },
    }),
  ),
  {
    name: 'a pod that has not started',
    async live(server, namespace) {
      await create(server, pods(namespace), pod('pending', { app: namespace }));
      await budget(server, namespace, 'one', { minAvailable: 1 }, 0);
      return evict(server, namespace, 'pending');
    },
  },
];

export const LIVES: readonly Life[] = [...collection, ...definitions, ...evictions];
