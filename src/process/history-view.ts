/** Content of `/debug/history` and `/debug/log`: decisions and node costs since a time. The format is public. */
import { timestamp } from '#lib';
import {
  type CostHour,
  type LoggedDecision,
  type LogLine,
  logLines,
  type OperatorHistory,
  type PoolCost,
} from '#observe/history';
import { BadQuery } from './http-server.ts';

export interface HistoryView {
  /** Oldest first. */
  readonly hours: readonly HourView[];
  /** Oldest first. */
  readonly decisions: readonly LoggedDecision[];
}

export interface HourView {
  /** Start of this hour in RFC 3339. */
  readonly at: string;
  /**
   * Number of observed minutes: 60, unless the operator was not active all the time or this hour has not ended.
   */
  readonly samples: number;
  /** Average cost in USD per hour, by NodePool. */
  readonly nodePools: Readonly<Record<string, PoolCost>>;
}

/**
 * Returns the whole history, or the part since the time in a query such as `since=2026-06-03T10:00:00Z`.
 * @throws BadQuery if `since` is not a valid time
 */
export const historyView = (history: OperatorHistory, query: URLSearchParams): HistoryView =>
  historySince(history, sinceMsIn(query));

function sinceMsIn(query: URLSearchParams): number {
  const since = query.get('since');
  const sinceMs = since === null ? Number.NEGATIVE_INFINITY : Date.parse(since);
  if (Number.isNaN(sinceMs))
    throw new BadQuery(`since: "${since}" is not a valid time; use RFC 3339, for example 2026-06-03T10:00:00Z`);
  return sinceMs;
}

/**
 * Returns the content of `/debug/log`: the lines since a time that concern a NodePool, a namespace or a node, if the query names
 * them.
 * @throws BadQuery if `since` is not a valid time
 */
export const logView = ({ decisions }: OperatorHistory, query: URLSearchParams): readonly LogLine[] =>
  logLines(decisions.entries, {
    sinceMs: sinceMsIn(query),
    nodePool: query.get('nodepool') ?? undefined,
    namespace: query.get('namespace') ?? undefined,
    node: query.get('node') ?? undefined,
  });

export const historySince = ({ hours, decisions }: OperatorHistory, sinceMs: number): HistoryView => ({
  hours: hours.hours.filter(({ hourMs }) => hourMs >= sinceMs).map(hourView),
  decisions: decisions.entries.filter(({ at }) => Date.parse(at) >= sinceMs),
});

const hourView = ({ hourMs, minutes, nodePools }: CostHour): HourView => ({
  at: timestamp(hourMs),
  samples: Math.round(minutes),
  nodePools: Object.fromEntries(nodePools),
});
