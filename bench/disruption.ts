/**
 * Measures one pass of the disruption methods over 2,000 nodes and about 20,000 pods: candidates in the main thread,
 * searches in the engine worker's thread. Also compares the savings of consolidation in small clusters, until no
 * command is found, with those of mode compatible.
 */
import { pathToFileURL } from 'node:url';
import {
  DAEMON_SET,
  type DaemonSet,
  type KubeObject,
  NAMESPACE,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  POD,
  POD_DISRUPTION_BUDGET,
} from '#api/objects';
import { NODE_CLASS_KIND } from '#aws/node-classes';
import { parseAwsSettings } from '#aws/settings';
import { createOperator, type Deps } from '#controllers';
import { DisruptionLoop, DisruptionQueue, publishEvents, Snapshots } from '#controllers/testing';
import { type Command, type Method, methodsOf, VerdictHistory } from '#engine/disruption';
import { WorkerSimulationRunner } from '#engine-worker';
import { trimmedObject } from '#kube/client';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { costOf, untilAtRest } from '../test/support/cluster-course.ts';
import { DAEMON_SPEC, NOW_MS } from '../test/support/cluster-objects.ts';
import { type Cluster, type ClusterShape, clusterOf } from '../test/support/clusters.ts';
import buildBundle, { bundled } from '../test/support/operator/bundle.ts';
import { partial } from '../test/support/partial.ts';
import { storesWith } from '../test/support/stores.ts';
import { type Blocks, watched } from './watched.ts';

const SIZE = { seed: 1, nodes: 2000, podsPerNode: 10, workloads: 400 };
const BOUGHT = /^[mcr]6i\.(x|2x|4x)large$/;
const ALL_AT_ONCE = '100%';

/**
 * `vain`: no method finds a command. `packed`: full nodes that a few larger nodes can replace. `loose`: many half-empty nodes.
 * `mixed`: NodePools of every policy, spread, PDBs, nodes within their `consolidateAfter` window.
 */
const SHAPES = {
  vain: {
    ...SIZE,
    nodes: 1000,
    offered: /\.(large|xlarge|2xlarge|4xlarge)$/,
    bought: /^m6i\.4xlarge$/,
    // as much memory per CPU as the nodes have
    memoryPerCpu: 3.7,
    fill: [1, 1],
    ruled: 0,
    pools: [{ name: 'default', capacityTypes: ['on-demand'] }],
  },
  packed: {
    ...SIZE,
    // Memory in proportion to CPU, so that the price of full nodes is proportional to their size.
    offered: /^(?![crt])/,
    bought: /^m6i\.(x|2x|4x)large$/,
    fill: [1, 1],
    ruled: 0,
    pools: [{ name: 'default', capacityTypes: ['on-demand'] }],
  },
  loose: {
    ...SIZE,
    podsPerNode: 17,
    bought: BOUGHT,
    fill: [0.3, 0.9],
    ruled: 0,
    pools: [{ name: 'default', capacityTypes: ['on-demand'], budget: ALL_AT_ONCE }],
  },
  mixed: {
    ...SIZE,
    podsPerNode: 11,
    bought: BOUGHT,
    fill: [0.7, 1],
    ruled: 0.5,
    quiet: 0.1,
    pools: [
      { name: 'a', capacityTypes: ['on-demand'] },
      { name: 'b', capacityTypes: ['spot', 'on-demand'] },
      { name: 'c', capacityTypes: ['spot'], consolidationPolicy: 'Balanced' },
    ],
  },
} satisfies Readonly<Record<string, ClusterShape>>;

const DAEMONS: DaemonSet = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: 'kube-system', uid: 'agent' },
  spec: { selector: {}, template: { metadata: { labels: { app: 'agent' } }, spec: DAEMON_SPEC } },
};

