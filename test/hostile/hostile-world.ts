/**
 * A world in which hostile inputs are played one after the other against an operator that runs as in production: a
 * process of its own with engine threads, a lease, and real HTTP on all sides. After each input the operator must still
 * buy a node for a healthy pod, answer its probes and lead.
 */

import { isTrue } from '../../src/api/conditions.ts';
import { EC2_NODE_CLASS, EVENT, type Kind, LEASE, NODE, NODE_CLAIM, NODE_POOL, POD } from '../../src/api/kinds.ts';
import type { KubeEvent, KubeObject } from '../../src/api/kubernetes.ts';
import { startWorld, type World, type WorldOptions } from '../../src/local/world.ts';
import type { LogLine } from '../operator/harness.ts';
import { catalogueOf } from '../support/catalogue.ts';
import { connect, type KubeApi } from '../support/kube-api.ts';
import { type OperatorProcess, runOperator } from '../support/operator/runner.ts';
import { type LeadingClock, pacedClock } from '../support/paced-clock.ts';
import { healthyNodeClass, healthyPod, healthyPool } from './healthy.ts';
import { empty, present } from './objects-away.ts';

/**
 * How fast time passes while both processes wait. A node takes about three seconds of it, most of which the batching of
 * pods waits; so the ten that it may take leave room for a machine that computes more slowly.
 */
const FAST = 20;
/** In the world's time, from the healthy pod's creation to its binding. */
export const NODE_MS = 10_000;
/** Real time. */
const PROBE_MS = 20_000;

/** All that is off by default and is played here. */
const GATES = 'NodeOverlay=true,CapacityBuffer=true,StaticCapacity=true,NodeRepair=true,SpotToSpotConsolidation=true';
const FAMILIES = /^(m5|m6g|g4dn)\./;

export interface HostileOptions extends WorldOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What else is there from the start. */
  readonly furniture?: readonly (readonly [Kind, KubeObject])[];
  /** What the operator talks to instead of the servers themselves. */
  readonly via?: (world: World) => Promise<{ readonly env: Record<string, string> }>;
}

