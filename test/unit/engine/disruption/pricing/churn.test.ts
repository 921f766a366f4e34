import { describe, expect, it } from '@jest/globals';
import type { Pod } from '../../../../../src/api/kubernetes.ts';
import type { Candidate } from '../../../../../src/engine/disruption/command.ts';
import { candidateOf, isBlock } from '../../../../../src/engine/disruption/pass.ts';
import {
  notWorthRepeating,
  repeated,
  type Undone,
  workloadOf,
} from '../../../../../src/engine/disruption/pricing/churn.ts';
import { instanceType, NOW, pod, pool, stateNode } from '../objects.ts';

const HOUR = 3_600_000;

function candidate(pods: readonly Pod[]): Candidate {
  const instanceTypes = [instanceType('m.large', 2, 0.1)];
  const found = candidateOf(stateNode('node-1', { pods }), {
    nowMs: NOW,
    class: 'graceful',
    inProgress: new Set(),
    pools: new Map([['default', { nodePool: pool(), instanceTypes }]]),
    podDisruptionBudgets: [],
  });
  if (isBlock(found)) throw new Error(found.text);
  return found;
}

const ownedBy = (kind: string, name: string, hash?: string) => ({
  metadata: {
    ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid: name, controller: true }],
    ...(hash === undefined ? {} : { labels: { 'pod-template-hash': hash } }),
  },
});

describe('workloadOf', () => {
  it.each([
    ['a pod of a Deployment', ownedBy('ReplicaSet', 'web-6f7c', '6f7c'), 'default/Deployment/web'],
    ['a pod of a bare ReplicaSet', ownedBy('ReplicaSet', 'web'), 'default/ReplicaSet/web'],
    ['a pod of a StatefulSet', ownedBy('StatefulSet', 'db'), 'default/StatefulSet/db'],
    ['a pod without an owner', {}, 'default/Pod/web-1'],
  ])('names the owner of %s', (_, more, workload) => {
    expect(workloadOf(pod('web-1', more))).toBe(workload);
  });
});

const web = (name: string) => pod(name, ownedBy('ReplicaSet', 'web-1', '1'));
const other = (name: string) => pod(name, ownedBy('ReplicaSet', 'other-1', '1'));
const undone = (more: Partial<Undone> = {}): Undone => ({
  nodePools: new Set(['default']),
  workloads: new Set(['default/Deployment/web']),
  level: 1,
  untilMs: NOW + HOUR,
  ...more,
});

describe('repeated', () => {
  it.each([
    ['moves the same workload', [web('a')], undone(), true],
    ['moves the same workload as half of its pods', [web('a'), other('b')], undone(), true],
    ['moves mainly other workloads', [web('a'), other('b'), other('c')], undone(), false],
    ['moves no pod', [], undone(), false],
    ['is in another NodePool', [web('a')], undone({ nodePools: new Set(['gpu']) }), false],
    ['is evaluated after the record expires', [web('a')], undone({ untilMs: NOW }), false],
  ])('finds the move if the candidate %s: %s', (_, pods, move, found) => {
    expect(repeated(candidate(pods), [move], NOW)).toBe(found ? move : undefined);
  });

  it('returns the move that was undone most often', () => {
    const moves = [undone(), undone({ level: 3 }), undone({ level: 2 })];
    expect(repeated(candidate([web('a')]), moves, NOW)?.level).toBe(3);
  });
});

describe('notWorthRepeating', () => {
  const one = candidate([web('a')]);
  /** Totals in which the candidate has this score relative to the average of its NodePool. */
  const totals = (score: number) =>
    new Map([['default', { usdPerHour: 10 * one.usdPerHour, disruption: 10 * score * one.rescheduleCost }]]);
  const asked = (score: number, level: number) =>
    notWorthRepeating(one, { totals: totals(score), undone: [undone({ level })], nowMs: NOW });

  it.each([
    [1, 1, true],
    [0.99, 1, false],
    [2, 2, true],
    [1.99, 2, false],
    [4, 3, true],
    [3.9, 3, false],
  ])('with a score of %d after %d undone moves allows the move: %s', (score, level, passes) => {
    expect(asked(score, level)?.code).toBe(passes ? undefined : 'churn');
  });

  it('reports the missing score and the end of the restriction', () => {
    expect(asked(0.5, 1)).toEqual({
      code: 'churn',
      text: 'a similar consolidation of its pods was undone once recently, and the savings do not justify a repetition',
      nearestMiss: 'score 0.50, at least 1.00 needed for another 1h0m0s',
    });
    expect(asked(0.5, 2)?.text).toContain('undone 2 times');
  });

  it('allows moves that were never undone, and nodes without a price', () => {
    expect(notWorthRepeating(one, { totals: totals(0.1), undone: [], nowMs: NOW })).toBeUndefined();
    const free = new Map([['default', { usdPerHour: 0, disruption: 5 }]]);
    expect(notWorthRepeating(one, { totals: free, undone: [undone()], nowMs: NOW })).toBeUndefined();
  });
});
