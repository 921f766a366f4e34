/**
 * One world for many random clusters. The operator receives each cluster, and the command line receives a snapshot of
 * the operator's inputs. Both must return equal results. Time is stopped while a cluster is set up, so that the
 * operator decides on exactly the objects in the snapshot.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EC2_NODE_CLASS, isTrue, JOB, type KubeObject, NODE_CLAIM, POD, type Pod, type Workload } from '#api/objects';
import {
  explainNodes,
  type SimulationAnswer,
  sceneOptions,
  simulate,
  simulateDisruption,
  simulationOf,
  typesNoting,
} from '#cli/testing';
import { isWithheld } from '#controllers/testing';
import type { Verdict } from '#engine/disruption';
import { isUnschedulable, type Plan, podKey, type Snapshot, type SolveOptions } from '#engine/model';
import { checkRemedies, solve } from '#engine/solve';
import { refusalNoteOf } from '#engine/testing';
import { localSolver } from '#engine-worker';
import { LONGEST_MESSAGE } from '#kube/testing';
import { FAILED_SCHEDULING } from '#observe/events';
import type { Operator } from '../../../src/main.ts';
import type { Scenario } from '../harness.ts';
import type { RandomCluster } from './clusters.ts';
import {
  commandIn,
  commandsText,
  commandText,
  type Differences,
  differentPlans,
  differentVerdicts,
  NO_COMMANDS,
  verdictTexts,
} from './compare.ts';
import { atRest, placesIn, versions, waitingPods } from './rest.ts';
import { clearAway, FAST, GATES, MINUTE, shortagesForgotten, snapshotTo, startStage } from './stage.ts';
import { TRIED_ANNOTATION } from './waiting.ts';

/** Time until the operator has detected new images and has compared every node with them. */
const ACCOUNT_CHANGE_MS = 12 * MINUTE;

/** A scheduling pass of the operator, with its pods. */
interface Solved {
  readonly pods: ReadonlySet<string>;
  readonly plan: Plan;
  readonly snapshot: Snapshot;
  readonly options: SolveOptions;
}

interface Given {
  readonly filename: readonly string[];
  readonly whatIf?: readonly string[];
  readonly nowMs: number;
}

/** Thrown if the operator decided before all inputs existed. The comparison is then invalid. */
class Overtaken extends Error {}

export class Differential {
  readonly #scenario: Scenario;
  readonly #operator: Operator;
  readonly #solves: Solved[];
  readonly #folder = mkdtempSync(join(tmpdir(), 'differential-'));
  /** Every second snapshot is redacted: results must not depend on redacted fields. */
  #redacts = false;

  /** Number of comparisons so far, by kind. An empty comparison would prove nothing. */
  readonly compared = { nodes: 0, places: 0, refusals: 0, disruptions: 0, whatIfs: 0, verdicts: 0, incomplete: 0 };

  private constructor(scenario: Scenario, operator: Operator, solves: Solved[]) {
    this.#scenario = scenario;
    this.#operator = operator;
    this.#solves = solves;
  }

  static async start(): Promise<Differential> {
    const solves: Solved[] = [];
    const local = localSolver();
    const scenario = await startStage(async (snapshot, options) => {
      const plan = await local(snapshot, options);
      solves.push({ pods: new Set(snapshot.pendingPods.map(podKey)), plan, snapshot, options });
      return plan;
    });
    return new Differential(scenario, await scenario.startOperator(), solves);
  }

