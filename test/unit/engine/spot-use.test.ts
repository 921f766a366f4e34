/** Share of workloads on spot, and the wait for spot capacity. */
import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, type Pod, SPOT_SHARE_ANNOTATION } from '#api/objects';
import type { InstanceType, Plan, Snapshot, SolveOptions, SpotTerms } from '../../../src/engine/model.ts';
import { prepare, solve } from '../../../src/engine/solve.ts';
import { spotGroupText, spotTexts } from '../../../src/engine/spot-use.ts';
import { nodePool, OPTIONS, oneOf, replicas, snapshot, stateNode, TYPES } from './build.ts';

const CHEAPEST: SolveOptions = { ...OPTIONS, packing: 'cheapest' };
const SHARE: SpotTerms = { policy: 'spot', share: 0.7 };
const NOW = Date.parse('2026-06-03T10:00:00Z');

/** Pods of one ReplicaSet. */
const replicaSet = (pods: readonly Pod[], uid = 'rs', annotations: Record<string, string> = {}): readonly Pod[] =>
  pods.map((pod) => ({
    ...pod,
    metadata: {
      ...pod.metadata,
      annotations,
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: uid, uid, controller: true }],
    },
  }));

const ruled = (terms: SpotTerms, parts: Partial<Parameters<typeof snapshot>[0]> = {}): Snapshot => {
  const found = snapshot({ nowMs: NOW, ...parts });
  return { ...found, pools: found.pools.map((pool) => ({ ...pool, spot: terms })) };
};

const allowsSpot = ({ requirements }: Plan['claims'][number]): boolean =>
  requirements.every(({ key, values = [] }) => key !== CAPACITY_TYPE_LABEL || values.includes('spot'));

/** Number of pods on nodes of the plan that could be spot nodes. */
const onSpot = ({ claims }: Plan): number => claims.filter(allowsSpot).reduce((sum, { pods }) => sum + pods.length, 0);

const spotNode = (name: string, pods: readonly Pod[], capacityType = 'spot') =>
  stateNode(name, {
    pods,
    labels: { [CAPACITY_TYPE_LABEL]: capacityType },
    allocatable: { cpu: '64', memory: '256Gi' },
  });

describe('the share of replicas on spot', () => {
  it.each([
    [10, 7],
    [9, 6],
    [2, 1],
    [1, 0],
  ])('allows of %i replicas %i on spot nodes', (count, most) => {
    const plan = solve(ruled(SHARE, { pendingPods: replicaSet(replicas(count, 'web', { cpu: '2' })) }), CHEAPEST);
    expect(plan.refusals.size).toBe(0);
    expect(plan.claims.flatMap(({ pods }) => pods)).toHaveLength(count);
    expect(onSpot(plan)).toBe(most);
    expect(plan.spot).toMatchObject([{ code: 'share', replicas: count, most, onSpot: 0 }]);
  });

  it('keeps spot capacity for the other replicas with compatible packing', () => {
    const pendingPods = replicaSet(replicas(10, 'web', { cpu: '700m' }));
    const plan = solve(ruled(SHARE, { pendingPods }), { ...OPTIONS, packing: 'compatible' });
    expect(plan.claims.map((claim) => [allowsSpot(claim), claim.pods.length])).toEqual([
      [true, 7],
      [false, 3],
    ]);
  });

  it('uses the lower share of a workload, and never a higher one', () => {
    const sharesOf = (value: string) =>
      onSpot(
        solve(
          ruled(SHARE, {
            pendingPods: replicaSet(replicas(10, 'web', { cpu: '2' }), 'rs', { [SPOT_SHARE_ANNOTATION]: value }),
          }),
          CHEAPEST,
        ),
      );
    expect([sharesOf('30%'), sharesOf('90%'), sharesOf('much')]).toEqual([3, 7, 7]);
  });

  it('counts running replicas on spot, and moves no more of them to spot', () => {
    const all = replicaSet(replicas(10, 'web', { cpu: '1' }));
    const [running, moved] = [all.slice(0, 6), all.slice(6)];
    const nodes = [spotNode('a', running), spotNode('b', moved, 'on-demand')];
    const plan = prepare(ruled(SHARE, { nodes }), { ...OPTIONS, reservedMode: 'fallback' }).solve({
      leaving: new Set(['aws:///b']),
      pendingPods: moved,
    });
    expect(plan.spot).toMatchObject([{ replicas: 10, most: 7, onSpot: 6 }]);
    expect(plan.spot?.[0]?.pods).toHaveLength(3);
    expect(plan.placements.flatMap(({ pods }) => pods)).toHaveLength(1);
  });

  it('does not restrict single pods, pods of DaemonSets, and NodePools without the policy', () => {
    const alone = ruled(SHARE, { pendingPods: replicas(2, 'alone', { cpu: '1500m' }) });
    expect(onSpot(solve(alone, CHEAPEST))).toBe(2);
    const both = ruled(SHARE, {
      pools: [nodePool('ruled'), nodePool('free')],
      pendingPods: replicaSet(replicas(10, 'web', { cpu: '1500m' })),
    });
    const pools = both.pools.map((pool) =>
      pool.nodePool.metadata.name === 'free' ? { ...pool, spot: undefined } : pool,
    );
    const plan = solve({ ...both, pools: pools as Snapshot['pools'] }, CHEAPEST);
    expect(plan.refusals.size).toBe(0);
  });

  it('names the rule of a pod that no NodePool can place', () => {
    const spotOnly = nodePool('default', { requirements: [oneOf(CAPACITY_TYPE_LABEL, 'spot')] });
    const pendingPods = replicaSet(replicas(2, 'web', { cpu: '1' }));
    const plan = solve(ruled(SHARE, { pools: [spotOnly], pendingPods }), { ...CHEAPEST, explain: true });
    const [[key = '', refusal] = []] = [...plan.refusals];
    const text = 'on-demand only: at most 1 of 2 replicas may be on spot (70 %, NodePolicy spot)';
    expect(refusal).toMatchObject({ code: 'no-fit', spot: text, cause: { code: 'requirements' } });
    expect(spotTexts(plan.spot).get(key)).toBe(text);
    expect((plan.spot ?? []).map(spotGroupText)).toEqual([
      'default/ReplicaSet/rs: at most 1 of 2 replicas may be on spot (70 %, NodePolicy spot); 1 pod with on-demand capacity only',
    ]);
  });

  it('plans the same without a rule', () => {
    const pendingPods = replicaSet(replicas(5, 'web', { cpu: '1' }));
    const plain = solve(snapshot({ pendingPods }), CHEAPEST);
    expect(plain).not.toHaveProperty('spot');
    expect(solve(ruled({ policy: 'spot', share: 1 }, { pendingPods }), CHEAPEST).claims).toEqual(plain.claims);
  });
});

