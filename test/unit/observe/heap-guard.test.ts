import { describe, expect, it } from '@jest/globals';
import { type HeapUse, heapGuard, youngGenerationBytes } from '../../../src/observe/heap-guard.ts';

const MIB = 2 ** 20;
const YOUNG = 12 * MIB;

/** Checks a heap that has `used`, of which `alive` is left after a collection. */
function check(
  limitMib: number,
  usedMib: number,
  aliveMib = usedMib,
): { readonly full: HeapUse[]; readonly collections: number } {
  const full: HeapUse[] = [];
  let collections = 0;
  heapGuard({
    youngBytes: YOUNG,
    measure: () => ({ usedBytes: (collections > 0 ? aliveMib : usedMib) * MIB, limitBytes: limitMib * MIB }),
    collect: () => {
      collections += 1;
    },
    onFull: (use) => full.push(use),
  })();
  return { full, collections };
}

describe('the guard of the heap', () => {
  it('does nothing while there is room', () => {
    expect(check(145, 124)).toEqual({ full: [], collections: 0 });
    expect(check(2_012, 1_899)).toEqual({ full: [], collections: 0 });
  });

  it('collects before it calls the heap full', () => {
    expect(check(145, 126, 100)).toEqual({ full: [], collections: 1 });
  });

  it('leaves 8 MiB or 5 %, besides the young generation', () => {
    expect(check(145, 126)).toMatchObject({ full: [{ usedBytes: 126 * MIB }], collections: 1 });
    expect(check(2_012, 1_901)).toMatchObject({ full: [{ usedBytes: 1_901 * MIB }], collections: 1 });
  });

  it("reads the size of the young generation from the options of Node.js, else takes V8's default", () => {
    expect(youngGenerationBytes(['--max-old-space-size=133', '--max-semi-space-size=4'])).toBe(12 * MIB);
    expect(youngGenerationBytes([])).toBe(192 * MIB);
  });
});
