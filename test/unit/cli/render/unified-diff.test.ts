import { describe, expect, it } from '@jest/globals';
import { changedLines, unifiedDiff } from '../../../../src/cli/render/unified-diff.ts';

const numbered = (word: string, count: number, end: string) =>
  Array.from({ length: count }, (_, at) => `${word}${at}`).join('\n') + end;

describe('a unified diff', () => {
  it('shows changed lines with three lines of context and without timestamps', () => {
    const before = numbered('line', 9, '\n');
    expect(unifiedDiff('a.yaml', before, before.replace('line4', 'other'))).toBe(
      [
        '--- a.yaml',
        '+++ a.yaml',
        '@@ -2,7 +2,7 @@',
        ' line1',
        ' line2',
        ' line3',
        '-line4',
        '+other',
        ' line5',
        ' line6',
        ' line7',
        '',
      ].join('\n'),
    );
  });

  it('is empty for equal texts', () => {
    expect(unifiedDiff('a.yaml', 'x\n', 'x\n')).toBe('');
  });

  it('replaces all lines of texts that differ in thousands of lines', () => {
    const [before, after] = [numbered('old', 3000, '\n'), numbered('new', 2500, '')];
    const lines = unifiedDiff('a.yaml', before, after).split('\n');
    expect(lines.slice(0, 4)).toEqual(['--- a.yaml', '+++ a.yaml', '@@ -1,3000 +1,2500 @@', '-old0']);
    expect(lines.slice(-3)).toEqual(['+new2499', '\\ No newline at end of file', '']);
    expect(lines).toHaveLength(3 + 3000 + 2500 + 2);
    expect(changedLines(before, after)).toEqual({ added: 2500, removed: 3000 });
  });

  it('counts added and removed lines', () => {
    expect(changedLines('a\nb\nc\n', 'a\nc\nd\ne\n')).toEqual({ added: 2, removed: 1 });
    expect(changedLines('', 'a\n')).toEqual({ added: 1, removed: 0 });
  });
});
