/** Tests do not assert durations of the machine's clock, which depend on what else the machine computes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const TESTS = resolve(import.meta.dirname, '..');
/** An upper limit on the time that passed. Lower limits, and limits that grow with that time, hold on a busy machine too. */
const ASSERTED = /\bexpect\(\s*(?:performance|Date)\.now\(\)\s*-[^;]*\.toBeLess/;

const asserts = (source: string): boolean => ASSERTED.test(source);

describe('assertions of durations', () => {
  it('are found', () => {
    expect(asserts('expect(performance.now() - startedMs).toBeLessThan(5_000);')).toBe(true);
    expect(asserts('expect(\n  Date.now() - startedMs,\n).toBeLessThan(5_000);')).toBe(true);
    expect(asserts('expect(Date.now() - startedMs).toBeGreaterThan(20);')).toBe(false);
    expect(asserts('expect(calls).toBeLessThan(1 + (performance.now() - startedMs) / 50);')).toBe(false);
  });

  it('count work, CPU time (support/cpu-time.ts) or virtual time', () => {
    const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    expect(files.length).toBeGreaterThan(500);
    const found = files
      .filter((file) => !file.endsWith('wall-clock.test.ts'))
      .filter((file) => asserts(readFileSync(join(TESTS, file), 'utf8')));
    expect(found).toEqual([]);
  });
});
