/** Each decision note has a number, a status and a date, and is listed in the index. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const FOLDER = join(import.meta.dirname, '../../docs/decisions');
const NOTES = readdirSync(FOLDER).filter((name) => name !== 'README.md');
const index = readFileSync(join(FOLDER, 'README.md'), 'utf8');

describe('a decision note', () => {
  it('has a number of its own', () => {
    const numbers = NOTES.map((name) => Number(name.slice(0, 4)));
    expect(numbers.filter((number, at) => !(number > 0) || numbers.indexOf(number) !== at)).toEqual([]);
  });

  it.each(NOTES)('has a title, a status and a date, and is listed in the index: %s', (name) => {
    const text = readFileSync(join(FOLDER, name), 'utf8');
    const [, number, title, status, date] =
      /^# (\d+)\. (.+)\n\nStatus: (accepted|replaced by \d+) · (\d{4}-\d{2}-\d{2})\n/.exec(text) ?? [];
    expect(number).toBe(String(Number(name.slice(0, 4))));
    expect(index).toContain(`| [${number}](${name}) | ${title} | ${status} | ${date} |`);
  });
});
