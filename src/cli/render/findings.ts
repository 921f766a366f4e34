/** Text of the doctor's findings. */
import type { Finding } from '#cloud';
import { counted } from './table.ts';

const MARKS: Readonly<Record<Finding['level'], string>> = { ok: 'ok      ', warning: 'warning ', error: 'ERROR   ' };

/** Renders each finding with its remedy, and the totals. */
export function findingsText(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ level, subject, message, fix }) => [
    `${MARKS[level]}${subject}: ${message}`,
    ...(fix === undefined ? [] : [`        fix: ${fix}`]),
  ]);
  const count = (level: Finding['level']): number => findings.filter((finding) => finding.level === level).length;
  const totals = `${counted(count('error'), 'error')}, ${counted(count('warning'), 'warning')}, ${count('ok')} ok`;
  return `${[...lines, '', totals].join('\n')}\n`;
}
