import { describe, expect, it } from '@jest/globals';
import { NODE_POOL, POD, type Pod } from '#api/objects';
import { podKey, type Snapshot, type SolveOptions } from '#engine/model';
import { solve } from '#engine/solve';
import { World } from '../harness.ts';

describe('a pod that a solve did not evaluate in time', () => {
  it('is first in the next solve, whatever its size', () => {
    const world = new World();
    world.nodePool();
    const large = world.pending(3, '2');
    const [small] = world.pending(1, '100m', 'small');
    const snapshot: Snapshot = {
      nowMs: world.clock.now(),
      pools: world.kube.all(NODE_POOL).map((nodePool) => ({ nodePool, instanceTypes: world.cloud.types })),
      nodes: [],
      pendingPods: world.kube.all(POD),
      daemonPods: [],
      namespaces: [],
      podDisruptionBudgets: [],
      persistentVolumeClaims: [],
      persistentVolumes: [],
      storageClasses: [],
    };
    const options: SolveOptions = {
      preferencePolicy: 'Respect',
      minValuesPolicy: 'Strict',
      reservedMode: 'off',
      ignoreDraRequests: true,
      deadlineMs: 10,
    };
    /** Solves with time for one pod. */
    const solveOne = (first: readonly string[]) => {
      let elapsed = 0;
      return solve(snapshot, { ...options, first, elapsedMs: () => (elapsed += 6) });
    };
    const key = (pod: Pod | undefined): string => (pod ? podKey(pod) : '');

    const once = solveOne([]);
    expect(once.claims[0]?.pods).toEqual([key(large[0])]);
    expect(once.notEvaluated).toContain(key(small));
    const again = solveOne([key(small)]);
    expect(again.claims[0]?.pods).toEqual([key(small)]);
  });
});
