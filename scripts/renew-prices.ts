/**
 * Updates the operator's built-in price table from AWS's public price list of EC2 in us-east-1:
 *
 *   npm run renew:prices -- https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current/us-east-1/index.csv
 *
 * The argument is a URL or a file in the CSV or JSON form. The CSV form takes less memory.
 */
import { writeFileSync } from 'node:fs';
import { pricesInCsv, pricesInJson } from './price-list.ts';
import { priceTable } from './price-table.ts';
import { linesAt, textAt } from './sources.ts';

const TABLE = new URL('../src/aws/pricing/price-table.ts', import.meta.url);
/** Minimum number of prices in a complete price list of a region. */
const FEWEST = 500;

const pricesAt = async (source: string): Promise<ReadonlyMap<string, number>> =>
  source.endsWith('.json') ? pricesInJson(await textAt(source)) : pricesInCsv(linesAt(source));

const [source] = process.argv.slice(2);
if (source === undefined) throw new Error('Name the price list: its address, or a file of the CSV or JSON form');
const prices = await pricesAt(source);
if (prices.size < FEWEST)
  throw new Error(`Cannot renew the prices: ${source} has ${prices.size} instance types, which is no whole region`);
writeFileSync(TABLE, priceTable(prices, `AWS's price list as of ${new Date().toISOString().slice(0, 10)}`));
console.log(`Wrote ${prices.size} prices`);
