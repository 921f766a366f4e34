/**
 * One world for many random clusters. Each is given to the operator, and what it has decided by is dumped and given to
 * the command line: what the two say must be equal. Time stands still while a cluster is set up, so that the operator
 * decides on what was dumped and nothing else.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CapacityBuffer } from '../../../src/api/capacity-buffer.ts';
import { type Conditioned, getCondition, isTrue } from '../../../src/api/conditions.ts';
import {
  apiVersionOf,
  CAPACITY_BUFFER,
  CSI_NODE,
  DAEMON_SET,
  EC2_NODE_CLASS,
  EVENT,
  type Kind,
  NAMESPACE,
  NODE,
  NODE_CLAIM,
  NODE_OVERLAY,
  NODE_POOL,
  POD,
  POD_TEMPLATE,
} from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/kubernetes.ts';
import type { NodeClaim } from '../../../src/api/nodeclaim.ts';
import type { NodePool } from '../../../src/api/nodepool.ts';
import { sceneOptions, simulateDisruption } from '../../../src/cli/disruption.ts';
import { explainNodes } from '../../../src/cli/explain.ts';
import { type Simulation, simulationOf } from '../../../src/cli/render/plan.ts';
import { typesNoting } from '../../../src/cli/scenario.ts';
import { simulate } from '../../../src/cli/simulate.ts';
import type { Verdict } from '../../../src/engine/disruption/verdicts.ts';
import type { Plan } from '../../../src/engine/model.ts';
import { isProvisionable, podKey } from '../../../src/engine/pods.ts';
import { localSolver } from '../../../src/engine-worker/solver.ts';
import { LONGEST_MESSAGE } from '../../../src/kube/recorder.ts';
import { ruleBuiltCatalogue } from '../../../src/local/aws/catalogue/catalogue.ts';
import type { Catalogue } from '../../../src/local/aws/options.ts';
import type { Operator } from '../../../src/main.ts';
import { FAILED_SCHEDULING } from '../../../src/observe/events/pods.ts';
import { type LogLine, type Scenario, startScenario } from '../harness.ts';
import type { RandomCluster } from './clusters.ts';

const FAST = 400;
const GATES = 'NodeOverlay=true,StaticCapacity=true,CapacityBuffer=true,SpotToSpotConsolidation=true';
const DUMPED: readonly Kind[] = [
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  NODE_OVERLAY,
  EC2_NODE_CLASS,
  POD,
  POD_TEMPLATE,
  CAPACITY_BUFFER,
  DAEMON_SET,
  NAMESPACE,
  CSI_NODE,
];
const CLEARED: readonly Kind[] = [NODE_POOL, NODE_CLAIM, NODE, POD];
const MINUTE = 60_000;

/** A solve of the operator's, and the pods that it was for. */
interface Solved {
  readonly pods: ReadonlySet<string>;
  readonly plan: Plan;
}

/** Enough instance types to choose from, and few enough for a second a cluster. */
function smallCatalogue(): Catalogue {
  const zones = ['a', 'b', 'c'].map((letter, at) => ({ name: `us-west-2${letter}`, id: `usw2-az${at + 1}` }));
  const whole = ruleBuiltCatalogue(zones, 1);
  return {
    ...whole,
    types: whole.types.filter(({ InstanceType = '' }) =>
      /^(c6i|c7g|m5|m7g|r6i|t3)\.(x?large|[24]xlarge)$/.test(InstanceType),
    ),
  };
}

interface Given {
  readonly filename: readonly string[];
  readonly whatIf?: readonly string[];
  readonly nowMs: number;
}

/** The operator decided before all was there that it was to decide on: it shows nothing of either. */
class Overtaken extends Error {}

/** What differs, in words; empty when command line and operator agree. */
export type Differences = readonly string[];

export class Differential {
  readonly #scenario: Scenario;
  readonly #operator: Operator;
  readonly #solves: Solved[];
  readonly #folder = mkdtempSync(join(tmpdir(), 'differential-'));

