/** State of the cluster for the live page. */
import {
  CAPACITY_TYPE_LABEL,
  getCondition,
  INSTANCE_TYPE_LABEL,
  labelOf,
  type NodeClaim,
  type NodePool,
  pauseText,
  poolNameOf,
  ZONE_LABEL,
} from '#api/objects';
import { HOURS_PER_MONTH } from '#engine/costs';
import type { Verdict } from '#engine/disruption';
import { causeKey, type PodVerdict, withoutCommand, withoutDetails } from '#engine/explanations';
import { isTerminal, isTerminating, podKey, type StateNode } from '#engine/model';
import { defined } from '#lib';
import type { Clock } from '#lib/clock';
import { type EventNote, FAILED_SCHEDULING, NOMINATED } from '#observe/events';
import type { Logger } from '#observe/logger';
import { type ClusterState, PODS_BY_NODE } from '#state';
import { Costs, type LiveNodePrice, type PricesOf } from './costs.ts';
import type { CostSample, LiveDecision, LiveNode, LiveSummary, PendingPod } from './model.ts';
import { type UseReport, type UseSamples, usedShares } from './pod-use.ts';
import { nodeRow, waitsSince } from './rows.ts';

export interface LiveSources {
  readonly clusterName: string;
  readonly cluster: ClusterState;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pricesOf: PricesOf;
  /** Computes the current verdicts of disruption about all nodes. */
  readonly verdicts: () => readonly Verdict[];
  /** Computes the current verdicts on all pending pods. Without it, only events have reasons. */
  readonly podVerdicts?: () => Iterable<PodVerdict>;
  readonly isLeading: () => boolean;
  /** Use of the pods. */
  readonly use: UseSamples;
}

/** Minimum time between two computations of all verdicts, because a computation takes some time. */
const VERDICTS_MS = 5_000;
const PRICES_MS = 10_000;
/** Maximum number of messages about waiting pods. The oldest messages are removed first. */
const MOST_SAID = 5_000;

/** Codes of verdicts without a reason. The last event has one. */
const UNDECIDED: ReadonlySet<PodVerdict['code']> = new Set(['undecided', 'unknown']);

/** Beginning of the message about a pod without a possible node, before the reason. */
const FAILED = FAILED_SCHEDULING.message('');

/** Returns a sentence on the rollouts of NodePools, from their conditions, or undefined without rollouts. */
function rolloutsText(pools: readonly NodePool[]): string | undefined {
  const found = pools.flatMap((pool) => {
    const { reason, message = '' } = getCondition(pool, 'DriftRollout') ?? {};
    return reason === undefined ? [] : [`rollout of NodePool ${pool.metadata.name}: ${reason}, ${message}`];
  });
  return found.length === 0 ? undefined : found.sort().join('; ');
}

export class LiveView {
  readonly decisions: LiveDecisions;
  readonly #sources: LiveSources;
  readonly #costs: Costs;
  /** Last message about each pod, by the name of the pod. Messages about failed attempts begin with the reason. */
  readonly #said = new Map<string, string>();
  #verdicts: ReadonlyMap<string, Verdict> = new Map();
  #podVerdicts: ReadonlyMap<string, PodVerdict> = new Map();
  #verdictsMs = Number.NEGATIVE_INFINITY;
  /** Used shares of the last sample of the use. */
  #used: { readonly report: UseReport; readonly shares: NonNullable<LiveSummary['used']> } | undefined;

