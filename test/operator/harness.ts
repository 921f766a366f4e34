/**
 * The whole operator in the local world, with real HTTP on both sides. World and operator share one clock that runs
 * faster than real time, so that minutes of a scenario take seconds. Scenarios can also run on another stage, such as
 * a real control plane; see `playOn`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import {
  CAPACITY_BUFFER,
  CAPACITY_QUOTA,
  CONFIG_MAP,
  DAEMON_SET,
  DEPLOYMENT,
  DEVICE_CLASS,
  EC2_NODE_CLASS,
  EVENT,
  isTrue,
  JOB,
  type Kind,
  type KubeEvent,
  type KubeObject,
  NAMESPACE,
  NODE,
  NODE_CLAIM,
  NODE_OVERLAY,
  NODE_POLICY,
  NODE_POOL,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  POD_DISRUPTION_BUDGET,
  POD_TEMPLATE,
  type Pod,
  PRIORITY_CLASS,
  PROVISIONING_REQUEST,
  REPLICA_SET,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  STATEFUL_SET,
  STORAGE_CLASS,
} from '#api/objects';
import { configureAws } from '#aws/provider';
import type { SimulationRunner, Solver } from '#engine-worker';
import type { Catalogue, LocalInstance } from '#local/aws';
import type { LocalApiServer } from '#local/testing';
import { type Surroundings, startWorld, type WorldOptions } from '#local/world';
import type { Pressure } from '#process/memory';
import { type Operator, startOperator } from '../../src/main.ts';
import { catalogueOf } from '../support/catalogue.ts';
import { collectionPath, connectForPolls, type KubeApi } from '../support/kube-api.ts';
import { type PacedClock, pacedClock } from '../support/paced-clock.ts';
import { skewedClock } from '../support/skewed-clock.ts';
import type { Certificate } from './cuttable-proxy.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples');
const KINDS: readonly Kind[] = [
  JOB,
  NODE_POOL,
  NODE_OVERLAY,
  NODE_POLICY,
  CAPACITY_BUFFER,
  CAPACITY_QUOTA,
  PROVISIONING_REQUEST,
  EC2_NODE_CLASS,
  POD_TEMPLATE,
  DEPLOYMENT,
  REPLICA_SET,
  STATEFUL_SET,
  DAEMON_SET,
  NODE,
  POD,
  POD_DISRUPTION_BUDGET,
  STORAGE_CLASS,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  PRIORITY_CLASS,
  CONFIG_MAP,
  DEVICE_CLASS,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  NAMESPACE,
  ...['ClusterRole', 'ClusterRoleBinding'].map(
    (kind): Kind => ({
      group: 'rbac.authorization.k8s.io',
      version: 'v1',
      kind,
      plural: `${kind.toLowerCase()}s`,
      namespaced: false,
    }),
  ),
  { group: '', version: 'v1', kind: 'ResourceQuota', plural: 'resourcequotas', namespaced: true },
];

/** Families of the scenarios. Each start of an operator reads all instance types, and reading 700 takes most of its CPU time. */
const FAMILIES =
  /^(t3|t3a|t4g|c5|c6g|c7g|c7i-flex|c6a|m5|m6g|m7g|m7i|m7i-flex|m6a|r5|r6g|r7g|r7i|g4dn|g5|g6|p3|p5|inf2|trn1|i3)\./;
let few: Catalogue | undefined;
/** The few types have offerings in the standard zones only. */
function awsOf({ aws = {} }: ScenarioOptions): WorldOptions['aws'] & object {
  if (aws.localZone) return aws;
  few ??= catalogueOf(FAMILIES);
  return { catalogue: few, ...aws };
}

/** Time scale while a scenario only waits for time to pass. */
const FAST = 60;

export interface ScenarioOptions extends WorldOptions {
  /** Seconds of the scenario per second of waiting. Default 25. */
  readonly timeScale?: number;
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Enables leader election between several operators. Use a small time scale, because a busy moment may lose the
   * lease.
   */
  readonly leaderElection?: boolean;
  /** Runner for disruption simulations. Default: the test's thread. */
  readonly simulations?: SimulationRunner;
  /** Default: the test's thread. */
  readonly solver?: Solver;
  /** Memory pressure of the operator's process. Default: memory is never short. */
  readonly pressure?: Pressure;
  /** Real time between two polls of `until`, in milliseconds. Default: that of the stage. */
  readonly pollMs?: number;
  /** Milliseconds by which the clock of the operator's machine is ahead of the world's. Default 0. */
  readonly skewMs?: number;
  /** If false, the test starts operators itself. Default true. */
  readonly operator?: boolean;
}

export interface ScenarioWorld extends Surroundings {
  readonly kube: Omit<Surroundings['kube'], 'client'> & {
    readonly client: KubeApi;
    readonly server: LocalApiServer;
    /** Certificate of an API server with TLS. */
    readonly certificate?: Certificate;
  };
}

