/** Prints and writes the result of a replay in the requested forms. */
import { writeFileSync } from 'node:fs';
import type { ReplayResult } from '../../replay/result.ts';
import { formatted } from '../render/output.ts';
import type { Destination, Form } from './outputs.ts';
import { pageOf } from './page/page.ts';
import { SUMMARY_WIDTH, summaryText } from './summary.ts';

interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** @throws Error if a file cannot be written */
export async function writeResult(
  result: ReplayResult,
  destinations: readonly Destination[],
  output: Terminal & { write(text: string): unknown } = process.stdout,
): Promise<void> {
  for (const { form, file } of destinations) {
    const text = await textOf(result, form, file === undefined ? output : {});
    if (file === undefined) output.write(text);
    else writeFileSync(file, text);
  }
}

function textOf(
  result: ReplayResult,
  form: Form,
  { isTTY = false, columns = SUMMARY_WIDTH }: Terminal,
): string | Promise<string> {
  switch (form) {
    case 'html':
      return pageOf(result);
    case 'summary':
      return summaryText(result, { width: Math.min(columns, SUMMARY_WIDTH), isStyled: isTTY && !process.env.NO_COLOR });
    default:
      return formatted(form, result, () => '');
  }
}
