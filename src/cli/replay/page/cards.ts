/** Large figures of each run at the top of a replay's page. */
import type { ReplayResult, ReplayRun } from '../../../replay/result.ts';
import { costDifference } from '../compare.ts';
import { waitedPods } from '../figures.ts';
import { livesCost } from '../lives.ts';
import { amount, signedPercent, spanText } from '../units.ts';

/** Relative difference below which two costs are shown as equal. */
const SAME_SHARE = 0.0005;
const NONE = '–';

export interface CardFigures {
  readonly usd: number;
  readonly difference?: { readonly text: string; readonly tone: 'same' | 'less' | 'more' };
  readonly facts: readonly (readonly [name: string, value: string])[];
}

/** Returns the means of all lives if several lives were played, and otherwise the figures of the run. */
export function cardFigures({ lives }: ReplayResult, run: ReplayRun, first: ReplayRun): CardFigures {
  const set = lives?.sets.find(({ name }) => name === run.name);
  if (set?.mean !== undefined) {
    const cost = livesCost(set);
    return {
      usd: set.mean.usd,
      ...(cost && { difference: cost.isShown ? toneOf(cost.fraction) : { text: 'no difference shown', tone: 'same' } }),
      facts: [
        ['p95 wait', spanText(set.mean.waitingP95)],
        ['Evictions', amount(set.mean.evictions)],
        ['Nodes launched', amount(set.mean.nodesBought)],
      ],
    };
  }
  const difference = run === first ? undefined : costDifference(first, run);
  return {
    usd: run.cost.effectiveUsd,
    ...(difference !== undefined && { difference: toneOf(difference) }),
    facts: [
      ['p95 wait', waitedPods(run.waiting) === 0 ? NONE : spanText(run.waiting.p95)],
      ['Evictions', amount(run.evictions)],
      ['Nodes, average', run.nodes.average.toFixed(1)],
    ],
  };
}

function toneOf(fraction: number): CardFigures['difference'] & object {
  const tone = Math.abs(fraction) < SAME_SHARE ? 'same' : fraction < 0 ? 'less' : 'more';
  return { text: signedPercent(fraction), tone };
}
