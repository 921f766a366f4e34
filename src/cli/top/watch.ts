/** Watches a live cluster for `karpenter top`, with read requests only. */

import {
  EC2_NODE_CLASS,
  type EC2NodeClass,
  EVENT,
  type KubeEvent,
  type NodePool,
  POD,
  type Pod,
  type StringMap,
} from '#api/objects';
import { nodeCharges } from '#aws/instance-types';
import { familyOf } from '#aws/node-classes';
import { billedPriceOf, NO_CHARGES, type NodeCharges, nodePrices } from '#engine/costs';
import type { Verdict, VerdictCode } from '#engine/disruption';
import type { PodVerdict } from '#engine/explanations';
import type { InstanceType, PoolInput } from '#engine/model';
import type { KubeReader, Store } from '#kube/client';
import type { HttpKubeReader } from '#kube/connection';
import { startInformers } from '#kube/informers';
import { defined, messageOf, timeOf, tryRun } from '#lib';
import { type Clock, monotonicMs, type Timepiece } from '#lib/clock';
import { LiveView, type PricesOf, UseSamples, usesIfServed } from '#live/view';
import type { LogLine } from '#observe/history';
import { type Logger, silent } from '#observe/logger';
import { ClusterState } from '#state';
import type { Manifest } from '../objects/read.ts';
import { askOperator, type PauseView, restraintOf } from '../operator.ts';
import type { TypesFor } from '../scenario.ts';
import { OPERATOR_EVENTS } from '../snapshot/kinds.ts';
import type { TopNode, TopState } from './choices.ts';

const INTERVAL_MS = 5_000;
/** Wait for the first lists. Kinds that are not readable must not delay the view for ever. */
const FIRST_LISTS_MS = 15_000;
/** Wait for the first sample of the use, which can come later. */
const FIRST_SAMPLE_MS = 2_000;

export interface ScreenOptions {
  readonly client: KubeReader & Pick<HttpKubeReader, 'raw'>;
  readonly clusterName: string;
  readonly clock: Clock;
  readonly types: TypesFor;
  /**
   * Returns the URL of the operator's metrics port. Without it, verdicts come from the events of the nodes.
   * @param isLost true if the last URL did not work
   */
  readonly operator: (isLost: boolean) => Promise<string | undefined>;
  readonly signal: AbortSignal;
  /** Returns true if nodes with these labels are shown. Default: all nodes. */
  readonly selects?: ((labels: StringMap) => boolean) | undefined;
}

export interface WatchedCluster {
  state(): TopState;
  /** Returns the verdict on a node with the results of all methods, if they are known. */
  verdictOf(node: string): Verdict | undefined;
  /** Returns the last failure of a request, until the request succeeds again. */
  problem(): string | undefined;
}

/** Opens watches until the signal aborts, and waits for the first lists. */
export async function watchCluster(options: ScreenOptions): Promise<WatchedCluster> {
  const { client, clock, signal, operator } = options;
  const problems = new Map<string, string>();
  const failures = problemLog(problems);
  const informers = startInformers({ client, clock, log: failures, signal });
  const cluster = new ClusterState({ informers, clock, manages: ({ group }) => group === EC2_NODE_CLASS.group });
  const nodeClasses = informers.store(EC2_NODE_CLASS, {}, { optional: true });
  let verdicts: ReadonlyMap<string, Verdict> = new Map();
  let podVerdicts: readonly PodVerdict[] = [];
  let log: readonly LogLine[] | undefined;
  let isLost = false;
  const use = new UseSamples(usesIfServed(client), clock);
  const view = new LiveView({
    clusterName: options.clusterName,
    cluster,
    clock,
    log: failures,
    pricesOf: billedPrices({ cluster, nodeClasses, clock, types: options.types }),
    verdicts: () => [...verdicts.values()],
    podVerdicts: () => podVerdicts,
    isLeading: () => true,
    use,
  });
  const events = new EventReader(view, informers.store(POD));
  let restraint: PauseView = {};
  const refresh = async (): Promise<void> => {
    await attempt(problems, 'events', async () =>
      events.read(await client.listAll(EVENT, { fieldSelector: OPERATOR_EVENTS })),
    );
    verdicts = events.verdicts;
    podVerdicts = [];
    isLost = !(await attempt(problems, 'operator', async () => {
      const server = await operator(isLost);
      if (server === undefined) return;
      const found = await askOperator<readonly Verdict[]>(server, '/debug/verdicts');
      verdicts = new Map([...events.verdicts, ...found.map((verdict) => [verdict.node, verdict] as const)]);
      podVerdicts = await askOperator<readonly PodVerdict[]>(server, '/debug/pods');
      log = await lastLines(server, clock);
      restraint = await restraintOf(server);
    }));
  };
  await Promise.race([informers.synced(), clock.sleep(FIRST_LISTS_MS, signal)]);
  await Promise.all([
    refresh(),
    view.refreshPrices(),
    Promise.race([use.latest(), clock.sleep(FIRST_SAMPLE_MS, signal)]),
  ]);
  void view.run(signal);
  void repeat(refresh, { clock, signal });
  return {
    state: () => ({
      summary: { ...view.summary(), ...restraint },
      nodes: listNodes(view, cluster, options.selects),
      pending: view.pending(),
      decisions: view.decisions.list(),
      costs: view.costs,
      log,
    }),
    verdictOf: (node) => verdicts.get(node),
    problem() {
      const missing = informers.unsynced();
      return missing.length > 0 ? `waiting for the list of ${missing.join(', ')}` : problems.values().next().value;
    },
  };
}

