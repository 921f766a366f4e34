/** Controllers of the operator, for a cluster and an AWS in the same process. */

import type { Counter, Gauge, Histogram, Summary } from 'prom-client';
import { isTrue } from '#api/objects';
import type { Clients } from '#aws/clients';
import { assemble } from '#aws/provider';
import { type AwsOperatorSettings, parseAwsSettings } from '#aws/settings';
import { createOperator, DecisionMemo, type Deps } from '#controllers';
import {
  BASE_COST,
  type Candidate,
  type DeclineCode,
  type Method,
  type MethodInput,
  type MethodResult,
  rescheduleCost,
  TriedSets,
} from '#engine/disruption';
import { isReschedulable, type StateNode } from '#engine/model';
import { localSimulationRunner, localSolver, type SimulationRunner } from '#engine-worker';
import { type EventRecorder, runControllers } from '#kube/reconcilers';
import { remembering } from '#lib';
import type { Clock } from '#lib/clock';
import type { Api } from '#local/api-server';
import type { DecisionLog } from '#observe/history';
import type { Logger } from '#observe/logger';
import type { Metrics } from '#observe/metrics';
import type { DisruptionInput } from '#planner';
import type { Look } from '#process/server';
import type { ClusterState } from '#state';
import { OPERATOR_NAMESPACE } from '../trace/kinds.ts';
import { inProcessClient, inProcessInformers } from './in-process-client.ts';

const ignore = (): void => {};
/** Methods of metrics of all types. */
const metric = {
  inc: ignore,
  dec: ignore,
  set: ignore,
  remove: ignore,
  reset: ignore,
  observe: ignore,
  startTimer: () => () => 0,
};

/** Returns metrics that discard all values, because a replay is not scraped. */
const noMetrics = (): Metrics => ({
  counter: () => metric as unknown as Counter<never>,
  gauge: () => metric as unknown as Gauge<never>,
  histogram: () => metric as unknown as Histogram<never>,
  summary: () => metric as unknown as Summary<never>,
  readAtScrape: ignore,
  beforeScrape: ignore,
  endSeries: async () => {},
  processDefaults: ignore,
  watchSeries: ignore,
  text: async () => '',
  async *parts() {},
  names: () => [],
  state: async () => undefined,
  contentType: 'text/plain',
});

