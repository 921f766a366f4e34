/** Upper bound of the worth that a node can hold. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { WorthBound } from '../../../../src/engine/packing/worth-bound.ts';

interface Pods {
  readonly cpu: number;
  readonly memory: number;
  readonly gpu: number;
  readonly count: number;
  readonly worth: number;
}

const PODS = fc.record({
  cpu: fc.integer({ min: 0, max: 4 }),
  memory: fc.integer({ min: 1, max: 6 }),
  gpu: fc.integer({ min: 0, max: 1 }),
  count: fc.integer({ min: 1, max: 4 }),
  worth: fc.integer({ min: 1, max: 20 }),
});

function boundOf(pods: readonly Pods[], capacity: readonly number[]): number {
  const kinds = pods.map(({ cpu, memory, gpu, count }) => ({ amounts: new Float64Array([cpu, memory, gpu]), count }));
  const left = Int32Array.from(pods, ({ count }) => count);
  const worth = Float64Array.from(pods, (each) => each.worth);
  const bound = new WorthBound(kinds);
  bound.start(left, worth);
  bound.select(new Uint8Array(pods.length).fill(1));
  return bound.of(new Float64Array(capacity));
}

/** Returns the maximum by trying every combination. */
function most([first, ...others]: readonly Pods[], [cpu, memory, gpu]: readonly [number, number, number]): number {
  if (first === undefined) return 0;
  let best = 0;
  for (let taken = 0; taken <= first.count; taken++) {
    const rest = [cpu - taken * first.cpu, memory - taken * first.memory, gpu - taken * first.gpu] as const;
    if (rest.some((amount) => amount < 0)) break;
    best = Math.max(best, taken * first.worth + most(others, rest));
  }
  return best;
}

describe('the upper bound of the worth on a node', () => {
  it('is never below the actual maximum', () => {
    const capacities = fc.tuple(...[16, 16, 2].map((max) => fc.integer({ min: 0, max }))) as fc.Arbitrary<
      [number, number, number]
    >;
    fc.assert(
      fc.property(fc.array(PODS, { minLength: 1, maxLength: 4 }), capacities, (pods, capacity) => {
        expect(boundOf(pods, capacity)).toBeGreaterThanOrEqual(most(pods, capacity) - 1e-9);
      }),
    );
  });

  it('takes pods with the highest worth per scarce resource, and a fraction of the last pod', () => {
    const cheap = { cpu: 2, memory: 1, gpu: 0, count: 10, worth: 2 };
    const dear = { cpu: 2, memory: 1, gpu: 0, count: 2, worth: 10 };
    expect(boundOf([cheap, dear], [7, 100, 0])).toBe(2 * 10 + 1.5 * 2);
  });

  it('ignores pods that do not fit an empty node', () => {
    const large = { cpu: 8, memory: 1, gpu: 0, count: 1, worth: 100 };
    const small = { cpu: 1, memory: 1, gpu: 0, count: 3, worth: 1 };
    expect(boundOf([large, small], [4, 100, 0])).toBe(3);
  });

  it('is the worth of all pods if all fit', () => {
    expect(boundOf([{ cpu: 1, memory: 1, gpu: 0, count: 3, worth: 7 }], [64, 64, 0])).toBe(21);
  });
});
