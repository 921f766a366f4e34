/** Lives of the nodes: launch, registration, initialization, disruption and end, with the reasons. */
import {
  CAPACITY_TYPE_LABEL,
  getCondition,
  INSTANCE_TYPE_LABEL,
  labelOf,
  type NodeClaim,
  poolNameOf,
  ZONE_LABEL,
} from '#api/objects';
import { defined, timeOf } from '#lib';
import type { Timepiece } from '#lib/clock';
import { type Bought, hoursIn, logLines, type OperatorHistory } from '#observe/history';
import type { ClusterState } from '#state';
import type { CostsResponse, LogResponse, NodeLife, TimelineResponse } from './responses.ts';

/** Maximum number of ended lives that are kept, and of lives in a response. */
const MOST_ENDED = 1_000;
const MOST_SHOWN = 300;
const HOUR_MS = 3_600_000;
/** Choices for the time span of a timeline. */
const SPANS: ReadonlySet<number> = new Set([1, 6, 24]);
const DEFAULT_SPAN = 6;
/** Choices for the time span of the log. */
const LOG_HOURS: ReadonlySet<number> = new Set([1, 6, 24, 168]);
const DEFAULT_LOG_HOURS = 6;

export class NodeLives {
  readonly #cluster: ClusterState;
  readonly #clock: Timepiece;
  readonly #history: OperatorHistory | undefined;
  readonly #sinceMs: number;
  /** Oldest end first. */
  readonly #ended: NodeLife[] = [];

  constructor(cluster: ClusterState, clock: Timepiece, history: OperatorHistory | undefined) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#history = history;
    this.#sinceMs = clock.now();
    cluster.stores.nodeClaims.subscribe((event, claim) => {
      if (event !== 'deleted') return;
      this.#ended.push({ ...this.#lifeOf(claim, this.#boughtFor(claim)), endedMs: clock.now() });
      if (this.#ended.length > MOST_ENDED) this.#ended.shift();
    });
  }

  /** Returns the lives that overlap with the last hours. */
  timeline(query: URLSearchParams): TimelineResponse {
    const toMs = this.#clock.now();
    const fromMs = toMs - spanOf(query) * HOUR_MS;
    const bought = new Map(
      (this.#history?.decisions.entries ?? []).flatMap((entry): readonly [string, Bought][] =>
        entry.kind === 'bought' ? [[entry.nodeClaim, entry]] : [],
      ),
    );
    const present = this.#cluster.stores.nodeClaims
      .list()
      .map((claim) => this.#lifeOf(claim, bought.get(claim.metadata.name)));
    const lives = [...this.#ended.filter(({ endedMs = 0 }) => endedMs >= fromMs), ...present].sort(
      (a, b) => b.createdMs - a.createdMs || (a.nodeClaim < b.nodeClaim ? -1 : 1),
    );
    return {
      fromMs,
      toMs,
      sinceMs: this.#sinceMs,
      lives: lives.slice(0, MOST_SHOWN),
      more: Math.max(0, lives.length - MOST_SHOWN),
    };
  }

  #boughtFor({ metadata }: NodeClaim): Bought | undefined {
    const entries = this.#history?.decisions.entries ?? [];
    return entries.findLast((entry): entry is Bought => entry.kind === 'bought' && entry.nodeClaim === metadata.name);
  }

  #lifeOf(claim: NodeClaim, bought: Bought | undefined): NodeLife {
    const { name, creationTimestamp, deletionTimestamp } = claim.metadata;
    const since = (type: string): number | undefined => {
      const condition = getCondition(claim, type);
      return condition?.status === 'True' ? timeOf(condition.lastTransitionTime) || undefined : undefined;
    };
    const disruption = getCondition(claim, 'DisruptionReason');
    return {
      nodeClaim: name,
      node: claim.status?.nodeName ?? '',
      nodePool: poolNameOf(claim),
      instanceType: labelOf(claim, INSTANCE_TYPE_LABEL),
      zone: labelOf(claim, ZONE_LABEL),
      capacityType: labelOf(claim, CAPACITY_TYPE_LABEL),
      createdMs: timeOf(creationTimestamp) || 0,
      ...defined({
        launchedMs: since('Launched'),
        registeredMs: since('Registered'),
        initializedMs: since('Initialized'),
        leavingMs: timeOf(deletionTimestamp) || undefined,
        startReason: bought?.reason,
        pods: bought?.pods,
        endReason: this.#cluster.deletionReasons.get(name) ?? disruption?.reason?.toLowerCase(),
      }),
    };
  }
}

function spanOf(query: URLSearchParams): number {
  const hours = Number(query.get('hours') ?? DEFAULT_SPAN);
  return SPANS.has(hours) ? hours : DEFAULT_SPAN;
}

/** Returns the decisions of the last hours, which a query can name. */
export function logTab(history: OperatorHistory | undefined, query: URLSearchParams, nowMs: number): LogResponse {
  const hours = Number(query.get('hours') ?? DEFAULT_LOG_HOURS);
  const span = LOG_HOURS.has(hours) ? hours : DEFAULT_LOG_HOURS;
  const found = logLines(history?.decisions.entries ?? [], { sinceMs: nowMs - span * HOUR_MS }).toReversed();
  return {
    lines: found.slice(0, MOST_SHOWN),
    more: Math.max(0, found.length - MOST_SHOWN),
    isDisabled: history === undefined,
  };
}

/** Number of hours of the cost timeline: one week. The history limits the NodePools of an hour. */
const COST_HOURS = 7 * 24;

export function costTimeline(history: OperatorHistory | undefined): CostsResponse {
  const hours = history?.hours.hours.slice(-COST_HOURS) ?? [];
  const nodePools = [...new Set(hours.flatMap((hour) => [...hour.nodePools.keys()]))];
  return {
    nodePools,
    hours: hours.map((hour) => ({
      hourMs: hour.hourMs,
      observed: Number(hoursIn(hour.minutes).toFixed(4)),
      usd: nodePools.map((name) => Number((hour.nodePools.get(name)?.effective ?? 0).toFixed(6))),
    })),
    isDisabled: history === undefined,
  };
}