  /** What has been compared so far, by kind: a comparison of nothing with nothing shows nothing. */
  readonly compared = { nodes: 0, places: 0, refusals: 0, disruptions: 0, verdicts: 0 };

  private constructor(scenario: Scenario, operator: Operator, solves: Solved[]) {
    this.#scenario = scenario;
    this.#operator = operator;
    this.#solves = solves;
  }

  static async start(): Promise<Differential> {
    const solves: Solved[] = [];
    const local = localSolver();
    const scenario = await startScenario({
      operator: false,
      timeScale: FAST,
      pollMs: 10,
      aws: { catalogue: smallCatalogue() },
      instances: { startDelayMs: 2_000, stopDelayMs: 2_000, terminatedVisibleMs: 60_000 },
      kubelets: { bootMs: 3_000, readyMs: 1_000 },
      env: {
        FEATURE_GATES: GATES,
        BATCH_IDLE_DURATION: '5s',
        BATCH_MAX_DURATION: '20s',
        KUBE_CLIENT_QPS: '5000',
        KUBE_CLIENT_BURST: '10000',
        LOG_LEVEL: 'debug',
      },
      solver: async (snapshot, options) => {
        const plan = await local(snapshot, options);
        solves.push({ pods: new Set(snapshot.pendingPods.map(podKey)), plan });
        return plan;
      },
    });
    return new Differential(scenario, await scenario.startOperator(), solves);
  }

  async stop(): Promise<void> {
    rmSync(this.#folder, { recursive: true });
    await this.#scenario.stop();
  }

  /** Plays one cluster and clears it away. @throws Error when the world does not come to rest */
  async play(cluster: RandomCluster): Promise<Differences> {
    for (let tries = 3; ; tries--) {
      try {
        return await this.#playOnce(cluster);
      } catch (error) {
        if (!(error instanceof Overtaken) || tries <= 1) throw error;
      }
    }
  }

  async #playOnce(cluster: RandomCluster): Promise<Differences> {
    try {
      const bought = await this.#provisioning(cluster);
      return cluster.disrupts && bought.length === 0 ? await this.#disruption(cluster) : bought;
    } finally {
      await this.#clear(cluster);
    }
  }

