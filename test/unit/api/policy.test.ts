/** Meaning of the modes of packing and consolidation. */
import { describe, expect, it } from '@jest/globals';
import { consolidationPolicy, packingPolicy } from '../../../src/api/policy.ts';

describe('the modes of decisions', () => {
  it('switch off every addition to Karpenter if they are compatible, and are complete by default', () => {
    for (const policy of [packingPolicy('compatible'), consolidationPolicy('compatible')])
      expect(new Set(Object.values(policy))).toEqual(new Set([false]));
    for (const policy of [packingPolicy(), consolidationPolicy('thorough')])
      expect(new Set(Object.values(policy))).toEqual(new Set([true]));
  });
});
