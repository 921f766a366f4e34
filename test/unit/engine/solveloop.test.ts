/** The order of pods and places, and the final form of claims. */
import { describe, expect, it } from '@jest/globals';
import {
  CAPACITY_TYPE_LABEL,
  HOSTNAME_LABEL,
  INSTANCE_SIZE_LABEL,
  INSTANCE_TYPE_LABEL,
  type NodeClaim,
  type Pod,
  ZONE_LABEL,
} from '#api/objects';
import type { InstanceType } from '../../../src/engine/model.ts';
import {
  daemon,
  instanceType,
  nodePool,
  offering,
  oneOf,
  planOf,
  pod,
  refusalText,
  replicas,
  type SnapshotParts,
  stateNode,
  TYPES,
} from './build.ts';

/** Packing like Karpenter, so that the order is visible in the claims. */
const firstFit = (parts: SnapshotParts) => planOf(parts, { packing: 'compatible' });
const made = (each: Pod, creationTimestamp: string, uid: string): Pod => ({
  ...each,
  metadata: { ...each.metadata, creationTimestamp, uid },
});

describe('a pod', () => {
  it('is tried by CPU, then memory, then age, then UID', () => {
    const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'];
    const pendingPods = [
      made(pod('young', { cpu: '1', memory: '1Gi' }), late, 'a'),
      made(pod('second-uid', { cpu: '1', memory: '1Gi' }), early, 'c'),
      made(pod('first-uid', { cpu: '1', memory: '1Gi' }), early, 'b'),
      made(pod('more-memory', { cpu: '1', memory: '2Gi' }), late, 'd'),
      made(pod('more-cpu', { cpu: '2' }), late, 'e'),
    ];
    const order = firstFit({ pendingPods, types: [instanceType('all', { cpu: 8 })] }).claims[0]?.pods;
    expect(order).toEqual(
      ['more-cpu', 'more-memory', 'first-uid', 'second-uid', 'young'].map((name) => `default/${name}`),
    );
  });

  it('is tried until a whole round makes no progress, and again if it depends on a later pod', () => {
    const affinity = (app: string) => ({
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: ZONE_LABEL, labelSelector: { matchLabels: { app } } },
        ],
      },
    });
    const chain = [
      pod('third', { cpu: '3', affinity: affinity('second') }),
      pod('second', { cpu: '2', labels: { app: 'second' }, affinity: affinity('first') }),
      pod('first', { cpu: '1', labels: { app: 'first' }, nodeSelector: { [ZONE_LABEL]: 'zone-b' } }),
      pod('never', { cpu: '1', affinity: affinity('nobody') }),
    ];
    const plan = planOf({ pendingPods: chain });
    expect([...plan.refusals.keys()]).toEqual(['default/never']);
    expect(plan.claims.flatMap(({ pods }) => pods)).toHaveLength(3);
  });
});

describe('a place', () => {
  it('is tried as a node first, then as a claim by its number of pods, then as a new claim', () => {
    const node = stateNode('node', { allocatable: { cpu: '1' } });
    const apart = (app: string) => ({
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: HOSTNAME_LABEL, labelSelector: { matchLabels: { app } } },
        ],
      },
    });
    const plan = firstFit({
      nodes: [node],
      types: [instanceType('all', { cpu: 8 })],
      pendingPods: [
        ...replicas(2, 'apart', { cpu: '3', labels: { app: 'x' }, affinity: apart('x') }),
        pod('joins', { cpu: '2500m' }),
        pod('evens', { cpu: '2' }),
        pod('on-node', { cpu: '1' }),
      ],
    });
    expect(plan.placements).toMatchObject([{ node: 'node', pods: ['default/on-node'] }]);
    expect(plan.claims.map(({ pods }) => pods.length)).toEqual([2, 2]);
  });

  it('is tried as an open claim of any NodePool before a new claim of a heavier NodePool', () => {
    const heavy = nodePool('heavy', { weight: 50, requirements: [oneOf(ZONE_LABEL, 'zone-a')] });
    const plan = firstFit({
      pools: [heavy, nodePool('light')],
      types: [instanceType('all', { cpu: 8 })],
      pendingPods: [pod('far', { cpu: '3', nodeSelector: { [ZONE_LABEL]: 'zone-b' } }), pod('anywhere', { cpu: '1' })],
    });
    expect(plan.claims.map(({ nodePool: name }) => name)).toEqual(['light']);
  });

  it('is tried again after a pod has added a label that the NodePool does not have', () => {
    const avoids = [{ matchExpressions: [{ key: 'team', operator: 'NotIn' as const, values: ['b'] }] }];
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: avoids } },
    };
    const plan = firstFit({
      types: [instanceType('all', { cpu: 8 })],
      pendingPods: [
        pod('opens', { cpu: '3' }),
        pod('asks', { cpu: '2', nodeSelector: { team: 'a' } }),
        pod('avoids', { cpu: '1', affinity }),
      ],
    });
    expect(plan.claims.map(({ pods }) => pods)).toEqual([['default/opens', 'default/avoids', 'default/asks']]);
    expect(plan.claims[0]?.labels.team).toBe('a');
  });

  it('is tried by the labels that nodes have, without the requirements of pods that were placed there', () => {
    const avoids = [{ matchExpressions: [{ key: 'team', operator: 'NotIn' as const, values: ['b'] }] }];
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: avoids } },
    };
    const { placements } = firstFit({
      nodes: [stateNode('node')],
      pendingPods: [pod('avoids', { cpu: '2', affinity }), pod('asks', { cpu: '1', nodeSelector: { team: 'a' } })],
    });
    expect(placements).toMatchObject([{ pods: ['default/avoids'] }]);
  });

  it('is tried after initialized nodes if it is an uninitialized node, whatever its name', () => {
    const nodes = [
      stateNode('a-young', { initialized: false, allocatable: { cpu: '1' } }),
      stateNode('b', { allocatable: { cpu: '1' } }),
      stateNode('c', { allocatable: { cpu: '1' } }),
    ];
    const plan = planOf({ nodes, pendingPods: replicas(2, 'p', { cpu: '1' }) });
    expect(plan.placements.map(({ node }) => node)).toEqual(['b', 'c']);
  });
});

