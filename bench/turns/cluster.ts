/** Code paths over a whole cluster: controllers, views, and the caches that they read. */
import {
  CAPACITY_BUFFER,
  type Kind,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_OVERLAY,
  NODE_POOL as NODE_POOLS,
  type NodeClaim,
  POD,
  POD_DISRUPTION_BUDGET,
  type Pod,
} from '#api/objects';
import { NODE_CLASS_KIND } from '#aws/node-classes';
import { parseAwsSettings } from '#aws/settings';
import { createOperator, type Deps, type OperatorCore, type OperatorParts } from '#controllers';
import { readCost } from '#controllers/testing';
import { WorkerSimulationRunner, WorkerSolver } from '#engine-worker';
import { type ObjectStore, trimmedObject } from '#kube/client';
import type { Controller } from '#kube/reconcilers';
import { realClock } from '#lib/clock';
import { LiveFeed } from '#live/testing';
import { LiveView, UseSamples } from '#live/view';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { partial } from '../../test/support/partial.ts';
import { handFed } from '../../test/unit/kube/fakes.ts';
import { benchmarkTypes } from '../catalogue.ts';
import { type ClusterSize, claimAt, NODE_POOL, nodeAt, pendingPod, podAt } from '../largecluster.ts';
import { measuredTurn, type TurnLine, type TurnPath } from './measured.ts';
import { GIANT_PODS, LARGE_POOL, many } from './objects.ts';

const TYPES = 400;
const POOLS = 20;
const OVERLAYS = 500;
const BUDGETS = 500;
const GATES = 'NodeOverlay=true,StaticCapacity=true,CapacityBuffer=true,NodeRepair=true,SpotToSpotConsolidation=true';
/** Objects of a kind that each controller gets. */
const OBJECTS = 5;
/** Longest time for one controller, because some wait for an event. */
const LONGEST_MS = 60_000;

const FIRST = new Set(['nodeoverlay.controller', 'capacitybuffer', 'provisioner.trigger.pod']);

interface Bench {
  readonly operator: OperatorCore;
  readonly deps: Deps;
  readonly store: ReturnType<typeof handFed>['store'];
  readonly stop: AbortController;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const answered =
  <Args extends readonly unknown[], T>(answer: (...args: Args) => T) =>
  async (...args: Args): Promise<T> => {
    await nextTurn();
    return answer(...args);
  };

/** Client whose writes succeed without effect. */
const client = {
  find: answered(() => undefined),
  list: answered(() => ({ metadata: {}, items: [] })),
  listAll: answered(() => []),
  create: answered((_: unknown, object: KubeObject) => object),
  update: answered((_: unknown, object: KubeObject) => object),
  patch: answered((_: unknown, { name }: { readonly name: string }) => ({ metadata: { name } })),
  delete: answered(() => undefined),
  evict: answered(() => undefined),
} as unknown as Deps['client'];

function benchOf(parts: Pick<OperatorParts, 'solver' | 'simulations'>): Bench {
  const { informers, store } = handFed();
  const clock = realClock();
  const types = benchmarkTypes(TYPES);
  const cloud = {
    nodeClassKinds: [{ ...NODE_CLASS_KIND, group: 'karpenter.test.sh', kind: 'TestNodeClass' }],
    repairPolicies: [],
    instanceTypes: async () => types,
    list: async () => [],
    create: async (claim: KubeObject) => claim,
    isDrifted: async () => undefined,
  } as unknown as Deps['cloud'];
  const settings = parseAwsSettings(['--cluster-name=bench', `--feature-gates=${GATES}`], {});
  const metrics = createMetrics();
  const events = { publish: () => undefined };
  const ports = { client, informers, events, clock, log: silent, metrics, settings };
  const operator = createOperator({ ...ports, ...parts, provider: { provider: cloud } });
  return {
    operator,
    deps: operator.deps,
    store,
    stop: new AbortController(),
  };
}

const overlayAt = (at: number) => ({
  apiVersion: 'karpenter.sh/v1alpha1',
  kind: 'NodeOverlay',
  metadata: { name: `overlay-${at}`, uid: `overlay-${at}`, generation: 1 },
  spec: {
    weight: 1 + at,
    priceAdjustment: '-10%',
    requirements: [
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
      { key: 'karpenter.sh/nodepool', operator: 'NotIn', values: [`pool-${at % POOLS}`] },
      { key: 'node.kubernetes.io/instance-type', operator: 'NotIn', values: [`fake-it-${at % TYPES}`] },
    ],
  },
});

/** Compared with every pod of its namespace. */
const budgetAt = (at: number) => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: `budget-${at}`, namespace: `team-${at % 20}`, uid: `budget-${at}` },
  spec: {
    minAvailable: 1,
    selector: {
      matchExpressions: many(100, (n) => ({ key: `example.com/k${n}`, operator: 'NotIn', values: [`v${at}`] })),
    },
  },
});

const bufferAt = (at: number) => ({
  apiVersion: 'autoscaling.x-k8s.io/v1beta1',
  kind: 'CapacityBuffer',
  metadata: { name: `buffer-${at}`, namespace: 'default', uid: `buffer-${at}`, generation: 1 },
  spec: { podTemplateRef: { name: 'x' }, replicas: 100 },
});

