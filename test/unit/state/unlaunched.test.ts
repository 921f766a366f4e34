import { describe, expect, it } from '@jest/globals';
import type { NodeClaim } from '#api/objects';
import { overdueNodes } from '#planner/testing';
import { LONGEST_WAIT_MS, UnlaunchedClaims } from '../../../src/state/unlaunched.ts';
import { instanceType, nodePool, oneOf } from '../engine/build.ts';
import { settableClock } from '../virtualclock.ts';

function claim(name: string, reason?: string): NodeClaim {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name, labels: { 'karpenter.sh/nodepool': 'default' } },
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      requirements: [
        oneOf('node.kubernetes.io/instance-type', 'a', 'b'),
        oneOf('topology.kubernetes.io/zone', 'zone-a'),
      ],
      resources: { requests: { cpu: '3', memory: '1e1.5' } },
    },
    ...(reason !== undefined && { status: { conditions: [{ type: 'Launched', status: 'Unknown', reason }] } }),
  };
}

describe('a NodeClaim without an instance', () => {
  it.each([
    { when: 'no launch was attempted', reason: undefined, awaited: true },
    { when: 'the launch has started', reason: 'AwaitingReconciliation', awaited: true },
    { when: 'the launch failed', reason: 'LaunchFailed', awaited: false },
  ])('is awaited ($awaited) if $when', ({ reason, awaited }) => {
    const unlaunched = new UnlaunchedClaims(settableClock());
    unlaunched.put(claim('a', reason));
    expect(unlaunched.isAwaited).toBe(awaited);
    expect(unlaunched.overdue()).toHaveLength(awaited ? 0 : 1);
  });

  it('is awaited for one minute after it was first observed', async () => {
    const clock = settableClock();
    const unlaunched = new UnlaunchedClaims(clock);
    unlaunched.put(claim('a'));
    await clock.advance(LONGEST_WAIT_MS - 1);
    unlaunched.put(claim('a', 'AwaitingReconciliation'));
    expect(unlaunched.isAwaited).toBe(true);
    await clock.advance(1);
    expect(unlaunched.isAwaited).toBe(false);
  });

  it('keeps its pods until it is launched or deleted', () => {
    const unlaunched = new UnlaunchedClaims(settableClock());
    for (const name of ['a', 'b', 'c']) {
      unlaunched.created(name, [`default/${name}`]);
      unlaunched.put(claim(name, 'LaunchFailed'));
    }
    unlaunched.forget('b');
    const going = claim('c', 'LaunchFailed');
    unlaunched.put({ ...going, metadata: { ...going.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    expect([...unlaunched.podsOfOverdueClaims()]).toEqual(['default/a']);
  });
});

describe('a node of an overdue NodeClaim', () => {
  const types = [instanceType('a', { cpu: 4 }), instanceType('b', { cpu: 8 }), instanceType('c', { cpu: 64 })];
  const pools = [{ nodePool: nodePool('default'), instanceTypes: types }];

  it('has the capacity of the largest of its instance types, and accepts no pods', () => {
    const [node] = overdueNodes([{ claim: claim('x', 'LaunchFailed'), pods: new Set(['default/p']) }], pools);
    expect(node).toMatchObject({ capacity: { cpu: 8000, nodes: 1 }, allocatable: { pods: -1 }, pods: [] });
    expect(node?.labels).toEqual({ 'karpenter.sh/nodepool': 'default', 'topology.kubernetes.io/zone': 'zone-a' });
  });

  it('has the requested capacity if its instance types are unknown', () => {
    const [node] = overdueNodes([{ claim: claim('x', 'LaunchFailed'), pods: undefined }], []);
    expect(node).toMatchObject({ capacity: { cpu: 3000, nodes: 1 }, allocatable: { cpu: 3000 } });
  });
});