describe('a taint', () => {
  it('does not keep pods from existing nodes with PreferNoSchedule, and from new ones only until the last resort', () => {
    const taints = [{ key: 'old', value: 'yes', effect: 'PreferNoSchedule' as const }];
    const pendingPods = [pod('p', { cpu: '1' })];
    expect(planOf({ nodes: [stateNode('old', { taints })], pendingPods }).placements).toMatchObject([{ node: 'old' }]);
    const soft = nodePool('soft', { taints });
    const namesOf = (pools: readonly ReturnType<typeof nodePool>[]): readonly string[] =>
      planOf({ pools, pendingPods }).claims.map((claim) => claim.nodePool);
    expect(namesOf([soft, nodePool('plain')])).toEqual(['plain']);
    expect(namesOf([soft])).toEqual(['soft']);
  });

  it('is reported with its value if it has NoExecute', () => {
    const pools = [nodePool('default', { taints: [{ key: 'x', value: 'y', effect: 'NoExecute' }] })];
    expect(refusalText(planOf({ pools, pendingPods: [pod('p')] }), 'p')).toBe(
      'did not tolerate taint (taint=x=y:NoExecute)',
    );
  });

  it('does not repel pods if it is a startup taint', () => {
    const pool = nodePool('default');
    const { template } = pool.spec;
    const startupTaints = [{ key: 'cni', effect: 'NoExecute' as const }];
    const starting = {
      ...pool,
      spec: { ...pool.spec, template: { ...template, spec: { ...template.spec, startupTaints } } },
    };
    expect(planOf({ pools: [starting], pendingPods: [pod('p')] }).claims).toHaveLength(1);
  });
});

describe('a limit', () => {
  it('counts only nodes of the NodePool', () => {
    const nodes = [
      stateNode('own', { pods: [pod('r', { cpu: '4', nodeName: 'own' })] }),
      stateNode('other', { pool: 'other', pods: [pod('q', { cpu: '4', nodeName: 'other' })] }),
    ];
    const bought = (cpu: string) =>
      planOf({ nodes, pools: [nodePool('default', { limits: { cpu } })], pendingPods: [pod('p', { cpu: '1' })] })
        .claims;
    expect(bought('6')[0]?.instanceTypes).toEqual(['small']);
    expect(bought('5')).toEqual([]);
  });

  it('counts nodes that are being deleted until they are gone', () => {
    const nodes = [stateNode('going', { markedForDeletion: true })];
    const bought = (cpu: string) =>
      planOf({ nodes, pools: [nodePool('default', { limits: { cpu } })], pendingPods: [pod('p', { cpu: '1' })] })
        .claims;
    expect(bought('4')).toEqual([]);
    expect(bought('8')).toHaveLength(1);
  });

  it('does not count nodes whose deletion takes long, because their pods may wait for a new node', () => {
    const bought = (minutes: number) => {
      const nodeClaim = { metadata: { name: 'going', deletionTimestamp: new Date(0).toISOString() } } as NodeClaim;
      const nodes = [{ ...stateNode('going', { markedForDeletion: true }), nodeClaim }];
      const pools = [nodePool('default', { limits: { cpu: '4' } })];
      return planOf({ nowMs: minutes * 60_000, nodes, pools, pendingPods: [pod('p', { cpu: '1' })] }).claims;
    };
    expect([bought(4).length, bought(5).length]).toEqual([0, 1]);
  });

  it.each(['compatible', 'cheapest'] as const)('holds on nodes within one solve with packing %s', (packing) => {
    const plan = (nodes: string) =>
      planOf(
        {
          pools: [nodePool('default', { limits: { nodes } })],
          types: [instanceType('one', { cpu: 1 })],
          pendingPods: replicas(3, 'p', { cpu: '1' }),
        },
        { packing },
      );
    expect([0, 1, 2, 3, 4].map((nodes) => plan(String(nodes)).claims.length)).toEqual([0, 1, 2, 3, 3]);
    expect(refusalText(plan('2'), 'p-2')).toBe('node limits have been exhausted for nodepool (NodePool=default)');
  });

  it('is reported if no type is small enough', () => {
    const plan = planOf({ pools: [nodePool('default', { limits: { memory: '1Gi' } })], pendingPods: [pod('p')] });
    expect(refusalText(plan, 'p')).toBe('all available instance types exceed limits for nodepool (NodePool=default)');
  });
});