/** Returns the selected nodes with their labels, and with the used shares if they are known. */
function listNodes(view: LiveView, { stores }: ClusterState, selects: ScreenOptions['selects']): readonly TopNode[] {
  const used = view.usedByNode();
  return view.nodes().flatMap((node) => {
    const object = stores.nodes.get({ name: node.name }) ?? stores.nodeClaims.get({ name: node.nodeClaim ?? '' });
    const labels = object?.metadata.labels ?? {};
    return selects?.(labels) === false ? [] : [{ ...node, labels, ...defined({ used: used?.get(node.name) }) }];
  });
}

/** Period of the shown decisions. */
const LOG_MS = 60 * 60_000;

/** Returns the decisions of the last hour, or undefined if the operator keeps no log. */
async function lastLines(server: string, clock: Timepiece): Promise<readonly LogLine[] | undefined> {
  const since = encodeURIComponent(new Date(clock.now() - LOG_MS).toISOString());
  return askOperator<readonly LogLine[]>(server, `/debug/log?since=${since}`).catch(() => undefined);
}

async function repeat(work: () => Promise<void>, { clock, signal }: Pick<ScreenOptions, 'clock' | 'signal'>) {
  while (!signal.aborted) {
    await clock.sleep(INTERVAL_MS, signal);
    if (!signal.aborted) await work();
  }
}

/** Returns false and records the problem if the work fails. */
async function attempt(problems: Map<string, string>, name: string, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    problems.delete(name);
    return true;
  } catch (error) {
    problems.set(name, `${name}: ${messageOf(error)}`);
    return false;
  }
}

/** Stores the last failure of the watches instead of writing lines over the view. */
function problemLog(problems: Map<string, string>): Logger {
  const store = (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    const cause = fields.error instanceof Error ? `: ${fields.error.message}` : '';
    problems.set('watch', message + cause);
  };
  const log: Logger = { ...silent, warn: store, error: store, with: () => log };
  return log;
}

/** End of a `DisruptionVerdict` event. */
const CODE = / \[([a-z-]+)\]$/;

type NotedView = Pick<LiveView, 'note'> & { readonly decisions: Pick<LiveView['decisions'], 'note'> };

/** Returns false for events of an earlier pod with the same name, such as a pod of a StatefulSet. */
function isCurrent(
  { involvedObject: { kind, name, namespace, uid } }: KubeEvent,
  pods: Pick<Store<Pod>, 'get'>,
): boolean {
  return kind !== 'Pod' || uid === undefined || pods.get({ name, namespace })?.metadata.uid === uid;
}

/** Passes new and repeated events of the operator to the view, oldest first. */
export class EventReader {
  verdicts: ReadonlyMap<string, Verdict> = new Map();
  readonly #view: NotedView;
  readonly #pods: Pick<Store<Pod>, 'get'>;
  /** Counts of the events of the last list, by UID. */
  #counts = new Map<string, number>();

