import { describe, expect, it } from '@jest/globals';
import type { Plan, PlannedClaim, SolveOptions } from '../../../../src/engine/model.ts';
import { cheapestOf } from '../../../../src/engine/solver/attempts.ts';

const OPTIONS: SolveOptions = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  reservedMode: 'strict',
  ignoreDraRequests: true,
};

const planOf = (claims: readonly Partial<PlannedClaim>[]): Plan => ({
  claims: claims as readonly PlannedClaim[],
  placements: [],
  refusals: new Map(),
  notEvaluated: [],
  emptyPools: [],
});

/** Returns the best plan of attempts, in which the last plan is repeated. */
const best = (...plans: readonly Plan[]): Plan => {
  let attempt = 0;
  const next = (): Plan => (plans[attempt++] ?? plans.at(-1)) as Plan;
  return cheapestOf(() => ({ plan: next(), ties: 1 }), { pods: 1, hasRivals: false }, OPTIONS);
};

describe('the best of several plans', () => {
  it('has the lowest price including costs besides the instances', () => {
    const small = { usdPerHour: 1, extrasUsdPerHour: 0.5, cheapest: 'small' };
    const [two, one] = [planOf([small, small]), planOf([{ ...small, usdPerHour: 2.1 }])];
    expect(best(two, one)).toBe(one);
    expect(best(planOf([{ usdPerHour: 1 }, { usdPerHour: 1 }]), planOf([{ usdPerHour: 2.1 }])).claims).toHaveLength(2);
  });

  it('is found among more claims than a function can take arguments', () => {
    const many = planOf(Array.from({ length: 300_000 }, () => ({ usdPerHour: 1, extrasUsdPerHour: 0.1 })));
    expect(best(many)).toBe(many);
  });
});
