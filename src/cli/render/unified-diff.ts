/** Computes the difference of two texts in the format of `diff -u`. */
import { createTwoFilesPatch, diffLines, FILE_HEADERS_ONLY, formatPatch } from 'diff';

/** Maximum number of edits. The search is quadratic, so more edits are shown as a replacement of all lines. */
const MOST_EDITS = 2000;
const NO_NEWLINE = '\\ No newline at end of file';

/** Counts added and removed lines. */
export function changedLines(before: string, after: string): { readonly added: number; readonly removed: number } {
  const parts = diffLines(before, after, { maxEditLength: MOST_EDITS });
  if (parts === undefined) return { added: linesOf(after).length, removed: linesOf(before).length };
  const count = (key: 'added' | 'removed'): number =>
    parts.reduce((sum, part) => sum + (part[key] ? part.count : 0), 0);
  return { added: count('added'), removed: count('removed') };
}

/** Returns an empty text if both texts are equal. */
export function unifiedDiff(name: string, before: string, after: string): string {
  if (before === after) return '';
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY, maxEditLength: MOST_EDITS };
  return createTwoFilesPatch(name, name, before, after, '', '', options) ?? replacement(name, before, after);
}

function replacement(name: string, before: string, after: string): string {
  const marked = (sign: '-' | '+', text: string): readonly string[] => {
    const lines = linesOf(text).map((line) => `${sign}${line}`);
    return lines.length === 0 || text.endsWith('\n') ? lines : [...lines, NO_NEWLINE];
  };
  const [oldLines, newLines] = [linesOf(before).length, linesOf(after).length];
  const lines = [...marked('-', before), ...marked('+', after)];
  const hunks = [{ oldStart: 1, oldLines, newStart: 1, newLines, lines }];
  const file = { oldFileName: name, newFileName: name, oldHeader: undefined, newHeader: undefined };
  return formatPatch({ ...file, hunks }, FILE_HEADERS_ONLY);
}

const linesOf = (text: string): readonly string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));