  constructor(sources: LiveSources) {
    this.#sources = sources;
    this.decisions = new LiveDecisions(sources.cluster);
    this.#costs = new Costs(sources.pricesOf, sources.log);
    const { pods, nodeClaims } = sources.cluster.stores;
    pods.subscribe((event, pod) => {
      if (event === 'deleted' || pod.spec.nodeName) this.#said.delete(podKey(pod));
    });
    nodeClaims.subscribe((event, claim, before) => this.#claimChanged(event, claim, before));
  }

  /** Updates prices and records the total cost until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, cluster, log } = this.#sources;
    while (!signal.aborted) {
      try {
        await this.refreshPrices();
        if (cluster.stores.nodeClaims.synced) this.#costs.sample(clock.now(), sumOf(this.#prices(), 'usdPerHour'));
      } catch (error) {
        log.error('failed refreshing the live page, trying again', { error });
      }
      await clock.sleep(PRICES_MS, signal);
    }
  }

  async refreshPrices(): Promise<void> {
    const { nodePools, nodeClaims } = this.#sources.cluster.stores;
    await this.#costs.refresh(nodePools.list(), nodeClaims.list());
  }

  /** Receives the events that the operator publishes. */
  note(...notes: readonly EventNote[]): void {
    for (const each of notes) {
      this.decisions.note(each, this.#sources.clock.now());
      if (each.object.kind === 'Pod' && (each.type === 'Warning' || each.reason === NOMINATED.reason)) this.#say(each);
    }
  }

  /** Returns the last message about a waiting pod. */
  saidOf(pod: string): string | undefined {
    return this.#said.get(pod);
  }

  verdictOf(node: string): Verdict | undefined {
    this.#renewVerdicts();
    return this.#verdicts.get(node);
  }

  priceOf(nodeClaim: string | undefined): LiveNodePrice | undefined {
    return this.#costs.of(nodeClaim);
  }

  summary(): LiveSummary {
    const { cluster, clock, clusterName, isLeading } = this.#sources;
    const nodes = cluster.nodes();
    const prices = this.#prices();
    const usdPerHour = sumOf(prices, 'usdPerHour');
    return {
      clusterName,
      atMs: clock.now(),
      ...defined({
        paused: cluster.pause.current && pauseText(cluster.pause.current),
        observed: cluster.observation.text,
        rollout: rolloutsText(cluster.stores.nodePools.list()),
      }),
      isLeading: isLeading(),
      nodes: nodes.length,
      pods: cluster.stores.pods.list().length,
      pendingPods: this.#waiting().length,
      usdPerHour,
      usdPerMonth: perMonth(usdPerHour),
      ...this.#usage(nodes),
      ...defined({ used: this.#usedShares(nodes) }),
      surplusCreditsUsdPerHour: sumOf(prices, 'surplusCreditsUsdPerHour'),
      unpriced: prices.filter((price) => price === undefined).length,
    };
  }

  #prices(): readonly (LiveNodePrice | undefined)[] {
    return this.#sources.cluster.stores.nodeClaims.list().map(({ metadata }) => this.#costs.of(metadata.name));
  }

  /** Returns the shares of the last sample. The pods and nodes of later states do not change them. */
  #usedShares(nodes: readonly StateNode[]): LiveSummary['used'] {
    const { report } = this.#sources.use.last();
    if (report === undefined) return undefined;
    if (this.#used?.report !== report) this.#used = { report, shares: usedShares(nodes, report.uses) };
    return this.#used.shares;
  }

  /** Returns the used shares of each node in the last sample, by its name. Undefined without a metrics API. */
  usedByNode(): ReadonlyMap<string, NonNullable<LiveSummary['used']>> | undefined {
    const { report } = this.#sources.use.last();
    const nodes = this.#sources.cluster.nodes();
    return report && new Map(nodes.map((node) => [node.name, usedShares([node], report.uses)]));
  }

  nodes(): readonly LiveNode[] {
    this.#renewVerdicts();
    return this.#sources.cluster
      .nodes()
      .map((node) => nodeRow(node, this.#costs.of(node.nodeClaim?.metadata.name), this.#verdicts.get(node.name)));
  }

  /** Returns the pending pods, longest wait first. */
  pending(): readonly PendingPod[] {
    this.#renewVerdicts();
    return this.#waiting()
      .map((pod) => {
        const name = podKey(pod);
        return { pod: name, sinceMs: waitsSince(pod), ...this.#reasonFor(name) };
      })
      .sort((a, b) => a.sinceMs - b.sinceMs || (a.pod < b.pod ? -1 : 1));
  }

  /** Returns the verdict of the operator, or its last event if it has not decided yet. */
  #reasonFor(pod: string): Pick<PendingPod, 'reason' | 'cause'> {
    const verdict = this.#podVerdicts.get(pod);
    if (verdict !== undefined && !UNDECIDED.has(verdict.code))
      return { reason: verdict.text, cause: causeKey(verdict) };
    const said = this.#said.get(pod);
    if (said === undefined) return {};
    const reason = withoutDetails(withoutCommand(said));
    return { reason, cause: causeKey({ code: 'event', text: reason }) };
  }

  #usage(nodes: readonly StateNode[]): Pick<LiveSummary, 'idleUsdPerMonth' | 'requested' | 'spotShare'> {
    const rows = nodes.map((node) => nodeRow(node, this.#costs.of(node.nodeClaim?.metadata.name), undefined));
    const own = rows.filter(({ nodePool }) => nodePool !== '');
    const spot = own.filter(({ capacityType }) => capacityType === 'spot');
    const idle = rows.reduce((sum, { idleUsdPerHour = 0 }) => sum + idleUsdPerHour, 0);
    return {
      idleUsdPerMonth: perMonth(idle),
      requested: { cpu: requestedShare(rows, 'cpu'), memory: requestedShare(rows, 'memory') },
      spotShare: part(amountOf(spot, 'cpu', 1), amountOf(own, 'cpu', 1)),
    };
  }

  /** Oldest sample first. */
  get costs(): readonly CostSample[] {
    return this.#costs.samples;
  }

  #waiting() {
    const { pods } = this.#sources.cluster.stores;
    return pods.byIndex(PODS_BY_NODE, '').filter((pod) => !isTerminal(pod) && !isTerminating(pod));
  }

  #say({ object, message }: EventNote): void {
    const { namespace = 'default', name } = object.metadata;
    const pod = `${namespace}/${name}`;
    this.#said.delete(pod);
    this.#said.set(pod, message.startsWith(FAILED) ? message.slice(FAILED.length) : message);
    const [oldest] = this.#said.keys();
    if (this.#said.size > MOST_SAID && oldest !== undefined) this.#said.delete(oldest);
  }

  #renewVerdicts(): void {
    const { clock, verdicts, podVerdicts } = this.#sources;
    if (clock.now() - this.#verdictsMs < VERDICTS_MS) return;
    this.#verdictsMs = clock.now();
    this.#verdicts = new Map(verdicts().map((verdict) => [verdict.node, verdict]));
    this.#podVerdicts = new Map([...(podVerdicts?.() ?? [])].map((verdict) => [verdict.pod, verdict]));
  }

  #claimChanged(event: 'added' | 'updated' | 'deleted', claim: NodeClaim, before: NodeClaim | undefined): void {
    if (event === 'deleted') {
      const usd = this.#costs.of(claim.metadata.name)?.usdPerHour;
      this.#tell('given-back', claim, { text: `Removed ${machineText(claim)}`, usd: usd && -usd });
      return;
    }
    const isLaunched = (one: NodeClaim): boolean => Boolean(one.status?.providerID);
    if (before !== undefined && isLaunched(claim) && !isLaunched(before)) void this.#tellBought(claim);
  }

  /** Records a launch with the price of its offering, which the regular update has not looked up yet. */
  async #tellBought(claim: NodeClaim): Promise<void> {
    const { cluster, pricesOf } = this.#sources;
    const poolName = poolNameOf(claim);
    const pool = cluster.stores.nodePools.get({ name: poolName });
    const [price] = pool === undefined ? [] : await pricesOf(pool, [claim]).catch(() => []);
    this.#tell('bought', claim, {
      text: `Launched ${machineText(claim)} for NodePool ${poolName}`,
      usd: price?.usdPerHour,
    });
  }

  #tell(
    topic: 'bought' | 'given-back',
    { metadata }: NodeClaim,
    { text, usd }: { readonly text: string; readonly usd: number | undefined },
  ): void {
    this.decisions.add({
      atMs: this.#sources.clock.now(),
      topic,
      object: `NodeClaim/${metadata.name}`,
      text,
      ...(usd === undefined ? {} : { usdPerHour: usd }),
    });
  }
}

