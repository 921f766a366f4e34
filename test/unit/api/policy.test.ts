/** Meaning of the modes of packing and consolidation. */
import { describe, expect, it } from '@jest/globals';
import { consolidationPolicy, packingPolicy } from '../../../src/api/policy.ts';

describe('a mode of decisions', () => {
  it('switches off every addition to Karpenter if it is compatible, and is complete by default', () => {
    for (const policy of [packingPolicy('compatible'), consolidationPolicy('compatible')])
      expect(new Set(Object.values(policy).map(Boolean))).toEqual(new Set([false]));
    for (const policy of [packingPolicy(), consolidationPolicy('thorough')])
      expect(new Set(Object.values(policy).map(Boolean))).toEqual(new Set([true]));
  });
});
