/**
 * Entry point of the operator: settings → wiring → run. Only this file depends on all parts.
 *
 *   starting ──endpoints, client, discovery─────▶ standby ──lease won──▶ leading ──stop or lease lost──▶ stopped
 *
 * A replica stays ready after its start is complete, even if the provider fails later. A start can be interrupted at any point.
 */

import { NODE, NODE_POOL, POD } from '#api/objects';
import type { ConfiguredProvider, ConfigureProvider } from '#cloud';
import {
  CostTracker,
  CoveredPrices,
  createOperator,
  NodeTraces,
  type OperatorCore,
  type OperatorParts,
  openHistory,
} from '#controllers';
import type { SimulationRunner, Solver } from '#engine-worker';
import { closedFence, type Fence, Leadership, openFence } from '#kube/client';
import {
  catchUp,
  connect,
  connectReader,
  type HttpKubeClient,
  type HttpKubeReader,
  type LeadOptions,
  lead,
  ServerClock,
  serverVersion,
} from '#kube/connection';
import { type ProcessInformers, readinessChecks, startInformers, watchAges, watchViews } from '#kube/informers';
import {
  type EventRecorder,
  type EventTap,
  eventRecorder,
  eventTap,
  runControllers,
  writeLast,
} from '#kube/reconcilers';
import { defined, VERSION } from '#lib';
import { type Clock, monotonicMs, realClock } from '#lib/clock';
import type { LivePage } from '#live/page';
import { eventOf, MEMORY_SHORT } from '#observe/events';
import type { Logger } from '#observe/logger';
import { type Metrics, WATCH_AGE_SECONDS } from '#observe/metrics';
import { createLogger, createMetrics, reportSeries } from '#observe/setup';
import { Closers, Start } from '#process/life';
import { type ClusterSize, type Pressure, showBuild } from '#process/memory';
import { type Endpoints, type Look, metricPage, serveEndpoints } from '#process/server';
import { type Settings, SettingsError } from '#process/settings';

export interface OperatorOptions {
  readonly configureProvider: ConfigureProvider;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The machine's clock. Default: real time. */
  readonly clock?: Clock;
  /** Solver. Default: a solver in this thread. */
  readonly solver?: Solver;
  /** Runner of disruption's simulations. Default: a runner in this thread. */
  readonly simulations?: SimulationRunner;
  /** Pressure of the memory of the process. Default: memory is never short. */
  readonly pressure?: Pressure;
  /** Receives log lines instead of the configured outputs. */
  readonly write?: (line: string) => void;
  /** Logger. Default: a logger for the configured outputs. */
  readonly log?: Logger;
  /** Interrupts the start or stops the operator. */
  readonly signal?: AbortSignal;
}

export interface Operator {
  readonly settings: Settings;
  readonly metricsPort: number;
  readonly healthProbePort: number;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Returns the number of pods and nodes, or undefined before the first complete lists. */
  clusterSize(): ClusterSize | undefined;
  /** Settles when this operator has ended: after `stop`, or after the loss of its lease. */
  readonly done: Promise<'stopped' | 'lease lost'>;
  /** Finishes the steps in progress, releases the lease, and closes all resources. */
  stop(): Promise<void>;
}

/**
 * Starts an operator. Resolves when the operator serves its endpoints and waits for the lease.
 * @throws SettingsError, the error of the startup step that failed, or the reason of the signal that interrupts the start
 */
