/** The `Balanced` policy: a move must bring a fair share of savings for its share of disturbance. */
import { INSTANCE_TYPE_LABEL, NODEPOOL_LABEL } from '../../../api/labels.ts';
import type { NodePool } from '../../../api/nodepool.ts';
import { remembering } from '../../../lib/remembering.ts';
import type { PoolInput, StateNode } from '../../model.ts';
import { extrasUsdPerHour } from '../../node-extras.ts';
import { isOwnedByDaemonSet, isTerminal } from '../../pods.ts';
import type { Candidate } from '../candidates/candidates.ts';
import { nodePrice, rescheduleCost } from '../candidates/disruption-cost.ts';
import { type Command, savingsOf } from '../command.ts';
import { PricedTypes } from '../price-table.ts';

/** How much disturbance a unit of savings may cost. */
const K = 2;
export const THRESHOLD = 1 / K;

export interface PoolTotals {
  readonly usdPerHour: number;
  readonly disruption: number;
}

/** What each pool with a candidate costs, and what taking all of it away would disturb. */
export function poolTotals(
  nodes: readonly StateNode[],
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
      return [name, { usdPerHour, disruption }] as const;
    }),
  );
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

const nodesByPool = remembering((nodes: readonly StateNode[]) =>
  Map.groupBy(nodes, ({ labels }) => labels[NODEPOOL_LABEL]),
);

const costOfOther = remembering(({ pods }: StateNode): number =>
  rescheduleCost(pods.filter((pod) => !isOwnedByDaemonSet(pod) && !isTerminal(pod))),
);

/** How a move looks from one NodePool. */
export interface Evaluation {
  readonly nodePool: NodePool;
  readonly policy: string;
  /** Missing for policies that are not scored: they approve every move. */
  readonly score?: number;
  readonly approved: boolean;
  /** For the event on approval. */
  readonly text: string;
  /** What the score is made of, under the names of its log line. */
  readonly figures?: Readonly<Record<string, unknown>>;
}

const policyOf = (pool: NodePool): string => pool.spec.disruption?.consolidationPolicy ?? 'WhenEmptyOrUnderutilized';

/** Each pool's view of a command; it may go ahead when all approve. */
export function evaluate(command: Command, totals: ReadonlyMap<string, PoolTotals>): readonly Evaluation[] {
  const { candidates } = command;
  const pools = new Map(candidates.map(({ nodePool }) => [nodePool.metadata.name, nodePool]));
  const prices = sum(candidates.map(({ usdPerHour }) => usdPerHour));
  return [...pools].map(([name, nodePool]) => {
    const policy = policyOf(nodePool);
    if (policy !== 'Balanced') return { nodePool, policy, approved: true, text: '' };
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

/** Whether taking the node away for nothing in return would pass: if not, no replacement can. */
export function couldPass(candidate: Candidate, totals: ReadonlyMap<string, PoolTotals>): boolean {
  const known = (totals.get(candidate.nodePool.metadata.name)?.usdPerHour ?? 0) > 0;
  return !known || isApproved(deletion(candidate, totals));
}

const deletion = (candidate: Candidate, totals: ReadonlyMap<string, PoolTotals>): readonly Evaluation[] =>
  evaluate({ reason: 'Underutilized', candidates: [candidate], replacements: [] }, totals);

/** The most that any command for the node can score; undefined where its NodePool does not score. */
export const deletionScore = (candidate: Candidate, totals: ReadonlyMap<string, PoolTotals>): number | undefined =>
  deletion(candidate, totals)[0]?.score;
