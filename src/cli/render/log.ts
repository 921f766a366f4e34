/** Renders the log of decisions: one line for each, or two in a narrow terminal. */
import type { LogLine } from '#observe/history';
import { indented, terminalWidth } from './wrap.ts';

/** Minimum width for the texts in the same line as the other columns. */
const WIDE = 140;

interface Column {
  readonly heading: string;
  readonly width: number;
  readonly of: (line: LogLine) => string;
}

const COLUMNS: readonly Column[] = [
  { heading: 'TIME', width: 20, of: ({ at }) => at },
  { heading: 'KIND', width: 12, of: ({ kind }) => kind },
  { heading: 'NODES', width: 9, of: ({ before, after }) => change(before?.nodes.toString(), after?.nodes.toString()) },
  { heading: 'PRICE PER HOUR', width: 19, of: ({ before, after }) => change(usd(before), usd(after)) },
];

function change(before: string | undefined, after: string | undefined): string {
  if (before === undefined || after === undefined) return '';
  return before === after ? after : `${before} → ${after}`;
}

const usd = (size: LogLine['before']): string | undefined => size && `$${size.usdPerHour.toFixed(4)}`;

const cells = (of: (column: Column) => string): string =>
  COLUMNS.map((column) => of(column).padEnd(column.width)).join('  ');

/** @param isFirst true if the headings are missing yet */
export function logText(lines: readonly LogLine[], { isFirst = true }: { readonly isFirst?: boolean } = {}): string {
  if (lines.length === 0) return 'no decisions in this period\n';
  const width = terminalWidth();
  const rows = lines.map((line) => {
    const start = cells(({ of }) => of(line));
    if (width >= WIDE) return `${start}  ${indented(line.text, ' '.repeat(start.length + 2), width)}`;
    return `${start.trimEnd()}\n    ${indented(line.text, '    ', width)}`;
  });
  const headings = cells(({ heading }) => heading);
  return `${[...(isFirst ? [width >= WIDE ? `${headings}  DECISION AND REASON` : headings.trimEnd()] : []), ...rows].join('\n')}\n`;
}
