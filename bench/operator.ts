/**
 * The operator's provisioning on a large cluster, over HTTP: memory, and the time from the end of a batch with one new
 * pod until the request for its NodeClaim. The API server is another process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { NODE_CLASS_KIND } from '#aws/node-classes';
import { parseAwsSettings } from '#aws/settings';
import { createOperator, type Deps, type OperatorCore } from '#controllers';
import { type LaunchBudget, PodBatcher, PodVerdicts, Provisioner } from '#controllers/testing';
import { podKey } from '#engine/model';
import { WorkerSolver } from '#engine-worker';
import { openFence } from '#kube/client';
import { connect } from '#kube/connection';
import { startInformers } from '#kube/informers';
import { realClock } from '#lib/clock';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { partial } from '../test/support/partial.ts';
import { benchmarkTypes } from './catalogue.ts';
import type { ClusterSize } from './largecluster.ts';
import type { Order, Report } from './servecluster.ts';

const TYPES = 400;
/** The first pod finds a cold thread, which then receives its copy of the cluster. */
const PODS = 8;
/** Windows close immediately, because waiting for more pods is not measured. */
const NO_WAIT = { idleMs: 0, maxMs: 0 };
const LATER_MS = 20;

export interface OperatorLine {
  readonly workload: string;
  readonly nodes: number;
  readonly pods: number;
  /** Resident size of the process with all threads, after a garbage collection if `--expose-gc` is set. */
  readonly rssMb: number;
  readonly heapMb: number;
  /** Time and main-thread CPU time until all objects have been listed. */
  readonly listedMs: number;
  readonly listedCpuMs: number;
  readonly firstAnswerMs: number;
  /** Median and maximum for the pods after the first. */
  readonly answerMs: number;
  readonly longestAnswerMs: number;
  /** Longest block of the event loop, during and after the lists. */
  readonly listingBlockMs: BlockMs;
  readonly blockMs: BlockMs;
}

interface BlockMs {
  readonly p95: number;
  readonly max: number;
}

const rounded = (ms: number): number => Number(ms.toFixed(1));

function blocks(): () => BlockMs {
  const delays = monitorEventLoopDelay({ resolution: 5 });
  delays.enable();
  return () => {
    delays.disable();
    return { p95: rounded(delays.percentile(95) / 1e6), max: rounded(delays.max / 1e6) };
  };
}

const nextReport = async (server: ChildProcess): Promise<Report> => {
  const [report] = (await once(server, 'message')) as [Report];
  return report;
};

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await pause(LATER_MS);
}

async function operatorOn(url: string, solver: WorkerSolver, signal: AbortSignal): Promise<OperatorCore> {
  const clock = realClock();
  const metrics = createMetrics();
  const client = connect({ fence: openFence(), url, clock, qps: 10_000, burst: 10_000 });
  const informers = startInformers({ client, clock, log: silent, signal });
  const types = benchmarkTypes(TYPES);
  const provider = {
    nodeClassKinds: [{ ...NODE_CLASS_KIND, group: 'karpenter.test.sh', kind: 'TestNodeClass' }],
    repairPolicies: [],
    instanceTypes: async () => types,
  } as unknown as Deps['cloud'];
  const events = { publish: () => undefined };
  const settings = parseAwsSettings(['--cluster-name=bench'], {});
  const ports = { client, informers, events, clock, log: silent, metrics, settings };
  const operator = createOperator({ ...ports, provider: { provider }, solver: solver.solve });
  await informers.synced();
  return operator;
}

export async function operatorLine(size: ClusterSize): Promise<OperatorLine> {
  const server = fork(new URL('./servecluster.ts', import.meta.url), [String(size.nodes), String(size.pods)]);
  const stop = new AbortController();
  const solver = new WorkerSolver();
  try {
    const first = await nextReport(server);
    const listing = blocks();
    const startedMs = performance.now();
    const startedCpu = process.threadCpuUsage();
    const url = `http://127.0.0.1:${'port' in first ? first.port : 0}`;
    const { deps, launches } = await operatorOn(url, solver, stop.signal);
    deps.cluster.nodes();
    const listedMs = performance.now() - startedMs;
    const { user, system } = process.threadCpuUsage(startedCpu);
    const listingBlockMs = listing();
    const working = blocks();
    const stage: Stage = { deps, server, solver, launches, signal: stop.signal };
    const answers: number[] = [];
    for (let pod = 0; pod < PODS; pod++) answers.push(await answerMs(pod, stage));
    const blockMs = working();
    globalThis.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    const [firstAnswerMs = 0, ...others] = answers;
    others.sort((a, b) => a - b);
    return {
      workload: `operator-${size.nodes}-${size.pods}`,
      ...size,
      rssMb: Math.round(rss / 2 ** 20),
      heapMb: Math.round(heapUsed / 2 ** 20),
      listedMs: rounded(listedMs),
      listedCpuMs: rounded((user + system) / 1_000),
      firstAnswerMs: rounded(firstAnswerMs),
      answerMs: rounded(others[others.length >> 1] ?? 0),
      longestAnswerMs: rounded(others.at(-1) ?? 0),
      listingBlockMs,
      blockMs,
    };
  } finally {
    stop.abort();
    await solver.close();
    server.disconnect();
  }
}

interface Stage {
  readonly deps: Deps;
  readonly server: ChildProcess;
  readonly solver: WorkerSolver;
  readonly launches: LaunchBudget;
  readonly signal: AbortSignal;
}

/** Returns the time from the end of the batch until the request for a NodeClaim. */
async function answerMs(pod: number, { deps, server, solver, launches, signal }: Stage): Promise<number> {
  const { pods } = deps.cluster.stores;
  const order = (type: Order['type']): void => void server.send({ type, pod } satisfies Order);
  const isThere = (): boolean => pods.get({ namespace: 'team-0', name: `late-${pod}` }) !== undefined;
  order('ADDED');
  await until(isThere);
  const batcher = new PodBatcher(deps.clock, NO_WAIT);
  batcher.trigger(podKey(partial({ metadata: { namespace: 'team-0', name: `late-${pod}` } })));
  const created = nextReport(server);
  const startedMs = Date.now();
  const key = { name: 'provisioner' };
  const parts = { batcher, solver: solver.solve, launches, verdicts: new PodVerdicts(deps) };
  await new Provisioner(deps, parts).reconcile({ signal, log: silent, ...key });
  const report = await created;
  order('DELETED');
  await until(() => !isThere() && deps.cluster.synced());
  return ('createdMs' in report ? report.createdMs : Date.now()) - startedMs;
}
