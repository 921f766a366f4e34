/**
 * `npm run bench:cluster -- life [--minutes 30] [--seed 1] [--only NAME] [--boot-jitter 0.2] [--workload changes|waves]
 * [--capacity spot|on-demand]`: a seeded life of a cluster on a real control plane, in real time, with the defaults and in
 * Karpenter's way. Instances join after half a minute, one after the other. `--boot-jitter` is the largest relative difference of
 * a boot time from its mean. Prints one JSON line for each setting, with the price per hour at the end.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { DEPLOYMENT, JOB, type Kind, type KubeObject, POD, POD_DISRUPTION_BUDGET, type Pod } from '#api/objects';
import { KARPENTERS_WAY } from '#cli/testing';
import { podRequests } from '#engine/model';
import { realClock } from '#lib/clock';
import { startCaches } from '#local/testing';
import { applyText, type Cluster, exampleText, startCluster } from '../../test/cluster/harness/cluster.ts';
import { pool } from '../../test/operator/pools.ts';
import {
  type LifeEvent,
  type LifeOptions,
  lifeEvents,
  MINUTE_MS,
  RUNS_FOR,
  readLifeOptions,
  waveEvents,
} from './life-plan.ts';
import { LifeRecord } from './life-record.ts';
import { type MeasuredOperator, secondsUntilReady, startMeasured } from './operator.ts';

const ZONE = 'us-west-2a';
const SIZES = [2, 4, 8, 16, 32];
/** Interval of the samples of pods and instances. */
const SAMPLE_MS = 200;
const SHORTAGE_MS = 3 * MINUTE_MS;
/** Kinds of the objects that a life creates. */
const KINDS: readonly Kind[] = [DEPLOYMENT, JOB, POD_DISRUPTION_BUDGET];
const SETTINGS: Readonly<Record<string, readonly string[]>> = { default: [], "Karpenter's way": KARPENTERS_WAY };

/** Plays the life once with each setting, each on its own control plane. */
export async function* lifeLines(args: readonly string[], program: string): AsyncGenerator<object> {
  const options = readLifeOptions(args);
  const { lengthMs, seed, only, bootJitter } = options;
  for (const [name, settings] of Object.entries(SETTINGS)) {
    if (!name.startsWith(only)) continue;
    const closing = new AbortController();
    // the boot times of the local world
    const world = { instances: {}, kubelets: { bootMs: 25_000, readyMs: 5_000, seed, bootJitter } };
    const cluster = await startCluster({ world });
    let operator: MeasuredOperator | undefined;
    try {
      operator = await startMeasured(cluster, program, settings);
      await secondsUntilReady(operator);
      const life = new ClusterLife(cluster, operator, closing.signal);
      yield { life: name, seed, minutes: lengthMs / MINUTE_MS, ...(await life.play(options)) };
    } finally {
      await operator?.stop();
      closing.abort();
      await cluster.stop();
    }
  }
}

class ClusterLife {
  readonly #cluster: Cluster;
  readonly #operator: MeasuredOperator;
  readonly #pods: () => readonly Pod[];
  readonly #synced: Promise<void>;
  readonly #record = new LifeRecord();
  /** Times at which the shortages end, by the ID of the fault. */
  readonly #shortages = new Map<string, number>();

  constructor(cluster: Cluster, operator: MeasuredOperator, signal: AbortSignal) {
    this.#cluster = cluster;
    this.#operator = operator;
    const pods = startCaches({ client: cluster.kube, clock: realClock(), signal, log: () => {} }).of<Pod>(POD);
    this.#synced = pods.synced;
    this.#pods = () => pods.list().filter(({ metadata }) => metadata.namespace === 'default');
  }