  /** What pods come to: nodes, places, refusals; once more when the operator has learned what is sold out. */
  async #provisioning({ objects, pods, soldOut, morePods }: RandomCluster): Promise<Differences> {
    await this.#scenario.apply(...objects);
    await this.#settled();
    if (soldOut !== undefined) this.#scenario.world.aws.faults.add({ kind: 'capacity', instanceType: soldOut });
    const found = await this.#decision(pods);
    if (soldOut === undefined || found.length > 0) return found;
    await this.#scenario.pass(30_000, FAST);
    await this.#settled();
    return this.#decision(morePods);
  }

  /** What becomes of new pods, and of those that wait with them. */
  async #decision(pods: readonly KubeObject[]): Promise<Differences> {
    const { world } = this.#scenario;
    this.#scenario.speed(0);
    const solvesBefore = this.#solves.length;
    const logBefore = this.#scenario.log.length;
    await this.#scenario.apply(...pods);
    await this.#until('unschedulable pods', async () => (await this.#waiting()).every(isProvisionable));
    if ((await this.#scenario.pods()).length < pods.length) throw new Error('some pods are gone before they were seen');
    const file = await this.#dump('pods');
    const waiting = (await this.#waiting()).map(podKey);
    const nowMs = world.clock.now();
    const priced = await this.#priced();
    const told = await simulate({
      filename: [file],
      instanceTypes: this.#server,
      nowMs,
      featureGates: GATES,
      explain: true,
    });
    this.#scenario.speed(FAST);
    const fresh = waiting.filter((pod) => pods.some(({ metadata }) => pod === `default/${metadata.name}`));
    if (fresh.length === 0) return [];
    const plan = await this.#until('solve', async () => this.#planFor(fresh, solvesBefore, logBefore));
    if ((await this.#priced()) !== priced) throw new Overtaken('prices have changed before the solve');
    this.compared.refusals += Object.keys(told.simulation.unschedulable).length;
    if (plan === 'no pools') return await this.#refusedAll(fresh, told.simulation);
    this.compared.nodes += plan.claims.length;
    this.compared.places += plan.placements.length;
    return different(simulationOf(plan, { explain: true, unknown: [] }), told.simulation);
  }

  /** Instance types and prices as the operator has them; what is sold out becomes known by the purchases themselves. */
  #priced = async (): Promise<string> =>
    JSON.stringify(await this.#scenario.debug('instancetypes'), (key, value) =>
      key === 'available' ? undefined : value,
    );

  #planFor(pods: readonly string[], since: number, logSince: number): Plan | 'no pools' | undefined {
    const found = this.#solves.slice(since).find((solved) => pods.some((pod) => solved.pods.has(pod)));
    if (found !== undefined) {
      const missing = pods.filter((pod) => !found.pods.has(pod));
      if (missing.length > 0) throw new Overtaken(`the operator solved for a part of the pods, without ${missing}`);
      return found.plan;
    }
    const lines = this.#scenario.log.slice(logSince);
    return lines.some(({ message }) => message === 'no dynamic nodepools found') ? 'no pools' : undefined;
  }

  /** Without a NodePool that takes part there is no solve, but the events say why. */
  async #refusedAll(pods: readonly string[], { unschedulable }: Simulation): Promise<Differences> {
    const texts = await this.#until('events', async () => {
      const events = (await this.#scenario.events('FailedScheduling')).filter(
        ({ source, message }) =>
          source?.component !== 'default-scheduler' && message.startsWith('Failed to schedule pod'),
      );
      const byPod = new Map(events.map(({ involvedObject, message }) => [`default/${involvedObject.name}`, message]));
      return pods.every((pod) => byPod.has(pod)) && byPod;
    });
    return pods.flatMap((pod) => {
      const [told, said] = [unschedulable[pod], texts.get(pod)];
      return told !== undefined && said === FAILED_SCHEDULING.message(told).slice(0, LONGEST_MESSAGE)
        ? []
        : [`${pod}: operator "${said}", command line "${told}"`];
    });
  }

  /** Which nodes go first once they may, by a dump with the changes to come, and by one of when they were made. */
  async #disruption({ changes, leaving }: RandomCluster): Promise<Differences> {
    const { world, kube } = this.#scenario;
    world.aws.faults.clear();
    await this.#settled();
    for (const name of leaving)
      await kube.delete(POD, { name, namespace: 'default' }, { gracePeriodSeconds: 0 }).catch(() => undefined);
    await this.#settled();
    await this.#scenario.pass(MINUTE, FAST);
    await this.#settled();
    const before = await this.#dump('before');
    const closed = changes.map(withClosedBudgets);
    await this.#scenario.apply(...closed);
    await this.#settled();
    await this.#scenario.pass(MINUTE, FAST);
    await this.#settled();
    this.#scenario.speed(0);
    const logBefore = this.#scenario.log.length;
    await this.#scenario.apply(...changes);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const after = await this.#dump('after');
    const whatIf = join(this.#folder, 'what-if.json');
    writeFileSync(whatIf, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: changes }));
    const nowMs = world.clock.now();
    const [byDump, byWhatIf] = [
      await this.#disruptionSaid({ filename: [after], nowMs }),
      await this.#disruptionSaid({ filename: [before], whatIf: [whatIf], nowMs }),
    ];
    const { verdicts } = await explainNodes(
      { ...this.#flags({ filename: [after], nowMs }) },
      typesNoting({ filename: [], instanceTypes: this.#server }).types,
    );
    this.#scenario.speed(FAST);
    const commands = await this.#commands(logBefore);
    if (commands !== 'none') this.compared.disruptions++;
    const found = [
      ...(commands === byDump ? [] : [`disruption: operator ${commands}, command line ${byDump}`]),
      ...(commands === byWhatIf ? [] : [`what if: operator ${commands}, command line ${byWhatIf}`]),
    ];
    return commands === 'none' ? [...found, ...(await this.#verdictsApart(verdicts))] : found;
  }

  #flags(given: Given) {
    return { ...given, featureGates: GATES, instanceTypes: this.#server, output: 'json' as const };
  }

  async #disruptionSaid(given: Given): Promise<string> {
    const flags = this.#flags(given);
    const { types } = typesNoting(flags);
    const { disruption } = await simulateDisruption({ ...sceneOptions(flags, types), everyMethod: false });
    const commands = (disruption.first?.commands ?? []).map(({ decision, candidates, replacements }) =>
      commandText(decision, candidates, replacements.length),
    );
    return commands.length === 0 ? 'none' : commands.sort().join('; ');
  }

  /** The commands of the first pass that starts any; `none` when some passes start none. */
  async #commands(since: number): Promise<string> {
    const found = (): readonly string[] => {
      const lines = this.#scenario.log.slice(since).filter(({ message }) => message === 'disrupting node(s)');
      return lines.filter(({ reconcileID }) => reconcileID === lines[0]?.reconcileID).map(commandIn);
    };
    for (let passes = 0; passes < 8 && found().length === 0; passes++) await this.#scenario.pass(10_000, FAST);
    return found().length === 0 ? 'none' : [...found()].sort().join('; ');
  }

  async #verdictsApart(told: readonly Verdict[]): Promise<Differences> {
    const served = (await this.#scenario.debug('verdicts')) as readonly Verdict[];
    this.compared.verdicts += served.length;
    const text = (verdicts: readonly Verdict[]): string =>
      verdicts.map(({ node, code, methods }) => `${node} ${code} (${methods.map((each) => each.code)})`).join('; ');
    return text(told) === text(served) ? [] : [`verdicts: operator ${text(served)}, command line ${text(told)}`];
  }

  get #server(): string {
    return `http://127.0.0.1:${this.#operator.metricsPort}`;
  }

  async #waiting() {
    return (await this.#scenario.pods()).filter(({ spec, status }) => !spec.nodeName && status?.phase === 'Pending');
  }

  /** What `kubectl get … -o json` prints. */
  async #dump(name: string): Promise<string> {
    const items = await Promise.all(
      DUMPED.map(async (kind) =>
        (await this.#scenario.kube.list(kind)).items.map((item) => ({
          ...item,
          apiVersion: apiVersionOf(kind),
          kind: kind.kind,
        })),
      ),
    );
    const file = join(this.#folder, `${name}.json`);
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: items.flat() }));
    return file;
  }

  /** Conditions are computed, claims are nodes or gone, pods that can be bound are bound. */
  async #settled(): Promise<void> {
    let seen = 'nothing yet';
    await this.#until('a world at rest', async () => {
      const [pools, classes, claims, overlays, buffers] = await Promise.all([
        this.#scenario.kube.list(NODE_POOL),
        this.#scenario.kube.list(EC2_NODE_CLASS),
        this.#scenario.claims(),
        this.#scenario.kube.list(NODE_OVERLAY),
        this.#scenario.kube.list(CAPACITY_BUFFER),
      ]);
      // room for buffers is looked for where some NodePool may buy nodes
      const isLooking = pools.items.some((pool) => isTrue(pool, 'Ready') && pool.spec.replicas === undefined);
      if (isLooking && !buffers.items.every(hasRoom)) return false;
      const objects: readonly KubeObject[] = [...pools.items, ...classes.items, ...overlays.items];
      if (!objects.every(isJudged) || !claims.every(isDone) || claims.length < replicasIn(pools.items)) return false;
      // kube-scheduler binds pods in its own time
      await new Promise((resolve) => setTimeout(resolve, 40));
      const before = seen;
      seen = (await this.#waiting()).map(podKey).join();
      return seen === before;
    });
  }

  async #until<T>(what: string, holds: () => Promise<T | false | undefined> | T | undefined | false): Promise<T> {
    return this.#scenario.until(what, holds as () => Promise<T>) as Promise<T>;
  }

  async #clear({ soldOut }: RandomCluster): Promise<void> {
    const { kube, world } = this.#scenario;
    this.#scenario.speed(FAST);
    world.aws.faults.clear();
    const remove = async (kind: Kind): Promise<void> => {
      const { items } = await kube.list(kind);
      await Promise.all(
        items.map(({ metadata }) => kube.delete(kind, metadata, { gracePeriodSeconds: 0 }).catch(() => undefined)),
      );
    };
    for (const kind of [CAPACITY_BUFFER, POD_TEMPLATE, NODE_OVERLAY, POD, NODE_POOL, NODE_CLAIM]) await remove(kind);
    await this.#until('an empty cluster', async () => {
      await remove(POD);
      const left = await Promise.all(CLEARED.map((kind) => kube.list(kind)));
      return left.every(({ items }) => items.length === 0);
    });
    await remove(EC2_NODE_CLASS);
    await this.#until('no NodeClass', async () => (await kube.list(EC2_NODE_CLASS)).items.length === 0);
    await remove(EVENT);
    // offerings that were sold out are forgotten
    if (soldOut !== undefined) await this.#scenario.pass(4 * MINUTE, 2_000);
    this.#solves.length = 0;
  }
}

