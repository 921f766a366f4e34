import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { allowedPods, neededLimitMb } from '../../../src/process/memory-capacity.ts';

const MIB = 2 ** 20;
const mib = fc.integer({ min: 256, max: 16_384 });
const OPERATIONS = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8');

describe('the capacity of a memory limit', () => {
  it('grows with the limit', () => {
    fc.assert(
      fc.property(mib, mib, (a, b) => {
        expect(allowedPods(Math.min(a, b) * MIB)).toBeLessThanOrEqual(allowedPods(Math.max(a, b) * MIB));
      }),
    );
  });

  it('is sufficient for the cluster that needs it, and no step less is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200_000 }), (pods) => {
        const needed = neededLimitMb({ pods, nodes: pods / 10 });
        // the number is rounded down to two digits
        expect(allowedPods(needed * MIB)).toBeGreaterThanOrEqual(0.9 * pods);
        if (needed > 256) expect(allowedPods((needed - 128) * MIB)).toBeLessThan(pods);
      }),
    );
  });

  it('includes nodes beyond one for ten pods', () => {
    expect(neededLimitMb({ pods: 3_000, nodes: 3_000 })).toBeGreaterThan(neededLimitMb({ pods: 3_000, nodes: 300 }));
  });

  it('has the numbers of the table in the documentation', () => {
    const rows = [...OPERATIONS.matchAll(/^\| (\d+)(Mi|Gi) \| ([\d,]+) \|$/gm)];
    expect(rows.length).toBeGreaterThan(4);
    for (const [, amount, unit, pods = ''] of rows) {
      const limitMib = Number(amount) * (unit === 'Gi' ? 1_024 : 1);
      expect([limitMib, Number(pods.replaceAll(',', ''))]).toEqual([limitMib, allowedPods(limitMib * MIB)]);
    }
  });
});