describe('the wait for spot capacity', () => {
  const WAIT: SpotTerms = { policy: 'spot', onDemandAfterMs: 300_000 };
  const soldOut: readonly InstanceType[] = TYPES.map((type) => ({
    ...type,
    offerings: type.offerings.map((each) => ({
      ...each,
      available: !each.requirements.some(({ values }) => values?.includes('spot')),
    })),
  }));
  const created = (ageMs: number, parts = {}): readonly Pod[] =>
    replicas(2, 'web', { cpu: '1', ...parts }).map((pod) => ({
      ...pod,
      metadata: { ...pod.metadata, creationTimestamp: new Date(NOW - ageMs).toISOString() },
    }));

  it('launches no on-demand capacity before its end, and names the end', () => {
    const plan = solve(ruled(WAIT, { types: soldOut, pendingPods: created(60_000) }), { ...CHEAPEST, explain: true });
    expect(plan.claims).toEqual([]);
    expect(plan.spot?.[0]).toMatchObject({ code: 'wait', pods: ['default/web-0'], until: '2026-06-03T10:04:00Z' });
    expect(plan.refusals.get('default/web-0')).toMatchObject({
      spot: 'waits for spot capacity until 2026-06-03T10:04:00Z (NodePolicy spot), and may use on-demand capacity then',
    });
  });

  it('ends, and does not apply to pods that cannot run on spot', () => {
    const later = solve(ruled(WAIT, { types: soldOut, pendingPods: created(300_000) }), CHEAPEST);
    expect(later.claims).toHaveLength(1);
    const bound = created(0, { nodeSelector: { [CAPACITY_TYPE_LABEL]: 'on-demand' } });
    expect(solve(ruled(WAIT, { types: soldOut, pendingPods: bound }), CHEAPEST).claims).toHaveLength(1);
    const pools = [nodePool('default', { requirements: [oneOf(CAPACITY_TYPE_LABEL, 'on-demand')] })];
    expect(solve(ruled(WAIT, { types: soldOut, pools, pendingPods: created(0) }), CHEAPEST).claims).toHaveLength(1);
  });

  it('limits the NodeClaim to spot, so that its launch does not fall back to on-demand', () => {
    const { claims, spot } = solve(ruled(WAIT, { pendingPods: created(0) }), CHEAPEST);
    expect(claims).toHaveLength(1);
    expect(claims[0]?.requirements).toContainEqual(oneOf(CAPACITY_TYPE_LABEL, 'spot'));
    expect(spot).toEqual([]);
  });

  it('does not apply to replicas that must not run on spot', () => {
    const pendingPods = replicaSet(replicas(2, 'web', { cpu: '1500m' }));
    const plan = solve(ruled({ ...SHARE, ...WAIT }, { types: soldOut, pendingPods }), CHEAPEST);
    expect(plan.claims.flatMap(({ pods }) => pods)).toHaveLength(1);
    expect(plan.spot).toMatchObject([{ code: 'share' }, { code: 'wait', pods: [expect.anything()] }]);
  });

  it('does not hold running pods of nodes that are removed', () => {
    const moved = replicaSet(created(0));
    const nodes = [spotNode('a', moved)];
    const plan = prepare(ruled(WAIT, { nodes, types: soldOut }), { ...OPTIONS, reservedMode: 'fallback' }).solve({
      leaving: new Set(['aws:///a']),
      pendingPods: moved,
    });
    expect(plan.claims).toHaveLength(1);
  });
});