/** Dependencies of controllers with a cluster without changes. */
function depsOn({ snapshot, pools }: Cluster): Deps {
  const { nodes, namespaces, podDisruptionBudgets } = snapshot;
  const informers = storesWith({
    // informers trim objects and share their equal parts
    [NODE.plural]: nodes.flatMap(({ node }) => (node ? trimmedObject(NODE, node) : [])),
    [NODE_CLAIM.plural]: nodes.flatMap(({ nodeClaim }) => (nodeClaim ? trimmedObject(NODE_CLAIM, nodeClaim) : [])),
    [POD.plural]: nodes.flatMap(({ pods }) => pods.map((pod) => trimmedObject(POD, pod))),
    [NODE_POOL.plural]: [...pools.values()].map(({ nodePool }) => nodePool),
    [NAMESPACE.plural]: namespaces,
    [POD_DISRUPTION_BUDGET.plural]: podDisruptionBudgets,
    [DAEMON_SET.plural]: [DAEMONS],
  });
  const clock = {
    ...{ now: () => NOW_MS, sleep: async () => undefined, after: () => () => undefined },
    // Other tasks run after an elapsed time.
    monotonic: () => performance.now(),
  };
  const refuse = (): never => {
    throw new Error('Nothing is to be done, only decided');
  };
  return createOperator({
    client: new Proxy({}, { get: refuse }) as Deps['client'],
    informers,
    provider: {
      provider: partial({
        instanceTypes: async ({ metadata }: KubeObject) => pools.get(metadata.name)?.instanceTypes ?? [],
        nodeClassKinds: [NODE_CLASS_KIND],
      }),
    },
    events: { publish: () => undefined },
    clock,
    log: silent,
    metrics: createMetrics(),
    // the price of moves excludes many nodes of these clusters before the search
    settings: parseAwsSettings(['--cluster-name=bench', '--steering=false'], {}),
  }).deps;
}

const commandText = ({ candidates, replacements }: Command): string => `${candidates.length}->${replacements.length}`;
const rounded = (ms: number): number => Number(ms.toFixed(1));

export interface MethodLine extends Blocks {
  readonly milliseconds: number;
  readonly candidates: number;
  readonly found: readonly string[];
}

/** Yields one line per shape. Every method runs, even if an earlier one found a command. */
export async function* disruptionLines(): AsyncGenerator<object> {
  for (const [name, shape] of Object.entries(SHAPES)) yield* passLines(name, shape);
  yield* passLines('vain-5000', { ...SHAPES.vain, nodes: 5000 });
}

/** Yields the lines of passes that find no command, as most passes do, in a cluster of this size. */
export const quietPassLines = (size: Pick<ClusterShape, 'nodes' | 'podsPerNode'>): AsyncGenerator<object> =>
  passLines('vain', { ...SHAPES.vain, ...size });

async function* passLines(name: string, shape: ClusterShape): AsyncGenerator<object> {
  // Watching the event loop uses CPU time, so CPU time is measured in passes without a watch.
  const unwatched = await Array.fromAsync(
    passesOver(clusterOf(shape), async (work) => ({ ...NO_BLOCKS, ...(await work()) })),
  );
  const cluster = clusterOf(shape);
  let at = 0;
  for await (const { pass, methods } of passesOver(cluster, async (work) => {
    const { result, ...blocks } = await watched(work);
    return { ...blocks, ...result };
  })) {
    const lines = Object.values(methods);
    yield {
      workload: `disruption-${name}`,
      pass,
      nodes: cluster.snapshot.nodes.length,
      pods: cluster.snapshot.nodes.reduce((sum, { pods }) => sum + pods.length, 0),
      milliseconds: rounded(lines.reduce((sum, { milliseconds }) => sum + milliseconds, 0)),
      cpuMs: unwatched[at++]?.cpuMs,
      methodMs: lines.map(({ milliseconds }) => milliseconds),
      blockMs: Math.max(...lines.map(({ blockMs }) => blockMs)),
      blockCpuMs: Math.max(...lines.map(({ blockCpuMs }) => blockCpuMs)),
      methods,
    };
  }
}

type Decided = Pick<MethodLine, 'candidates' | 'found'>;

const NO_BLOCKS: Blocks = { blockMs: 0, blockCpuMs: 0 };

interface Pass {
  readonly pass: string;
  readonly methods: Readonly<Record<string, MethodLine>>;
  /** User and system time of all threads. */
  readonly cpuMs: number;
}

