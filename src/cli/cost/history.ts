/** Computes the costs of past hours or days. */
import { timeOf, timestamp } from '#lib';
import { hoursIn } from '#observe/history';
import type { HistoryView, HourView } from '#process/server';

export type Per = 'hour' | 'day';

/** Amounts in USD for a period. */
interface Spent {
  readonly usd: number;
  readonly listUsd: number;
  readonly idleUsd: number;
  readonly daemonSetsUsd: number;
  /**
   * Planning figure that the amounts exclude: expected surplus CPU credits. It is 0 for hours of operators that did not record
   * it.
   */
  readonly surplusCreditsUsd: number;
}

interface Point extends Spent {
  /** Start of this period, RFC 3339. */
  readonly at: string;
  /** Number of observed hours. Other time does not contribute to the amounts. */
  readonly hours: number;
}

/** Cost history in a public format. */
export interface CostHistory {
  readonly per: Per;
  /** Time in RFC 3339 format. */
  readonly since: string;
  /** Time in RFC 3339 format. */
  readonly until: string;
  /** Periods, oldest first. Periods without data are omitted. */
  readonly points: readonly Point[];
  /** Costs by NodePool, highest first. `__others__` contains NodePools that an hour did not record separately. */
  readonly nodePools: readonly (Spent & { readonly nodePool: string })[];
  readonly total: Spent & { readonly hours: number };
}

export const STEPS_MS: Readonly<Record<Per, number>> = { hour: 3_600_000, day: 86_400_000 };

const NOTHING: Spent = { usd: 0, listUsd: 0, idleUsd: 0, daemonSetsUsd: 0, surplusCreditsUsd: 0 };

const plus = (a: Spent, b: Spent): Spent => ({
  usd: a.usd + b.usd,
  listUsd: a.listUsd + b.listUsd,
  idleUsd: a.idleUsd + b.idleUsd,
  daemonSetsUsd: a.daemonSetsUsd + b.daemonSetsUsd,
  surplusCreditsUsd: a.surplusCreditsUsd + b.surplusCreditsUsd,
});

/** Rounds amounts to a millionth of a dollar. This is the stored precision. */
const rounded = <T extends Spent>(spent: T): T => {
  const micro = (amount: number): number => Number(amount.toFixed(6));
  const { usd, listUsd, idleUsd, daemonSetsUsd, surplusCreditsUsd } = spent;
  return {
    ...spent,
    usd: micro(usd),
    listUsd: micro(listUsd),
    idleUsd: micro(idleUsd),
    daemonSetsUsd: micro(daemonSetsUsd),
    surplusCreditsUsd: micro(surplusCreditsUsd),
  };
};

/** Returns the costs of the NodePools in an hour, by name. */
const spendingIn = ({ nodePools }: HourView, hours: number): readonly (readonly [string, Spent])[] =>
  Object.entries(nodePools).map(([name, { effective, list, idle, daemonSets, surplusCredits = 0 }]) => [
    name,
    {
      usd: effective * hours,
      listUsd: list * hours,
      idleUsd: idle * hours,
      daemonSetsUsd: daemonSets * hours,
      surplusCreditsUsd: surplusCredits * hours,
    },
  ]);

/** Adds up the costs of the hours in a history. */
export function costHistory(
  { hours: views }: Pick<HistoryView, 'hours'>,
  { per, sinceMs, untilMs }: { readonly per: Per; readonly sinceMs: number; readonly untilMs: number },
): CostHistory {
  const points = new Map<number, Spent & { readonly hours: number }>();
  const pools = new Map<string, Spent>();
  for (const view of views) {
    const hours = hoursIn(view.samples);
    const stepMs = Math.floor(timeOf(view.at) / STEPS_MS[per]) * STEPS_MS[per];
    const known = points.get(stepMs) ?? { ...NOTHING, hours: 0 };
    const spent = spendingIn(view, hours);
    points.set(stepMs, {
      ...spent.reduce<Spent>((sum, [, each]) => plus(sum, each), known),
      hours: known.hours + hours,
    });
    for (const [name, each] of spent) pools.set(name, plus(pools.get(name) ?? NOTHING, each));
  }
  const all = [...points].sort(([a], [b]) => a - b);
  const total = all.reduce<Spent>((sum, [, each]) => plus(sum, each), NOTHING);
  const hours = all.reduce((sum, [, each]) => sum + each.hours, 0);
  return {
    per,
    since: timestamp(sinceMs),
    until: timestamp(untilMs),
    points: all.map(([atMs, point]) => ({ at: timestamp(atMs), ...rounded(point), hours: tenth(point.hours) })),
    nodePools: [...pools]
      .map(([nodePool, spent]) => ({ nodePool, ...rounded(spent) }))
      .sort((a, b) => b.usd - a.usd || (a.nodePool < b.nodePool ? -1 : 1)),
    total: { ...rounded(total), hours: tenth(hours) },
  };
}

const tenth = (hours: number): number => Number(hours.toFixed(1));
