/** Prints the demo. In a pipe, prints plain lines. In a terminal, shows a live line below them. */
import { clearLine, type LineOutput, showLine } from '../render/live-line.ts';
import { indented, terminalWidth } from '../render/wrap.ts';

export interface Screen {
  /** Opens a stage with a heading. */
  stage(title: string): void;
  /** Prints a line with the time since the start. */
  line(text: string): void;
  /** Shows the current activity. A terminal shows the latest text, and a pipe a line every ten seconds. */
  progress(text: string): void;
  /** Prints text without a time. */
  plain(text: string): void;
}

/** Blank text with the width of the time before a line. */
const STAMP = ' '.repeat(8);

/** Time without a line after which a pipe shows the activity. */
const QUIET_MS = 10_000;

const BOLD = ['\u001b[1m', '\u001b[22m'] as const;
const DIM = ['\u001b[2m', '\u001b[22m'] as const;

export function screen(output: LineOutput, elapsedMs: () => number): Screen {
  const live = output.isTTY === true;
  let shown = false;
  /** Time of the last line. */
  let writtenMs = elapsedMs();
  const style = (text: string, [on, off]: readonly [string, string]): string => (live ? on + text + off : text);
  const elapsed = (): string => `${(elapsedMs() / 1000).toFixed(1).padStart(5)}s  `;
  const stamp = (): string => style(elapsed(), DIM);
  const print = (text: string): void => {
    if (shown) clearLine(output);
    shown = false;
    output.write(`${text}\n`);
    writtenMs = elapsedMs();
  };
  /** Indents wrapped lines below the text of the first line, which starts with a word and blanks. */
  const hanging = (text: string, before: string): string => {
    const hang = /^\S+ {2,}/.exec(text)?.[0].length ?? 0;
    return indented(text, ' '.repeat(before.length + hang), terminalWidth(output));
  };
  return {
    stage: (title) => print(`\n${style(title, BOLD)}`),
    line: (text) => print(stamp() + hanging(text, STAMP)),
    plain: (text) =>
      print(
        text
          .split('\n')
          .map((line) => hanging(line, ''))
          .join('\n'),
      ),
    progress(text) {
      if (!live) {
        if (elapsedMs() - writtenMs >= QUIET_MS) print(stamp() + hanging(`waiting     ${text}`, STAMP));
        return;
      }
      showLine(output, elapsed() + text, (line) => style(line, DIM));
      shown = true;
    },
  };
}

/** Aligns rows in columns, two spaces apart. Numbers are right-aligned. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, cell.length);
    });
  const isNumber = (cell: string): boolean => /^[-$]?[\d.,]+%?$/.test(cell);
  return rows.map((row) =>
    row
      .map((cell, at) => (isNumber(cell) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

export const usdText = (amount: number, digits = 4): string => `$${amount.toFixed(digits)}`;