const sumOf = (prices: readonly (LiveNodePrice | undefined)[], part: keyof LiveNodePrice): number =>
  Number(prices.reduce((sum, price) => sum + (price?.[part] ?? 0), 0).toFixed(6));

const perMonth = (usdPerHour: number): number => Number((usdPerHour * HOURS_PER_MONTH).toFixed(2));

const amountOf = (rows: readonly LiveNode[], resource: string, at: 0 | 1): number =>
  rows.reduce((sum, { shares }) => sum + (shares[resource]?.[at] ?? 0), 0);

const requestedShare = (rows: readonly LiveNode[], resource: string): number =>
  part(amountOf(rows, resource, 0), amountOf(rows, resource, 1));

/** Returns a part of a whole with a precision of a thousandth, or 0 of nothing. */
const part = (amount: number, whole: number): number => (whole > 0 ? Number((amount / whole).toFixed(3)) : 0);

const machineText = (claim: NodeClaim): string => {
  const type = labelOf(claim, INSTANCE_TYPE_LABEL);
  if (type === '') return 'a NodeClaim without an instance';
  return `${type} in ${labelOf(claim, ZONE_LABEL)}, ${labelOf(claim, CAPACITY_TYPE_LABEL)}`;
};

const MOST = 500;
/**
 * Within this time, a repeated decision increases a count instead of adding a line. The operator repeats events about a lasting
 * problem every ten minutes or later.
 */
