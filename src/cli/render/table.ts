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

/** Returns the width of a table with unwrapped cells. */
export const naturalWidth = (headings: readonly string[], rows: readonly (readonly string[])[]): number =>
  headings.reduce(
    (sum, heading, column) =>
      sum + GAP.length + Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
    -GAP.length,
  );

/** Maximum width of the first column that the other columns should leave. */
const NAME_WIDTH = 28;

/**
 * Renders a table without the optional columns that do not fit beside a name of usual length, which is in the first column.
 * @param optional headings of the columns to omit, the least important column first
 */
export function tableOfEssentials(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { optional, width = terminalWidth() }: { readonly optional: readonly string[]; readonly width?: number },
): string {
  const fits = (columns: readonly number[]): boolean => {
    const names = rows.map(([name = '']) => name.slice(0, NAME_WIDTH));
    const cells = rows.map((row, at) => columns.map((column) => (column === 0 ? names[at] : row[column]) ?? ''));
    return (
      naturalWidth(
        columns.map((column) => headings[column] ?? ''),
        cells,
      ) <= width
    );
  };
  let columns = [...headings.keys()];
  for (const heading of optional) {
    if (fits(columns)) break;
    columns = columns.filter((column) => headings[column] !== heading);
  }
  return table(
    columns.map((column) => headings[column] ?? ''),
    rows.map((row) => columns.map((column) => row[column] ?? '')),
    width,
  );
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

/** Planning figure by name. Absent figures count as 0. */
type Figure = readonly [name: string, usd: number | undefined];

/** Lists planning figures: `+$0.0150/h fee`. Omits figures of 0. */
export const planningText = (figures: readonly Figure[]): string =>
  figures.flatMap(([name, usd = 0]) => (usd > 0 ? [`+${usdPerHour(usd)} ${name}`] : [])).join(', ');

/** Returns the planning figures that a price before them excludes: ` (planning: +$0.0150/h fee)`, or an empty text. */
export function planningPart(figures: readonly Figure[]): string {
  const text = planningText(figures);
  return text === '' ? '' : ` (planning: ${text})`;
}

/** Returns savings on the bill, and the savings that decide if planning figures make a difference. */
export const hourlySavings = ({ savings, planningSavings }: { savings: number; planningSavings?: number }): string =>
  planningSavings === undefined
    ? usdPerHour(savings)
    : `${usdPerHour(savings)} (planning: ${usdPerHour(planningSavings)})`;

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
