/**
 * Implements the `Balanced` policy of Karpenter: the savings of a move, as a share of the NodePool's cost, must justify the share
 * of disruption. If moves have a price, the policy needs a higher benefit instead (`move-price.ts`), and no move is scored.
 */
import { INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, type NodePool } from '#api/objects';
import { remembering } from '#lib';
import type { EngineNode, PoolInput } from '../../model.ts';
import { extrasUsdPerHour } from '../../node-extras.ts';
import { isOwnedByDaemonSet, isTerminal } from '../../pods.ts';
import { type ZoneCounts, zoneCounts } from '../../zone-balance.ts';
import { nodePrice, rescheduleCost } from '../candidates/disruption-cost.ts';
import { type Candidate, type Command, savingsOf } from '../command.ts';
import { PricedTypes } from '../price-table.ts';

/** Factor between shares: a command may cause at most K times as large a share of disruption as of savings. */
export const K = 2;
export const THRESHOLD = 1 / K;

export interface PoolTotals {
  readonly usdPerHour: number;
  readonly disruption: number;
  /** Number of its nodes by zone. */
  readonly zones: ZoneCounts;
}

/** Returns the cost of each NodePool with a candidate, and the disruption cost of removing all its nodes. */
export function poolTotals(
  nodes: readonly EngineNode[],
  candidates: readonly Candidate[],
  pools: ReadonlyMap<string, PoolInput>,
): ReadonlyMap<string, PoolTotals> {
  const known = new Map(candidates.map((candidate) => [candidate.providerId, candidate]));
  const names = new Set(candidates.map(({ nodePool }) => nodePool.metadata.name));
  const byPool = nodesByPool(nodes);
  return new Map(
    [...names].map((name) => {
      const { instanceTypes = [], extras } = pools.get(name) ?? {};
      const types = PricedTypes.of(instanceTypes);
      const extrasUsd = extrasUsdPerHour(extras);
      const own = byPool.get(name) ?? [];
      const claimed = own.filter(({ nodeClaim }) => nodeClaim !== undefined);
      const usdPerHour = sum(
        claimed.map((node) => nodePrice(node, types.type(node.labels[INSTANCE_TYPE_LABEL] ?? ''), extrasUsd)),
      );
      const disruption = sum(own.map((node) => known.get(node.providerId)?.rescheduleCost ?? costOfOther(node)));
      return [name, { usdPerHour, disruption, zones: zoneCounts(own) }] as const;
    }),
  );
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

const nodesByPool = remembering((nodes: readonly EngineNode[]) =>
  Map.groupBy(nodes, ({ labels }) => labels[NODEPOOL_LABEL]),
);

const costOfOther = remembering(({ pods }: EngineNode): number =>
  rescheduleCost(pods.filter((pod) => !isOwnedByDaemonSet(pod) && !isTerminal(pod))),
);

/** Evaluation of a move by one NodePool. */
export interface Evaluation {
  readonly nodePool: NodePool;
  readonly policy: string;
  /** Absent for policies without a score. Such policies approve every move. */
  readonly score?: number;
  readonly approved: boolean;
  /** Text for the approval event. */
  readonly text: string;
  /** Components of this score, with the field names of the log line. */
  readonly figures?: Readonly<Record<string, unknown>>;
}

/** Data that decides about moves. */
interface Scales {
  /** Totals of the NodePools that have candidates, by name. */
  readonly totals: ReadonlyMap<string, PoolTotals>;
  /** Undefined if moves have no price. */
  readonly forecasts?: unknown;
}

export const isBalanced = (pool: NodePool): boolean => policyOf(pool) === 'Balanced';

const policyOf = (pool: NodePool): string => pool.spec.disruption?.consolidationPolicy ?? 'WhenEmptyOrUnderutilized';

/** Returns the evaluation of a command by each NodePool. The command may proceed if all NodePools approve. */
export function evaluate(command: Command, { totals, forecasts }: Scales): readonly Evaluation[] {
  const { candidates } = command;
  const pools = new Map(candidates.map(({ nodePool }) => [nodePool.metadata.name, nodePool]));
  const prices = sum(candidates.map(({ usdPerHour }) => usdPerHour));
  return [...pools].map(([name, nodePool]) => {
    const policy = policyOf(nodePool);
    if (!isBalanced(nodePool) || forecasts !== undefined) return { nodePool, policy, approved: true, text: '' };
    const own = candidates.filter((candidate) => candidate.nodePool.metadata.name === name);
    const share = pools.size > 1 && prices > 0 ? sum(own.map(({ usdPerHour }) => usdPerHour)) / prices : 1;
    const disruption = sum(own.map((candidate) => candidate.rescheduleCost));
    const { figures, ...verdict } = scored(savingsOf(command) * share, disruption, totals.get(name));
    return { nodePool, policy, ...verdict, figures: { ...figures, candidates: candidates.map((each) => each.name) } };
  });
}

function scored(
  savings: number,
  disruption: number,
  totals: PoolTotals | undefined,
): Pick<Evaluation, 'approved' | 'text' | 'figures'> & { readonly score: number } {
  const known = totals !== undefined && totals.usdPerHour > 0 && totals.disruption > 0;
  const savingsShare = known ? savings / totals.usdPerHour : 0;
  const disruptionShare = known ? disruption / totals.disruption : 0;
  const score =
    savingsShare <= 0 ? 0 : disruptionShare === 0 ? Number.POSITIVE_INFINITY : savingsShare / disruptionShare;
  const percent = (part: number): string => `${(100 * part).toFixed(1)}%`;
  return {
    score,
    approved: score >= THRESHOLD,
    text:
      `score ${score.toFixed(2)} >= threshold ${THRESHOLD.toFixed(2)} ` +
      `(k: ${K}, savings ${percent(savingsShare)}, disruption ${percent(disruptionShare)})`,
    figures: {
      savings_fraction: savingsShare,
      disruption_fraction: disruptionShare,
      savings,
      disruption_cost: disruption,
      nodepool_total_cost: totals?.usdPerHour ?? 0,
      nodepool_total_disruption_cost: totals?.disruption ?? 0,
      threshold: THRESHOLD,
      k: K,
    },
  };
}

export const isApproved = (evaluations: readonly Evaluation[]): boolean =>
  evaluations.length > 0 && evaluations.every(({ approved }) => approved);

/** Returns true if the removal of the node without a replacement would be approved. If not, no replacement can be approved. */
export function couldPass(candidate: Candidate, scales: Scales): boolean {
  const known = (scales.totals.get(candidate.nodePool.metadata.name)?.usdPerHour ?? 0) > 0;
  return !known || isApproved(deletion(candidate, scales));
}

const deletion = (candidate: Candidate, scales: Scales): readonly Evaluation[] =>
  evaluate({ reason: 'Underutilized', candidates: [candidate], replacements: [] }, scales);

/** Returns the maximum score of any command for the node, or undefined if its NodePool does not score. */
export const deletionScore = (candidate: Candidate, scales: Scales): number | undefined =>
  deletion(candidate, scales)[0]?.score;
