/** Renders text tables with two blanks between columns, fitted to the width of the terminal. */
import { indented, terminalWidth, wrapped } from './wrap.ts';

const GAP = '  ';
/** Minimum width of a wrapped column. */
const NARROWEST = 12;

/**
 * Renders rows with headings. Returns an empty text without rows. Cells that are too long for a terminal are wrapped.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  width: number = terminalWidth(),
): string {
  if (rows.length === 0) return '';
  const widths = fitWidths(
    headings.map((heading, column) => Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length))),
    width,
  );
  return [headings, ...rows].map((row) => rowText(row, widths)).join('\n');
}

/** Reduces the widest column until all columns fit or have their minimum width. */
function fitWidths(natural: readonly number[], width: number): readonly number[] {
  const widths = [...natural];
  const total = (): number => widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length);
  for (let widest = Math.max(...widths); total() > width && widest > NARROWEST; widest = Math.max(...widths)) {
    const at = widths.indexOf(widest);
    const next = Math.max(NARROWEST, ...widths.filter((each) => each < widest));
    widths[at] = Math.max(next, widest - (total() - width));
  }
  return widths;
}

function rowText(row: readonly string[], widths: readonly number[]): string {
  const cells = widths.map((width, column) => wrapped(row[column] ?? '', width));
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) =>
    cells
      .map((lines, column) => (lines[at] ?? '').padEnd(widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  ).join('\n');
}

/** Formats a price: `$0.0136/h`. */
export const usdPerHour = (usd: number): string => `${usd < 0 ? '-' : ''}$${Math.abs(usd).toFixed(4)}/h`;

/** Formats a count: `1 pod`, `3 pods`. */
export const counted = (count: number, noun: string): string => `${count} ${count === 1 ? noun : pluralOf(noun)}`;

/** Returns the plural of a kind: `NodePools`, `EC2NodeClasses`. */
export const pluralOf = (kind: string): string => `${kind}${kind.endsWith('s') ? 'es' : 's'}`;

const MOST_NAMES = 3;

/** Shortens a list of names: `a, b, c and 4 more`. */
export const inShort = (names: readonly string[]): string =>
  `${names.slice(0, MOST_NAMES).join(', ')}${names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : ''}`;

/** Lists unknown facts that affect a result under a heading. Returns an empty text if the list is empty. */
export const unknownText = (unknown: readonly string[] = []): string =>
  unknown.length === 0
    ? ''
    : ['UNKNOWN', ...unknown.map((text) => `  ${indented(text, '  ', terminalWidth())}`)].join('\n');
