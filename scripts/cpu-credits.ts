/** Reads the table of CPU credits from AWS's documentation, and formats the operator's table. */
import { compareSizes } from '#engine/testing';

/** A row of the table without its markup: the instance type and its credits per hour. */
const ROW = /\b(t\d[a-z]*)\.([a-z0-9]+)[\s|]+(\d+(?:\.\d+)?)(?=[\s|])/g;

/** Returns the credits that instance types earn in an hour, by family and size. The page may be HTML or Markdown. */
export function earnedCredits(page: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const families = new Map<string, Map<string, number>>();
  for (const [, family = '', size = '', credits] of page.replace(/<[^>]*>/g, ' ').matchAll(ROW))
    families.set(family, (families.get(family) ?? new Map<string, number>()).set(size, Number(credits)));
  return families;
}

/** @param source source of the credits, for the header of the table */
export function creditTable(credits: ReadonlyMap<string, ReadonlyMap<string, number>>, source: string): string {
  const rows = [...credits].sort(([a], [b]) => (a < b ? -1 : 1)).map(([family, sizes]) => row(family, sizes));
  return `/**
 * CPU credits that burstable instance types earn in an hour, by family and size. A credit is one vCPU-minute, so 60 credits an
 * hour are a baseline of one vCPU. AWS publishes no API for them. Written by \`npm run renew:cpu-credits\`.
 * Source: ${source}.
 */
export const EARNED_CREDITS: Readonly<Record<string, string>> = {
${rows.join('\n')}
};
`;
}

function row(family: string, sizes: ReadonlyMap<string, number>): string {
  const entries = [...sizes].sort(([a], [b]) => compareSizes(a, b)).map(([size, credits]) => `${size}:${credits}`);
  return `  ${family}: '${entries.join(' ')}',`;
}
