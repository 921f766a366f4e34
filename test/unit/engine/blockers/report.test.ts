import { describe, expect, it } from '@jest/globals';
import {
  DO_NOT_DISRUPT_ANNOTATION,
  type Pod,
  TERMINATION_FINALIZER,
  TERMINATION_TIMESTAMP_ANNOTATION,
  type VolumeAttachment,
} from '#api/objects';
import { addRollout } from '#engine/disruption';
import type { NodeBlockers } from '../../../../src/engine/blockers/blocker.ts';
import { type BlockerContext, blockersIn } from '../../../../src/engine/blockers/report.ts';
import type { StateNode } from '../../../../src/engine/model.ts';
import { budget, claim, instanceType, NOW, nodeClassRef, pod, pool, stateNode } from '../disruption/objects.ts';

const HOUR = 3_600_000;
const time = (ms: number): string => new Date(ms).toISOString().replace('.000', '');
const AN_HOUR_AGO = time(NOW - HOUR);
const labelled = (name: string, more: Partial<Pod['metadata']> = {}): Pod =>
  pod(name, { metadata: { labels: { app: 'web' }, ...more } });
const WEB = { selector: { matchLabels: { app: 'web' } } };

/** Returns the blockers of a node in a cluster whose nodes cost 0.1 USD per hour. */
function found(node: StateNode, more: Partial<BlockerContext> = {}): NodeBlockers | undefined {
  const [first] = blockersIn({
    nowMs: NOW,
    nodes: [node],
    pools: [
      {
        nodePool: pool('default', { consolidateAfter: '0s', budgets: [{ nodes: '1' }] }),
        instanceTypes: [instanceType('m.large', 2, 0.1)],
      },
    ],
    podDisruptionBudgets: [],
    volumeAttachments: [],
    volumeClaim: () => undefined,
    ignoresClaims: false,
    firstReported: new Map(),
    ...more,
  });
  return first;
}
const codesOf = (node: StateNode, more: Partial<BlockerContext> = {}) =>
  found(node, more)?.blockers.map(({ code }) => code);

interface Leaving {
  readonly pods?: readonly Pod[];
  readonly deadline?: string;
  readonly finalizers?: readonly string[];
  readonly conditions?: NonNullable<ReturnType<typeof claim>['status']>['conditions'];
}

/** A node that was deleted an hour ago. */
function leaving({
  pods = [],
  deadline,
  finalizers = [TERMINATION_FINALIZER],
  conditions = [],
}: Leaving = {}): StateNode {
  const plain = stateNode('a', { pods });
  const own = claim('a', { status: { conditions } });
  const annotations = deadline === undefined ? {} : { [TERMINATION_TIMESTAMP_ANNOTATION]: deadline };
  return {
    ...plain,
    markedForDeletion: true,
    node: {
      ...plain.node,
      metadata: { ...plain.node?.metadata, name: 'a', deletionTimestamp: AN_HOUR_AGO, finalizers },
    } as StateNode['node'] & object,
    nodeClaim: {
      ...own,
      metadata: { ...own.metadata, annotations, deletionTimestamp: AN_HOUR_AGO, finalizers: [TERMINATION_FINALIZER] },
    },
  };
}

