/** Renders the comparison of several lives for a terminal. */
import type { LivesSummary } from '../../replay/lives/lives-result.ts';
import { indented } from '../render/wrap.ts';
import { blocks, rowsOf } from './columns.ts';
import { lifeRows } from './lives.ts';

/** Width of the labels of differences. */
const LABEL = 14;

/** @returns paragraphs: the means of all sets, and the differences from the first set */
export function livesTexts(lives: LivesSummary, width: number, bold: (text: string) => string): readonly string[] {
  const rows = lifeRows(lives);
  const indexes = lives.sets.map((_, index) => index);
  const means = blocks(indexes, width).map((block) => {
    const row = rowsOf(block.length, width);
    const head = row(
      '',
      block.map((index) => lives.sets[index]?.name ?? ''),
    );
    const body = rows.map(({ label, means: cells }) =>
      row(
        `  ${label}`,
        block.map((index) => cells[index] ?? ''),
      ),
    );
    return [bold(head), `MEANS OF ${lives.count} LIVES`, ...body].join('\n');
  });
  const [first, ...others] = lives.sets;
  if (first === undefined || others.length === 0) return means;
  const title = indented(`DIFFERENCE FROM ${first.name}, WITH 95 % CONFIDENCE INTERVAL`, '', width);
  const differences = others.flatMap(({ name, difference }, index) => [
    `  ${indented(`${name}, ${difference?.pairs ?? 0} lives`, '    ', width - 2)}`,
    ...rows.map(
      ({ label, differences: cells }) =>
        `    ${indented(label.padEnd(LABEL) + (cells[index] ?? ''), '      ', width - 4)}`,
    ),
  ]);
  return [...means, [title, ...differences].join('\n')];
}
