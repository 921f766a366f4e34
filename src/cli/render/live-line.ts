/** Writes a line of a terminal that is overwritten in place. */
import { escapeControls, writeControl } from '#observe/logger';

const CLEAR_LINE = '\r\u001b[2K';

export interface LineOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Replaces the line by a text, truncated at the width of the terminal. */
export function showLine(output: LineOutput, text: string, style: (text: string) => string = (plain) => plain): void {
  writeControl(output, CLEAR_LINE + style(escapeControls(text).slice(0, (output.columns ?? 80) - 1)));
}

export const clearLine = (output: LineOutput): void => writeControl(output, CLEAR_LINE);