describe('a node that is draining', () => {
  it('reports the budget with its pods and numbers, the start of the wait, and the cost', () => {
    const tight = { ...budget('web', WEB, 0), status: { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2 } };
    expect(found(leaving({ pods: [labelled('b'), labelled('a')] }), { podDisruptionBudgets: [tight] })).toEqual({
      node: 'a',
      nodeClaim: 'a',
      nodePool: 'default',
      waitsFor: 'drain',
      since: AN_HOUR_AGO,
      usdPerHour: 0.1,
      usdSoFar: 0.1,
      blockers: [
        {
          code: 'pdb',
          text: 'PodDisruptionBudget default/web allows 0 evictions: 2 pods are healthy, 2 are required; waits until 1 more pod is ready',
          object: { kind: 'PodDisruptionBudget', namespace: 'default', name: 'web' },
          pods: ['default/a', 'default/b'],
          healthy: { current: 2, desired: 2, allowed: 0 },
          ends: 'pods-ready',
        },
      ],
    });
  });

  it.each([
    {
      when: 'a pod must not be disrupted',
      pods: [labelled('a', { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } })],
      is: ['pod-do-not-disrupt'],
    },
    { when: 'two budgets select a pod', pods: [labelled('a')], budgets: 2, is: ['several-pdbs'] },
    { when: 'pods are being evicted', pods: [labelled('a'), labelled('b')], is: ['pod-eviction'] },
    {
      when: 'a pod is terminating',
      pods: [labelled('a', { deletionTimestamp: time(NOW + 30_000), finalizers: ['example.com/slow'] })],
      is: ['pod-terminating'],
    },
    {
      when: 'a pod is stuck and its instance is being terminated',
      pods: [labelled('a', { deletionTimestamp: AN_HOUR_AGO })],
      is: ['instance'],
    },
    { when: 'no pod remains', pods: [], is: ['instance'] },
  ])('reports, if $when, $is', ({ pods, budgets = 0, is }) => {
    const podDisruptionBudgets = Array.from({ length: budgets }, (_, at) => budget(`web-${at}`, WEB));
    expect(codesOf(leaving({ pods }), { podDisruptionBudgets })).toEqual(is);
  });

  it('reports when a terminating pod ends and which finalizers hold it', () => {
    const ending = labelled('a', {
      deletionTimestamp: time(NOW + 30_000),
      deletionGracePeriodSeconds: 90,
      finalizers: ['example.com/slow'],
    });
    expect(found(leaving({ pods: [ending] }))?.blockers[0]).toMatchObject({
      text: 'pod is terminating, held by example.com/slow',
      since: time(NOW - 60_000),
      until: time(NOW + 90_000),
    });
  });

  it('reports volumes after the last pod is gone', () => {
    const attachment: VolumeAttachment = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: 'csi-1' },
      spec: { nodeName: 'a', attacher: 'ebs.csi.aws.com', source: { persistentVolumeName: 'pv-1' } },
    };
    const volumeAttachments = [attachment, { ...attachment, spec: { ...attachment.spec, nodeName: 'b' } }];
    expect(codesOf(leaving({ pods: [labelled('a')] }), { volumeAttachments })).toEqual(['pod-eviction']);
    expect(found(leaving(), { volumeAttachments })?.blockers).toEqual([
      {
        code: 'volume-attached',
        text: 'volume pv-1 is attached by ebs.csi.aws.com',
        object: { kind: 'VolumeAttachment', name: 'csi-1' },
      },
    ]);
  });

  it('reports finalizers of other components', () => {
    const kept = leaving({ finalizers: ['example.com/audit', TERMINATION_FINALIZER] });
    expect(found(kept)?.blockers.at(-1)).toEqual({
      code: 'node-finalizer',
      text: 'Node is kept by finalizers of other controllers: example.com/audit',
      object: { kind: 'Node', name: 'a' },
      since: AN_HOUR_AGO,
    });
  });

  it('reports the deadline of terminationGracePeriod, or an error if the deadline cannot be parsed', () => {
    expect(found(leaving({ pods: [labelled('a')], deadline: time(NOW + HOUR) }))?.endsAt).toBe(time(NOW + HOUR));
    expect(codesOf(leaving({ pods: [labelled('a')], deadline: '5' }))).toEqual(['deadline-unreadable']);
  });

  it('reports since when its instance is being terminated', () => {
    const conditions = [{ type: 'InstanceTerminating', status: 'True' as const, lastTransitionTime: AN_HOUR_AGO }];
    expect(found(leaving({ conditions }))?.blockers).toEqual([
      {
        code: 'instance',
        text: 'no pods and volumes are left, and the instance is being terminated',
        object: { kind: 'NodeClaim', name: 'a' },
        since: AN_HOUR_AGO,
      },
    ]);
  });

  it('is skipped if Karpenter does not manage it', () => {
    const { nodeClaim: _, ...foreign } = leaving({ pods: [labelled('a')], finalizers: [] });
    expect(found(foreign)).toBeUndefined();
  });
});