export async function startOperator(options: OperatorOptions): Promise<Operator> {
  const { argv, env, clock: machine = realClock(), solver, simulations, pressure, signal } = options;
  const { settings, start: startProvider } = options.configureProvider(argv, env);
  const log = options.log ?? openLog(settings, machine, options);
  log.debug('discovered karpenter version', { version: VERSION });
  for (const problem of settings.ignored) log.error('ignoring a setting', { error: problem });
  const metrics = createMetrics({ view: settings.metrics });
  showBuild(metrics, { version: VERSION, commit: commitOf(options) });
  const clock = new ServerClock(machine, { log, metrics });
  const leadership = fenceOf(settings, clock);
  const client = connect({
    kubeconfig: env.KUBECONFIG,
    fence: leadership,
    clock,
    qps: settings.kubeClientQps,
    burst: settings.kubeClientBurst,
    userAgent: `karpenter/${VERSION}`,
    log,
    metrics,
  });
  // ends the watches after the controllers, because their steps in progress still read from the stores
  const closing = new AbortController();
  const closers = new Closers();
  closers.add(() => client.close());
  closers.add(() => closing.abort());
  const informers = startInformers({ client, clock, log, signal: closing.signal });
  const size = () => ({
    nodes: informers.store(NODE).list().length,
    nodePools: informers.store(NODE_POOL).list().length,
  });
  metrics.watchSeries({ size, scraped: reportSeries(log) });
  metrics.readAtScrape(WATCH_AGE_SECONDS, () => watchAges(informers));
  const debug: Debug = {
    '/debug/metrics': { page: (query) => metricPage(metrics, query) },
    '/debug/watches': () => watchViews(informers),
  };
  const start = new Start(clock, signal);
  const providerStart = startProvider(start.signal);
  const base = { settings, env, clock, solver, simulations, pressure, log, metrics, client, leadership, informers };
  const parts = { ...base, debug, closing, closers, start, providerStart };
  try {
    const endpoints = await openEndpoints(parts);
    closers.add(() => endpoints.close());
    const operator = await start.unlessAborted(run({ ...parts, endpoints }));
    signal?.addEventListener('abort', () => void operator.stop(), { once: true });
    return operator;
  } catch (error) {
    await closers.close();
    throw error;
  } finally {
    start.end();
  }
}

/** Returns the permission to write. An operator that observes has none, and leaves the Lease to the operator that acts. */
function fenceOf({ mode, disableLeaderElection }: Settings, clock: Clock): Fence {
  if (mode === 'observe') return closedFence();
  return disableLeaderElection ? openFence() : new Leadership(clock);
}

const isLeading = ({ settings, leadership }: Pick<Parts, 'settings' | 'leadership'>): boolean =>
  settings.mode === 'observe' || leadership.isOpen;

/** Returns the revision of the sources, or an empty text if it is unknown. */
const commitOf = ({ env }: Pick<OperatorOptions, 'env'>): string => env.SOURCE_REVISION ?? revision ?? '';

export const openLog = (
  settings: Settings,
  clock: Clock,
  { env, write }: Pick<OperatorOptions, 'env' | 'write'>,
): Logger =>
  createLogger({
    level: settings.logLevel,
    outputPaths: settings.logOutputPaths,
    errorOutputPaths: settings.logErrorOutputPaths,
    commit: commitOf({ env }),
    now: clock.now,
    ...defined({ write }),
  });

/**
 * Creates the client for probes. Any client may send probes, so they have a separate rate limit. They do not use the limits of
 * the controllers or of the lease.
 */
function probeClient(env: OperatorOptions['env'], clock: Clock, closing: AbortSignal): HttpKubeReader {
  const probes = connectReader({
    kubeconfig: env.KUBECONFIG,
    clock,
    qps: 1,
    burst: 5,
    userAgent: `karpenter/${VERSION}`,
  });
  closing.addEventListener('abort', () => probes.close(), { once: true });
  return probes;
}

function openEndpoints(parts: Omit<Parts, 'endpoints'>): Promise<Endpoints> {
  const { settings, env, clock, solver, simulations, log, metrics, informers, debug, closing, start } = parts;
  const probes = probeClient(env, clock, closing.signal);
  return serveEndpoints({
    metricsPort: settings.metricsPort,
    healthProbePort: settings.healthProbePort,
    metrics,
    profiling: settings.enableProfiling,
    debugEndpoints: settings.debugEndpoints,
    ready: readinessChecks({ start, provider: parts.providerStart, informers, probes, log, until: closing.signal }),
    alive: { solver: () => solver?.check?.(), disruption: () => simulations?.check?.() },
    debug,
    now: () => monotonicMs(clock),
    rendering: () => performance.now(),
    log,
  });
}

/** Debug pages, by path. */
type Debug = Record<string, Look>;

