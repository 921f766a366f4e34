/** Formats the operator's built-in price table, src/aws/pricing/price-table.ts. */
import { compareSizes } from '#engine/testing';

/** Mac instances are priced by dedicated host and cannot run nodes. */
const LEFT_OUT = /^mac/;

/** Formats the file. @param source source and date of the prices, for the header of the file */
export function priceTable(prices: ReadonlyMap<string, number>, source: string): string {
  const families = new Map<string, [size: string, usd: number][]>();
  for (const [instanceType, usd] of prices) {
    const [family = '', size = ''] = instanceType.split('.');
    if (LEFT_OUT.test(family) || size === '') continue;
    families.set(family, [...(families.get(family) ?? []), [size, usd]]);
  }
  const rows = [...families].sort(([a], [b]) => (a < b ? -1 : 1)).map(([family, sizes]) => row(family, sizes));
  return `/**
 * On-demand prices in USD per hour (us-east-1, Linux) by family and size, for use if the Pricing API is not available.
 * Written by \`npm run renew:prices\`. Source: ${source}.
 */
export const PRICE_TABLE: Readonly<Record<string, string>> = {
${rows.join('\n')}
};
`;
}

function row(family: string, sizes: readonly (readonly [size: string, usd: number])[]): string {
  const entries = sizes.toSorted(([a], [b]) => compareSizes(a, b)).map(([size, usd]) => `${size}=${usd}`);
  return `  ${/^\w+$/.test(family) ? family : `'${family}'`}: '${entries.join(' ')}',`;
}