function commandIn(line: LogLine): string {
  const nodes = line['disrupted-nodes'] as readonly { readonly Node: { readonly name: string } }[];
  return commandText(
    String(line.decision),
    nodes.map(({ Node }) => Node.name),
    Number(line['replacement-node-count']),
  );
}

const commandText = (decision: string, nodes: readonly string[], replacements: number): string =>
  `${decision} ${[...nodes].sort().join(',')} for ${replacements}`;

const withClosedBudgets = (object: KubeObject): KubeObject => {
  const { spec } = object as unknown as { readonly spec: { readonly disruption?: object } };
  if (object.kind !== 'NodePool') return object;
  return { ...object, spec: { ...spec, disruption: { ...spec.disruption, budgets: [{ nodes: '0' }] } } } as KubeObject;
};

/** A buffer's room is there, or cannot be bought: while it is bought, nobody sees the NodeClaim for a moment. */
function hasRoom(buffer: CapacityBuffer): boolean {
  const condition = getCondition(buffer as Conditioned, 'Provisioning');
  return condition?.status === 'True' || condition?.message?.startsWith('0/') === true;
}

function isJudged(object: KubeObject): boolean {
  const { conditions = [] } =
    (object as { readonly status?: { readonly conditions?: readonly Condition[] } }).status ?? {};
  const { generation } = object.metadata;
  const last = conditions.find(({ type }) => type === 'Ready');
  return last !== undefined && last.status !== 'Unknown' && (last.observedGeneration ?? generation) === generation;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly observedGeneration?: number;
}

const isDone = (claim: NodeClaim): boolean =>
  isTrue(claim, 'Initialized') && claim.metadata.deletionTimestamp === undefined;

const replicasIn = (pools: readonly NodePool[]): number =>
  pools.filter((pool) => isTrue(pool, 'Ready')).reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0);

/** What the public form of a plan has that the other has not. */
function different(operator: Simulation, told: Simulation): Differences {
  const fields = ['nodeClaims', 'existingNodes', 'unschedulable', 'explanations'] as const;
  return fields.flatMap((field) => {
    const [left, right] = [stable(operator[field]), stable(told[field])];
    return left === right ? [] : [`${field}: operator ${left}\n  command line ${right}`];
  });
}

const stable = (value: unknown): string =>
  JSON.stringify(value, (_, part) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
