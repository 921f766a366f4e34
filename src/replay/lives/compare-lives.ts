/** Means of several lives, and differences between sets of settings in the same lives. */
import type { ReplayRun } from '../result.ts';
import type {
  DifferenceOfSet,
  LifeAmount,
  LifeAmounts,
  LifeFigures,
  LivesOfSet,
  PairedDifference,
} from './lives-result.ts';
import { studentT } from './student-t.ts';

const CONFIDENCE = 0.95;

const AMOUNTS: Readonly<Record<LifeAmount, (run: ReplayRun) => number>> = {
  usd: ({ cost }) => cost.effectiveUsd,
  evictions: ({ evictions }) => evictions,
  nodesBought: ({ nodes }) => nodes.bought,
  waitingP50: ({ waiting }) => waiting.p50,
  waitingP95: ({ waiting }) => waiting.p95,
  redonePodHours: ({ redone }) => redone.podHours,
  redoneUsd: ({ redone }) => redone.usd,
};

export const LIFE_AMOUNTS = Object.keys(AMOUNTS) as readonly LifeAmount[];

function amountsBy<T>(of: (amount: LifeAmount) => T): Readonly<Record<LifeAmount, T>> {
  return Object.fromEntries(LIFE_AMOUNTS.map((amount) => [amount, of(amount)])) as Record<LifeAmount, T>;
}

export const figuresOf = (run: ReplayRun, life: number): LifeFigures => ({
  life,
  ...amountsBy((amount) => AMOUNTS[amount](run)),
});

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const meansOf = (lives: readonly LifeFigures[]): LifeAmounts =>
  amountsBy((amount) => mean(lives.map((each) => each[amount])));

/** Compares each set with the first. Only lives that both sets finished are compared. */
export function compareLives(
  sets: readonly { readonly name: string; readonly lives: readonly LifeFigures[] }[],
): readonly LivesOfSet[] {
  const [first] = sets;
  return sets.map((set): LivesOfSet => {
    const difference = set === first ? undefined : differenceOf(set.lives, first?.lives ?? []);
    return {
      ...set,
      ...(set.lives.length > 0 && { mean: meansOf(set.lives) }),
      ...(difference !== undefined && { difference }),
    };
  });
}

function differenceOf(own: readonly LifeFigures[], first: readonly LifeFigures[]): DifferenceOfSet | undefined {
  const pairs = own.flatMap((each) => {
    const other = first.find(({ life }) => life === each.life);
    return other === undefined ? [] : [{ own: each, first: other }];
  });
  if (pairs.length === 0) return undefined;
  return {
    pairs: pairs.length,
    first: meansOf(pairs.map((pair) => pair.first)),
    of: amountsBy((amount) => comparePairs(pairs.map((pair) => pair.own[amount] - pair.first[amount]))),
  };
}

/** Returns the mean of paired differences with its confidence interval. */
export function comparePairs(differences: readonly number[]): PairedDifference {
  const middle = mean(differences);
  const degrees = differences.length - 1;
  if (degrees < 1) return { mean: middle, isShown: false };
  const squares = differences.reduce((sum, value) => sum + (value - middle) ** 2, 0);
  const margin = studentT(CONFIDENCE, degrees) * Math.sqrt(squares / degrees / differences.length);
  const interval = { low: middle - margin, high: middle + margin };
  return { mean: middle, interval, isShown: interval.low > 0 || interval.high < 0 };
}
