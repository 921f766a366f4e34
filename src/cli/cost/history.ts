/** What was spent, hour by hour or day by day. */
import { timeOf, timestamp } from '../../lib/times.ts';
import type { HistoryView, HourView } from '../../process/history-view.ts';

export type Per = 'hour' | 'day';

/** USD over some time. */
interface Spent {
  readonly usd: number;
  readonly listUsd: number;
  readonly idleUsd: number;
  readonly daemonSetsUsd: number;
  /** Part for surplus CPU credits. Amounts of operators that did not record this part count as 0. */
  readonly surplusCreditsUsd: number;
}

interface Point extends Spent {
  /** RFC 3339. Its begin. */
  readonly at: string;
  /** Hours of it of which something is known: the others count nothing. */
  readonly hours: number;
}

/** Of public form. */
export interface CostHistory {
  readonly per: Per;
  /** RFC 3339. */
  readonly since: string;
  /** RFC 3339. */
  readonly until: string;
  /** Oldest first. Hours and days of which nothing is known are left out. */
  readonly points: readonly Point[];
  /** Dearest first; `__others__` are those that an hour did not keep apart. */
  readonly nodePools: readonly (Spent & { readonly nodePool: string })[];
  readonly total: Spent & { readonly hours: number };
}

export const STEPS_MS: Readonly<Record<Per, number>> = { hour: 3_600_000, day: 86_400_000 };

const NOTHING: Spent = { usd: 0, listUsd: 0, idleUsd: 0, daemonSetsUsd: 0, surplusCreditsUsd: 0 };
const SAMPLES_PER_HOUR = 60;

const plus = (a: Spent, b: Spent): Spent => ({
  usd: a.usd + b.usd,
  listUsd: a.listUsd + b.listUsd,
  idleUsd: a.idleUsd + b.idleUsd,
  daemonSetsUsd: a.daemonSetsUsd + b.daemonSetsUsd,
  surplusCreditsUsd: a.surplusCreditsUsd + b.surplusCreditsUsd,
});

/** To the millionth, which is what is kept. */
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

/** An hour that is over counts whole, although the operator may have seen a part of it only; the latest as far as it has come. */
const lengthOf = ({ samples }: HourView, isLatest: boolean): number =>
  isLatest ? Math.min(1, samples / SAMPLES_PER_HOUR) : 1;

/** What the NodePools cost in an hour, by name. */
const spentIn = ({ nodePools }: HourView, hours: number): readonly (readonly [string, Spent])[] =>
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

/** What was spent in the hours of a history. */
export function costHistory(
  { hours: views }: Pick<HistoryView, 'hours'>,
  { per, sinceMs, untilMs }: { readonly per: Per; readonly sinceMs: number; readonly untilMs: number },
): CostHistory {
  const points = new Map<number, Spent & { readonly hours: number }>();
  const pools = new Map<string, Spent>();
  const latest = views.at(-1);
  for (const view of views) {
    const hours = lengthOf(view, view === latest);
    const stepMs = Math.floor(timeOf(view.at) / STEPS_MS[per]) * STEPS_MS[per];
    const known = points.get(stepMs) ?? { ...NOTHING, hours: 0 };
    const spent = spentIn(view, hours);
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