/** Environment for scenarios. */
export interface Stage {
  /** Returns a world without objects of earlier scenarios, and the clock for its operators. */
  open(options: ScenarioOptions): Promise<{ readonly world: ScenarioWorld; readonly clock: PacedClock }>;
  /** Factor by which waits are longer than in the local world. */
  readonly patience: number;
  /** Real time between two polls of `until`, in milliseconds. */
  readonly pollMs: number;
}

let stage: Stage = {
  async open(options) {
    const clock = pacedClock(options.timeScale ?? 25);
    const world = await startWorld({ clusterName: 'test', clock, ...options });
    return { world: { ...world, kube: { ...world.kube, client: connectForPolls(world.kube.server) } }, clock };
  },
  patience: 1,
  pollMs: 50,
};

/** Sets the stage for all scenarios that start afterwards. Returns the previous stage. */
export function playOn(another: Stage): Stage {
  const before = stage;
  stage = another;
  return before;
}

export interface Scenario {
  readonly world: ScenarioWorld;
  readonly kube: KubeApi;
  /** JSON log lines of every operator that the scenario started, oldest first. */
  readonly log: readonly LogLine[];
  startOperator(extra?: { readonly env?: Readonly<Record<string, string>> }): Promise<Operator>;
  /** Stops the latest operator gracefully and starts another one. `meanwhile` runs between the two. */
  restartOperator(meanwhile?: () => Promise<void>): Promise<Operator>;
  apply(...objects: readonly KubeObject[]): Promise<void>;
  /** Returns the objects of a file in examples/. */
  example(file: string): readonly KubeObject[];
  scale(name: string, replicas: number): Promise<void>;
  pods(app?: string): Promise<readonly Pod[]>;
  running(app?: string): Promise<readonly Pod[]>;
  claims(): Promise<readonly NodeClaim[]>;
  /** Returns the nodes that belong to a NodePool. */
  nodes(): Promise<readonly Node[]>;
  events(reason?: string): Promise<readonly KubeEvent[]>;
  /** Returns the response of the latest operator's metrics endpoint. */
  metrics(): Promise<string>;
  /** Returns a debug view of the latest operator. */
  debug(name: string): Promise<unknown>;
  /** Returns the response of its liveness probe. */
  healthz(): Promise<{ readonly status: number; readonly text: string }>;
  /** Returns the instances that are pending or running. */
  instances(): readonly LocalInstance[];
  /**
   * Waits until `holds` returns a truthy value. Fails with a description of the world after 25 s in which the process
   * could run.
   */
  until<T>(what: string, holds: () => T | Promise<T>, limitMs?: number): Promise<Exclude<T, false | undefined>>;
  /** Sets the time scale for waits; 0 stops time. Returns the previous one. */
  speed(factor: number): number;
  /** Lets this much of the scenario's time pass, at `factor` (default 60) times real time. */
  pass(ms: number, factor?: number): Promise<void>;
  stop(): Promise<void>;
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

export async function startScenario(options: ScenarioOptions = {}): Promise<Scenario> {
  const { world, clock } = await stage.open({ ...options, aws: awsOf(options) });
  const kube = world.kube.client;
  let latest: Operator | undefined;
  const running = new Set<Operator>();
  const log: LogLine[] = [];

  // The SDK reads its region, endpoint and credentials from the environment of the process.
  Object.assign(process.env, world.aws.env());
  const startOne: Scenario['startOperator'] = async (extra = {}) => {
    const operator = await startOperator({
      configureProvider: configureAws,
      argv: options.argv ?? [],
      env: {
        ...world.env(),
        METRICS_PORT: '0',
        HEALTH_PROBE_PORT: '0',
        // scenarios of consolidation show the searches, without the time in which marked nodes may become empty
        STEERING: 'false',
        DISABLE_LEADER_ELECTION: String(!(options.leaderElection ?? false)),
        ...options.env,
        ...extra.env,
      },
      clock: skewedClock(clock, options.skewMs),
      ...(options.simulations === undefined ? {} : { simulations: options.simulations }),
      ...(options.solver === undefined ? {} : { solver: options.solver }),
      ...(options.pressure === undefined ? {} : { pressure: options.pressure }),
      write: (line) => log.push(JSON.parse(line) as LogLine),
    });
    latest = operator;
    running.add(operator);
    void operator.done.then(() => running.delete(operator));
    return operator;
  };

  const scenario: Scenario = {
    world,
    kube,
    log,
    startOperator: startOne,
    async restartOperator(meanwhile) {
      await latest?.stop();
      await meanwhile?.();
      return startOne();
    },
    async apply(...objects) {
      for (const object of objects) await applyOne(kube, object);
    },
    example: (file) =>
      parseAllDocuments(
        readFileSync(join(EXAMPLES, file), 'utf8')
          .replaceAll('discovery: local', 'discovery: test')
          .replaceAll('NodeRole-local', 'NodeRole-test'),
      ).map((document) => document.toJS() as KubeObject),
    scale: async (name, replicas) => {
      await kube.patch(DEPLOYMENT, { name, namespace: 'default' }, { spec: { replicas } });
    },
    pods: async (app) =>
      (await kube.list(POD)).items.filter(
        (pod) => !pod.metadata.deletionTimestamp && (app === undefined || pod.metadata.labels?.app === app),
      ),
    running: async (app) =>
      (await scenario.pods(app)).filter((pod) => pod.status?.phase === 'Running' && isTrue(pod, 'Ready')),
    claims: async () => (await kube.list(NODE_CLAIM)).items,
    nodes: async () => (await kube.list(NODE)).items.filter((node) => node.metadata.labels?.[NODEPOOL_LABEL]),
    events: async (reason) =>
      (await kube.list(EVENT)).items.filter((event) => reason === undefined || event.reason === reason),
    healthz: async () => {
      const response = await fetch(`http://127.0.0.1:${latest?.healthProbePort}/healthz`);
      return { status: response.status, text: await response.text() };
    },
    debug: async (name) => (await fetch(`http://127.0.0.1:${latest?.metricsPort}/debug/${name}`)).json(),
    metrics: async () => (await fetch(`http://127.0.0.1:${latest?.metricsPort}/metrics`)).text(),
    instances: () => world.aws.instances.list().filter(({ state }) => state === 'pending' || state === 'running'),
    async until(what, holds, limitMs = 25_000) {
      const started = clock.calmMs();
      const patienceMs = limitMs * stage.patience;
      for (;;) {
        const seen = await holds();
        if (seen) return seen as Exclude<typeof seen, false | undefined>;
        if (clock.calmMs() - started > patienceMs)
          throw new Error(`no ${what} after ${patienceMs / 1000} s\n${await describeWorld(scenario)}`);
        await new Promise((resolve) => setTimeout(resolve, options.pollMs ?? stage.pollMs));
      }
    },
    speed: (factor) => clock.speed(factor),
    async pass(ms, factor = FAST) {
      const before = clock.speed(factor);
      await clock.sleep(ms);
      clock.speed(before);
    },
    async stop() {
      for (const operator of running) await operator.stop();
      await world.stop();
      clock.stop();
    },
  };
  try {
    if (options.operator ?? true) await startOne();
  } catch (error) {
    await scenario.stop();
    throw error;
  }
  return scenario;
}

async function applyOne(kube: KubeApi, object: KubeObject): Promise<void> {
  const kind = KINDS.find((candidate) => candidate.kind === object.kind);
  if (kind === undefined) throw new Error(`the harness does not know kind ${object.kind}`);
  const namespace = kind.namespaced ? (object.metadata.namespace ?? 'default') : undefined;
  const path = `${collectionPath(kind, namespace)}/${object.metadata.name}?fieldManager=test&force=true`;
  await kube.raw('PATCH', path, object, 'application/apply-patch+yaml');
}

/** Describes the world for the error of a failed wait, so that the failed step is visible. */
async function describeWorld(scenario: Scenario): Promise<string> {
  const [claims, nodes, pods, events] = await Promise.all([
    scenario.claims(),
    scenario.nodes(),
    scenario.pods(),
    scenario.events(),
  ]);
  const conditions = (object: { status?: unknown }): string =>
    (
      (object.status as { conditions?: readonly { type: string; status: string; reason?: string }[] } | undefined)
        ?.conditions ?? []
    )
      .map(({ type, status, reason }) => `${type}=${status}(${reason})`)
      .join(' ');
  return [
    ...claims.map(
      (claim) =>
        `claim ${claim.metadata.name} ${claim.status?.providerID ?? '-'} ${claim.metadata.deletionTimestamp ?? ''} ${conditions(claim)}`,
    ),
    ...nodes.map((node) => `node ${node.metadata.name} ${JSON.stringify(node.spec?.taints ?? [])} ${conditions(node)}`),
    ...pods
      .slice(0, 5)
      .map((pod) => `pod ${pod.metadata.name} on ${pod.spec.nodeName ?? '-'} ${pod.status?.phase} ${conditions(pod)}`),
    ...events
      .toSorted((a, b) => String(a.lastTimestamp).localeCompare(String(b.lastTimestamp)))
      .slice(-8)
      .map((event) => `event ${event.reason} ${event.involvedObject.name}: ${event.message.slice(0, 200)}`),
    ...scenario.log
      .filter(({ level }) => level === 'ERROR')
      .slice(-6)
      .map((line) => `log ${JSON.stringify(line).slice(0, 400)}`),
  ].join('\n');
}

/** Returns the extended resources, which must have equal requests and limits. */
const devicesOf = (requests: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(requests).filter(([name]) => name.includes('/')));

/** Returns a Deployment of pods that request CPU and memory. */
export function deployment(
  name: string,
  replicas: number,
  pod: Record<string, unknown> = {},
  requests: Record<string, string> = { cpu: '1' },
): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'main', image: 'pause', resources: { requests, limits: devicesOf(requests) } }],
          ...pod,
        },
      },
    },
  } as KubeObject;
}