export interface HostileWorld {
  readonly world: World;
  readonly clock: LeadingClock;
  readonly kube: KubeApi;
  /** The one that runs now. */
  readonly operator: OperatorProcess;
  /** Buys a node for a healthy pod, asks the probes, looks at the lease; then takes the pod away. @throws Error */
  expectHealthy(): Promise<void>;
  /** Asks the probes, and looks at the lease. @throws Error */
  expectLeading(): Promise<void>;
  /** Waits, for this much of the world's time, until `holds` answers something true. */
  until<T>(what: string, holds: () => T | Promise<T>, limitMs?: number): Promise<Exclude<T, false | undefined>>;
  /** Log lines since the last call of `mark`. */
  since(): readonly LogLine[];
  mark(): void;
  /** Events that are about the object. */
  eventsOf(object: KubeObject): Promise<readonly KubeEvent[]>;
  /** Kills the operator, takes all that was not there from the start away, and starts another. */
  restart(): Promise<void>;
  /** Waits until the operator has ended by itself. */
  untilEnded(limitMs: number): Promise<void>;
  /** Starts the operator again that has ended, and waits until it leads. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

export async function startHostileWorld(options: HostileOptions = {}): Promise<HostileWorld> {
  const clock = pacedClock(FAST);
  const world = await startWorld({
    clusterName: 'test',
    clock,
    instances: { startDelayMs: 0, stopDelayMs: 0 },
    kubelets: { bootMs: 0, bootJitter: 0, readyMs: 0, podStartMs: [0, 0], podStopMs: 0, devicePluginMs: 0 },
    ...options,
    aws: { catalogue: catalogueOf(FAMILIES), ...options.aws },
  });
  const kube = connect(world.kube.url);
  const { env: via = {} } = (await options.via?.(world)) ?? {};
  const start = (): Promise<OperatorProcess> =>
    runOperator(clock, {
      ...world.env(),
      METRICS_PORT: '0',
      HEALTH_PROBE_PORT: '0',
      FEATURE_GATES: GATES,
      // what was said before is said again
      LOG_LEVEL: 'debug',
      ...via,
      ...options.env,
    });
  const resident = await present(kube);
  let operator = await start();
  let leader: string | undefined;
  let marked = 0;
  let played = 0;

  const self: HostileWorld = {
    world,
    clock,
    kube,
    get operator() {
      return operator;
    },
    async expectHealthy() {
      played += 1;
      const pod = healthyPod(played);
      const startedMs = clock.now();
      await kube.create(POD, pod);
      await self.until('node for a healthy pod', () => isOnNodeOfItsOwn(kube, pod), NODE_MS);
      const tookMs = clock.now() - startedMs;
      if (process.env.HOSTILE_TIMES) console.log(`node after ${tookMs} ms`);
      await self.expectLeading();
      await kube.delete(POD, { name: pod.metadata.name, namespace: 'default' }, { gracePeriodSeconds: 0 });
    },
    async expectLeading() {
      await expectAnswers(`${operator.healthUrl}/healthz`);
      await expectAnswers(`${operator.healthUrl}/readyz`);
      leader = await holderOf(kube, leader);
    },
    async until(what, holds, limitMs = 30_000) {
      const startedMs = clock.now();
      for (;;) {
        if (operator.end !== undefined)
          throw new Error(`the operator ${operator.end}\n${operator.noise.slice(-20).join('\n')}`);
        const isLate = clock.now() - startedMs > limitMs;
        const seen = await holds();
        if (seen) return seen as Exclude<typeof seen, false | undefined>;
        if (isLate) throw new Error(`no ${what} after ${limitMs / 1000} s\n${await describe(self)}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    since: () => operator.log.slice(marked),
    mark() {
      marked = operator.log.length;
    },
    eventsOf: async ({ kind, metadata: { name } }) => {
      const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
      return (await kube.list(EVENT, { fieldSelector })).items;
    },
    async restart() {
      await operator.kill();
      await empty(world, resident);
      operator = await start();
      leader = undefined;
      marked = 0;
      await furnish();
    },
    async untilEnded(limitMs) {
      const startedMs = clock.now();
      while (operator.end === undefined) {
        if (clock.now() - startedMs > limitMs) throw new Error(`the operator has not ended\n${await describe(self)}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    async startAgain() {
      operator = await start();
      leader = undefined;
      marked = 0;
      const isLeading = (): boolean => operator.log.some(({ message }) => message === 'successfully acquired lease');
      await self.until('leader', isLeading, 120_000);
    },
    async stop() {
      await operator.stop();
      await world.stop();
      clock.stop();
    },
  };
  const furnish = async (): Promise<void> => {
    await kube.create(EC2_NODE_CLASS, healthyNodeClass());
    await kube.create(NODE_POOL, healthyPool());
    for (const [kind, object] of options.furniture ?? []) await kube.create(kind, object);
    await self.until('ready NodePool', async () => {
      const pool = await kube.find(NODE_POOL, { name: 'healthy' });
      return pool !== undefined && isTrue(pool, 'Ready');
    });
    await self.expectHealthy();
  };
  try {
    await furnish();
  } catch (error) {
    await self.stop();
    throw error;
  }
  return self;
}

/** Of a few families, so that solving takes little of the time that inputs need. */
async function isOnNodeOfItsOwn(kube: KubeApi, { metadata }: KubeObject): Promise<boolean> {
  const pod = await kube.find(POD, { name: metadata.name, namespace: 'default' });
  return pod?.spec.nodeName !== undefined;
}

async function expectAnswers(url: string): Promise<void> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS) });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}: ${text}`);
}

/** Who leads. @throws Error when that is not whom it was before */
async function holderOf(kube: KubeApi, before: string | undefined): Promise<string> {
  const lease = (await kube.list(LEASE)).items.find(({ metadata }) => metadata.name === 'karpenter-leader-election');
  const { holderIdentity } = lease?.spec ?? {};
  if (!holderIdentity || holderIdentity !== (before ?? holderIdentity))
    throw new Error(`the lease of ${before} was lost: ${JSON.stringify(lease?.spec)}`);
  return holderIdentity;
}

const conditionsOf = (object: KubeObject): string =>
  ((object as { status?: { conditions?: readonly Condition[] } }).status?.conditions ?? [])
    .map(({ type, status, reason, message }) => `${type}=${status}(${reason}: ${message})`)
    .join(' ');

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** What a failed wait prints. */
async function describe({ kube, since }: HostileWorld): Promise<string> {
  const [claims, nodes, pods, events] = await Promise.all([
    kube.list(NODE_CLAIM),
    kube.list(NODE),
    kube.list(POD),
    kube.list(EVENT),
  ]);
  const shown = (object: KubeObject): string =>
    `${object.kind} ${object.metadata.name.slice(0, 80)} ${object.metadata.deletionTimestamp ?? ''} ${conditionsOf(object)}`;
  return [
    ...[...claims.items, ...nodes.items, ...pods.items].slice(-12).map(shown),
    ...events.items.slice(-8).map((event) => `event ${event.reason} ${event.involvedObject.name}: ${event.message}`),
    ...since()
      .slice(-12)
      .map((line) => JSON.stringify(line)),
  ]
    .map((line) => line.slice(0, 600))
    .join('\n');
}