const SAME_MS = 60 * 60_000;
/** Ids of requests and instances, which differ between repetitions of the same problem. */
const IDS = /\b(?:[0-9a-f]{8}-[0-9a-f-]{27}|(?:i|fleet)-[0-9a-f]{8,})\b/g;

/** Reasons of events that every node receives repeatedly. The rows of the nodes show the same information. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'DisruptionVerdict',
  'Unconsolidatable',
  'DisruptionBlocked',
  'Finalized',
]);
const INTERRUPTIONS: ReadonlySet<string> = new Set([
  'SpotInterrupted',
  'SpotRebalanceRecommendation',
  'CapacityReservationInstanceInterrupted',
  'InstanceUnhealthy',
  'InstanceStopping',
  'InstanceTerminating',
  'TerminatingOnInterruption',
]);
const DISRUPTIONS = /^(Disruption|Consolidation|Expired$)/;
const DEADLINE = 'TerminationGracePeriodExpiring';
/** Message of condition changes. They have separate events. */
const CONDITION_CHANGE = /^Status condition transitioned/;

/** Kinds of objects with decisions about nodes, besides NodeClasses. Events of pods are shown with the pods. */
const KINDS: ReadonlySet<string> = new Set([
  'NodeClaim',
  'Node',
  'NodePool',
  'NodeOverlay',
  'CapacityBuffer',
  'CapacityQuota',
]);

/** Last decisions of the operator, from its events and from created and deleted NodeClaims. */
export class LiveDecisions {
  readonly #cluster: Pick<ClusterState, 'manages'>;
  readonly #decisions: LiveDecision[] = [];
  #lastId = 0;

  constructor(cluster: Pick<ClusterState, 'manages'>) {
    this.#cluster = cluster;
  }

  /** Oldest decision first. */
  list(): readonly LiveDecision[] {
    return this.#decisions;
  }

  /** Returns the decisions that were added or repeated after the decision with this id. */
  since(id: number): readonly LiveDecision[] {
    return this.#decisions.filter((decision) => decision.id > id);
  }

  /** Returns the decisions about an object, such as `NodePool/default`. */
  about(...objects: readonly string[]): readonly LiveDecision[] {
    return this.#decisions.filter(({ object }) => objects.includes(object));
  }

  get lastId(): number {
    return this.#lastId;
  }

  add(decision: Omit<LiveDecision, 'id' | 'times' | 'firstId'>): void {
    this.#lastId += 1;
    const text = decision.text.replaceAll(IDS, '');
    const same = this.#decisions.findIndex(
      (other) =>
        other.object === decision.object &&
        decision.atMs - other.atMs < SAME_MS &&
        other.text.replaceAll(IDS, '') === text,
    );
    const [before] = same === -1 ? [] : this.#decisions.splice(same, 1);
    const repeated = before && { firstId: before.firstId ?? before.id };
    this.#decisions.push({ ...decision, id: this.#lastId, ...repeated, times: (before?.times ?? 0) + 1 });
    if (this.#decisions.length > MOST) this.#decisions.shift();
  }

  #isAboutNodes({ apiVersion, kind }: EventNote['object']): boolean {
    const [group = ''] = apiVersion.split('/');
    return KINDS.has(kind) || this.#cluster.manages({ group, kind });
  }

  /** Records a published event if it is about a decision. */
  note({ object, type, reason, message }: EventNote, atMs: number): void {
    if (!this.#isAboutNodes(object) || LEFT_OUT.has(reason) || CONDITION_CHANGE.test(message)) return;
    // the NodeClaim has the same event
    if (object.kind === 'Node' && (INTERRUPTIONS.has(reason) || DISRUPTIONS.test(reason) || reason === DEADLINE))
      return;
    this.add({ atMs, topic: topicOf(type, reason), object: `${object.kind}/${object.metadata.name}`, text: message });
  }
}

function topicOf(type: EventNote['type'], reason: string): LiveDecision['topic'] {
  if (INTERRUPTIONS.has(reason)) return 'interruption';
  if (DISRUPTIONS.test(reason)) return 'disruption';
  return type === 'Warning' ? 'problem' : 'other';
}