  constructor(view: NotedView, pods: Pick<Store<Pod>, 'get'>) {
    this.#view = view;
    this.#pods = pods;
  }

  read(events: readonly KubeEvent[]): void {
    const inOrder = events.filter((event) => isCurrent(event, this.#pods)).sort((a, b) => atMs(a) - atMs(b));
    const counts = new Map<string, number>();
    for (const event of inOrder) {
      const [uid, count] = [event.metadata.uid ?? event.metadata.name, event.count ?? 1];
      counts.set(uid, count);
      if (this.#counts.get(uid) !== count) this.#note(event);
    }
    this.#counts = counts;
    this.verdicts = new Map(inOrder.flatMap(verdictIn));
  }

  #note({ involvedObject, ...event }: KubeEvent): void {
    const { kind, name, namespace = 'default' } = involvedObject;
    const { type, reason, message } = event;
    const note = { object: { apiVersion: '', kind, metadata: { name, namespace } }, type, reason, message };
    if (kind === 'Pod') this.#view.note(note);
    else this.#view.decisions.note(note, atMs(event));
  }
}

const atMs = ({ lastTimestamp, metadata }: Pick<KubeEvent, 'lastTimestamp' | 'metadata'>): number =>
  timeOf(lastTimestamp ?? metadata.creationTimestamp) || 0;

/** Words for verdicts in events that Karpenter publishes as well, and that have no code. */
const WITHOUT_CODE: Readonly<Record<string, string>> = {
  DisruptionBlocked: 'not disrupted',
  Unconsolidatable: 'not consolidated',
};

/** Returns the verdict in an event on a Node. The event has no results of single methods. */
function verdictIn({ reason, message, involvedObject }: KubeEvent): readonly (readonly [string, Verdict])[] {
  const { kind, name: node } = involvedObject;
  const ending = reason === 'DisruptionVerdict' ? CODE.exec(message) : undefined;
  const [end = '', code = kind === 'Node' ? WITHOUT_CODE[reason] : undefined] = ending ?? [];
  if (code === undefined) return [];
  const text = message.slice(0, message.length - end.length);
  return [[node, { node, code: code as VerdictCode, text, methods: [] }]];
}

/** Age after which instance types and prices are read again. */
const AGE_MS = 5 * 60_000;

interface PriceSources {
  readonly cluster: ClusterState;
  readonly nodeClasses: Pick<Store<EC2NodeClass>, 'list' | 'get'>;
  readonly clock: Timepiece;
  readonly types: TypesFor;
}

function billedPrices({ cluster, nodeClasses, clock, types }: PriceSources): PricesOf {
  let known: { readonly readMs: number; readonly of: (pool: NodePool) => readonly InstanceType[] } | undefined;

  async function typesOf(pool: NodePool): Promise<readonly InstanceType[]> {
    const nowMs = monotonicMs(clock);
    if (known === undefined || nowMs - known.readMs >= AGE_MS) {
      const { nodes, nodePools } = cluster.stores;
      const objects = [...nodeClasses.list(), ...nodePools.list(), ...nodes.list()];
      const manifests = objects.map((object): Manifest => ({ object, where: `the cluster's ${object.kind}` }));
      known = { readMs: nowMs, of: await types(manifests, clock.now()) };
    }
    return known.of(pool);
  }

  return async (nodePool, claims) => {
    const input: PoolInput = {
      nodePool,
      instanceTypes: await typesOf(nodePool),
      extras: { feeUsdPerHour: 0, ...chargesOf(nodeClasses.get(nodePool.spec.template.spec.nodeClassRef)) },
    };
    const nodes = claims.map((claim) => cluster.nodeOfClaim(claim));
    const prices = nodePrices(
      nodes.filter((node) => node !== undefined),
      [input],
    );
    return nodes.map((node) => {
      const price = prices.get(node?.providerId ?? '');
      if (price === undefined) return undefined;
      return { usdPerHour: billedPriceOf(price), surplusCreditsUsdPerHour: price.surplusUsdPerHour ?? 0 };
    });
  };
}

/** Returns no charges for NodeClasses with invalid fields. Their conditions report the fields. */
const chargesOf = (nodeClass: EC2NodeClass | undefined): NodeCharges =>
  tryRun(() => nodeClass && nodeCharges(nodeClass, familyOf(nodeClass), 0)) ?? NO_CHARGES;
