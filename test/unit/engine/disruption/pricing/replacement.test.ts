import { describe, expect, it } from '@jest/globals';
import { Replacement } from '../../../../../src/engine/disruption/pricing/price-filter.ts';
import { planned, types } from '../methods/consolidation-input.ts';

describe('Replacement', () => {
  it('keeps types of which every launch is cheaper', () => {
    const kept = Replacement.of(planned(['m.8', 'm.2', 'm.4'], ['on-demand']), types).cheaperThan(0.2);
    expect(typeof kept === 'string' ? kept : kept.claim.instanceTypes).toEqual(['m.2']);
  });

  it('says so when too few are left for minValues', () => {
    const claim = planned(['m.8', 'm.2', 'm.4'], ['on-demand']);
    const [types2, ...rest] = claim.requirements;
    const demanding = { ...claim, requirements: types2 ? [{ ...types2, minValues: 2 }, ...rest] : rest };
    expect(Replacement.of(demanding, types).cheaperThan(0.2)).toMatch(/minValues requirement is not met/);
  });

  it('prices what remains', () => {
    const spot = Replacement.of(planned(['m.8', 'm.4']), types).only('spot');
    expect(spot.claim).toMatchObject({ cheapest: 'm.4', instanceTypes: ['m.4', 'm.8'] });
    expect(spot.claim.usdPerHour).toBeCloseTo(0.08);
  });
});
