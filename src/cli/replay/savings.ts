/** Savings of the operator's decisions against Karpenter's rules: the same recorded workload is replayed with both. */
import type { LifeAmounts, LivesSummary } from '#replay/run';
import { InputError } from '../objects/errors.ts';
import type { RecordedSavings, ReplayedSide } from '../render/savings.ts';
import { type PlayOptions, preparePlay, type ReplayParts } from './play.ts';
import { playWithProgress } from './watched-play.ts';

/** Settings with which the operator decides as Karpenter does. */
export const KARPENTERS_WAY: readonly string[] = [
  '--packing=compatible',
  '--consolidation=compatible',
  '--node-hourly-fee=0',
  '--spot-risk=0',
];

const KARPENTER = 'karpenter';
const OPERATOR = 'operator';
const MONTH_SECONDS = 30 * 86_400;

const sideOf = ({ usd, evictions, waitingPodHours }: LifeAmounts): ReplayedSide => ({
  usd,
  evictions,
  waitingPodHours,
});

/** @throws InputError if the record cannot be read or its replay is stopped before its end */
export async function recordedSavings(
  { record, lives, priceBook }: { readonly record: string; readonly lives: number } & Pick<PlayOptions, 'priceBook'>,
  parts: ReplayParts,
): Promise<RecordedSavings> {
  const compare = [`${KARPENTER}=${KARPENTERS_WAY.join(' ')}`, `${OPERATOR}=`];
  const prepared = await preparePlay(
    { filename: [], trace: record, compare, lives, ...(priceBook !== undefined && { priceBook }) },
    parts,
  );
  const { result } = await playWithProgress(prepared);
  if (result.lives === undefined) throw new InputError(record, 'was not replayed to its end');
  return savingsOf(record, prepared.seconds, result.lives);
}

function savingsOf(
  record: string,
  seconds: number,
  { sets: [karpenter, operator], count }: LivesSummary,
): RecordedSavings {
  const { difference } = operator ?? {};
  if (karpenter?.mean === undefined || operator?.mean === undefined || difference === undefined)
    throw new InputError(record, 'was not replayed to its end with both settings');
  const months = MONTH_SECONDS / seconds;
  const { mean, interval } = difference.of.usd;
  return {
    record,
    days: seconds / 86_400,
    lives: count,
    karpenter: sideOf(karpenter.mean),
    operator: sideOf(operator.mean),
    usdPer30Days: -mean * months,
    ...(interval && { interval: { low: -interval.high * months, high: -interval.low * months } }),
  };
}