describe('a DaemonSet', () => {
  it('differs by type, and a claim counts the smallest overhead of its types', () => {
    const types = [
      instanceType('small', { cpu: 2, requirements: [oneOf(INSTANCE_SIZE_LABEL, 's')] }),
      instanceType('big', { cpu: 8, requirements: [oneOf(INSTANCE_SIZE_LABEL, 'b')] }),
    ];
    const daemonPods = [
      daemon('everywhere', { cpu: '100m' }),
      daemon('on-big', {
        cpu: '900m',
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [oneOf(INSTANCE_SIZE_LABEL, 'b')] }],
            },
          },
        },
      }),
    ];
    const { claims } = planOf({ types, daemonPods, pendingPods: [pod('p', { cpu: '1' })] });
    expect(claims[0]?.instanceTypes).toEqual(['small', 'big']);
    expect(claims[0]?.requests).toMatchObject({ cpu: 1100, pods: 2 });
    const only = planOf({ types, daemonPods, pendingPods: [pod('p', { cpu: '3' })] }).claims[0];
    expect(only?.requests).toMatchObject({ cpu: 4000, pods: 3 });
  });

  it('repels pods that use its host port from types on which it runs', () => {
    const types = [
      instanceType('small', { cpu: 2, requirements: [oneOf(INSTANCE_SIZE_LABEL, 's')] }),
      instanceType('big', { cpu: 8, requirements: [oneOf(INSTANCE_SIZE_LABEL, 'b')] }),
    ];
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [oneOf(INSTANCE_SIZE_LABEL, 's')] }],
      },
    };
    const plan = planOf({
      types,
      daemonPods: [daemon('ingress', { hostPort: 80, affinity: { nodeAffinity } })],
      pendingPods: [pod('p', { cpu: '1', hostPort: 80 })],
    });
    expect(plan.claims[0]?.instanceTypes).toEqual(['big']);
  });
});

