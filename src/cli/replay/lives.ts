/** Formats the comparison of several lives for the summary and the page. */
import type { LifeAmount, LifeAmounts, LivesOfSet, LivesSummary, PairedDifference } from '#replay/run';
import { amount, dollars, signedPercent, spanText } from './units.ts';

interface LifeFigure {
  readonly label: string;
  readonly amount: LifeAmount;
  readonly text: (value: number) => string;
  /** True if differences are relative to the first set. */
  readonly isRelative: boolean;
  /** True if the sentences above the figures mention this figure. */
  readonly isTold: boolean;
}

const FIGURES: readonly LifeFigure[] = [
  { label: 'cost', amount: 'usd', text: dollars, isRelative: true, isTold: true },
  { label: 'evictions', amount: 'evictions', text: amount, isRelative: true, isTold: true },
  { label: 'launches', amount: 'nodesBought', text: amount, isRelative: true, isTold: true },
  { label: 'nodes', amount: 'nodesAverage', text: amount, isRelative: true, isTold: false },
  { label: 'p50 waiting', amount: 'waitingP50', text: spanText, isRelative: false, isTold: false },
  { label: 'p95 waiting', amount: 'waitingP95', text: spanText, isRelative: false, isTold: true },
  { label: 'hours waiting', amount: 'waitingPodHours', text: amount, isRelative: true, isTold: true },
  { label: 'redone hours', amount: 'redonePodHours', text: amount, isRelative: true, isTold: false },
  { label: 'redone cost', amount: 'redoneUsd', text: dollars, isRelative: true, isTold: false },
  { label: 'unfinished', amount: 'unfinishedPods', text: amount, isRelative: false, isTold: false },
];

const NONE = '–';
const NOT_SHOWN = 'no difference shown';

interface LifeRow {
  readonly label: string;
  /** Mean of each set. */
  readonly means: readonly string[];
  /** Difference of each set after the first. */
  readonly differences: readonly string[];
}

export const lifeRows = ({ sets }: LivesSummary): readonly LifeRow[] =>
  FIGURES.map((figure) => ({
    label: figure.label,
    means: sets.map(({ mean }) => (mean === undefined ? NONE : figure.text(mean[figure.amount]))),
    differences: sets.slice(1).map((set) => differenceText(figure, set)),
  }));

function differenceText(figure: LifeFigure, { difference }: LivesOfSet): string {
  if (difference === undefined) return NONE;
  const paired = difference.of[figure.amount];
  const { low = Number.NaN, high } = paired.interval ?? {};
  if (low === 0 && high === 0) return `${NOT_SHOWN}: equal in all lives`;
  const text = changeText(figure, paired, difference.first);
  return paired.isShown ? text : `${NOT_SHOWN}: ${text}`;
}

/** Formats a mean difference with its interval: `−3.3 % (−5.4 % to −1.2 %)`. */
function changeText(figure: LifeFigure, { mean, interval }: PairedDifference, first: LifeAmounts): string {
  const text = (value: number): string => signedText(figure, value, first[figure.amount]);
  return interval === undefined ? text(mean) : `${text(mean)} (${text(interval.low)} to ${text(interval.high)})`;
}

function signedText({ isRelative, text }: LifeFigure, value: number, first: number): string {
  if (isRelative && first > 0) return signedPercent(value / first);
  return value === 0 ? `±${text(0)}` : `${value < 0 ? '−' : '+'}${text(Math.abs(value))}`;
}

/** Returns the relative difference of the mean cost, and whether the lives show it. */
export function livesCost({
  difference,
}: LivesOfSet): { readonly fraction: number; readonly isShown: boolean } | undefined {
  if (difference === undefined || difference.first.usd === 0) return undefined;
  const { mean, isShown } = difference.of.usd;
  return { fraction: mean / difference.first.usd, isShown };
}

/** Returns sentences that compare each set with the first. */
export const livesSentences = ({ sets: [first, ...others] }: LivesSummary): readonly string[] =>
  first === undefined ? [] : others.map((other) => comparison(first.name, other));

function comparison(first: string, { name, difference }: LivesOfSet): string {
  if (difference === undefined) return `${name} and ${first} cannot be compared: they finished no life in common.`;
  const told = FIGURES.filter(({ isTold }) => isTold);
  const lives = difference.pairs === 1 ? 'In one life' : `Over ${difference.pairs} lives`;
  const shown = told.filter((figure) => difference.of[figure.amount].isShown);
  const hidden = told.filter((figure) => !shown.includes(figure)).map(({ label }) => label);
  const changes = shown.map(
    (figure) => `${figure.label} ${changeText(figure, difference.of[figure.amount], difference.first)}`,
  );
  if (changes.length === 0) return `${lives}, ${NOT_SHOWN} between ${name} and ${first} in ${listText(hidden)}.`;
  const rest = hidden.length === 0 ? '' : ` ${capital(NOT_SHOWN)} in ${listText(hidden)}.`;
  return `${lives}, ${name} compared with ${first}, with 95 % confidence intervals: ${changes.join('; ')}.${rest}`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const listText = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

/** Returns sentences about lives that failed, were played again, or were stopped. */
export function missingLives({ count, sets, failures, repeated }: LivesSummary): readonly string[] {
  const stopped = sets.flatMap(({ name, lives }) => {
    const failed = failures.filter(({ set }) => set === name).length;
    const isWhole = lives.length + failed === count;
    return isWhole ? [] : [`${name} is unfinished: ${lives.length} of ${count} lives were played to the end.`];
  });
  return [
    ...stopped,
    ...failures.map(({ set, life, message }) => `Life ${life} of ${set} failed twice: ${message}`),
    ...repeated.map(
      ({ set, life, message }) => `Life ${life} of ${set} was played again, because it failed: ${message}`,
    ),
  ];
}