describe('a node that is not disrupted', () => {
  const held = labelled('a', { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: '2h' } });
  const drifted = (grace?: string): StateNode =>
    stateNode('a', {
      pods: [{ ...held, status: { phase: 'Running', startTime: AN_HOUR_AGO } }],
      claim: {
        ...claim('a', {
          status: { conditions: [{ type: 'Drifted', status: 'True', lastTransitionTime: AN_HOUR_AGO }] },
        }),
        spec: { nodeClassRef, requirements: [], ...(grace === undefined ? {} : { terminationGracePeriod: grace }) },
      },
    });

  it('reports the reason that blocks its replacement, with start and end', () => {
    expect(found(drifted())).toMatchObject({
      waitsFor: 'drift',
      since: AN_HOUR_AGO,
      usdSoFar: 0.1,
      blockers: [{ code: 'pod-do-not-disrupt', since: AN_HOUR_AGO, until: time(NOW + HOUR), pods: ['default/a'] }],
    });
  });

  it('has no pod that blocks drift if terminationGracePeriod limits the drain', () => {
    expect(found(drifted('1h'))).toBeUndefined();
  });

  it('reports that the budgets of its NodePool are exhausted', () => {
    const away = stateNode('b', { ready: false });
    expect(
      found(stateNode('a', { pods: [labelled('a')] }), { nodes: [stateNode('a', { pods: [labelled('a')] }), away] }),
    ).toMatchObject({
      waitsFor: 'consolidation',
      blockers: [
        {
          code: 'budget',
          text: 'budgets of NodePool default allow 1 of 2 nodes to be disrupted for reason Underutilized, and 1 are; karpenter explain budgets shows when this changes',
        },
      ],
    });
  });

  it.each([
    {
      stage: 'Soak',
      until: '2026-01-01T00:00:00Z',
      ends: 'time',
      text: /waits for its soak until 2026-01-01T00:00:00Z/,
    },
    { stage: 'Halted', cause: 'node b failed', ends: 'never', text: /because node b failed: .*; it starts again when/ },
  ] as const)('reports the stage $stage of the rollout of its NodePool', ({ ends, text, ...stage }) => {
    const plain = pool('default', { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] });
    const rollout = { policy: 'careful', drifted: 3, launched: 2, canaries: 2, room: 0, ...stage };
    const pools = [{ nodePool: addRollout(plain, rollout), instanceTypes: [instanceType('m.large', 2, 0.1)] }];
    const until = 'until' in stage ? { until: stage.until } : {};
    const expected = { code: 'rollout', ends, text: expect.stringMatching(text), ...until };
    expect(found(stateNode('a', { pods: [labelled('a')] }), { pools })?.blockers).toMatchObject([expected]);
    expect(codesOf(stateNode('a'), { pools })).toBeUndefined();
  });

  it('reports the price of moving its pods if it waits for consolidation and moves have a price', () => {
    const running = { ...labelled('a'), status: { phase: 'Running' as const, startTime: AN_HOUR_AGO } };
    const nodes = [stateNode('a', { pods: [running] }), stateNode('b', { ready: false })];
    const [node] = nodes as [StateNode];
    expect(found(node, { nodes, evictionUsd: 0.005 })?.worth).toMatchObject({
      ...{ pods: 1, hours: 1, evictionsUsd: 0.005, lostWorkUsd: 0.010526, priceUsd: 0.016404 },
    });
    expect(found(node, { nodes })).not.toHaveProperty('worth');
  });

  it('reports a price with the work of a Job that the move would end', () => {
    const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'Job', name: 'import', uid: 'uid', controller: true }];
    const status = { phase: 'Running' as const, startTime: AN_HOUR_AGO };
    const nodes = [
      stateNode('a', { pods: [pod('a', { metadata: { ownerReferences }, status })] }),
      stateNode('b', { ready: false }),
    ];
    const [node] = nodes as [StateNode];
    const lost = (failures: number): number =>
      found(node, { nodes, evictionUsd: 0.005, failuresOf: (job) => (job === 'uid' ? failures : 0) })?.worth
        ?.endedJobsUsd ?? Number.NaN;
    // twice a tenth of a vCPU for an hour, at the spot price of $0.02
    expect(lost(6)).toBeCloseTo(0.004, 6);
    expect(lost(5)).toBe(0);
  });

  it.each([
    {
      when: 'its annotation blocks disruption',
      node: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } },
      is: ['do-not-disrupt'],
    },
    { when: 'its NodePool does not exist', node: { pool: 'gone' }, is: ['no-pool'] },
    { when: 'no reason blocks it', node: {}, is: undefined },
  ])('reports, if $when, $is', ({ node, is }) => {
    expect(codesOf(stateNode('a', node))).toEqual(is);
  });

  it('reports a running gang that stays until it finishes, on each of its nodes', () => {
    const annotations = { 'karpenter-ts.sh/gang': 'train', 'karpenter-ts.sh/gang-disruption': 'WhenFinished' };
    const member = (at: number): Pod => pod(`train-${at}`, { metadata: { annotations } });
    const nodes = [0, 1].map((at) => stateNode(`n${at}`, { pods: [member(at)] }));
    for (const [at, node] of nodes.entries()) {
      const others = nodes.filter((each) => each !== node);
      const [first] = found(node, { nodes: [node, ...others] })?.blockers ?? [];
      expect([at, first?.code, first?.text]).toEqual([
        at,
        'gang',
        'gang train (2 pods on 2 nodes) is not moved before it finishes',
      ]);
    }
    expect(codesOf(stateNode('n', { pods: [member(0)] })) ?? []).not.toContain('gang');
  });

  it('reports the pods that cannot move because their claims are ignored', () => {
    const claiming = { resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] };
    const node = stateNode('a', { pods: [pod('plain'), pod('claiming', { spec: { containers: [], ...claiming } })] });
    expect(found(node, { ignoresClaims: true })).toMatchObject({
      waitsFor: 'consolidation',
      blockers: [{ code: 'claims-ignored', pods: ['default/claiming'] }],
    });
    expect(found(node)).toBeUndefined();
    // the nodes of a static NodePool are replaced without a simulation
    const dynamic = pool();
    const nodePool = { ...dynamic, spec: { ...dynamic.spec, replicas: 1 } };
    const pools = [{ nodePool, instanceTypes: [instanceType('m.large', 2, 0.1)] }];
    expect(codesOf(node, { ignoresClaims: true, pools })).toBeUndefined();
  });

  it('waits for nothing if no method selects it, since the first event that reported this', () => {
    const wanted = stateNode('a', { pods: [held], claim: claim('a') });
    expect(found(wanted, { firstReported: new Map([['a', NOW - HOUR]]) })).toMatchObject({
      waitsFor: 'nothing',
      since: AN_HOUR_AGO,
    });
    expect(found(wanted)).not.toHaveProperty('since');
  });
});
