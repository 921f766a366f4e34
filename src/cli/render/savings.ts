/** Savings against Karpenter's rules, and their section of a report. */
import { humanDuration } from '#lib';
import { usd } from './cost.ts';
import type { Section } from './sections.ts';
import { counted } from './table.ts';

export interface ReplayedSide {
  /** Mean cost of the record in USD. */
  readonly usd: number;
  readonly evictions: number;
  readonly waitingPodHours: number;
}

/** Savings in a public format. */
export interface RecordedSavings {
  /** File of the record. */
  readonly record: string;
  readonly days: number;
  readonly lives: number;
  readonly karpenter: ReplayedSide;
  readonly operator: ReplayedSide;
  /** Savings for 30 days like those of the record. Negative if the operator costs more. */
  readonly usdPer30Days: number;
  /** 95 % confidence interval of these savings. Missing for one life. */
  readonly interval?: { readonly low: number; readonly high: number };
}

/** Returns the section about savings, if there is a record. */
export function savingsSections(savings: RecordedSavings | undefined): readonly Section[] {
  if (savings === undefined) return [];
  const { usdPer30Days, interval, lives, days, record, karpenter, operator } = savings;
  const [amount, word] = usdPer30Days < 0 ? [-usdPer30Days, 'more'] : [usdPer30Days, 'less'];
  const bounds = interval && `; 95 % confidence interval of the savings: ${usd(interval.low)} to ${usd(interval.high)}`;
  const row = (name: string, { usd: cost, evictions, waitingPodHours }: ReplayedSide): readonly string[] => [
    name,
    usd(cost),
    evictions.toFixed(1),
    waitingPodHours.toFixed(2),
  ];
  return [
    {
      title: "Savings against Karpenter's rules",
      lines: [
        `30 days like the ${humanDuration(days * 86_400_000)} of ${record} cost ${usd(amount)} ${word} (${counted(lives, 'replay')}${bounds ?? ''})`,
      ],
      headings: ['DECISIONS', 'COST', 'EVICTIONS', 'POD-HOURS WAITING'],
      rows: [row("Karpenter's rules", karpenter), row("operator's defaults", operator)],
    },
  ];
}
