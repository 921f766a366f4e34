/**
 * `npm run bench:cluster [-- SCENARIO…]`: load on a real control plane with the local AWS, whose instances join
 * immediately. Prints one JSON line for each scenario: seconds until all pods are bound, nodes, USD per hour, CPU
 * seconds and resident memory of the operator. The scenarios share one operator: it starts with pending pods (`start`),
 * and between two scenarios all nodes are removed (`…-zero`). `first` restarts the operator. Names are prefixes:
 * `first`, `plain-20`, `plain`, `mixed`, `interruption`. `life` is a life of half an hour with two settings, and runs only if it
 * is named; see `life.ts` for its options.
 */
import { DEPLOYMENT, NODE_CLAIM, type NodeClaim, POD, type Pod } from '#api/objects';
import { realClock } from '#lib/clock';
import type { Cache } from '#local/api-server';
import { startCaches } from '#local/testing';
import { applyText, type Cluster, exampleText, startCluster } from '../../test/cluster/harness/cluster.ts';
import { pool } from '../../test/operator/pools.ts';
import buildBundle, { bundled } from '../../test/support/operator/bundle.ts';
import { type MeasuredOperator, secondsUntilReady, startMeasured } from './operator.ts';
import { mixed, plain, type Workload } from './workloads.ts';

/** Instances become Nodes as soon as they run, so that only the time of the operator and the control plane remains. */
const AT_ONCE = {
  instances: { startDelayMs: 0, stopDelayMs: 100 },
  kubelets: { bootMs: 0, readyMs: 0, podStartMs: [0, 10], podStopMs: 10 },
} as const;
const SIZES = [4, 8, 16, 32, 48, 64, 96, 128, 192];
const LIMIT_MS = 300_000;
/** Idle time after a start, until the first launch. */
const IDLE_MS = 5_000;

const wanted = process.argv.slice(2);
const isWanted = (name: string): boolean => wanted.length === 0 || wanted.some((one) => name.startsWith(one));
const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

class Bench {
  readonly #cluster: Cluster;
  readonly #pods: Cache<Pod>;
  readonly #claims: Cache<NodeClaim>;
  readonly #program: string;
  #operator: MeasuredOperator | undefined;

  constructor(cluster: Cluster, program: string, signal: AbortSignal) {
    this.#cluster = cluster;
    this.#program = program;
    const caches = startCaches({ client: cluster.kube, clock: realClock(), signal, log: () => {} });
    this.#pods = caches.of<Pod>(POD);
    this.#claims = caches.of<NodeClaim>(NODE_CLAIM);
  }

