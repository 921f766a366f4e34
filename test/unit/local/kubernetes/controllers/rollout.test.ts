import { describe, expect, it } from '@jest/globals';
import type { Scaled } from '../../../../../src/local/kubernetes/controllers/workloads/kinds.ts';
import {
  resolveCount,
  rolloutStep,
  type SetState,
  sizesAfterScaling,
} from '../../../../../src/local/kubernetes/controllers/workloads/rollout.ts';

const container = { name: 'main' };
const deployment = (replicas: number, strategy?: Scaled['spec']['strategy']): Scaled => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: { replicas, template: { spec: { containers: [container] } }, ...(strategy ? { strategy } : {}) },
});
const careful = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } as const;
const recreate = { type: 'Recreate' } as const;

describe('rolloutStep', () => {
  const set = (replicas: number, available = replicas) => ({ replicas, available });

  it.each<[string, Scaled, ReturnType<typeof set>, SetState[], number, number[]]>([
    ['the first rollout', deployment(3), set(0), [], 3, []],
    ['a scale-down', deployment(1), set(3), [], 1, []],
    ['a surge before old pods are removed', deployment(4, careful), set(0), [set(4)], 1, [4]],
    ['a new pod that is not ready', deployment(4, careful), set(1, 0), [set(4)], 1, [4]],
    ['one old pod for a ready new pod', deployment(4, careful), set(1), [set(4)], 1, [3]],
    ['one old pod immediately if one may be unavailable', deployment(4), set(0), [set(4)], 1, [3]],
    ['old pods that are not ready first', deployment(4), set(1), [set(2, 0), set(2)], 1, [0, 2]],
    ['the last old pod', deployment(2, careful), set(2), [set(1)], 2, [0]],
    ['Recreate waits for old pods', deployment(2, recreate), set(0), [set(2)], 0, [0]],
    ['Recreate waits for terminating pods', deployment(2, recreate), set(0), [{ ...set(0), pods: 1 }], 0, [0]],
    ['Recreate continues without them', deployment(2, recreate), set(0), [set(0)], 2, [0]],
  ])('proceeds: %s', (_, wish, fresh, old, expectedFresh, expectedOld) => {
    expect(rolloutStep(wish, fresh, old)).toEqual({ fresh: expectedFresh, old: expectedOld });
  });

  it.each([
    ['25%', 10, 'up', 3],
    ['25%', 10, 'down', 2],
    [2, 10, 'up', 2],
    [undefined, 4, 'up', 1],
  ] as const)('rounds: %s of %d rounded %s is %d', (value, total, round, expected) => {
    expect(resolveCount(value, total, round)).toBe(expected);
  });
});

describe('sizesAfterScaling', () => {
  const set = (replicas: number, most: number | undefined = undefined) => ({ replicas, most });

  it.each<[string, Scaled, ReturnType<typeof set>[], number[]]>([
    ['gives all replicas to the only set with pods', deployment(6), [set(0), set(4), set(0)], [0, 6, 0]],
    ['gives all replicas to the newest set if no set has pods', deployment(6), [set(0), set(0)], [0, 6]],
    // from 8 + 2 to 12 + 3 pods: each set times 1.5
    ['keeps the shares during a rollout', deployment(12), [set(6, 10), set(4, 10)], [9, 6]],
    // from 8 + 2 to 4 + 1 pods: each set times 0.5
    ['keeps the shares of a smaller Deployment', deployment(4), [set(6, 10), set(4, 10)], [3, 2]],
    ['gives the rest after rounding to the largest set', deployment(5, careful), [set(3, 5), set(2, 5)], [4, 2]],
    ['gives a new pod to the newer of equal sets', deployment(4, careful), [set(2, 4), set(2, 4)], [2, 3]],
    ['takes a pod from the older of equal sets', deployment(2, careful), [set(2, 4), set(2, 4)], [1, 2]],
    ['empties all sets for no replicas', deployment(0), [set(6, 10), set(4, 10)], [0, 0]],
    ['leaves a Recreate rollout alone', deployment(9, recreate), [set(2, 3), set(1, 3)], [2, 1]],
  ])('divides the replicas: %s', (_, wish, sets, expected) => {
    expect(sizesAfterScaling(wish, sets)).toEqual(expected);
  });
});