/** @param run executes one method */
async function* passesOver(
  cluster: Cluster,
  run: (work: () => Promise<Decided>) => Promise<Blocks & Decided>,
): AsyncGenerator<Pass> {
  const deps = depsOn(cluster);
  deps.cluster.nodes();
  buildBundle();
  // the thread of the image, which does not load TypeScript
  const thread = new WorkerSimulationRunner({ url: pathToFileURL(bundled('engine-worker')) });
  const queue = new DisruptionQueue(deps);
  const snapshots = new Snapshots(deps, queue);
  const history = new VerdictHistory();
  const loop = new DisruptionLoop(deps, {
    ...{ queue, methods: [], simulations: thread, history, snapshots },
    launches: { room: () => Number.POSITIVE_INFINITY },
  });
  const ask = async (method: Method): Promise<MethodLine> => {
    const startedMs = performance.now();
    const { blockMs, blockCpuMs, ...result } = await run(async () => {
      const { decide, input: _, ...preparation } = await loop.prepare(method, silent);
      const { length } = preparation.candidates;
      if (length === 0) return { candidates: 0, found: [] };
      const decision = await decide(new AbortController().signal);
      history.record({ ...preparation, result: decision });
      publishEvents(deps.events, decision.events);
      return { candidates: length, found: decision.commands.map(commandText) };
    });
    const milliseconds = rounded(performance.now() - startedMs);
    return { milliseconds, blockMs: rounded(blockMs), blockCpuMs: rounded(blockCpuMs), ...result };
  };
  // The first pass after a start copies the whole cluster and warms up. Later passes are the steady state.
  for (const pass of ['first', 'next']) {
    const methods: Record<string, MethodLine> = {};
    const startedCpu = process.cpuUsage();
    for (const method of methodsOf('thorough')) methods[method.name] = await ask(method);
    const { user, system } = process.cpuUsage(startedCpu);
    yield { pass, methods, cpuMs: rounded((user + system) / 1000) };
  }
  await thread.close();
}

const SMALL = { nodes: 60, podsPerNode: 10, workloads: 20, bought: BOUGHT };
const BUDGET = '20%';
const SEEDS = [1, 2, 3, 4];

const onePool = (budget: string): Pick<ClusterShape, 'pools'> => ({
  pools: [{ name: 'default', capacityTypes: ['on-demand'], budget }],
});
const SOME_LEFT = { ...SMALL, fill: [0.5, 1], ruled: 0 } as const;
const MOST_LEFT = { ...SMALL, fill: [0.2, 0.7], ruled: 0.2 } as const;

/** Clusters whose workloads have changed since their nodes were launched. */
const HISTORIES: Readonly<Record<string, Omit<ClusterShape, 'seed'>>> = {
  'some-left': { ...SOME_LEFT, ...onePool(BUDGET) },
  'most-left': { ...MOST_LEFT, ...onePool(BUDGET) },
  'some-left-at-once': { ...SOME_LEFT, ...onePool(ALL_AT_ONCE) },
  'most-left-at-once': { ...MOST_LEFT, ...onePool(ALL_AT_ONCE) },
  'three-pools': {
    ...SMALL,
    fill: [0.5, 1],
    ruled: 0.5,
    pools: [
      { name: 'a', capacityTypes: ['on-demand'], budget: BUDGET },
      { name: 'b', capacityTypes: ['spot', 'on-demand'], budget: BUDGET },
      { name: 'c', capacityTypes: ['spot'], budget: BUDGET, consolidationPolicy: 'Balanced' },
    ],
  },
};

interface Outcome {
  readonly usdPerHour: number;
  readonly commands: number;
  readonly podsMoved: number;
}

async function outcomeOf(cluster: Cluster, consolidation: 'thorough' | 'compatible'): Promise<Outcome> {
  let last = cluster;
  let commands = 0;
  let podsMoved = 0;
  for await (const step of untilAtRest(cluster, { consolidation })) {
    last = step.after;
    commands++;
    podsMoved += step.command.candidates.reduce((sum, { reschedulablePods }) => sum + reschedulablePods.length, 0);
  }
  return { usdPerHour: Number(costOf(last).toFixed(3)), commands, podsMoved };
}

/** Yields one line per history, with sums over all seeds. */
export async function* savingsLines(): AsyncGenerator<object> {
  for (const [name, history] of Object.entries(HISTORIES)) {
    const sums = { before: 0, compatible: 0, thorough: 0, commands: [0, 0], podsMoved: [0, 0] };
    for (const seed of SEEDS) {
      const cluster = clusterOf({ ...history, seed });
      const compatible = await outcomeOf(cluster, 'compatible');
      const thorough = await outcomeOf(cluster, 'thorough');
      sums.before += costOf(cluster);
      sums.compatible += compatible.usdPerHour;
      sums.thorough += thorough.usdPerHour;
      sums.commands = [compatible, thorough].map((each, at) => (sums.commands[at] ?? 0) + each.commands);
      sums.podsMoved = [compatible, thorough].map((each, at) => (sums.podsMoved[at] ?? 0) + each.podsMoved);
    }
    yield {
      workload: `consolidation-${name}`,
      clusters: SEEDS.length,
      usdBefore: Number(sums.before.toFixed(2)),
      usdCompatible: Number(sums.compatible.toFixed(2)),
      usdThorough: Number(sums.thorough.toFixed(2)),
      savedMore: Number((1 - sums.thorough / sums.compatible).toFixed(4)),
      commands: sums.commands,
      podsMoved: sums.podsMoved,
    };
  }
}
