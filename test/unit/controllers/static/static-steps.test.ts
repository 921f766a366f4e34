/** Number of nodes that a static NodePool launches or deletes, and the time of the next check. */
import { describe, expect, it } from '@jest/globals';
import type { Condition, NodeClaim, NodePool } from '#api/objects';
import { silent } from '#observe/logger';
import { NamedCounter } from '#state/testing';
import type { Deps } from '../../../../src/controllers/deps.ts';
import type { DisruptionQueue } from '../../../../src/controllers/disruption/queue.ts';
import { staticDeprovisioning } from '../../../../src/controllers/static/deprovisioning.ts';
import { countCreations, staticProvisioning } from '../../../../src/controllers/static/provisioning.ts';
import { staticClaims } from '../../../../src/controllers/static/static-claims.ts';
import { virtualClock } from '../../virtualclock.ts';
import { claimOf, condition, settledClaim } from '../node/bench.ts';

const poolOf = (replicas: number, nodes?: string, ready: Condition['status'] = 'True'): NodePool => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default', uid: 'pool', generation: 1 },
  spec: {
    replicas,
    ...(nodes !== undefined && { limits: { nodes } }),
    template: { spec: { nodeClassRef: claimOf('x').spec.nodeClassRef, requirements: [] } },
  },
  status: { conditions: [condition('Ready', { status: ready })] },
});
const numbered = (number: number, more: Partial<NodeClaim['metadata']> = {}): NodeClaim => {
  const claim = settledClaim(`claim-${number}`, { providerID: `id-${number}` });
  return { ...claim, metadata: { ...claim.metadata, ...more } };
};
const counts = (active: number, pending: number, deleting: number) => ({
  active: Array.from({ length: active }, (_, number) => numbered(number)),
  pending,
  deleting,
});

describe('granted', () => {
  it.each([
    { replicas: 3, of: counts(1, 0, 0), reserved: 0, limit: undefined, is: 2 },
    { replicas: 3, of: counts(3, 0, 0), reserved: 0, limit: undefined, is: 0 },
    { replicas: 1, of: counts(3, 0, 0), reserved: 0, limit: undefined, is: 0 },
    { replicas: 9, of: counts(1, 0, 0), reserved: 0, limit: '5', is: 4 },
    { replicas: 9, of: counts(1, 1, 0), reserved: 0, limit: '5', is: 3 },
    { replicas: 9, of: counts(1, 1, 1), reserved: 0, limit: '5', is: 2 },
    { replicas: 9, of: counts(1, 1, 1), reserved: 1, limit: '5', is: 1 },
    { replicas: 9, of: counts(4, 1, 1), reserved: 1, limit: '5', is: 0 },
  ])('is $is for $replicas replicas with a limit of $limit and $reserved reserved', ({
    replicas,
    of,
    reserved,
    limit,
    is,
  }) => {
    expect(countCreations(poolOf(replicas, limit), of, reserved)).toBe(is);
  });
});

/** State of the controllers: claims, claims in the disruption queue, and claims whose node is marked. */
function clusterOf(
  claims: readonly NodeClaim[],
  { queued = [] as string[], marked = [] as string[], isSynced = true } = {},
) {
  const queue = { has: (id: string) => queued.includes(id) } as unknown as DisruptionQueue;
  const marks: string[] = [];
  const deleted: string[] = [];
  const deps = {
    clock: virtualClock(),
    client: {
      delete: async (_: unknown, { name }: { name: string }) => void deleted.push(name),
      find: async () => poolOf(1),
      listAll: async () => claims,
    },
    cluster: {
      manages: () => true,
      synced: () => isSynced,
      reservedNodes: new NamedCounter(() => {}),
      observation: { of: () => undefined },
      claimsOfPool: () => claims,
      gangGroups: () => new Map(),
      nodeOfClaim: ({ status }: NodeClaim) => ({
        providerId: status?.providerID,
        markedForDeletion: marked.includes(status?.providerID ?? ''),
        pods: [],
      }),
      markForDeletion: (id: string) => marks.push(id),
      deletionReasons: new Map(),
    },
  } as unknown as Deps;
  return { deps, queue, marks, deleted, cluster: deps.cluster };
}

describe('census', () => {
  const disrupted = { ...numbered(3), status: { providerID: 'id-3', conditions: [condition('DisruptionReason')] } };
  const terminating = {
    ...numbered(4),
    status: { providerID: 'id-4', conditions: [condition('InstanceTerminating')] },
  };
  it.each([
    { of: 'an active claim', claim: numbered(1), is: [1, 0, 0] },
    {
      of: 'a claim that is being deleted',
      claim: numbered(1, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      is: [0, 0, 1],
    },
    { of: 'a claim that this process just deleted', claim: numbered(2), is: [0, 0, 1] },
    { of: 'a claim that is being disrupted', claim: disrupted, is: [0, 1, 0] },
    { of: 'a claim whose instance is terminating', claim: terminating, is: [0, 0, 1] },
    { of: 'a claim in the disruption queue', claim: numbered(5), is: [0, 1, 0] },
    { of: 'a claim whose node is marked', claim: numbered(6), is: [0, 0, 1] },
  ])('counts $of', ({ claim, is }) => {
    const { cluster, queue } = clusterOf([claim], { queued: ['id-5'], marked: ['id-6'] });
    const { active, pending, deleting } = staticClaims(
      { cluster, queue },
      poolOf(1),
      ({ metadata }) => metadata.name === 'claim-2',
    );
    expect([active.length, pending, deleting]).toEqual(is);
  });
});

describe('a static controller', () => {
  const context = { log: silent, signal: new AbortController().signal };
  const waits = (waitMs: number) => ({ kind: 'after', waitMs });

  it.each([
    { when: 'all replicas exist', pool: poolOf(1), claims: [numbered(1)], options: {}, is: waits(60_000) },
    {
      when: 'a replica is being replaced',
      pool: poolOf(1),
      claims: [numbered(1)],
      options: { queued: ['id-1'] },
      is: waits(60_000),
    },
    { when: 'the limit is reached', pool: poolOf(2, '1'), claims: [numbered(1)], options: {}, is: waits(30_000) },
    {
      when: 'cluster state is not synced',
      pool: poolOf(2),
      claims: [],
      options: { isSynced: false },
      is: waits(1_000),
    },
    {
      when: 'the NodePool is not Ready',
      pool: poolOf(2, undefined, 'False'),
      claims: [],
      options: {},
      is: { kind: 'settled' },
    },
  ])('returns, for provisioning, $is if $when', async ({ pool, claims, options, is }) => {
    const { deps, queue } = clusterOf(claims, options);
    const launches = { room: () => Number.POSITIVE_INFINITY };
    expect(await staticProvisioning(deps, queue, launches).reconcile(pool, context)).toEqual(is);
  });

  it('deletes and marks surplus claims once, and runs again after a minute', async () => {
    const { deps, queue, marks, deleted } = clusterOf([numbered(1), numbered(2), numbered(3)]);
    const controller = staticDeprovisioning(deps, queue);
    for (let times = 0; times < 2; times += 1)
      expect(await controller.reconcile(poolOf(1), context)).toEqual(waits(60_000));
    expect(deleted).toEqual(['claim-1', 'claim-2']);
    expect(marks).toEqual(['id-1', 'id-2']);
  });
});
