/** Text columns of the summary, one for each run. */

const LABEL = 17;
const GAP = 2;
const NARROWEST = 12;
const WIDEST = 20;

/** Splits columns into blocks that fit the width. */
export function blocks<T>(columns: readonly T[], width: number): readonly (readonly T[])[] {
  const most = Math.max(1, Math.floor((width - LABEL) / (NARROWEST + GAP)));
  return Array.from({ length: Math.ceil(columns.length / most) }, (_, index) =>
    columns.slice(index * most, (index + 1) * most),
  );
}

/** Returns a function that formats a row of a block. Longer cells are truncated. */
export function rowsOf(columns: number, width: number): (label: string, cells: readonly string[]) => string {
  const column = Math.min(WIDEST, Math.floor((width - LABEL) / columns) - GAP);
  return (label, cells) =>
    `${label.padEnd(LABEL)}${cells.map((cell) => ' '.repeat(GAP) + shortenTo(cell, column).padStart(column)).join('')}`.trimEnd();
}

export const shortenTo = (text: string, width: number): string =>
  text.length > width ? `${text.slice(0, width - 1)}…` : text;