interface OperatorOptions {
  readonly api: Api;
  readonly clients: Clients;
  readonly clock: Clock;
  /** Command-line arguments of the operator. */
  readonly args: readonly string[];
  readonly clusterName: string;
  /** Address of the API server in the user data of nodes. */
  readonly endpoint: string;
  /** Version in the form `major.minor`. */
  readonly kubernetesVersion: string;
  readonly log: Logger;
  readonly decisions: DecisionLog;
  /** Returns numbers in [0, 1) for names and for back-off after failures. */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

export interface ReplayOperator {
  readonly deps: Deps;
  readonly settings: AwsOperatorSettings;
  /** Views of the state by URL path, as the operator serves them below `/debug`. */
  readonly views: Readonly<Record<string, Look>>;
  /** Resolves after the signal aborts, when all work in progress is finished. */
  readonly done: Promise<void>;
}

/** Settings of every replay. A replay has no scraper, no history and no competing operator. */
const SETTINGS = [
  '--disable-cluster-state-observability=true',
  '--cost-history=false',
  '--disable-leader-election=true',
  '--log-level=error',
];

/** Controllers that only report: they take no decisions, and a replay does not use their reports. */
const UNHEARD: ReadonlySet<string> = new Set([
  'cloudprovider.metrics',
  'disruption.verdicts',
  // devices are stored for restarts only
  'devices.memory',
  'nodeclaim.consistency',
  'nodeclaim.hydration',
  'node.hydration',
]);

/** Controllers for events that do not occur in a replay. */
const IDLE: ReadonlySet<string> = new Set([
  // NodeClasses are replayed without their capacity reservations
  'capacityreservation.capacitytype',
  'capacityreservation.expiration',
  // no world model contains failed status checks or planned maintenance
  'interruption.instancestatus',
  // informers show a NodeClaim before its creation returns
  'state.nodeclaimgc',
  'pause',
]);

const NO_EVENTS: EventRecorder = { publish: () => {} };

/** @throws SettingsError if the operator does not accept the arguments */
const settingsOf = (
  { clusterName, endpoint }: Pick<OperatorOptions, 'clusterName' | 'endpoint'>,
  args: readonly string[],
): AwsOperatorSettings =>
  parseAwsSettings(
    [
      `--cluster-name=${clusterName}`,
      `--cluster-endpoint=${endpoint}`,
      `--interruption-queue=${clusterName}`,
      ...args,
      ...SETTINGS,
    ],
    {},
  );

/** Starts the controllers. They do no work before the clock advances. */
export async function startReplayOperator(options: OperatorOptions): Promise<ReplayOperator> {
  const { api, clients, clock, log, decisions, random, signal } = options;
  const settings = settingsOf(options, options.args);
  const client = inProcessClient(api);
  const informers = inProcessInformers(api, log, signal);
  const metrics = noMetrics();
  const common = { settings, client, informers, events: NO_EVENTS, clock, log, metrics };
  const provider = await assemble({ ...common, kubernetesVersion: async () => options.kubernetesVersion }, clients);
  // the duration of a solve on this machine must not affect decisions
  const now = (): number => clock.now();
  const operator = createOperator({
    ...common,
    provider,
    namespace: OPERATOR_NAMESPACE,
    decisions,
    random,
    simulations: pacedSimulations(now),
    solver: localSolver(now),
    memoOf: (cluster) => new PacedMemo(cluster, now),
    lookoutMs: Number.POSITIVE_INFINITY,
  });
  const all = operator.controllers.filter(({ name }) => !UNHEARD.has(name) && !IDLE.has(name));
  operator.deps.cluster.pause.set(undefined);
  const { done } = runControllers({ controllers: all, informers, clock, log, metrics, random, signal });
  const leaseNamespace = (): string => settings.leaderElectionNamespace;
  return { deps: operator.deps, settings, views: operator.views({ isLeading: () => true, leaseNamespace }), done };
}

/** Interval in a cluster of many nodes. */
const KNOWN_FOR_MS = 30 * 60_000;

/** Reasons for which a node is not disrupted although a command was found. */
const WITH_COMMAND: ReadonlySet<DeclineCode | undefined> = new Set(['unbalanced']);

/** Simulates like an operator without engine workers, but avoids repeated simulations in clusters of many nodes. */
export function pacedSimulations(now: () => number): SimulationRunner {
  const local = localSimulationRunner({ now });
  const tried = new TriedSets(KNOWN_FOR_MS);
  return {
    simulate: local.simulate,
    emptiable: local.emptiable,
    decide: async (input, method, methodInput, signal) => {
      if (input.snapshot.nodes.length <= FEW_NODES) return local.decide(input, method, methodInput, signal);
      if (method.consolidationType !== 'single') return local.decide(input, method, { ...methodInput, tried }, signal);
      const asked = sparing(methodInput, tried);
      const result = await local.decide(input, method, asked.input, signal);
      for (const candidate of asked.simulated)
        if (!hasCommand(candidate, result)) tried.add([candidate], methodInput.nowMs);
      return result;
    },
  };
}

interface Sparing {
  /** Input that skips the simulation of nodes that were already tried. */
  readonly input: MethodInput;
  /** Nodes of the simulations that were made. */
  readonly simulated: readonly Candidate[];
}

function sparing(input: MethodInput, tried: TriedSets): Sparing {
  const simulated: Candidate[] = [];
  const simulate: MethodInput['simulate'] = async (candidates, options) => {
    if (tried.has(candidates, input.nowMs)) return undefined;
    simulated.push(...candidates);
    return input.simulate(candidates, options);
  };
  return { input: { ...input, simulate }, simulated };
}

const hasCommand = (candidate: Candidate, { commands, reasons }: MethodResult): boolean =>
  commands.some(({ candidates }) => candidates.includes(candidate)) ||
  WITH_COMMAND.has(reasons?.get(candidate.providerId)?.code);

/** Largest number of nodes at which a replay searches as often as the operator. */
export const FEW_NODES = 15;
/** Interval of swap searches, which take longest and save least. */
const SWAPS_EVERY_MS = 30 * 60_000;
const LEAST_MS = 10_000;
const PER_NODE_MS = 600;

/** Returns the interval between a search without a command and the method's next search. */
const pauseMs = ({ consolidationType }: Method, nodes: number): number =>
  consolidationType === 'swap' && nodes > FEW_NODES ? SWAPS_EVERY_MS : Math.max(LEAST_MS, nodes * PER_NODE_MS);

/** Minimum intervals between disruption searches in a replay, where each search costs real time. */
export class PacedMemo extends DecisionMemo {
  readonly #now: () => number;
  /** Times of the next searches, by method. */
  readonly #searchFromMs = new Map<string, number>();
  /** Methods that this pass skips because no node is empty or drifted. */
  #spared: readonly Method[] = [];
  /** Number of all methods. */
  #count = 0;
  /** Snapshot of the last pass in which no method found a command. */
  #seen: DisruptionInput | undefined;

  constructor(cluster: Pick<ClusterState, 'consolidationState'>, now: () => number) {
    super(cluster);
    this.#now = now;
  }

  override due(methods: readonly Method[], snapshot: DisruptionInput): readonly Method[] {
    this.#spared = [];
    if (this.#seen === snapshot) return [];
    const nowMs = this.#now();
    const open = methods.filter(({ name, isSearch }) => !isSearch || nowMs >= (this.#searchFromMs.get(name) ?? 0));
    const isAsked = snapshot.nodes.some(isEasy) ? () => true : isConsolidation;
    this.#spared = open.filter((method) => !isAsked(method));
    this.#count = methods.length;
    return open.filter(isAsked);
  }

  override passed(isOver: ReadonlyMap<Method, boolean>, snapshot: DisruptionInput): void {
    super.passed(isOver, snapshot);
    const nowMs = this.#now();
    const all = new Map([...this.#spared.map((method) => [method, true] as const), ...isOver]);
    for (const [method, over] of all)
      if (over) this.#putOff(method, snapshot, nowMs);
      else this.#searchFromMs.delete(method.name);
    if (all.size === this.#count && [...all.values()].every(Boolean)) this.#seen = snapshot;
  }

  #putOff(method: Method, { nodes }: DisruptionInput, nowMs: number): void {
    this.#searchFromMs.set(method.name, nowMs + pauseMs(method, nodes.length));
  }
}

/** Returns true for consolidation methods. Other methods need a node that is empty or drifted. */
const isConsolidation = ({ isSearch, consolidationType }: Method): boolean =>
  isSearch === true && consolidationType !== '';

/** Returns true if a node may be disrupted without a search: it is empty and consolidatable, or drifted. */
const isEasy = remembering(({ nodeClaim, pods }: StateNode): boolean => {
  if (nodeClaim === undefined) return false;
  const isEmpty = rescheduleCost(pods.filter(isReschedulable)) <= BASE_COST;
  return isTrue(nodeClaim, 'Drifted') || (isEmpty && isTrue(nodeClaim, 'Consolidatable'));
});