describe('the reason for an unschedulable pod', () => {
  const a = instanceType('a', { cpu: 2, zones: ['zone-a'] });
  const b = instanceType('b', { cpu: 8, zones: ['zone-b'] });
  const soldOut = (type: InstanceType): InstanceType => ({
    ...type,
    offerings: type.offerings.map((each) => ({ ...each, available: false })),
  });
  const arm = (type: InstanceType): InstanceType => ({
    ...type,
    requirements: [...type.requirements, oneOf('kubernetes.io/arch', 'arm64')],
  });
  const amd = { 'kubernetes.io/arch': 'amd64' };
  it.each<{ when: string; types: readonly InstanceType[]; parts: Parameters<typeof pod>[1]; says: string }>([
    {
      when: 'all types are too small',
      types: [a],
      parts: { cpu: '3' },
      says: 'no instance type has enough resources',
    },
    {
      when: 'all types have other labels',
      types: [arm(a)],
      parts: { cpu: '1', nodeSelector: amd },
      says: 'no instance type met all requirements',
    },
    {
      when: 'all types have other labels and are too small',
      types: [arm(a)],
      parts: { cpu: '3', nodeSelector: amd },
      says: 'no instance type met the scheduling requirements or had enough resources',
    },
    {
      when: 'one type has the labels and another is large enough',
      types: [a, arm(b)],
      parts: { cpu: '3', nodeSelector: amd },
      says: 'no instance type which had enough resources and the required offering met the scheduling requirements',
    },
    {
      when: 'no type is available in the required zone',
      types: [a],
      parts: { cpu: '1', nodeSelector: { [ZONE_LABEL]: 'zone-b' } },
      says: 'no instance type met the scheduling requirements or had enough resources or had a required offering',
    },
    {
      when: 'no type has this capacity type in the required zone, although it exists',
      types: [instanceType('c', { offerings: [offering('spot', 'zone-a', 1), offering('on-demand', 'zone-b', 1)] })],
      parts: { cpu: '1', nodeSelector: { [ZONE_LABEL]: 'zone-a', [CAPACITY_TYPE_LABEL]: 'on-demand' } },
      says: 'no instance type had enough resources or had a required offering',
    },
  ])('is reported if $when', ({ types, parts, says }) => {
    const text = refusalText(planOf({ types, pendingPods: [pod('p', parts)] }), 'p') ?? '';
    expect(text.slice(0, text.indexOf(', requirements='))).toBe(says);
  });

  it('ignores unavailable offerings', () => {
    const plan = planOf({ types: [soldOut(a)], pendingPods: [pod('p', { cpu: '1' })] });
    expect(plan.emptyPools).toEqual([{ nodePool: 'default', dueToMinValues: false }]);
    expect(refusalText(plan, 'p')).toBe(
      'nodepool requirements filtered out all available instance types; NodePool default is not used ' +
        '(no-instance-types): no available instance type matches its requirements',
    );
  });

  it('contains the range if DaemonSet overhead differs between types', () => {
    const types = [
      instanceType('small', { cpu: 2, requirements: [oneOf(INSTANCE_SIZE_LABEL, 's')] }),
      instanceType('big', { cpu: 4, requirements: [oneOf(INSTANCE_SIZE_LABEL, 'b')] }),
    ];
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [oneOf(INSTANCE_SIZE_LABEL, 'b')] }],
      },
    };
    const plan = planOf({
      types,
      daemonPods: [daemon('d', { cpu: '1', affinity: { nodeAffinity } })],
      pendingPods: [pod('p', { cpu: '9' })],
    });
    expect(refusalText(plan, 'p')).toContain('resources=min={"cpu":"9","pods":"1"}, max={"cpu":"10","pods":"2"}');
  });
});

describe('a final claim', () => {
  it('lists at most the 600 cheapest types', () => {
    const types = Array.from({ length: 700 }, (_, index) =>
      instanceType(`t-${String(index).padStart(3, '0')}`, { cpu: 4, usd: 1 + index }),
    );
    const [claim] = planOf({ types, pendingPods: [pod('p', { cpu: '1' })] }).claims;
    expect(claim?.instanceTypes).toHaveLength(600);
    expect(claim?.instanceTypes.at(-1)).toBe('t-599');
    expect(claim?.requirements.find(({ key }) => key === INSTANCE_TYPE_LABEL)?.values).toHaveLength(600);
  });

  it('is refused if the limit violates minValues, unless minValues may be lowered', () => {
    const types = Array.from({ length: 601 }, (_, index) =>
      instanceType(`t-${index}`, { cpu: 4, usd: 1 + index, requirements: [oneOf('rack', String(index))] }),
    );
    const pools = [nodePool('default', { requirements: [{ key: 'rack', operator: 'Exists', minValues: 601 }] })];
    const strict = planOf({ types, pools, pendingPods: [pod('p', { cpu: '1' })] });
    expect(strict.claims).toEqual([]);
    expect(refusalText(strict, 'p')).toBe(
      'pod didn’t schedule because NodePool couldn’t meet minValues requirements, validating minValues, ' +
        'minValues requirement is not met for label(s) (label(s)=[rack]) (NodePool=default)',
    );
    const lenient = planOf({ types, pools, pendingPods: [pod('p', { cpu: '1' })] }, { minValuesPolicy: 'BestEffort' });
    expect(lenient.claims).toHaveLength(1);
  });

  it('requires the capacity types of its offerings, and no hostname', () => {
    const types = [instanceType('t', { capacityTypes: ['spot'] })];
    const [claim] = planOf({ types, pendingPods: [pod('p')] }).claims;
    expect(claim?.requirements.find(({ key }) => key === CAPACITY_TYPE_LABEL)?.values).toEqual(['spot']);
    expect(claim?.requirements.map(({ key }) => key)).not.toContain(HOSTNAME_LABEL);
    expect(claim?.requirements.map(({ key }) => key)).not.toContain('karpenter.sh/registered');
  });

  it('reports that minValues were lowered', () => {
    const pools = [
      nodePool('default', { requirements: [{ key: INSTANCE_TYPE_LABEL, operator: 'Exists', minValues: 3 }] }),
    ];
    const lowered = (cpu: string) =>
      planOf({ pools, types: TYPES, pendingPods: [pod('p', { cpu })] }, { minValuesPolicy: 'BestEffort' }).claims[0]
        ?.annotations['karpenter.sh/nodeclaim-min-values-relaxed'];
    expect(lowered('1')).toBe('false');
    expect(lowered('7')).toBe('true');
  });
});