interface Parts {
  readonly settings: Settings;
  readonly env: OperatorOptions['env'];
  readonly clock: ServerClock;
  readonly solver: Solver | undefined;
  readonly simulations: SimulationRunner | undefined;
  readonly pressure: Pressure | undefined;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly client: HttpKubeClient;
  /** Permits writes to Kubernetes and to the provider. */
  readonly leadership: Fence;
  readonly informers: ProcessInformers;
  readonly endpoints: Endpoints;
  readonly debug: Debug;
  readonly closing: AbortController;
  readonly closers: Closers;
  readonly start: Start;
  readonly providerStart: ReturnType<ConfiguredProvider['start']>;
}

/** Publishes problems of the machine as events of the Lease. @throws Error if the namespace of the Lease is unknown */
function reportToLease(parts: Parts, events: EventRecorder): void {
  const { clock, pressure, settings } = parts;
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: settings.leaderElectionName, namespace: leaseNamespace(parts) },
  };
  clock.reportTo(events, lease);
  pressure?.publishTo((stage, message) => {
    events.publish(eventOf(MEMORY_SHORT, lease, { message, dedupe: [String(stage)] }));
  });
}

async function run(parts: Parts): Promise<Operator> {
  const { settings, clock, log, metrics, client, leadership, informers, endpoints, closers, start } = parts;
  const recorder = settings.mode === 'observe' ? SILENT : eventRecorder({ client, clock, log });
  closers.add(() => recorder.stop());
  const tap = eventTap(recorder);
  // determines the namespace now, so that a missing namespace fails before the rest of the start
  if (leadership instanceof Leadership) reportToLease(parts, tap.events);
  const working = new AbortController();
  const { tracing } = settings;
  // OpenTelemetry's SDK is loaded only if a collector is set
  const tracer =
    tracing &&
    (await import('#observe/otlp')).openTracer({
      settings: tracing,
      attributes: { 'k8s.cluster.name': settings.clusterName, 'cloud.provider': parts.providerStart.name },
      version: VERSION,
      log,
      metrics,
    });
  closers.add(() => tracer?.close());
  const traces = tracer && new NodeTraces({ tracer, clock, metrics });
  closers.add(() => traces?.stop());
  const core = await wireControllers(parts, { events: tap.events, traces });
  Object.assign(
    parts.debug,
    core.views({ isLeading: () => isLeading(parts), leaseNamespace: () => leaseNamespace(parts) }),
  );
  const page = await openLivePage(parts, core, tap);
  closers.add(() => page?.close());
  start.signal.throwIfAborted();
  const { signal } = working;
  const work = async (): Promise<void> => {
    await catchUp({ client, informers, clock, log, signal });
    await runControllers({ controllers: core.controllers, informers, clock, log, metrics, signal }).done;
  };

  // runs while the lease is held, because later writes are refused
  const leaving = async (): Promise<void> => {
    traces?.stop();
    const writers = core.controllers.flatMap(({ name, leaving: write }) =>
      write === undefined ? [] : [{ name, write }],
    );
    await Promise.all([writeLast(writers, parts), recorder.stop()]);
  };
  const life =
    leadership instanceof Leadership
      ? lead(leadOptions(parts, leadership), working, { work, leaving })
      : work()
          .then(leaving)
          .then(() => 'stopped' as const);
  // a process that lost its lease ends within a second, even if something cannot be closed
  const done = closers.closeAfter(life, (end) => (end === 'lease lost' ? clock.sleep(LOST_MS) : undefined));
  return {
    settings,
    clusterSize: () => clusterSizeIn(informers),
    metricsPort: endpoints.metricsPort,
    healthProbePort: endpoints.healthProbePort,
    metrics,
    log,
    done,
    async stop() {
      working.abort();
      await done;
    },
  };
}

function clusterSizeIn(informers: ProcessInformers): ClusterSize | undefined {
  const unsynced = informers.unsynced();
  if (unsynced.includes(POD.plural) || unsynced.includes(NODE.plural)) return undefined;
  return { pods: informers.store(POD).list().length, nodes: informers.store(NODE).list().length };
}

