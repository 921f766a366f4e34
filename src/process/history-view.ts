/** What an operator serves at `/debug/history`: what it decided and what the nodes cost, since a time. Of public form. */
import { timestamp } from '../lib/times.ts';
import type { CostHour, PoolCost } from '../observe/history/cost-hours.ts';
import type { LoggedDecision } from '../observe/history/decision-log.ts';
import type { OperatorHistory } from '../observe/history/document.ts';
import { BadQuery } from './http-server.ts';

export interface HistoryView {
  /** Oldest first. */
  readonly hours: readonly HourView[];
  /** Oldest first. */
  readonly decisions: readonly LoggedDecision[];
}

export interface HourView {
  /** RFC 3339. Begin of the hour. */
  readonly at: string;
  /** Number of samples of the averages: 60, unless the operator did not work all the time, or the hour is not over. */
  readonly samples: number;
  /** USD per hour, on average, by NodePool. */
  readonly nodePools: Readonly<Record<string, PoolCost>>;
}

/** All of it, or with `since=2026-06-03T10:00:00Z` the later part. @throws BadQuery when that is no time */
export function historyView(history: OperatorHistory, query: URLSearchParams): HistoryView {
  const since = query.get('since');
  const sinceMs = since === null ? Number.NEGATIVE_INFINITY : Date.parse(since);
  if (Number.isNaN(sinceMs)) throw new BadQuery(`since: "${since}" is no time such as 2026-06-03T10:00:00Z`);
  return historySince(history, sinceMs);
}

export const historySince = ({ hours, decisions }: OperatorHistory, sinceMs: number): HistoryView => ({
  hours: hours.hours.filter(({ hourMs }) => hourMs >= sinceMs).map(hourView),
  decisions: decisions.entries.filter(({ at }) => Date.parse(at) >= sinceMs),
});

const hourView = ({ hourMs, samples, nodePools }: CostHour): HourView => ({
  at: timestamp(hourMs),
  samples,
  nodePools: Object.fromEntries(nodePools),
});