  async play({ seed, lengthMs, workload, capacities }: LifeOptions): Promise<object> {
    await applyText(this.#cluster, await exampleText('ec2nodeclass.yaml'));
    await applyText(this.#cluster, JSON.stringify(nodePool(capacities)));
    await this.#synced;
    const events = workload === 'waves' ? waveEvents(seed) : lifeEvents(seed, lengthMs, ZONE);
    const startedMs = performance.now();
    let next = 0;
    for (let nowMs = 0; nowMs < lengthMs; nowMs = performance.now() - startedMs) {
      for (let due = events[next]; due !== undefined && due.atMs <= nowMs; due = events[++next])
        await this.#carryOut(due.event, nowMs);
      this.#endShortages(nowMs);
      await this.#sample(nowMs);
      await pause(SAMPLE_MS);
    }
    return this.#figures();
  }

  async #carryOut(event: LifeEvent, nowMs: number): Promise<void> {
    const { kube, world } = this.#cluster;
    switch (event.kind) {
      case 'create':
        for (const object of event.objects) await kube.create(kindOf(object), object);
        return;
      case 'scale':
        await kube.patch(DEPLOYMENT, serviceRef(event.name), { spec: { replicas: event.replicas } });
        return;
      case 'roll-out': {
        const annotations = { version: String(event.version) };
        await kube.patch(DEPLOYMENT, serviceRef(event.name), { spec: { template: { metadata: { annotations } } } });
        return;
      }
      case 'interrupt': {
        const spot = this.#running().filter(({ capacityType }) => capacityType === 'spot');
        const victim = spot[Math.floor(event.pick * spot.length)];
        if (victim) world.aws.faults.interrupt(victim.id);
        return;
      }
      case 'shortage': {
        const running = this.#running();
        const { type, zone, capacityType } = running[Math.floor(event.pick * running.length)] ?? {};
        if (type === undefined || zone === undefined || capacityType === undefined) return;
        const fault = world.aws.faults.add({ kind: 'capacity', instanceType: type, zone, capacityType });
        this.#shortages.set(fault, nowMs + SHORTAGE_MS);
      }
    }
  }

  #endShortages(nowMs: number): void {
    for (const [fault, untilMs] of this.#shortages) {
      if (nowMs < untilMs) continue;
      this.#cluster.world.aws.faults.clear(fault);
      this.#shortages.delete(fault);
    }
  }

  /** Records the pods and instances, and ends the pods of Jobs whose time is over, as a kubelet does. */
  async #sample(nowMs: number): Promise<void> {
    const pods = this.#pods();
    const over = this.#record.sample(
      nowMs,
      pods.map((pod) => ({
        uid: pod.metadata.uid ?? '',
        isBound: Boolean(pod.spec.nodeName),
        isRunning: pod.status?.phase === 'Running' && pod.metadata.deletionTimestamp === undefined,
        isDone: pod.status?.phase === 'Succeeded',
        cpus: podRequests(pod).cpu ?? 0,
        runsForMs: Number(pod.metadata.labels?.[RUNS_FOR] ?? Number.NaN) * 1_000,
      })),
      this.#running().map(({ id }) => id),
    );
    for (const { metadata } of pods.filter(({ metadata: { uid } }) => over.includes(uid ?? '')))
      await this.#cluster.kube
        .patch(POD, metadata, { status: { phase: 'Succeeded' } }, { subresource: 'status' })
        // evicted in the meantime
        .catch(() => undefined);
  }

  readonly #running = () =>
    this.#cluster.world.aws.instances.list().filter(({ state }) => state === 'pending' || state === 'running');

  async #figures(): Promise<object> {
    const { world } = this.#cluster;
    const evictions = (await this.#cluster.audit()).filter(
      ({ objectRef, responseStatus }) => objectRef?.subresource === 'eviction' && responseStatus?.code === 201,
    );
    const metrics = await (await fetch(this.#operator.metricsUrl)).text();
    return {
      usd: rounded(world.aws.spending.usd()),
      usdPerHour: rounded(world.aws.spending.usdPerHour()),
      ...this.#record.figures(),
      secondRound: sumOf(metrics, 'karpenter_nodeclaims_second_round_total'),
      evictions: evictions.length,
      operatorCpuS: rounded(this.#operator.cpuSeconds()),
      operatorMib: this.#operator.highestMib(),
    };
  }
}

const nodePool = (capacities: LifeOptions['capacities']): KubeObject =>
  pool({
    cpus: SIZES,
    capacityTypes: [...capacities],
    consolidateAfter: '30s',
    budgets: [{ nodes: '10%' }],
  });

const serviceRef = (name: string) => ({ name, namespace: 'default' });
function kindOf(object: KubeObject): Kind {
  const found = KINDS.find(({ kind }) => kind === object.kind);
  if (found === undefined) throw new Error(`a life creates no ${object.kind}`);
  return found;
}

const rounded = (value: number): number => Number(value.toFixed(3));

/** Returns the sum of all series of a counter. */
const sumOf = (metrics: string, name: string): number =>
  metrics
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
