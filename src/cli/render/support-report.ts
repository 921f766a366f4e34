/** Report of the operator's actions and their savings in a period. */

import type { CostReport, CostSums, NodeCost } from '#engine/costs';
import type { Verdict } from '#engine/disruption';
import { timestamp } from '#lib';
import { type Bought, type Deleted, type Disrupted, FAILED_LAUNCHES, type Interrupted } from '#observe/history';
import type { HistoryView } from '#process/server';
import { type CostHistory, costHistory } from '../cost/history.ts';
import type { RecordedSavings } from './savings.ts';

/** Report in a public format. All amounts are in USD. */
export interface SupportReport {
  /** RFC 3339. */
  readonly since: string;
  /** RFC 3339. */
  readonly until: string;
  /** Time of the first known decision, RFC 3339. Undefined if no decision is known. */
  readonly firstDecision?: string;
  readonly spent: CostHistory['total'];
  readonly purchases: {
    readonly nodes: number;
    readonly pods: number;
    /** Nodes that replaced other nodes. */
    readonly replacements: number;
    /** NodeClaims without an instance, and NodeClaims whose instance did not join. */
    readonly failed: number;
  };
  readonly moves: MoveSums & { readonly byMethod: readonly (MoveSums & { readonly method: string })[] };
  /** NodeClaims that were deleted for other reasons. */
  readonly deletions: readonly { readonly reason: string; readonly nodes: number; readonly pods: number }[];
  /** Nodes whose instance AWS interrupted, and pods that were moved in time. */
  readonly interruptions: {
    readonly nodes: number;
    readonly pods: number;
    readonly reasons: readonly { readonly reason: string; readonly nodes: number }[];
  };
  /** Pods that were moved for any reason. */
  readonly podsDisturbed: number;
  /** Current cost of the nodes in USD per hour. */
  readonly now: Pick<CostSums, 'nodes' | 'usdPerHour' | 'idleUsdPerHour' | 'surplusCreditsUsdPerHour'>;
  /** Nodes with the highest idle cost, and the reasons why they are not disrupted. */
  readonly wasteful: readonly WastefulNode[];
  /** Savings against Karpenter's rules. Undefined without a record. */
  readonly savings?: RecordedSavings;
}

export interface MoveSums {
  readonly moves: number;
  readonly nodes: number;
  readonly pods: number;
  /** Consolidations with known savings, which are measured for 30 minutes. */
  readonly ended: number;
  readonly undone: number;
  readonly predictedUsdPerHour: number;
  /** Savings in these 30 minutes. */
  readonly predictedUsd: number;
  readonly realisedUsd: number;
}

export interface WastefulNode extends NodeCost {
  /** Code as in docs/why-not.md. Undefined until the disruption controller has evaluated this node. */
  readonly code?: string;
  readonly why?: string;
  readonly nearestMiss?: string;
}

const MOST_WASTEFUL = 10;
interface ReportInput {
  readonly history: HistoryView;
  readonly cost: CostReport;
  readonly verdicts: readonly Verdict[];
  readonly sinceMs: number;
  readonly untilMs: number;
}

export function reportOf({ history, cost, verdicts, sinceMs, untilMs }: ReportInput): SupportReport {
  const { decisions } = history;
  const bought = decisions.filter((each): each is Bought => each.kind === 'bought');
  const disrupted = decisions.filter((each): each is Disrupted => each.kind === 'disrupted');
  const deleted = decisions.filter((each): each is Deleted => each.kind === 'deleted');
  const interrupted = decisions.filter((each): each is Interrupted => each.kind === 'interrupted');
  const [first] = decisions;
  const { nodes, usdPerHour, idleUsdPerHour, surplusCreditsUsdPerHour } = cost.total;
  return {
    since: timestamp(sinceMs),
    until: timestamp(untilMs),
    ...(first === undefined ? {} : { firstDecision: first.at }),
    spent: costHistory(history, { per: 'day', sinceMs, untilMs }).total,
    purchases: {
      nodes: bought.length,
      pods: sum(bought, ({ pods }) => pods),
      replacements: bought.filter(({ reason }) => reason !== 'provisioned').length,
      failed: deleted.filter(({ reason }) => FAILED_LAUNCHES.has(reason)).length,
    },
    moves: { ...sumsOf(disrupted), byMethod: byMethod(disrupted) },
    deletions: grouped(deleted).map(([reason, list]) => ({ reason, nodes: list.length, pods: sum(list, podsOf) })),
    interruptions: {
      nodes: interrupted.length,
      pods: sum(interrupted, podsOf),
      reasons: grouped(interrupted).map(([reason, list]) => ({ reason, nodes: list.length })),
    },
    podsDisturbed: sum([...disrupted, ...deleted, ...interrupted], podsOf),
    now: { nodes, usdPerHour, idleUsdPerHour, surplusCreditsUsdPerHour },
    wasteful: wasteful(cost, verdicts),
  };
}

const sum = <T>(list: readonly T[], of: (each: T) => number): number =>
  list.reduce((total, each) => total + of(each), 0);

const podsOf = ({ pods }: Pick<Deleted, 'pods'>): number => pods;

/** Groups by reason, largest group first. */
const grouped = <T extends { readonly reason: string }>(
  list: readonly T[],
): readonly (readonly [string, readonly T[]])[] =>
  [...Map.groupBy(list, ({ reason }) => reason)].sort(
    ([a, left], [b, right]) => right.length - left.length || (a < b ? -1 : 1),
  );

function sumsOf(list: readonly Disrupted[]): MoveSums {
  const outcomes = list.flatMap(({ outcome }) => outcome ?? []);
  return {
    moves: list.length,
    nodes: sum(list, ({ nodes }) => nodes),
    pods: sum(list, podsOf),
    ended: outcomes.length,
    undone: outcomes.filter(({ undone }) => undone !== undefined).length,
    predictedUsdPerHour: sum(list, ({ predictedUsdPerHour }) => predictedUsdPerHour),
    predictedUsd: sum(outcomes, ({ predictedUsd }) => predictedUsd),
    realisedUsd: sum(outcomes, ({ realisedUsd }) => realisedUsd),
  };
}

const byMethod = (list: readonly Disrupted[]): SupportReport['moves']['byMethod'] =>
  [...Map.groupBy(list, ({ method }) => method)]
    .map(([method, own]) => ({ method, ...sumsOf(own) }))
    .sort((a, b) => b.moves - a.moves || (a.method < b.method ? -1 : 1));

function wasteful({ nodes }: CostReport, verdicts: readonly Verdict[]): readonly WastefulNode[] {
  const byNode = new Map(verdicts.map((verdict) => [verdict.node, verdict]));
  return nodes
    .filter(({ idleUsdPerHour }) => idleUsdPerHour > 0)
    .slice(0, MOST_WASTEFUL)
    .map((node) => {
      const verdict = byNode.get(node.node);
      if (verdict === undefined) return node;
      const { code, text, nearestMiss } = verdict;
      return { ...node, code, why: text, ...(nearestMiss === undefined ? {} : { nearestMiss }) };
    });
}
