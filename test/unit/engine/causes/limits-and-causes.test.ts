/** Laws of the causes of pending pods beside limits, on random clusters. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { NodePool, Pod } from '#api/objects';
import type { Cause } from '../../../../src/engine/causes/cause.ts';
import { endsByItself } from '../../../../src/engine/causes/pool-cause.ts';
import type { Plan, PoolInput, Snapshot } from '../../../../src/engine/model.ts';
import { podKey } from '../../../../src/engine/pods.ts';
import { solve } from '../../../../src/engine/solve.ts';
import { OPTIONS } from '../build.ts';
import { drawnSnapshot } from '../scenarios.ts';

const withLimits = (input: PoolInput, limits: NodePool['spec']['limits'], name = input.nodePool.metadata.name) => ({
  ...input,
  nodePool: {
    ...input.nodePool,
    metadata: { ...input.nodePool.metadata, name },
    spec: { ...input.nodePool.spec, limits: limits ?? {} },
  },
});

const explained = (snapshot: Snapshot): Plan => solve(snapshot, { ...OPTIONS, explain: true });

function causesOf({ refusals }: Plan): ReadonlyMap<string, Cause> {
  return new Map(
    [...refusals].flatMap(([key, refusal]) =>
      refusal.code === 'no-fit' && refusal.cause !== undefined ? [[key, refusal.cause] as const] : [],
    ),
  );
}

/** Runs a property on random clusters, and returns the sum of its results. */
function sumOver(property: (snapshot: Snapshot) => number): number {
  let sum = 0;
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000_000 }), (seed) => {
      sum += property(drawnSnapshot(seed, { nodes: 4, workloads: 8 }));
    }),
    { numRuns: 30, seed: 7, endOnFailure: true },
  );
  return sum;
}

/** Reports whether other pods do not matter for the place of a pod. */
const isIndependent = ({ spec }: Pod): boolean =>
  spec.affinity?.podAffinity === undefined &&
  spec.affinity?.podAntiAffinity === undefined &&
  spec.topologySpreadConstraints === undefined;

describe('the cause of a pending pod', () => {
  it('is the same beside a copy of each NodePool that has reached its limit', () => {
    const compared = sumOver((snapshot) => {
      const pools = snapshot.pools.map((input) => withLimits(input, undefined));
      const copies = pools.map((input) => withLimits(input, { nodes: '0' }, `${input.nodePool.metadata.name}-full`));
      const causes = causesOf(explained({ ...snapshot, pools }));
      expect(causesOf(explained({ ...snapshot, pools: [...pools, ...copies] }))).toEqual(causes);
      return causes.size;
    });
    expect(compared).toBeGreaterThan(30);
  });

  it('suggests to increase a limit only if the pod then gets a node', () => {
    const increased = sumOver((snapshot) => {
      const pools = snapshot.pools.map((input, at) => withLimits(input, at === 0 ? { cpu: '3' } : { nodes: '0' }));
      let count = 0;
      for (const [key, cause] of causesOf(explained({ ...snapshot, pools }))) {
        if (cause.code !== 'limits' || endsByItself(cause)) continue;
        const more = pools.map((input) =>
          input.nodePool.metadata.name === cause.object.name ? withLimits(input, undefined) : input,
        );
        const alone = snapshot.pendingPods.filter((pod) => podKey(pod) === key && isIndependent(pod));
        if (alone.length === 0) continue;
        const [refusal] = [...explained({ ...snapshot, pools: more, pendingPods: alone }).refusals.values()];
        expect([key, cause.offered, refusal?.text]).toEqual([key, cause.offered, undefined]);
        count++;
      }
      return count;
    });
    expect(increased).toBeGreaterThan(30);
  });
});
