/**
 * A world in which hostile inputs are played one after the other. The operator runs as in production: in its own
 * process with engine threads, a lease, and real HTTP. After each input, the operator must still launch a node for a
 * healthy pod, respond to its probes and lead.
 */

import {
  EC2_NODE_CLASS,
  EVENT,
  isTrue,
  type Kind,
  type KubeEvent,
  type KubeObject,
  LEASE,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  POD,
} from '#api/objects';
import { cachesInProcess } from '#local/api-server';
import { startWorld, type World, type WorldOptions } from '#local/world';
import type { LogLine } from '../operator/harness.ts';
import { catalogueOf } from '../support/catalogue.ts';
import { connectForPolls, type KubeApi } from '../support/kube-api.ts';
import { type OperatorProcess, runOperator } from '../support/operator/runner.ts';
import { type LeadingClock, pacedClock } from '../support/paced-clock.ts';
import { healthyNodeClass, healthyPod, healthyPool } from './healthy.ts';
import { empty, present } from './objects-away.ts';

/**
 * Time scale while both processes wait. A node takes about three seconds of this time, mostly for the batching of
 * pods. The limit of twenty seconds leaves room for slower machines.
 */
const FAST = 20;
/** Time on the world's clock from the creation of the healthy pod to its binding. */
export const NODE_MS = 20_000;
/** Longer for the first pod, because the engine threads start at the same time. */
const FIRST_NODE_MS = 30_000;
/** Limit in real time. */
const PROBE_MS = 20_000;
/** Real time between two polls. Polls use CPU time, and the clock is slow while a process computes. */
const POLL_MS = 25;

/** All feature gates that are disabled by default and tested here. */
const GATES = 'NodeOverlay=true,CapacityBuffer=true,StaticCapacity=true,NodeRepair=true,SpotToSpotConsolidation=true';
const FAMILIES = /^(m5|m6g|g4dn)\./;

export interface HostileOptions extends WorldOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Additional objects that exist from the start. */
  readonly furniture?: readonly (readonly [Kind, KubeObject])[];
  /** Returns the environment for proxies between the operator and the servers. */
  readonly via?: (world: World) => Promise<{ readonly env: Record<string, string> }>;
}

export interface HostileWorld {
  readonly world: World;
  readonly clock: LeadingClock;
  readonly kube: KubeApi;
  /** The operator that is running at present. */
  readonly operator: OperatorProcess;
  /** Launches a node for a healthy pod, checks probes and lease, and deletes the pod. @throws Error */
  expectHealthy(): Promise<void>;
  /** Checks the probes and the lease. @throws Error */
  expectLeading(): Promise<void>;
  /** Waits until `holds` returns a truthy value, at most for this duration on the world's clock. */
  until<T>(what: string, holds: () => T | Promise<T>, limitMs?: number): Promise<Exclude<T, false | undefined>>;
  /** Returns the log lines since the last call of `mark`. */
  since(): readonly LogLine[];
  mark(): void;
  /** Returns the events about the object. */
  eventsOf(object: KubeObject): readonly KubeEvent[];
  /**
   * Kills the operator, removes all objects that did not exist at the start, and starts another operator.
   * @param env settings of this operator, in addition to those of the world
   */
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Waits until the operator has exited. */
  untilEnded(limitMs: number): Promise<void>;
  /** Restarts the operator after its exit, and waits until it leads. */
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
    // three messages for each node, about nodes that the operator launches and terminates itself
    aws: { catalogue: catalogueOf(FAMILIES), stateChangeEvents: false, ...options.aws },
  });
  const kube = connectForPolls(world.kube.server);
  const events = cachesInProcess(world.kube.server).of(EVENT);
  const { env: via = {} } = (await options.via?.(world)) ?? {};
  const start = (env: Readonly<Record<string, string>> = {}): Promise<OperatorProcess> =>
    runOperator(clock, {
      ...world.env(),
      METRICS_PORT: '0',
      HEALTH_PROBE_PORT: '0',
      FEATURE_GATES: GATES,
      // repeats messages that were logged before
      LOG_LEVEL: 'debug',
      ...via,
      ...options.env,
      ...env,
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
      const limitMs = leader === undefined ? FIRST_NODE_MS : NODE_MS;
      await self.until('node for a healthy pod', () => isOnNodeOfItsOwn(kube, pod), limitMs);
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
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    since: () => operator.log.slice(marked),
    mark() {
      marked = operator.log.length;
    },
    eventsOf: ({ kind, metadata: { name } }) => events.by(subjectOf, `${kind}/${name}`),
    async restart(env) {
      await operator.kill();
      await empty(world, resident);
      operator = await start(env);
      leader = undefined;
      marked = 0;
      await furnish();
    },
    async untilEnded(limitMs) {
      const startedMs = clock.now();
      while (operator.end === undefined) {
        if (clock.now() - startedMs > limitMs) throw new Error(`the operator has not ended\n${await describe(self)}`);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
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

const subjectOf = ({ involvedObject: { kind, name } }: KubeEvent): string => `${kind}/${name}`;

/** Reports whether the pod is bound to a node. */
async function isOnNodeOfItsOwn(kube: KubeApi, { metadata }: KubeObject): Promise<boolean> {
  const pod = await kube.find(POD, { name: metadata.name, namespace: 'default' });
  return pod?.spec.nodeName !== undefined;
}

async function expectAnswers(url: string): Promise<void> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS) });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}: ${text}`);
}

/** Returns the holder of the lease. @throws Error if the holder has changed */
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

/** Describes the world for the error of a failed wait. */
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
