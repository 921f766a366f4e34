/** Text tables for people: columns as wide as their content, two blanks between. */

/** Rows under their headings; empty when there are no rows. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  return [headings, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** `$0.0136/h`. */
export const usdPerHour = (usd: number): string => `${usd < 0 ? '-' : ''}$${Math.abs(usd).toFixed(4)}/h`;

/** `1 pod`, `3 pods`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const MOST_NAMES = 3;

/** `a, b, c and 4 more`. */
export const inShort = (names: readonly string[]): string =>
  `${names.slice(0, MOST_NAMES).join(', ')}${names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : ''}`;

/** What an answer depends on and cannot be known, under a heading; empty when that is nothing. */
export const unknownText = (unknown: readonly string[] = []): string =>
  unknown.length === 0 ? '' : ['NOT KNOWN HERE', ...unknown.map((text) => `  ${text}`)].join('\n');
