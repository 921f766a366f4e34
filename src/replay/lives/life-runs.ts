/** Collects the runs of a replay while they end. */
import { messageOf } from '#lib';
import type { SettingsSet } from '../options.ts';
import type { ReplayResult, ReplayRun } from '../result.ts';
import type {
  DifferenceOfSet,
  LifeAmount,
  LifeAmounts,
  LifeFailure,
  LifeFigures,
  LivesOfSet,
  PairedDifference,
} from './lives-result.ts';

interface Collected {
  /** The first life in full. Other lives are kept only as figures, because series and logs are large. */
  run: ReplayRun | undefined;
  readonly lives: LifeFigures[];
  failures: number;
}

export class LifeRuns {
  readonly #lives: number;
  readonly #sets: ReadonlyMap<string, Collected>;
  readonly #failures: LifeFailure[] = [];
  readonly #repeated: LifeFailure[] = [];

  constructor(sets: readonly SettingsSet[], lives: number) {
    this.#lives = lives;
    this.#sets = new Map(sets.map(({ name }) => [name, { run: undefined, lives: [], failures: 0 }]));
  }

  add(run: ReplayRun): void {
    const set = this.#sets.get(run.name);
    if (set === undefined) return;
    if (isPreferred(run, set.run)) set.run = run;
    if (run.life !== undefined && run.isComplete) set.lives.push(lifeFigures(run, run.life));
  }

  /** Records a failure. Returns false if no life of the set is left, so that the whole replay fails. */
  failed({ name }: SettingsSet, life: number | undefined, error: unknown): boolean {
    const set = this.#sets.get(name);
    if (set === undefined || life === undefined) return false;
    set.failures += 1;
    this.#failures.push({ set: name, life, message: messageOf(error) });
    return set.failures < this.#lives;
  }

  /** Records the failure of a life that was then played to its end. */
  repeated({ name }: SettingsSet, life: number, error: unknown): void {
    this.#repeated.push({ set: name, life, message: messageOf(error) });
  }

  result(): Pick<ReplayResult, 'runs' | 'lives'> {
    const collected = [...this.#sets].map(([name, { run, lives }]) => ({ name, run, lives }));
    const runs = collected.flatMap(({ run }) => run ?? []);
    if (this.#lives === 1) return { runs };
    const sets = collected.map(({ name, lives }) => ({ name, lives: lives.toSorted((a, b) => a.life - b.life) }));
    const failures = this.#failures.toSorted((a, b) => a.life - b.life);
    const repeated = this.#repeated.toSorted((a, b) => a.life - b.life);
    return { runs, lives: { count: this.#lives, sets: compareLives(sets), failures, repeated } };
  }
}

/** Prefers runs that were played to the end, and among them the earliest life. */
function isPreferred(run: ReplayRun, before: ReplayRun | undefined): boolean {
  if (before === undefined) return true;
  if (run.isComplete !== before.isComplete) return run.isComplete;
  return (run.life ?? 0) < (before.life ?? 0);
}

/** Student's t distribution, for confidence intervals of means of few values. */

/**
 * Returns the probability that a value of the t distribution is between −t and t. This is the finite series of
 * Abramowitz and Stegun, Handbook of Mathematical Functions, formulas 26.7.3 and 26.7.4. This series is exact for whole
 * degrees of freedom.
 */
function probabilityWithin(t: number, degrees: number): number {
  const angle = Math.atan(t / Math.sqrt(degrees));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = degrees % 2 === 1;
  if (degrees === 1) return (2 * angle) / Math.PI;
  let term = isOdd ? cosine : 1;
  let sum = term;
  for (let power = isOdd ? 3 : 2; power <= degrees - 2; power += 2) {
    term *= ((power - 1) / power) * cosine * cosine;
    sum += term;
  }
  return isOdd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
}

/** Upper bound of the quantile: for one degree of freedom, 0.999 of all values are below 637. */
const MOST = 1_000;

/** Returns the number of standard errors on each side of the mean in a confidence interval. */
export function studentT(confidence: number, degrees: number): number {
  let [low, high] = [0, MOST];
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (probabilityWithin(middle, degrees) < confidence) low = middle;
    else high = middle;
  }
  return high;
}

const CONFIDENCE = 0.95;

const AMOUNTS: Readonly<Record<LifeAmount, (run: ReplayRun) => number>> = {
  usd: ({ cost }) => cost.effectiveUsd,
  evictions: ({ evictions }) => evictions,
  nodesBought: ({ nodes }) => nodes.bought,
  nodesAverage: ({ nodes }) => nodes.average,
  waitingP50: ({ waiting }) => waiting.p50,
  waitingP95: ({ waiting }) => waiting.p95,
  waitingPodHours: ({ waiting }) => waiting.podHours,
  redonePodHours: ({ redone }) => redone.podHours,
  redoneUsd: ({ redone }) => redone.usd,
  unfinishedPods: ({ failedJobs }) => failedJobs.pods,
};

export const LIFE_AMOUNTS = Object.keys(AMOUNTS) as readonly LifeAmount[];

function amountsBy<T>(of: (amount: LifeAmount) => T): Readonly<Record<LifeAmount, T>> {
  return Object.fromEntries(LIFE_AMOUNTS.map((amount) => [amount, of(amount)])) as Record<LifeAmount, T>;
}

export const lifeFigures = (run: ReplayRun, life: number): LifeFigures => ({
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
