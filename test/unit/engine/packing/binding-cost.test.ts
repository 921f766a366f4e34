/** Expected cost of nodes after kube-scheduler has bound their pods. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { expectedUsdPerHour } from '../../../../src/engine/packing/binding-cost.ts';
import { Claim, ClaimState, withPod } from '../../../../src/engine/solver/claim.ts';
import { CompiledSnapshot } from '../../../../src/engine/solver/compiled-snapshot.ts';
import { SharedLimits } from '../../../../src/engine/solver/limits.ts';
import { templateOf } from '../../../../src/engine/solver/template.ts';
import { instanceType, OPTIONS, pod, snapshot } from '../build.ts';

const TYPES = [
  instanceType('lean', { cpu: 32, gib: 64, usd: 1.09 }),
  instanceType('roomy', { cpu: 32, gib: 128, usd: 1.23 }),
  instanceType('small', { cpu: 8, gib: 32, usd: 0.3 }),
];

const SIZES = fc.array(fc.record({ cpu: fc.integer({ min: 1, max: 12 }), gib: fc.integer({ min: 1, max: 24 }) }), {
  minLength: 8,
  maxLength: 30,
});

/** Returns claims that are filled one after the other. */
function claimsFor(sizes: readonly { readonly cpu: number; readonly gib: number }[]) {
  const pendingPods = sizes.map(({ cpu, gib }, at) => pod(`web-${at}`, { cpu: `${cpu}`, memory: `${gib}Gi` }));
  const common = new CompiledSnapshot(snapshot({ types: TYPES, pendingPods }), OPTIONS);
  const classes = common.classesFor(common.snapshot.pendingPods);
  const [template] = common.templates.map((pool) => templateOf(pool, [], new SharedLimits([])));
  if (template === undefined || 'code' in template.limits.allowed) throw new Error('the NodePool launches no nodes');
  const { allowed } = template.limits;
  const claims: Claim[] = [];
  const empty = ClaimState.empty(template, allowed, common.dimensions.amounts({}));
  const open = (): Claim => {
    const claim = new Claim(claims.length, empty, false);
    claims.push(claim);
    return claim;
  };
  let last = open();
  for (const each of common.snapshot.pendingPods) {
    const podClass = classes.of(each);
    let state = withPod(last.state, podClass, last.state.shape, false);
    if (!(state instanceof ClaimState)) {
      last = open();
      state = withPod(last.state, podClass, last.state.shape, false);
    }
    if (state instanceof ClaimState) last.add(each, podClass, state);
  }
  return { claims, dimensions: common.dimensions };
}

describe('the expected cost after binding', () => {
  it('does not depend on the order in which the nodes are listed', () => {
    const drawn = fc.tuple(SIZES, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })));
    fc.assert(
      fc.property(drawn, ([sizes, random]) => {
        const { claims, dimensions } = claimsFor(sizes);
        const ranks = new Map(claims.map((claim) => [claim, random.next().value as number]));
        const shuffled = claims.toSorted((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0));
        const usdPerHour = expectedUsdPerHour(claims, dimensions) ?? 0;
        expect(expectedUsdPerHour(shuffled, dimensions)).toBeCloseTo(usdPerHour, 9);
      }),
    );
  });

  it('is at least the price of the nodes', () => {
    fc.assert(
      fc.property(SIZES, (sizes) => {
        const { claims, dimensions } = claimsFor(sizes);
        const usdPerHour = claims.reduce((sum, claim) => sum + claim.usdPerHour, 0);
        expect(expectedUsdPerHour(claims, dimensions)).toBeGreaterThanOrEqual(usdPerHour - 1e-9);
      }),
    );
  });
});
