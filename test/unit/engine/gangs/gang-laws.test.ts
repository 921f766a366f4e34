/** Laws of gangs on random clusters. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Pod, ZONE_LABEL } from '#api/objects';
import type { Snapshot } from '../../../../src/engine/model.ts';
import { podKey } from '../../../../src/engine/pods.ts';
import { solve } from '../../../../src/engine/solve.ts';
import { OPTIONS } from '../build.ts';
import { excesses, limited } from '../limited.ts';
import { Draw } from '../scenarios.ts';
import { countPlaced, inGang } from './build.ts';

interface DrawnGang {
  readonly pods: readonly Pod[];
  readonly minimum: number;
}

/** Turns some pending pods of a random snapshot into gangs. */
function withGangs(seed: number): { readonly snapshot: Snapshot; readonly gangs: readonly DrawnGang[] } {
  const snapshot = limited(seed);
  const draw = new Draw(seed + 1);
  const byName = Map.groupBy(snapshot.pendingPods, (_, at) => (draw.chance(0.6) ? `gang-${at % 4}` : ''));
  const gangs: DrawnGang[] = [];
  const pendingPods = [...byName].flatMap(([name, pods]) => {
    if (name === '') return pods;
    const minimum = Math.max(1, pods.length - draw.below(2));
    const topologyKey = draw.maybe(0.3, () => ZONE_LABEL);
    const marked = pods.map((each) => inGang(each, name, minimum, topologyKey));
    gangs.push({ pods: marked, minimum });
    return marked;
  });
  return { snapshot: { ...snapshot, pendingPods }, gangs };
}

describe('a plan with gangs', () => {
  it.each([
    'compatible',
    'cheapest',
  ] as const)('has no partial gang, exceeds no limit, and is the same without the refused gangs, with packing %s', (packing) => {
    const seen = { placed: 0, refused: 0 };
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), (seed) => {
        const { snapshot, gangs } = withGangs(seed);
        const plan = solve(snapshot, { ...OPTIONS, packing });
        expect(excesses(snapshot, plan)).toEqual([]);
        const refused = gangs.filter(({ pods }) => countPlaced(plan, pods) === 0);
        for (const { pods, minimum } of gangs) {
          const placed = countPlaced(plan, pods);
          expect(placed === 0 || placed >= minimum).toBe(true);
        }
        seen.refused += refused.length;
        seen.placed += gangs.length - refused.length;
        const absent = new Set(refused.flatMap(({ pods }) => pods.map(podKey)));
        const pendingPods = snapshot.pendingPods.filter((pod) => !absent.has(podKey(pod)));
        const without = solve({ ...snapshot, pendingPods }, { ...OPTIONS, packing });
        expect({ claims: plan.claims, placements: plan.placements }).toEqual({
          claims: without.claims,
          placements: without.placements,
        });
      }),
      { numRuns: 60, seed: 7, endOnFailure: true },
    );
    expect(seen.placed).toBeGreaterThan(20);
    expect(seen.refused).toBeGreaterThan(20);
  });
});