/** Recorder of an operator that observes: its decisions are in its log, metrics and views. */
const SILENT = { publish: () => undefined, stop: async () => undefined };

/** Time to close all resources after the loss of the lease, in milliseconds. */
const LOST_MS = 500;

/** Starts the provider, and creates the controllers. */
async function wireControllers(
  parts: Parts,
  reports: Pick<OperatorParts, 'events' | 'traces'>,
): Promise<OperatorCore & Pick<OperatorParts, 'costHistory'>> {
  const { settings, clock, log, metrics, client, leadership, informers, solver, simulations, pressure } = parts;
  const { start, providerStart } = parts;
  const namespace = settings.systemNamespace || client.namespace || settings.leaderElectionNamespace || undefined;
  // the history of an operator that observes stays in memory
  const costHistory = openHistory(parts, settings.mode === 'observe' ? undefined : namespace);
  const common = { settings, client, informers, clock, log, metrics, pressure, namespace, ...reports };
  const provider = await providerStart.open({
    ...common,
    ...defined({ apiServerCa: client.caBundle }),
    kubernetesVersion: () => serverVersion(client, providerStart.isOver ? undefined : start.signal),
    fence: leadership,
  });
  return {
    ...createOperator({ ...common, version: VERSION, provider, solver, simulations, costHistory }),
    costHistory,
  };
}

/** Opens the live page if it is enabled. Its code is loaded only in this case. */
async function openLivePage(
  { settings, client, clock, log, metrics, leadership, closing }: Parts,
  { deps, costHistory, whatIf, verdicts, podVerdicts }: OperatorCore & Pick<OperatorParts, 'costHistory'>,
  tap: EventTap,
): Promise<LivePage | undefined> {
  if (settings.livePage === undefined) return undefined;
  const { openLive, UseSamples, usesFromMetricsApi } = await import('#live/page');
  const leads = (): boolean => isLeading({ settings, leadership });
  const prices = new CostTracker(deps);
  const covered = new CoveredPrices(deps);
  const page = await openLive({
    ...settings.livePage,
    clusterName: settings.clusterName,
    cluster: deps.cluster,
    nodeClasses: () => deps.cloud.nodeClassKinds.flatMap((kind) => deps.informers.store(kind).list()),
    selectionsOf: (nodeClass) =>
      deps.cloud.nodeClassKinds.find(({ kind }) => kind === nodeClass.kind)?.selectionsOf(nodeClass) ?? [],
    history: costHistory,
    whatIf: (change) => whatIf.ask(change),
    clock,
    log,
    metrics,
    pricesOf: async (pool, claims) => covered.withoutCovered(await prices.pricesOf(pool, claims), claims),
    verdicts: () => (leads() ? verdicts() : []),
    podVerdicts: () => (leads() ? podVerdicts() : []),
    isLeading: leads,
    use: new UseSamples(() => usesFromMetricsApi(client), clock),
    signal: closing.signal,
  });
  tap.onNote = page.note;
  log.info('serving the live page', { url: page.url });
  return page;
}

/** @throws SettingsError for the same reason as `leaseNamespace` */
const leadOptions = (parts: Parts, leadership: Leadership): LeadOptions => ({
  kubeconfig: parts.env.KUBECONFIG,
  userAgent: `karpenter/${VERSION}`,
  clock: parts.clock,
  log: parts.log,
  metrics: parts.metrics,
  leadership,
  namespace: leaseNamespace(parts),
  name: parts.settings.leaderElectionName,
});

/** Returns the namespace of the lease. @throws SettingsError outside a cluster if no setting names the namespace */
function leaseNamespace({ settings, client }: Parts): string {
  const namespace = settings.leaderElectionNamespace || settings.systemNamespace || client.namespace;
  if (namespace) return namespace;
  throw new SettingsError(
    'unable to find the namespace of the leader election lease, set LEADER_ELECTION_NAMESPACE or SYSTEM_NAMESPACE',
  );
}

/** Set by the bundler; absent in a checkout. */
const revision = process.env.SOURCE_REVISION;
