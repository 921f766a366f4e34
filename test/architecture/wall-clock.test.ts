/** Tests must not assert durations of the machine's clock, which depend on other processes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const TESTS = resolve(import.meta.dirname, '..');
/**
 * An upper limit on elapsed time. Lower limits, and limits that grow with elapsed time, also hold on a busy machine.
 */
const ASSERTED = /\bexpect\(\s*(?:performance|Date)\.now\(\)\s*-[^;]*\.toBeLess/;

const asserts = (source: string): boolean => ASSERTED.test(source);

describe('an assertion of durations', () => {
  it('is detected in a sample', () => {
    expect(asserts('expect(performance.now() - startedMs).toBeLessThan(5_000);')).toBe(true);
    expect(asserts('expect(\n  Date.now() - startedMs,\n).toBeLessThan(5_000);')).toBe(true);
    expect(asserts('expect(Date.now() - startedMs).toBeGreaterThan(20);')).toBe(false);
    expect(asserts('expect(calls).toBeLessThan(1 + (performance.now() - startedMs) / 50);')).toBe(false);
  });

  it('measures work, CPU time (support/cpu-time.ts) or virtual time', () => {
    const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    expect(files.length).toBeGreaterThan(500);
    const found = files
      .filter((file) => !file.endsWith('wall-clock.test.ts'))
      .filter((file) => asserts(readFileSync(join(TESTS, file), 'utf8')));
    expect(found).toEqual([]);
  });
});
