import { describe, expect, it } from '@jest/globals';
import { type HeapUse, heapGuard, youngGenerationBytes } from '../../../src/process/heap-guard.ts';

const MIB = 2 ** 20;

/**
 * Returns the heap use in MiB at each report of the guard of a heap of 100 MiB.
 * @param usedMib heap use after each collection
 */
function reports(usedMib: readonly number[], onFirst = (): void => {}): readonly number[] {
  const full: HeapUse[] = [];
  const uses = usedMib.values();
  const check = heapGuard(() => ({ usedBytes: (uses.next().value ?? 0) * MIB, limitBytes: 100 * MIB }), {
    onFirst,
    onFull: (use) => full.push(use),
  });
  for (const _ of usedMib) check();
  return full.map(({ usedBytes }) => usedBytes / MIB);
}

describe('the heap guard', () => {
  it('does nothing while collections free enough memory', () => {
    expect(reports([84, 85, 80, 85])).toEqual([]);
  });

  it('ignores a full heap if the next collection frees memory', () => {
    expect(reports([95, 60, 95, 60])).toEqual([]);
  });

  it('requests a collection after the first that leaves the heap full', () => {
    let requested = 0;
    reports([86, 60, 84, 88, 90, 91], () => {
      requested += 1;
    });
    expect(requested).toBe(2);
  });

  it('reports a heap that is full after two successive collections', () => {
    expect(reports([86, 60, 88, 90])).toEqual([90]);
  });

  it("reads the size of the young generation from the options of Node.js, with V8's default", () => {
    expect(youngGenerationBytes(['--max-old-space-size=133', '--max-semi-space-size=4'])).toBe(12 * MIB);
    expect(youngGenerationBytes([])).toBe(192 * MIB);
  });
});