  async stop(): Promise<void> {
    rmSync(this.#folder, { recursive: true });
    await this.#scenario.stop();
  }

  /** Plays one cluster and removes it. @throws Error if the world does not settle */
  async play(cluster: RandomCluster): Promise<Differences> {
    this.#redacts = !this.#redacts;
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
      if (bought.length > 0) return bought;
      const drained = cluster.latePods.length > 0 ? await this.#drains(cluster) : [];
      return cluster.disrupts && drained.length === 0 ? await this.#disruption(cluster) : drained;
    } finally {
      await clearAway(this.#scenario, cluster);
      this.#solves.length = 0;
    }
  }

  /** Compares nodes, places and refusals of pods. Repeats this if the operator has detected shortages. */
  async #provisioning({ objects, pods, soldOut, morePods, account }: RandomCluster): Promise<Differences> {
    const { seed, faults } = this.#scenario.world.aws;
    for (const image of account.images) seed.image(image);
    for (const reservation of account.reservations) seed.capacityReservation(reservation);
    await this.#apply(objects);
    await atRest(this.#scenario);
    if (soldOut !== undefined) faults.add({ kind: 'capacity', instanceType: soldOut });
    const found = await this.#decision(pods);
    if (soldOut === undefined || found.length > 0) return found;
    await this.#scenario.pass(30_000, FAST);
    await atRest(this.#scenario);
    return this.#decision(morePods);
  }

  /** Compares the plan for new pods while nodes are drained whose pods cannot be evicted. */
  async #drains({ drained, latePods }: RandomCluster): Promise<Differences> {
    const { kube } = this.#scenario;
    await atRest(this.#scenario);
    const pods = (await this.#scenario.pods()).filter(({ metadata }) => drained.includes(metadata.name));
    const nodes = new Set(pods.flatMap(({ spec }) => spec.nodeName ?? []));
    const claims = (await this.#scenario.claims()).filter(({ status }) => nodes.has(status?.nodeName ?? ''));
    await Promise.all(claims.map(({ metadata }) => kube.delete(NODE_CLAIM, metadata)));
    await atRest(this.#scenario);
    return this.#decision(latePods);
  }

  /** Compares the plan for new pods and for the pods that are pending with them. */
  async #decision(pods: readonly KubeObject[]): Promise<Differences> {
    const { world } = this.#scenario;
    this.#scenario.speed(0);
    const solvesBefore = this.#solves.length;
    const logBefore = this.#scenario.log.length;
    await this.#apply(pods);
    await this.#arrived(pods);
    // kube-scheduler tries pods again when their ephemeral volumes exist
    if ((await this.#waiting()).some(({ spec }) => spec.volumes?.some(({ ephemeral }) => ephemeral !== undefined))) {
      await this.#scenario.pass(2_000, 10);
      await this.#arrived(pods);
    }
    await this.#tryReplicas(pods);
    const file = await this.#dump('pods');
    const waiting = await this.#waiting();
    const nowMs = world.clock.now();
    const priced = await this.#priced();
    const joined = await this.#joined();
    if (!(await this.#scenario.claims()).every((claim) => isTrue(claim, 'Registered')))
      throw new Overtaken('a node is being launched');
    const told = await simulate({
      filename: [file],
      instanceTypes: this.#server,
      nowMs,
      featureGates: GATES,
      explain: true,
    });
    this.#scenario.speed(FAST);
    const fresh = waiting.filter((pod) => pods.some((object) => isMadeBy(object, pod))).map(podKey);
    if (fresh.length === 0) return [];
    if (await this.#hasUnknownLaunches(waiting)) {
      this.compared.incomplete++;
      return [];
    }
    const solved = await this.#until('solve', async () => this.#planFor(fresh, solvesBefore, logBefore));
    if ((await this.#priced()) !== priced) throw new Overtaken('prices have changed before the solve');
    if (solved !== 'no pools' && (await this.#hasJoined(solved.plan, joined)))
      throw new Overtaken('a node of the plan has joined after the dump');
    this.compared.refusals += Object.keys(told.simulation.unschedulable).length;
    if (solved === 'no pools') return await this.#refusedAll(fresh, told.simulation);
    // the command line reports such pods as held by the operator
    if ([...solved.plan.refusals.values()].some(isWithheld))
      throw new Overtaken('launches are withheld, because a node did not register in time');
    const plan = { ...solved.plan, refusals: await checkRemedies({ ...solved, solve }) };
    this.compared.nodes += plan.claims.length;
    this.compared.places += plan.placements.length;
    return differentPlans(simulationOf(plan, { explain: true, unknown: [], waiting: [], pools: [] }), told.simulation);
  }

  /** Returns true if the snapshot lacks a nomination, because the rate of these events is limited. */
  async #hasUnknownLaunches(waiting: readonly Pod[]): Promise<boolean> {
    const launched = new Set(this.#solves.flatMap(({ plan }) => plan.claims.flatMap(({ pods }) => pods)));
    const nominated = new Set(
      (await this.#scenario.events('Nominated')).map(({ involvedObject }) => involvedObject.uid),
    );
    return waiting.some((pod) => launched.has(podKey(pod)) && !nominated.has(pod.metadata.uid));
  }

  /** Creates objects. Ended Jobs have no pods, because they are suspended until they have their status. */
  async #apply(objects: readonly KubeObject[]): Promise<void> {
    const { kube } = this.#scenario;
    await this.#scenario.apply(...objects.map((object) => (isEndedJob(object) ? suspended(object, true) : object)));
    for (const job of objects.filter(isEndedJob)) {
      await kube.patch(JOB, job.metadata, { status: (job as Workload).status }, { subresource: 'status' });
      await this.#scenario.apply(suspended(job, false));
    }
  }

  /** Waits until kube-scheduler has tried all pods of these objects. */
  async #arrived(objects: readonly KubeObject[]): Promise<void> {
    let seen = '';
    await this.#until('unschedulable pods', async () => {
      const made = await this.#scenario.pods();
      if (!objects.every((object) => hasArrived(object, made))) return false;
      const before = seen;
      seen = await versions(this.#scenario);
      return seen === before && (await this.#waiting()).every(isUnschedulable);
    });
  }

  /** Marks replicas that another scheduler has tried. */
  async #tryReplicas(objects: readonly KubeObject[]): Promise<void> {
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
    for (const object of objects) {
      const tried = Number(object.metadata.annotations?.[TRIED_ANNOTATION] ?? 0);
      const pods = (await this.#scenario.pods()).filter((pod) => isMadeBy(object, pod));
      for (const { metadata } of pods.slice(0, tried))
        await this.#scenario.kube.patch(
          POD,
          metadata,
          { status: { conditions: [condition] } },
          { subresource: 'status' },
        );
    }
  }

  /**
   * Returns instance types and prices of the operator. Availability is excluded, because launches themselves detect
   * shortages.
   */
  #priced = async (): Promise<string> =>
    JSON.stringify(await this.#scenario.debug('instancetypes'), (key, value) =>
      ['available', 'outage', 'reservationCapacity'].includes(key) ? undefined : value,
    );

  #joined = async (): Promise<readonly string[]> => (await this.#scenario.nodes()).map(({ metadata }) => metadata.name);

  /** Plans name a node by its NodeClaim until it has joined. Returns true if a node has joined since `before`. */
  async #hasJoined({ placements }: Plan, before: readonly string[]): Promise<boolean> {
    const now = await this.#joined();
    return placements.some(({ node }) => now.includes(node) && !before.includes(node));
  }

  #planFor(pods: readonly string[], since: number, logSince: number): Solved | 'no pools' | undefined {
    const found = this.#solves.slice(since).find((solved) => pods.some((pod) => solved.pods.has(pod)));
    if (found !== undefined) {
      const missing = pods.filter((pod) => !found.pods.has(pod));
      if (missing.length > 0) throw new Overtaken(`the operator solved for a part of the pods, without ${missing}`);
      return found;
    }
    const lines = this.#scenario.log.slice(logSince);
    return lines.some(({ message }) => message === 'no dynamic nodepools found') ? 'no pools' : undefined;
  }

  /** Compares refusals by their events, because the operator runs no scheduling pass if no NodePool takes part. */
  async #refusedAll(pods: readonly string[], { unschedulable, causes = {} }: SimulationAnswer): Promise<Differences> {
    const texts = await this.#until('events', async () => {
      const events = (await this.#scenario.events('FailedScheduling')).filter(
        ({ source, message }) =>
          source?.component !== 'default-scheduler' && message.startsWith('Failed to schedule pod'),
      );
      const byPod = new Map(events.map(({ involvedObject, message }) => [`default/${involvedObject.name}`, message]));
      return pods.every((pod) => byPod.has(pod)) && byPod;
    });
    return pods.flatMap((pod) => {
      const [text, cause, said] = [unschedulable[pod], causes[pod], texts.get(pod)];
      const [namespace = '', name = ''] = pod.split('/');
      const told = text === undefined ? undefined : refusalNoteOf({ namespace, name }, { text, cause });
      return told !== undefined && said === FAILED_SCHEDULING.message(told).slice(0, LONGEST_MESSAGE)
        ? []
        : [`${pod}: operator "${said}", command line "${told}"`];
    });
  }

  /**
   * Compares the first disruptions, using a snapshot with upcoming changes and one that was taken after the changes.
   */
  async #disruption(cluster: RandomCluster): Promise<Differences> {
    const { world } = this.#scenario;
    const { before, placedNothing } = await this.#beforeChanges(cluster);
    const { changes } = cluster;
    this.#scenario.speed(0);
    const logBefore = this.#scenario.log.length;
    await this.#scenario.apply(...changes);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const after = await this.#dump('after');
    const whatIf = join(this.#folder, 'what-if.json');
    writeFileSync(whatIf, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: changes }));
    const nowMs = world.clock.now();
    const byDump = await this.#disruptionSaid({ filename: [after], nowMs });
    const byWhatIf = await this.#disruptionSaid({ filename: [before], whatIf: [whatIf], nowMs });
    const { verdicts } = await explainNodes(
      { ...this.#flags({ filename: [after], nowMs }) },
      typesNoting({ filename: [], instanceTypes: this.#server }).types,
    );
    // a pass that was running when time stopped may have read the changes before the snapshot did
    if (this.#commandsSince(logBefore).length > 0) throw new Overtaken('nodes were disrupted while time stood still');
    this.#scenario.speed(FAST);
    const commands = await this.#commands(logBefore);
    if (commands !== byDump.commands && this.#disruptsNominated(logBefore, verdicts))
      throw new Overtaken('the nomination of a node ended before the operator solved again');
    if (commands !== NO_COMMANDS) this.compared.disruptions++;
    const found =
      commands === byDump.commands
        ? []
        : [
            `disruption: operator ${commands}, command line ${byDump.commands}`,
            `verdicts of the command line:\n    ${verdictTexts(verdicts)}`,
          ];
    if (placedNothing && isKnowable(cluster, byWhatIf.unknown)) {
      this.compared.whatIfs++;
      if (commands !== byWhatIf.commands)
        found.push(`what if: operator ${commands}, command line ${byWhatIf.commands}`);
    }
    return commands === NO_COMMANDS ? [...found, ...(await this.#verdictsApart(verdicts))] : found;
  }

  /**
   * Takes a snapshot of the cluster before the user makes the changes with all budgets closed. If the changes open a
   * NodePool to pending pods, it launches nodes for them. The disruption results then contain nodes that are missing
   * from the snapshot.
   */
  async #beforeChanges({ changes, leaving, soldOut, account, removedClasses }: RandomCluster) {
    const { world, kube } = this.#scenario;
    world.aws.faults.clear();
    // pods that wait for capacity get their nodes now, because later nodes would be missing from the snapshot
    await shortagesForgotten(this.#scenario, soldOut);
    await atRest(this.#scenario);
    for (const name of leaving)
      await kube.delete(POD, { name, namespace: 'default' }, { gracePeriodSeconds: 0 }).catch(() => undefined);
    await this.#rested(MINUTE);
    const before = await this.#dump('before');
    const places = await placesIn(this.#scenario);
    for (const image of account.laterImages) world.aws.seed.image(image);
    await this.#scenario.apply(...changes.map(withClosedBudgets));
    for (const name of removedClasses) await kube.delete(EC2_NODE_CLASS, { name });
    await atRest(this.#scenario);
    await this.#rested(account.laterImages.length > 0 ? ACCOUNT_CHANGE_MS : MINUTE);
    return { before, placedNothing: (await placesIn(this.#scenario)) === places };
  }

  async #rested(ms: number): Promise<void> {
    await atRest(this.#scenario);
    await this.#scenario.pass(ms, FAST);
    await atRest(this.#scenario);
  }

  #flags(given: Given) {
    return { ...given, featureGates: GATES, instanceTypes: this.#server, output: 'json' as const };
  }

  async #disruptionSaid(given: Given): Promise<{ readonly commands: string; readonly unknown: readonly string[] }> {
    const flags = this.#flags(given);
    const { types } = typesNoting(flags);
    const { disruption } = await simulateDisruption({ ...sceneOptions(flags, types), everyMethod: false });
    const commands = (disruption.first?.commands ?? []).map(({ decision, candidates, replacements }) =>
      commandText(decision, candidates, replacements.length),
    );
    return { commands: commandsText(commands), unknown: disruption.unknown ?? [] };
  }

  /** Returns the commands of the first pass with commands, among at most eight passes. */
  async #commands(since: number): Promise<string> {
    for (let passes = 0; passes < 8 && this.#commandsSince(since).length === 0; passes++)
      await this.#scenario.pass(10_000, FAST);
    return commandsText(this.#commandsSince(since));
  }

  #commandsSince(since: number): readonly string[] {
    const lines = this.#scenario.log.slice(since).filter(({ message }) => message === 'disrupting node(s)');
    return lines.filter(({ reconcileID }) => reconcileID === lines[0]?.reconcileID).map(commandIn);
  }

  /**
   * Returns true if the operator disrupted a node that was nominated in the snapshot. A nomination lasts for 40 virtual seconds,
   * which end before the next solve if the machine is busy.
   */
  #disruptsNominated(since: number, verdicts: readonly Verdict[]): boolean {
    const nominated = verdicts.filter(({ methods }) => methods.some(({ code }) => code === 'nominated'));
    return this.#commandsSince(since).some((command) => nominated.some(({ node }) => command.includes(node)));
  }

  async #verdictsApart(told: readonly Verdict[]): Promise<Differences> {
    const served = (await this.#scenario.debug('verdicts')) as readonly Verdict[];
    this.compared.verdicts += served.length;
    return differentVerdicts(served, told);
  }

  get #server(): string {
    return `http://127.0.0.1:${this.#operator.metricsPort}`;
  }

  #waiting = () => waitingPods(this.#scenario);

  async #dump(name: string): Promise<string> {
    const file = join(this.#folder, `${name}.json`);
    await snapshotTo(file, this.#scenario, this.#redacts);
    return file;
  }

  async #until<T>(what: string, holds: () => Promise<T | false | undefined> | T | undefined | false): Promise<T> {
    return this.#scenario.until(what, holds as () => Promise<T>) as Promise<T>;
  }
}

/** Returns true if the pod is this object, or if the workload has created it. */
const isMadeBy = ({ kind, metadata: { name } }: KubeObject, { metadata }: Pod): boolean =>
  kind === 'Pod' ? metadata.name === name : metadata.labels?.app === name;

function hasArrived(object: KubeObject, pods: readonly Pod[]): boolean {
  const made = pods.filter((pod) => isMadeBy(object, pod));
  const { replicas, parallelism } = (object as Partial<Workload>).spec ?? {};
  return made.length >= (replicas ?? parallelism ?? 1);
}

const isEndedJob = (object: KubeObject): boolean => object.kind === 'Job' && 'status' in object;

/** Jobs end only while their pods do not exist. */
const suspended = (job: KubeObject, suspend: boolean): KubeObject =>
  ({ ...job, spec: { ...(job as Workload).spec, suspend } }) as KubeObject;

const withClosedBudgets = (object: KubeObject): KubeObject => {
  const { spec } = object as unknown as { readonly spec: { readonly disruption?: object } };
  if (object.kind !== 'NodePool') return object;
  return { ...object, spec: { ...spec, disruption: { ...spec.disruption, budgets: [{ nodes: '0' }] } } } as KubeObject;
};

/**
 * Reports whether the result of `--what-if` can be exact: AWS is unchanged, and the changes do not select other AWS resources.
 */
const isKnowable = ({ account, removedClasses }: RandomCluster, unknown: readonly string[]): boolean =>
  account.laterImages.length === 0 &&
  removedClasses.length === 0 &&
  !unknown.some((text) => text.includes('can be resolved only by AWS'));
