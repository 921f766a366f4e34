import { describe, expect, it } from '@jest/globals';
import { Replacement } from '../../../../../src/engine/disruption/pricing/price-filter.ts';
import { planned, types } from '../methods/consolidation-input.ts';

describe('Replacement', () => {
  it('keeps types that cost less at every possible launch', () => {
    const kept = Replacement.of(planned(['m.8', 'm.2', 'm.4'], ['on-demand']), types).cheaperThan(0.2);
    expect(typeof kept === 'string' ? kept : kept.claim.instanceTypes).toEqual(['m.2']);
  });

  it('returns an error if the remaining types do not satisfy minValues', () => {
    const claim = planned(['m.8', 'm.2', 'm.4'], ['on-demand']);
    const [types2, ...rest] = claim.requirements;
    const demanding = { ...claim, requirements: types2 ? [{ ...types2, minValues: 2 }, ...rest] : rest };
    expect(Replacement.of(demanding, types).cheaperThan(0.2)).toMatch(/minValues requirement is not met/);
  });

  it('has the price of the remaining types', () => {
    const spot = Replacement.of(planned(['m.8', 'm.4']), types).only('spot');
    expect(spot.claim).toMatchObject({ cheapest: 'm.4', instanceTypes: ['m.4', 'm.8'] });
    expect(spot.claim.usdPerHour).toBeCloseTo(0.08);
  });
});