  /** Measures the time until the operator is ready and until the first NodeClaim, with pending pods from the start. */
  async start(workload: Workload): Promise<void> {
    await this.#pods.synced;
    await this.#create(workload);
    await this.#until('unschedulable pods', () => this.#waiting().filter(isUnschedulable).length === workload.pods);
    const startedMs = performance.now();
    this.#operator = await startMeasured(this.#cluster, this.#program);
    const ready = secondsUntilReady(this.#operator);
    const first = this.#until('a NodeClaim', () => this.#claims.list().length > 0).then(() => since(startedMs));
    const [readyS, firstClaimS] = await Promise.all([ready, first]);
    await this.#bound(workload);
    print({ workload: 'start', readyS: rounded(readyS), firstClaimS, boundS: since(startedMs), ...this.#measures(0) });
    await this.#zero(workload);
  }

  /** Restarts the operator, and measures the first launch after some idle seconds. */
  async first(workload: Workload): Promise<void> {
    await this.stop();
    this.#operator = await startMeasured(this.#cluster, this.#program);
    await secondsUntilReady(this.#operator);
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    await this.load({ ...workload, name: `first-${workload.name}` });
  }

  async load(workload: Workload): Promise<void> {
    const cpuS = this.#running.cpuSeconds();
    this.#running.highestMib();
    const startedMs = performance.now();
    await this.#create(workload);
    const phases = await this.#phases(workload, startedMs);
    print({ workload: workload.name, pods: workload.pods, ...phases, ...this.#measures(cpuS) });
    await this.#zero(workload);
  }

  /** Interrupts one of the spot nodes, and measures the time until the same number of pods is bound to other nodes. */
  async interruption(workload: Workload): Promise<void> {
    await this.#create(workload);
    await this.#bound(workload);
    const { instances, faults } = this.#cluster.world.aws;
    const victim = instances.list().find(({ capacityType, state }) => capacityType === 'spot' && state === 'running');
    if (victim === undefined) throw new Error('there is no spot instance');
    const nodeName = (): string =>
      this.#claims.list().find(({ status }) => status?.providerID?.endsWith(victim.id))?.status?.nodeName ?? '';
    await this.#until('the node of the spot instance', () => nodeName() !== '');
    const left = nodeName();
    const cpuS = this.#running.cpuSeconds();
    const startedMs = performance.now();
    faults.interrupt(victim.id);
    await this.#until('pods bound again', () => {
      const bound = this.#waiting().filter(isBound);
      return bound.length >= workload.pods && bound.every(({ spec }) => spec.nodeName !== left);
    });
    print({ workload: 'interruption', boundS: since(startedMs), ...this.#measures(cpuS) });
    await this.#zero(workload);
  }

  async stop(): Promise<void> {
    await this.#operator?.stop();
  }

  /** Excludes the pods of the chart. */
  #waiting(): readonly Pod[] {
    return this.#pods.list().filter(({ metadata }) => metadata.namespace === 'default');
  }

  get #running(): MeasuredOperator {
    if (this.#operator === undefined) throw new Error('Cannot happen: the first scenario starts the operator');
    return this.#operator;
  }

  #measures(cpuS: number): object {
    const { aws } = this.#cluster.world;
    const nodes = aws.instances.list().filter(({ state }) => state === 'pending' || state === 'running');
    return {
      nodes: nodes.length,
      usdPerHour: rounded(aws.spending.usdPerHour()),
      cpuS: rounded(this.#running.cpuSeconds() - cpuS),
      rssMib: this.#running.highestMib(),
    };
  }

  async #create({ objects }: Workload): Promise<void> {
    for (const object of objects) await this.#cluster.kube.create(DEPLOYMENT, object);
  }

  #bound = ({ pods }: Workload): Promise<void> =>
    this.#until('all pods bound', () => this.#waiting().filter(isBound).length >= pods);

  /** Seconds until all pods exist, the first is unschedulable, the first and the last NodeClaim exist, pods are bound. */
  async #phases(workload: Workload, startedMs: number): Promise<Readonly<Record<string, number>>> {
    const phases: Record<string, number> = {};
    const reached = (phase: string, is: boolean): void => {
      if (is) phases[phase] ??= since(startedMs);
    };
    let claims = 0;
    await this.#until('all pods bound', () => {
      const pods = this.#waiting();
      reached('createdS', pods.length >= workload.pods);
      reached('unschedulableS', pods.some(isUnschedulable));
      const present = this.#claims.list().length;
      reached('firstClaimS', present > 0);
      if (present > claims) phases.lastClaimS = since(startedMs);
      claims = present;
      reached('firstBoundS', pods.some(isBound));
      reached('boundS', pods.filter(isBound).length >= workload.pods);
      return phases.boundS !== undefined;
    });
    return phases;
  }

  /** Waits until all nodes are removed. */
  async #zero({ name, objects }: Workload): Promise<void> {
    const cpuS = this.#running.cpuSeconds();
    const startedMs = performance.now();
    for (const { metadata } of objects) await this.#cluster.kube.delete(DEPLOYMENT, metadata);
    await this.#until('all nodes given back', () => this.#waiting().length === 0 && this.#claims.list().length === 0);
    print({ workload: `${name}-zero`, goneS: since(startedMs), ...this.#measures(cpuS) });
  }

  async #until(what: string, probe: () => boolean): Promise<void> {
    for (const startedMs = performance.now(); !probe(); ) {
      if (performance.now() - startedMs > LIMIT_MS)
        throw new Error(`${what}: not within ${LIMIT_MS / 1_000} s\n${this.#cluster.plane.tails()}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

const isBound = ({ spec }: Pod): boolean => Boolean(spec.nodeName);
const isUnschedulable = ({ status }: Pod): boolean =>
  (status?.conditions ?? []).some(({ reason }) => reason === 'Unschedulable');
const rounded = (value: number): number => Number(value.toFixed(2));
const since = (startedMs: number): number => rounded((performance.now() - startedMs) / 1_000);

async function lives(): Promise<void> {
  const { lifeLines } = await import('./life.ts');
  for await (const line of lifeLines(wanted.slice(1), bundled('main'))) print(line);
}

async function loads(): Promise<void> {
  const closing = new AbortController();
  const cluster = await startCluster({ world: AT_ONCE });
  const bench = new Bench(cluster, bundled('main'), closing.signal);
  try {
    await applyText(cluster, await exampleText('ec2nodeclass.yaml'));
    await applyText(cluster, JSON.stringify(pool({ cpus: SIZES, capacityTypes: ['on-demand'] })));
    await bench.start({ ...plain(20), name: 'start' });
    if (isWanted('first-plain-20')) await bench.first(plain(20));
    for (const workload of [plain(20), plain(500), mixed('us-west-2a'), plain(2_000)])
      if (isWanted(workload.name)) await bench.load(workload);
    if (isWanted('interruption')) {
      await applyText(cluster, JSON.stringify(pool({ cpus: SIZES, capacityTypes: ['spot'] })));
      await bench.interruption({ ...plain(20), name: 'interruption' });
    }
  } finally {
    await bench.stop();
    closing.abort();
    await cluster.stop();
  }
}

buildBundle();
await (wanted[0] === 'life' ? lives() : loads());
process.exit(); // watches of the benchmark's cache may still be open
