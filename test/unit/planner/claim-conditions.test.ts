import { describe, expect, it } from '@jest/globals';
import { getCondition, isTrue, type NodeClaim } from '#api/objects';
import { judgeClaim } from '../../../src/planner/claim-conditions.ts';
import { nodePool } from '../engine/build.ts';

const NOW_MS = Date.parse('2026-06-03T10:30:00Z');
const condition = (type: string) => ({
  ...{ type, status: 'True' as const, reason: type, message: '' },
  lastTransitionTime: '2026-06-03T10:29:00Z',
});
const CLAIM: NodeClaim = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'claim', creationTimestamp: '2026-06-03T10:00:00Z' },
  spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, requirements: [] },
  status: { conditions: ['Launched', 'Initialized', 'Drifted'].map(condition) },
};
const noDrift = { hasLostType: async () => false, nodeClassDrift: async () => undefined };
const poolWith = (consolidateAfter: string, replicas?: number) => {
  const pool = nodePool('default');
  const disruption = { ...pool.spec.disruption, consolidateAfter, budgets: [] };
  return { ...pool, spec: { ...pool.spec, disruption, ...(replicas !== undefined && { replicas }) } };
};

describe('judgeClaim', () => {
  it('sets Drifted with its reason, and Consolidatable after the quiet time', async () => {
    const drift = { ...noDrift, nodeClassDrift: async () => 'AMIDrift' };
    const judged = await judgeClaim(CLAIM, poolWith('30s'), drift, NOW_MS);
    expect(getCondition(judged.claim, 'Drifted')).toMatchObject({ status: 'True', reason: 'AMIDrift' });
    expect(isTrue(judged.claim, 'Consolidatable')).toBe(true);
    expect(judged).toMatchObject({ drift: 'AMIDrift', consolidatableInMs: 0 });
  });

  it('returns the rest of the quiet time, and clears Drifted without a reason', async () => {
    const judged = await judgeClaim(CLAIM, poolWith('5m'), noDrift, NOW_MS);
    expect(judged.consolidatableInMs).toBe(4 * 60_000);
    expect(judged.claim.status?.conditions?.map(({ type }) => type)).not.toContain('Drifted');
    expect(isTrue(judged.claim, 'Consolidatable')).toBe(false);
  });

  it('keeps Drifted and still sets Consolidatable if the drift check fails', async () => {
    const failing = { ...noDrift, nodeClassDrift: () => Promise.reject(new Error('throttled')) };
    const judged = await judgeClaim(CLAIM, poolWith('30s'), failing, NOW_MS);
    expect(judged.error).toEqual(new Error('throttled'));
    expect(['Drifted', 'Consolidatable'].map((type) => isTrue(judged.claim, type))).toEqual([true, true]);
  });

  it.each([
    { of: 'a static NodePool', pool: poolWith('0s', 2), checks: noDrift },
    { of: 'a current condition', pool: poolWith('0s'), checks: { ...noDrift, isConsolidatableCurrent: true } },
  ])('leaves Consolidatable unchanged for $of', async ({ pool, checks }) => {
    const judged = await judgeClaim(CLAIM, pool, checks, NOW_MS);
    expect(getCondition(judged.claim, 'Consolidatable')).toBeUndefined();
    expect(judged.consolidatableInMs).toBeUndefined();
  });
});
