/** Comparison of the benefit of a move with its price, for decisions and outputs. */

/** Parts of the price of a move, in USD. */
export interface PriceParts {
  /** Price of the evictions of pods that lose no work, and the additions of `EVICTION_PRICE`. */
  readonly evictionsUsd: number;
  /** Work of Jobs that is done again. */
  readonly lostWorkUsd: number;
  /** Work of all running pods of Jobs that the evictions end. */
  readonly endedJobsUsd: number;
  /** Price of the start of pods and replacements. */
  readonly startUsd: number;
  /** Price of other nodes with Jobs, for the time that moved pods keep them after the Jobs. */
  readonly keptUsd: number;
}

/** Comparison of the benefit of a move with its price. Public format. */
export interface MoveWorth extends PriceParts {
  /** Savings in USD per hour, with planning figures. */
  readonly netUsdPerHour: number;
  /** Savings on the bill in USD per hour. Absent if planning figures do not change them. */
  readonly billedUsdPerHour?: number;
  /** Expected duration of the savings. */
  readonly hours: number;
  readonly benefitUsd: number;
  readonly priceUsd: number;
  /** Benefit that the move needs: its price, or twice its price under the policy `Balanced`. */
  readonly neededUsd: number;
  /** Number of evicted pods. */
  readonly pods: number;
}

/** Returns the worth for outputs. Further digits are rounding errors. */
export const roundWorth = (worth: MoveWorth): MoveWorth =>
  Object.fromEntries(Object.entries(worth).map(([name, figure]) => [name, Number(figure.toFixed(6))])) as never;

/** Returns the calculation as text. */
export function calculationOf({
  netUsdPerHour,
  billedUsdPerHour,
  hours,
  benefitUsd,
  pods,
  ...price
}: MoveWorth): string {
  const usd = (amount: number): string => `${amount < 0 ? '-' : ''}$${Math.abs(amount).toFixed(4)}`;
  const saved =
    billedUsdPerHour === undefined
      ? `${usd(netUsdPerHour)}/h`
      : `${usd(netUsdPerHour)}/h with planning figures (${usd(billedUsdPerHour)}/h on the bill)`;
  const named = [
    ['evictions', price.evictionsUsd],
    ['lost work', price.lostWorkUsd],
    ['ended Jobs', price.endedJobsUsd],
    ['start', price.startUsd],
    ['nodes kept', price.keptUsd],
  ] as const;
  const shown = named.flatMap(([name, amount]) => (amount > 0 ? [`${name} ${usd(amount)}`] : []));
  return (
    `saves ${saved} for an expected ${Math.round(60 * hours)} min = ${usd(benefitUsd)}; ` +
    `moving ${pods} pod${pods === 1 ? '' : 's'} costs ${usd(price.priceUsd)}` +
    (shown.length > 0 ? ` (${shown.join(', ')})` : '') +
    (price.neededUsd > price.priceUsd ? `; the policy Balanced needs ${usd(price.neededUsd)}` : '')
  );
}
