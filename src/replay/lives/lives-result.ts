/** Result of several lives. Plain data that JSON can represent. */

/** Figures that lives are compared by. */
export interface LifeAmounts {
  /** Full cost, as in `CostSummary.effectiveUsd`. */
  readonly usd: number;
  readonly evictions: number;
  readonly nodesBought: number;
  /** Average number of nodes. */
  readonly nodesAverage: number;
  /** Waiting times of pods in seconds. */
  readonly waitingP50: number;
  readonly waitingP95: number;
  /** Sum of the waiting times in hours. */
  readonly waitingPodHours: number;
  readonly redonePodHours: number;
  readonly redoneUsd: number;
  /** Pods of failed Jobs that never succeeded. */
  readonly unfinishedPods: number;
}

export type LifeAmount = keyof LifeAmounts;

/** Figures of one life with one set of settings. */
export interface LifeFigures extends LifeAmounts {
  /** Number of this life, from 1. */
  readonly life: number;
}

/** Comparison of a figure with the first set, over the lives that both sets finished. */
export interface PairedDifference {
  /** Mean of the differences between the two sets in the same life. */
  readonly mean: number;
  /** 95 % confidence interval of the mean. Missing if fewer than two lives can be compared. */
  readonly interval?: { readonly low: number; readonly high: number };
  /** False if the interval contains zero or is missing: the lives show no difference. */
  readonly isShown: boolean;
}

export interface LivesOfSet {
  readonly name: string;
  /** Lives that were played to the end, in ascending order. */
  readonly lives: readonly LifeFigures[];
  /** Means over these lives. Missing if there are none. */
  readonly mean?: LifeAmounts;
  /** Missing for the first set. */
  readonly difference?: DifferenceOfSet;
}

export interface DifferenceOfSet {
  /** Number of lives that both sets finished. */
  readonly pairs: number;
  /** Means of the first set over these lives. */
  readonly first: LifeAmounts;
  readonly of: Readonly<Record<LifeAmount, PairedDifference>>;
}

export interface LivesSummary {
  /** Number of lives that each set was to play. */
  readonly count: number;
  /** In the order of the sets. */
  readonly sets: readonly LivesOfSet[];
  /** Lives that failed twice. Their figures are not part of the result. */
  readonly failures: readonly LifeFailure[];
  /** Lives that failed and were played again. The figures are from the second time. */
  readonly repeated: readonly LifeFailure[];
}

/** Life that ended with an error. */
export interface LifeFailure {
  readonly set: string;
  readonly life: number;
  readonly message: string;
}