/** Adds objects that are expensive to evaluate, each in a separate watch event. */
async function addHostile({ store }: Bench): Promise<void> {
  const put = async (kind: Kind, object: unknown): Promise<void> => {
    store(kind).put(trimmedObject(kind, object as KubeObject));
    await nextTurn();
  };
  for (let at = 1; at < POOLS; at++)
    await put(NODE_POOLS, { ...NODE_POOL, metadata: { ...NODE_POOL.metadata, name: `pool-${at}`, uid: `pool-${at}` } });
  await put(NODE_POOLS, LARGE_POOL);
  for (const pod of Object.values(GIANT_PODS)) await put(POD, structuredClone(pod));
  for (let at = 0; at < OVERLAYS; at++) await put(NODE_OVERLAY, overlayAt(at));
  for (let at = 0; at < BUDGETS; at++) await put(POD_DISRUPTION_BUDGET, budgetAt(at));
  for (let at = 0; at < OBJECTS; at++) await put(CAPACITY_BUFFER, bufferAt(at));
}

const consolidatable = (claim: NodeClaim): NodeClaim => ({
  ...claim,
  status: {
    ...claim.status,
    conditions: [
      ...(claim.status?.conditions ?? []),
      {
        type: 'Consolidatable',
        status: 'True',
        reason: 'Consolidatable',
        message: '',
        lastTransitionTime: '2026-06-02T00:00:00Z',
      },
    ],
  },
});

function fill({ store }: Bench, size: ClusterSize): void {
  store(NODE_POOLS).put(NODE_POOL);
  for (let at = 0; at < size.nodes; at++) {
    store(NODE).put(trimmedObject(NODE, partial(nodeAt(at))));
    store(NODE_CLAIM).put(trimmedObject(NODE_CLAIM, consolidatable(claimAt(at))));
  }
  for (let at = 0; at < size.pods; at++) store(POD).put(trimmedObject(POD, partial(podAt(at, size))));
  for (let at = 0; at < 100; at++) store(POD).put(pendingPod(at) as unknown as Pod);
}

/** A store counts as complete after its first list. */
const markSynced = (store: unknown): void =>
  (store as ObjectStore<KubeObject>).replace((store as ObjectStore<KubeObject>).list());

/** Reconciles one object after the other, as a work queue does. */
async function reconcile(controller: Controller, { informers }: Deps, signal: AbortSignal): Promise<void> {
  const context = { signal, log: silent };
  if ('singleton' in controller) return void (await controller.reconcile(context));
  if ('keyed' in controller) {
    const keys: string[] = [];
    controller.bind((key) => void keys.push(key));
    for (const key of keys.slice(0, OBJECTS)) await controller.reconcile(key, context);
    return;
  }
  const { watches, filter } = controller;
  const objects = informers.store(watches).list();
  const passed = filter === undefined ? objects : objects.filter((object) => filter.call(controller, object, 'added'));
  for (const object of [...passed.slice(0, OBJECTS), ...passed.slice(-OBJECTS)]) {
    await controller.reconcile(object, context);
    await nextTurn();
  }
}

async function withinTime(work: Promise<unknown>): Promise<void> {
  const waiting = new AbortController();
  const late = realClock().sleep(LONGEST_MS, waiting.signal);
  await Promise.race([work, late]);
  waiting.abort();
}

function viewPaths({ deps, operator }: Bench, input: string): readonly TurnPath[] {
  const { history } = operator;
  const views = operator.views({ isLeading: () => true, leaseNamespace: () => 'x' });
  const live = new LiveView({
    clusterName: 'bench',
    ...{ cluster: deps.cluster, clock: deps.clock, log: silent },
    use: new UseSamples(() => Promise.reject(new Error('no metrics API')), deps.clock),
    pricesOf: async (_, claims) => claims.map(() => ({ usdPerHour: 0.1, surplusCreditsUsdPerHour: 0 })),
    verdicts: () => history.verdicts(deps.cluster.nodes(), deps.clock.now()),
    isLeading: () => true,
  });
  const feed = new LiveFeed(live);
  return [
    ...Object.entries(views).flatMap(([path, look]) =>
      typeof look === 'function' ? [{ path, input, run: async () => JSON.stringify(await look()) }] : [],
    ),
    { path: 'cost accounts', input, run: () => readCost(deps) },
    { path: 'live page: state', input, run: () => feed.state() },
    { path: 'live page: changes', input, run: () => feed.advance() },
  ];
}

const text = ({ nodes, pods }: ClusterSize): string =>
  `${nodes.toLocaleString('en')} nodes, ${pods.toLocaleString('en')} pods`;

export async function* clusterLines(size: ClusterSize): AsyncGenerator<TurnLine> {
  const solver = new WorkerSolver();
  const simulations = new WorkerSimulationRunner();
  const bench = benchOf({ solver: solver.solve, simulations });
  // Other controllers depend on these.
  const list = [...bench.operator.controllers].sort((a, b) => Number(FIRST.has(b.name)) - Number(FIRST.has(a.name)));
  fill(bench, size);
  for (const store of Object.values(bench.deps.cluster.stores)) markSynced(store);
  for (const kind of [CAPACITY_BUFFER, NODE_OVERLAY]) markSynced(bench.store<KubeObject>(kind));
  for (const input of [text(size), `${text(size)}, and hostile objects`]) {
    if (input !== text(size))
      yield await measuredTurn({ path: 'take in hostile objects', input: text(size), run: () => addHostile(bench) });
    yield await measuredTurn({ path: 'nodes with their pods', input, run: () => bench.deps.cluster.nodes() });
    for (const controller of list)
      yield await measuredTurn({
        path: controller.name,
        input,
        run: () => withinTime(reconcile(controller, bench.deps, bench.stop.signal)),
      });
    for (const path of viewPaths(bench, input)) yield await measuredTurn(path);
  }
  bench.stop.abort();
  await Promise.all([solver.close(), simulations.close()]);
}
