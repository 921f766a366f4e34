/**
 * Updates the operator's table of CPU credits from AWS's documentation:
 *
 *   npm run renew:cpu-credits -- https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-credits-baseline-concepts.html 2026-11-24
 *
 * The first argument is the URL of the page, or a file with its HTML or Markdown. The second argument is the date of
 * the page for the header of the table.
 */
import { writeFileSync } from 'node:fs';
import { creditTable, earnedCredits } from './cpu-credits.ts';
import { textAt } from './sources.ts';

const TABLE = new URL('../src/aws/instancetypes/cpu-credit-table.ts', import.meta.url);
/** Minimum number of families in a complete table: t2, t3, t3a and t4g. */
const FEWEST = 4;

const [source, date] = process.argv.slice(2);
if (source === undefined || date === undefined) throw new Error('Name the page or a file, and its date');
const credits = earnedCredits(await textAt(source));
if (credits.size < FEWEST)
  throw new Error(
    `Cannot renew the table: ${source} has ${credits.size} burstable families, expected at least ${FEWEST}`,
  );
writeFileSync(TABLE, creditTable(credits, `${source}, ${date}`));
console.log(`Wrote ${credits.size} families`);
