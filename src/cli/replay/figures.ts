/** Figures of a run, in the order of the summary and the page. */
import type { ReplayRun, WaitingSummary } from '#replay/run';
import { costDifference } from './compare.ts';
import { amount, dollars, percent, signedPercent, spanText } from './units.ts';

interface Figure {
  readonly label: string;
  /** Formats this figure of a run. `first` is the run that the figure is compared with. */
  readonly of: (run: ReplayRun, first: ReplayRun) => string;
}

interface FigureGroup {
  readonly title: string;
  readonly figures: readonly Figure[];
}

/** Text for a missing value. */
const NONE = '–';

const difference = (run: ReplayRun, first: ReplayRun): string => {
  if (run === first) return NONE;
  const fraction = costDifference(first, run);
  return fraction === undefined ? NONE : signedPercent(fraction);
};

/** Returns the number of pods that waiting times are about: bound pods, and pods that still wait. */
export const waitedPods = ({ pods, stillWaiting }: WaitingSummary): number => pods + stillWaiting;

/** Formats a waiting time. Pods that still wait count with their time until the end. */
const waited =
  (name: 'p50' | 'p95' | 'p99' | 'longest') =>
  ({ waiting }: ReplayRun): string =>
    waitedPods(waiting) === 0 ? NONE : spanText(waiting[name]);

export const FIGURES: readonly FigureGroup[] = [
  {
    title: 'Cost',
    figures: [
      { label: 'effective', of: ({ cost }) => dollars(cost.effectiveUsd) },
      { label: 'difference', of: difference },
      { label: 'instances', of: ({ cost }) => dollars(cost.instancesUsd) },
      { label: 'extras', of: ({ cost }) => dollars(cost.extrasUsd) },
      { label: 'surplus credits', of: ({ cost }) => dollars(cost.surplusCreditsUsd) },
    ],
  },
  {
    title: 'Pods waiting',
    figures: [
      { label: 'p50', of: waited('p50') },
      { label: 'p95', of: waited('p95') },
      { label: 'p99', of: waited('p99') },
      { label: 'maximum', of: waited('longest') },
      { label: 'pod-hours', of: ({ waiting }) => amount(waiting.podHours) },
      { label: 'pods bound', of: ({ waiting }) => amount(waiting.pods) },
      { label: 'still waiting', of: ({ waiting }) => amount(waiting.stillWaiting) },
      { label: 'evictions', of: ({ evictions }) => amount(evictions) },
    ],
  },
  {
    title: 'Redone work',
    figures: [
      { label: 'pods', of: ({ redone }) => amount(redone.pods) },
      { label: 'pod-hours', of: ({ redone }) => amount(redone.podHours) },
      { label: 'cost', of: ({ redone }) => dollars(redone.usd) },
    ],
  },
  {
    title: 'Failed Jobs',
    figures: [
      { label: 'jobs', of: ({ failedJobs }) => amount(failedJobs.jobs) },
      { label: 'unfinished pods', of: ({ failedJobs }) => amount(failedJobs.pods) },
    ],
  },
  {
    title: 'Nodes',
    figures: [
      { label: 'launched', of: ({ nodes }) => amount(nodes.bought) },
      { label: 'removed', of: ({ nodes }) => amount(nodes.givenBack) },
      { label: 'maximum', of: ({ nodes }) => amount(nodes.most) },
      { label: 'average', of: ({ nodes }) => nodes.average.toFixed(1) },
      { label: 'idle CPU', of: ({ idle }) => percent(idle.cpu) },
      { label: 'idle memory', of: ({ idle }) => percent(idle.memory) },
    ],
  },
  {
    title: 'Interruptions',
    figures: [
      { label: 'interruptions', of: ({ interruptions }) => amount(interruptions.count) },
      { label: 'drained in time', of: ({ interruptions }) => amount(interruptions.survived) },
      { label: 'capacity errors', of: ({ interruptions }) => amount(interruptions.capacityErrors) },
    ],
  },
];
