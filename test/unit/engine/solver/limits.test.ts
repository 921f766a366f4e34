/** Laws of limits on random clusters. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { prepare, type Variation } from '../../../../src/engine/solve.ts';
import { OPTIONS } from '../build.ts';
import { excesses, limited } from '../limited.ts';
import { Draw } from '../scenarios.ts';

describe('a plan', () => {
  it.each(['compatible', 'cheapest'] as const)('never exceeds a limit of any resource with packing %s', (packing) => {
    let launched = 0;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), (seed) => {
        const snapshot = limited(seed);
        const prepared = prepare(snapshot, { ...OPTIONS, packing });
        const draw = new Draw(seed);
        const leaving = new Set(snapshot.nodes.filter(() => draw.chance(0.3)).map(({ providerId }) => providerId));
        const moved = snapshot.nodes.flatMap(({ pods, providerId }) => (leaving.has(providerId) ? pods : []));
        const replacement: Variation = { leaving, pendingPods: [...snapshot.pendingPods, ...moved] };
        for (const variation of [{}, replacement]) {
          const plan = prepared.solve(variation);
          launched += plan.claims.length;
          expect(excesses(snapshot, plan)).toEqual([]);
        }
      }),
      { numRuns: 60, seed: 5, endOnFailure: true },
    );
    expect(launched).toBeGreaterThan(60);
  });

  it('uses the room of replaced nodes only with the rule of Karpenter, and never more', () => {
    let beyond = 0;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), (seed) => {
        const snapshot = limited(seed);
        const draw = new Draw(seed);
        const replaced = snapshot.nodes.filter(() => draw.chance(0.5));
        const leaving = new Set(replaced.map(({ providerId }) => providerId));
        const pendingPods = [...snapshot.pendingPods, ...replaced.flatMap(({ pods }) => pods)];
        const plan = prepare(snapshot, { ...OPTIONS, freesLimits: true }).solve({ leaving, pendingPods });
        const staying = snapshot.nodes.filter(
          ({ providerId, markedForDeletion }) => !leaving.has(providerId) && !markedForDeletion,
        );
        expect(excesses({ ...snapshot, nodes: staying }, plan)).toEqual([]);
        beyond += excesses(snapshot, plan).length;
      }),
      { numRuns: 60, seed: 5, endOnFailure: true },
    );
    expect(beyond).toBeGreaterThan(0);
  });
});
