/** Grouping of rules between pods, counted pods and known domains. */
import { describe, expect, it } from '@jest/globals';
import {
  type Affinity,
  ARCH_LABEL,
  CAPACITY_TYPE_LABEL,
  HOSTNAME_LABEL,
  type Namespace,
  type Pod,
  type PodAffinityTerm,
  type TopologySpreadConstraint,
  ZONE_LABEL,
} from '#api/objects';
import type { Plan, StateNode } from '../../../../src/engine/model.ts';
import { solve } from '../../../../src/engine/solve.ts';
import {
  instanceType,
  nodePool,
  OPTIONS,
  oneOf,
  type PodParts,
  planOf,
  pod,
  refusalText,
  replicas,
  snapshot,
  stateNode,
} from '../build.ts';

const WEB = { app: 'web' };
const constraint = (extra: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint => ({
  maxSkew: 1,
  topologyKey: ZONE_LABEL,
  whenUnsatisfiable: 'DoNotSchedule',
  labelSelector: { matchLabels: WEB },
  ...extra,
});
const spread = (extra: Partial<TopologySpreadConstraint> = {}, parts: PodParts = {}): PodParts => ({
  cpu: '100m',
  labels: WEB,
  ...parts,
  topologySpreadConstraints: [constraint(extra)],
});
const away = (term: Partial<PodAffinityTerm> = {}): Affinity => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: ZONE_LABEL, labelSelector: { matchLabels: WEB }, ...term },
    ],
  },
});
const towards = (term: Partial<PodAffinityTerm> = {}): Affinity => ({
  podAffinity: away(term).podAntiAffinity ?? {},
});

const full = { allocatable: { cpu: '0' } };
const nodeIn = (zone: string, pods: readonly Pod[] = [], parts: Parameters<typeof stateNode>[1] = {}): StateNode =>
  stateNode(`node-${zone}`, { ...full, ...parts, labels: { [ZONE_LABEL]: `zone-${zone}`, ...parts.labels }, pods });
const running = (name: string, parts: PodParts = {}): Pod => pod(name, { labels: WEB, nodeName: 'n', ...parts });
const zonesOf = ({ claims }: Plan): readonly string[] =>
  claims.flatMap(({ requirements }) => requirements.find(({ key }) => key === ZONE_LABEL)?.values ?? []).sort();
const namespace = (name: string, labels: Record<string, string> = {}): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});

describe('a selector', () => {
  it('matches no pod if it is missing, so no pod is counted or restricted', () => {
    const { labelSelector: _, ...open } = constraint();
    const parts: PodParts = { cpu: '1', labels: WEB, topologySpreadConstraints: [open] };
    const plan = planOf({ pendingPods: replicas(4, 'p', parts) });
    expect(plan.refusals.size).toBe(0);
    expect(new Set(zonesOf(plan)).size).toBe(1);
  });

  it('matches all pods of the namespace if it is empty', () => {
    const plan = planOf({
      pendingPods: replicas(3, 'p', { cpu: '1', topologySpreadConstraints: [constraint({ labelSelector: {} })] }),
    });
    expect(zonesOf(plan)).toEqual(['zone-a', 'zone-b', 'zone-c']);
  });

  it('includes the values of matchLabelKeys, so that each revision is spread separately', () => {
    const revision = (hash: string): PodParts =>
      spread({ matchLabelKeys: ['hash', 'absent'] }, { labels: { ...WEB, hash }, cpu: '100m' });
    const old = ['a', 'b', 'c'].map((zone) => nodeIn(zone, [running('old', { labels: { ...WEB, hash: '1' } })]));
    const plan = planOf({
      nodes: [...old, nodeIn('a', replicas(9, 'more', { labels: { ...WEB, hash: '1' } }))],
      pendingPods: replicas(3, 'new', revision('2')),
    });
    expect(zonesOf(plan)).toEqual(['zone-a', 'zone-b', 'zone-c']);
  });
});

describe('the namespace of an affinity term', () => {
  const other = (name: string) => running('there', { namespace: name });
  const keptOut = (term: Partial<PodAffinityTerm>, inNamespace: string): boolean => {
    const plan = planOf({
      nodes: [nodeIn('a', [other(inNamespace)])],
      namespaces: [namespace('default'), namespace('blue', { team: 'blue' }), namespace('red')],
      pendingPods: [pod('p', { cpu: '1', affinity: away(term), nodeSelector: { [ZONE_LABEL]: 'zone-a' } })],
    });
    return plan.claims.length === 0;
  };
  it.each<{ term: Partial<PodAffinityTerm>; of: string; keptOut: boolean }>([
    { term: {}, of: 'default', keptOut: true },
    { term: {}, of: 'blue', keptOut: false },
    { term: { namespaces: ['red'] }, of: 'red', keptOut: true },
    { term: { namespaces: ['red'] }, of: 'default', keptOut: false },
    { term: { namespaceSelector: {} }, of: 'red', keptOut: true },
    { term: { namespaceSelector: { matchLabels: { team: 'blue' } } }, of: 'blue', keptOut: true },
    { term: { namespaceSelector: { matchLabels: { team: 'blue' } } }, of: 'default', keptOut: false },
    { term: { namespaceSelector: { matchLabels: { team: 'blue' } }, namespaces: ['red'] }, of: 'red', keptOut: true },
  ])('matches, for $term, pods of $of: $keptOut', ({ term, of, keptOut: expected }) => {
    expect(keptOut(term, of)).toBe(expected);
  });
});

describe('a rule with equal counts', () => {
  it('shares a group with any minDomains, and the first applies', () => {
    const types = [instanceType('t', { zones: ['zone-a'] })];
    const first = pod('first', { ...spread({ minDomains: 1 }), cpu: '2' });
    const second = pod('second', { ...spread({ minDomains: 3 }), cpu: '1' });
    expect(planOf({ types, pendingPods: [first, second] }).refusals.size).toBe(0);
    const strict = pod('strict', { ...spread({ minDomains: 3 }), cpu: '2' });
    const after = pod('after', { ...spread({ minDomains: 1 }), cpu: '1' });
    expect([...planOf({ types, pendingPods: [strict, after] }).refusals.keys()]).toEqual(['default/after']);
  });

  it('shares a group unless its skew differs', () => {
    const types = [instanceType('t', { zones: ['zone-a', 'zone-b'] })];
    const loose = replicas(3, 'loose', spread({ maxSkew: 3 }, { nodeSelector: { [ZONE_LABEL]: 'zone-a' } }));
    const plan = planOf({ types, pendingPods: [...loose, pod('tight', spread())] });
    expect(plan.refusals.size).toBe(0);
    const tight = plan.claims.find(({ pods }) => pods.includes('default/tight'));
    expect(tight?.requirements.find(({ key }) => key === ZONE_LABEL)?.values).toEqual(['zone-b']);
  });
});

describe('the count of pods', () => {
  /** A pod takes the first of equal zones, unless pods are counted there. */
  const counted = (those: readonly Pod[], extra: Partial<TopologySpreadConstraint> = {}, node = {}): boolean =>
    zonesOf(planOf({ nodes: [nodeIn('a', those, node)], pendingPods: [pod('p', spread(extra))] }))[0] !== 'zone-a';
  it.each<{ what: string; pods: readonly Pod[]; is: boolean }>([
    { what: 'a running pod', pods: [running('r')], is: true },
    { what: 'a pod of another namespace', pods: [running('r', { namespace: 'other' })], is: false },
    { what: 'a pod with other labels', pods: [running('r', { labels: {} })], is: false },
    { what: 'a pod that has finished', pods: [{ ...running('r'), status: { phase: 'Succeeded' } }], is: false },
    {
      what: 'a terminating pod',
      pods: [{ ...running('r'), metadata: { ...running('r').metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }],
      is: false,
    },
  ])('depends on the pod: $what: $is', ({ pods, is }) => {
    expect(counted(pods)).toBe(is);
  });

  it('includes pods on nodes that the pod could not use only if its affinity is ignored', () => {
    const choosy = (nodeAffinityPolicy: 'Honor' | 'Ignore'): boolean => {
      const plan = planOf({
        nodes: [nodeIn('a', [running('r')], { labels: { disk: 'hdd' } })],
        pools: [nodePool('default', { labels: { disk: 'ssd' } })],
        pendingPods: [pod('p', spread({ nodeAffinityPolicy }, { nodeSelector: { disk: 'ssd' } }))],
      });
      return zonesOf(plan)[0] !== 'zone-a';
    };
    expect(choosy('Honor')).toBe(false);
    expect(choosy('Ignore')).toBe(true);
  });

  it('includes pods on tainted nodes unless taints are honored', () => {
    const taints = [{ key: 'special', effect: 'NoSchedule' as const }];
    expect(counted([running('r')], {}, { taints })).toBe(true);
    expect(counted([running('r')], { nodeTaintsPolicy: 'Honor' }, { taints })).toBe(false);
  });

  it('excludes pods that are being placed from their current node', () => {
    const moving = running('moving', spread());
    const plan = planOf({
      nodes: [nodeIn('a', [moving], { markedForDeletion: true })],
      pendingPods: [{ ...moving, spec: { ...moving.spec, nodeSelector: { [ZONE_LABEL]: 'zone-a' } } }],
    });
    expect(plan.refusals.size).toBe(0);
  });

  it('includes pods on a node without the hostname label for a domain with its name', () => {
    const bare = stateNode('bare', { pods: [running('r')], allocatable: { cpu: '4' } });
    const { 'kubernetes.io/hostname': _, ...labels } = bare.labels;
    const node = { ...bare, labels, ...(bare.node && { node: { ...bare.node, metadata: { name: 'bare', labels } } }) };
    const plan = planOf({
      nodes: [node],
      pendingPods: [pod('p', { cpu: '1', affinity: away({ topologyKey: HOSTNAME_LABEL }) })],
    });
    expect(plan.placements).toEqual([]);
    expect(plan.claims).toHaveLength(1);
  });
});

describe('a domain', () => {
  it('belongs to a NodePool or to an existing node', () => {
    const plan = planOf({
      nodes: [nodeIn('old')],
      types: [instanceType('t', { zones: ['zone-a', 'zone-b'] })],
      pendingPods: replicas(3, 'p', spread()),
    });
    // The old zone has no instance types and stays at 0, so other zones may have one pod.
    expect(zonesOf(plan)).toEqual(['zone-a', 'zone-b']);
    expect(plan.refusals.size).toBe(1);
  });

  it('does not follow from instance types if a NodePool narrows it', () => {
    const pools = [nodePool('default', { requirements: [oneOf(ZONE_LABEL, 'zone-a', 'zone-b')] })];
    const plan = planOf({ pools, pendingPods: replicas(4, 'p', spread()) });
    expect(plan.refusals.size).toBe(0);
    expect(new Set(zonesOf(plan))).toEqual(new Set(['zone-a', 'zone-b']));
  });

  it.each([
    { of: 'a zone that nothing offers', requirements: [oneOf(ZONE_LABEL, 'zone-z')] },
    { of: 'a capacity type that is not offered there', requirements: [oneOf(CAPACITY_TYPE_LABEL, 'reserved')] },
    { of: 'limits that allow no node', limits: { cpu: '0' } },
    { of: 'a limit of nodes that is reached', limits: { nodes: '0' } },
    { of: 'taints that the pod does not tolerate', taints: [{ key: 'gpu', effect: 'NoSchedule' as const }] },
    { of: 'instance types that are too small', types: [instanceType('small', { cpu: 1, zones: ['zone-z'] })] },
    { of: 'labels that the pod excludes', labels: { tier: 'back' } },
  ])('does not count for the spread of a pod that cannot use the NodePool because of $of', ({
    of,
    types,
    ...parts
  }) => {
    const inZone = [oneOf(ZONE_LABEL, 'zone-z'), ...(parts.requirements ?? [])];
    const zones = of === 'a zone that nothing offers' ? ['zone-a'] : ['zone-a', 'zone-z'];
    const excluded = { key: 'tier', operator: 'NotIn' as const, values: ['back'] };
    const required = { nodeSelectorTerms: [{ matchExpressions: [excluded] }] };
    const pendingPods = replicas(6, 'p', {
      ...spread({ nodeAffinityPolicy: 'Ignore' }, { cpu: '2' }),
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
    });
    const pools = [
      { nodePool: nodePool('usable'), instanceTypes: [instanceType('t', { cpu: 2 })] },
      {
        nodePool: nodePool('unusable', { ...parts, requirements: inZone }),
        instanceTypes: types ?? [instanceType('t', { cpu: 2, zones })],
      },
    ];
    const plan = solve({ ...snapshot({ pendingPods }), pools }, OPTIONS);
    expect(plan.refusals.size).toBe(0);
    expect(zonesOf(plan)).toEqual(['zone-a', 'zone-a', 'zone-b', 'zone-b', 'zone-c', 'zone-c']);
  });

  it('counts for the spread of a pod that cannot use the NodePool once a node is launched there', () => {
    const taints = [{ key: 'gpu', effect: 'NoSchedule' as const }];
    const pools = [
      nodePool('plain', { requirements: [oneOf(ZONE_LABEL, 'zone-a')] }),
      nodePool('gpu', { requirements: [oneOf(ZONE_LABEL, 'zone-b')], taints }),
    ];
    const gpu = pod('gpu', {
      cpu: '3',
      tolerations: [{ operator: 'Exists' }],
      nodeSelector: { [ZONE_LABEL]: 'zone-b' },
    });
    const refused = (policy: 'Honor' | 'Ignore'): number =>
      planOf({ pools, pendingPods: [gpu, ...replicas(3, 'p', spread({ nodeTaintsPolicy: policy }))] }).refusals.size;
    expect(refused('Ignore')).toBe(2);
    expect(refused('Honor')).toBe(0);
  });

  it('does not count for a spread if the node affinity excludes its nodes, unless affinity is ignored', () => {
    const pools = [
      nodePool('front', { requirements: [oneOf(ZONE_LABEL, 'zone-a', 'zone-b')], labels: { tier: 'front' } }),
    ];
    const nodes = [stateNode('back', { labels: { [ZONE_LABEL]: 'zone-c', tier: 'back' } })];
    const planFor = (policy: 'Honor' | 'Ignore'): Plan => {
      const parts = spread({ nodeAffinityPolicy: policy }, { cpu: '1', nodeSelector: { tier: 'front' } });
      return planOf({ pools, nodes, pendingPods: replicas(4, 'p', parts) });
    };
    expect(planFor('Honor').refusals.size).toBe(0);
    expect(new Set(zonesOf(planFor('Honor')))).toEqual(new Set(['zone-a', 'zone-b']));
    expect(planFor('Ignore').refusals.size).toBe(2);
  });

  it('counts for the minimum although the pod requires another zone, if affinity is ignored', () => {
    const nodes = [stateNode('full', { labels: { [ZONE_LABEL]: 'zone-c' }, allocatable: { cpu: '0' } })];
    const inZoneA = spread({ nodeAffinityPolicy: 'Ignore' }, { cpu: '1', nodeSelector: { [ZONE_LABEL]: 'zone-a' } });
    const plan = planOf({ nodes, pendingPods: replicas(3, 'p', inZoneA) });
    expect(plan.refusals.size).toBe(2);
  });

  it('does not count for a spread if no instance type there satisfies the node affinity', () => {
    const typeOf = (name: string, architecture: string, zones: readonly string[]) =>
      instanceType(name, { requirements: [oneOf(ARCH_LABEL, architecture)], zones });
    const types = [typeOf('m.large', 'amd64', ['zone-a', 'zone-b', 'zone-c']), typeOf('mg.large', 'arm64', ['zone-a'])];
    const parts = spread({}, { cpu: '1', nodeSelector: { [ARCH_LABEL]: 'arm64' } });
    const plan = planOf({ types, pendingPods: replicas(3, 'p', parts) });
    expect(plan.refusals.size).toBe(0);
    expect(new Set(zonesOf(plan))).toEqual(new Set(['zone-a']));
  });

  it('is open to pods behind taints that a pod repelling them does not tolerate', () => {
    const taints = [{ key: 'gpu', effect: 'NoSchedule' as const }];
    const pools = [
      nodePool('plain', { requirements: [oneOf(ZONE_LABEL, 'zone-a')] }),
      nodePool('gpu', { requirements: [oneOf(ZONE_LABEL, 'zone-b')], taints }),
    ];
    const web = pod('web', { cpu: '1', labels: WEB, tolerations: [{ operator: 'Exists' }] });
    const plan = planOf({ pools, pendingPods: [pod('hermit', { cpu: '2', affinity: away() }), web] });
    expect(plan.refusals.size).toBe(0);
    expect(zonesOf(plan)).toEqual(['zone-a', 'zone-b']);
  });

  it('makes spread and anti-affinity impossible if its key is unknown, and the reason names the rule', () => {
    const plan = planOf({
      pendingPods: [
        pod('s', spread({ topologyKey: 'rack' })),
        pod('a', { cpu: '1', affinity: away({ topologyKey: 'rack' }) }),
      ],
    });
    expect(refusalText(plan, 's')).toMatch(
      /^unsatisfiable topology constraint for topology spread, key=rack \(counts = /,
    );
    expect(refusalText(plan, 'a')).toMatch(/^unsatisfiable topology constraint for pod anti-affinity, key=rack \(/);
  });

  it('is used for spreads like a zone if it is a custom label of NodePools', () => {
    const pools = ['x', 'y'].map((rack) => nodePool(`pool-${rack}`, { labels: { rack } }));
    const plan = planOf({ pools, pendingPods: replicas(4, 'p', spread({ topologyKey: 'rack' })) });
    expect(plan.claims.map(({ nodePool: name, pods }) => [name, pods.length]).sort()).toEqual([
      ['pool-x', 2],
      ['pool-y', 2],
    ]);
  });

  it('is used for the spreads of pods if only they name its values', () => {
    const pools = [nodePool('pool', { requirements: [{ key: 'rack', operator: 'Exists' }] })];
    const racks = ['x', 'y'].map((rack) => spread({ topologyKey: 'rack' }, { nodeSelector: { rack } }));
    const pendingPods = racks.flatMap((parts, at) => replicas(2, `p-${at}`, parts));
    expect(planOf({ pools, pendingPods }).refusals.size).toBe(0);
  });
});

describe('a placed pod', () => {
  it('narrows its new node to one zone if only a rule of other pods counts it', () => {
    const open = pod('open', { cpu: '3', labels: WEB });
    const types = [instanceType('t', { cpu: 3 })];
    const plan = planOf({ pendingPods: [open, ...replicas(5, 'p', spread())], types });
    expect(plan.refusals.size).toBe(0);
    // Six counted pods, two in each zone, and the first one has its own node.
    expect(zonesOf(plan)).toEqual(['zone-a', 'zone-a', 'zone-b', 'zone-c']);
    const free = planOf({ pendingPods: [open], types });
    expect(zonesOf(free)).toEqual([]);
    const soft = spread({ whenUnsatisfiable: 'ScheduleAnyway' });
    const [first] = planOf({ pendingPods: [open, ...replicas(1, 'p', soft)], types }).claims;
    expect(first?.requirements.map(({ key }) => key)).not.toContain(ZONE_LABEL);
  });

  it('draws pods of its own kind into its zone if their affinity counts it', () => {
    const web = pod('web', { cpu: '3', labels: WEB });
    const friend = pod('friend', { cpu: '2', labels: WEB, affinity: towards() });
    const plan = planOf({ pendingPods: [web, friend], types: [instanceType('t', { cpu: 3 })] });
    expect(plan.refusals.size).toBe(0);
    expect(new Set(zonesOf(plan)).size).toBe(1);
  });

  it('waits until the zone of its node is known with affinity to another kind, as in Karpenter', () => {
    const web = pod('web', { cpu: '3', labels: WEB });
    const follower = pod('follower', { cpu: '2', affinity: towards() });
    const plan = planOf({ pendingPods: [web, follower], types: [instanceType('t', { cpu: 3 })] });
    expect([...plan.refusals.keys()]).toEqual(['default/follower']);
  });

  it('counts in every possible zone with anti-affinity by zone', () => {
    const plan = planOf({
      pendingPods: [pod('open', { cpu: '3', labels: WEB }), pod('shy', { cpu: '1', affinity: away() })],
      types: [instanceType('t', { cpu: 3 })],
    });
    expect([...plan.refusals.keys()]).toEqual(['default/shy']);
  });
});

describe('a required affinity', () => {
  it('starts anywhere if it is to the pod itself, and otherwise only where the other pods run', () => {
    const friends = planOf({ pendingPods: replicas(3, 'p', { cpu: '100m', labels: WEB, affinity: towards() }) });
    expect(friends.refusals.size).toBe(0);
    expect(new Set(zonesOf(friends)).size).toBe(1);
    const lonely = planOf({ pendingPods: [pod('p', { cpu: '100m', affinity: towards() })] });
    expect(refusalText(lonely, 'p')).toMatch(/^unsatisfiable topology constraint for pod affinity, key=topology/);
  });

  it('follows running pods if it is to the pod itself', () => {
    const plan = planOf({
      nodes: [nodeIn('c', [running('r')])],
      pendingPods: replicas(2, 'p', { cpu: '1', labels: WEB, affinity: towards() }),
    });
    expect(new Set(zonesOf(plan))).toEqual(new Set(['zone-c']));
  });

  it('does not start a second time in a required zone, because kube-scheduler would not bind the pod', () => {
    const plan = planOf({
      nodes: [nodeIn('c', [running('r')])],
      pendingPods: [pod('p', { cpu: '1', labels: WEB, affinity: towards(), nodeSelector: { [ZONE_LABEL]: 'zone-a' } })],
    });
    expect([...plan.refusals.keys()]).toEqual(['default/p']);
  });

  it('follows with several terms only pods that match all of them', () => {
    const both = { ...WEB, tier: 'front' };
    const term = (matchLabels: Record<string, string>, topologyKey: string): PodAffinityTerm => ({
      topologyKey,
      labelSelector: { matchLabels },
    });
    const terms = [term(WEB, ZONE_LABEL), term({ tier: 'front' }, HOSTNAME_LABEL)];
    const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
    const planWith = (...labels: readonly Record<string, string>[]): Plan => {
      const pods = labels.map((each, at) => running(`r-${at}`, { labels: each }));
      const node = nodeIn('a', pods, { allocatable: { cpu: '4' } });
      return planOf({ nodes: [node], pendingPods: [pod('p', { cpu: '1', affinity })] });
    };
    expect(planWith(WEB, { tier: 'front' }).placements).toEqual([]);
    expect(planWith(both).placements).toHaveLength(1);
  });

  it('starts with several terms only if no pod matches all of them, by any of their labels', () => {
    const term = (topologyKey: string): PodAffinityTerm => ({ topologyKey, labelSelector: { matchLabels: WEB } });
    const terms = [term('rack'), term(ZONE_LABEL)];
    const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
    const pools = [nodePool('default', { labels: { rack: 'r1' } })];
    for (const packing of ['cheapest', 'compatible'] as const) {
      const planWith = (pods: readonly Pod[], labels: Record<string, string> = {}): Plan => {
        const pendingPods = replicas(3, 'p', { cpu: '1', labels: WEB, affinity });
        return planOf({ pools, nodes: [nodeIn('a', pods, { labels })], pendingPods }, { packing });
      };
      expect(planWith([]).refusals.size).toBe(0);
      expect(new Set(zonesOf(planWith([]))).size).toBe(1);
      // the label `rack` of the running pod's node is missing, so every rack is empty
      const plan = planWith([running('r')]);
      expect(plan.refusals.size).toBe(3);
      expect(refusalText(plan, 'p-0')).toContain('pods that match all required affinity terms exist');
      expect(zonesOf(planWith([running('r')], { rack: 'r1' }))).toEqual(['zone-a']);
    }
  });
});

describe('the first pod of an affinity by zone', () => {
  const GROUP = { team: 'g' };
  const together = towards({ labelSelector: { matchLabels: GROUP } });
  const inZone = (zone: string): PodParts => ({ nodeSelector: { [ZONE_LABEL]: zone } });
  const mate = (name: string, parts: PodParts): Pod => pod(name, { labels: GROUP, affinity: together, ...parts });
  const VOLUME = {
    persistentVolumeClaims: [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data', namespace: 'default', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
        spec: { volumeName: 'data' },
      },
    ],
    persistentVolumes: [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'data' },
        spec: {
          csi: { driver: 'ebs.csi.aws.com' },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: ZONE_LABEL, operator: 'In' as const, values: ['zone-c'] }] },
              ],
            },
          },
        },
      },
    ],
  };

  it('starts in the zone of the volume of a later pod', () => {
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    const plan = planOf({
      ...VOLUME,
      pendingPods: [mate('first', { cpu: '3' }), mate('later', { cpu: '2', volumes })],
    });
    expect(plan.refusals.size).toBe(0);
    expect(new Set(zonesOf(plan))).toEqual(new Set(['zone-c']));
  });

  it('starts where a later pod can use a node, also on an existing node', () => {
    const nodes = ['a', 'b'].map((zone) => nodeIn(zone, [], { allocatable: { cpu: '4' } }));
    const plan = planOf({
      nodes,
      pendingPods: [mate('first', { cpu: '3' }), mate('later', { cpu: '2', ...inZone('zone-b') })],
    });
    expect(plan.placements.map(({ node, pods }) => [node, pods])).toEqual([['node-b', ['default/first']]]);
    expect(zonesOf(plan)).toEqual(['zone-b']);
  });

  it('starts anywhere if later pods contradict each other, or if it cannot be in their zone', () => {
    const pools = [
      nodePool('default'),
      nodePool('far', { requirements: [oneOf(ZONE_LABEL, 'zone-d')], taints: [{ key: 'far', effect: 'NoSchedule' }] }),
    ];
    const types = [instanceType('t', { zones: ['zone-a', 'zone-b', 'zone-d'] })];
    const far = { ...inZone('zone-d'), tolerations: [{ operator: 'Exists' as const }] };
    const near = nodePool('default', { requirements: [oneOf(ZONE_LABEL, 'zone-a', 'zone-b')] });
    const contradicting = [
      mate('first', { cpu: '3' }),
      mate('b', { cpu: '2', ...inZone('zone-b') }),
      mate('a', { cpu: '1', ...inZone('zone-a') }),
    ];
    expect([...planOf({ types, pools: [near], pendingPods: contradicting }).refusals.keys()]).toEqual(['default/a']);
    const apart = [mate('first', { cpu: '3' }), mate('later', { cpu: '2', ...far })];
    const plan = planOf({ types, pools: [near, ...pools.slice(1)], pendingPods: apart });
    expect([...plan.refusals.keys()]).toEqual(['default/later']);
  });
});

describe('a hostname', () => {
  it('cannot be selected by pods', () => {
    const wanting = pod('p', { cpu: '1', nodeSelector: { [HOSTNAME_LABEL]: 'here' } });
    const plan = planOf({ pendingPods: [wanting], nodes: [stateNode('here')] });
    expect(plan.refusals.get('default/p')).toMatchObject({ code: 'ignored', optedOut: false });
    expect(refusalText(plan, 'p')).toMatch(/^using label kubernetes\.io\/hostname is not allowed/);
  });
});

describe('a rule of another pod on a label that few nodes have', () => {
  const ROOM = { allocatable: { cpu: '4', memory: '8Gi', pods: '100' } };
  const everybody = away({ topologyKey: 'example.com/nowhere', labelSelector: {}, namespaceSelector: {} });

  it('closes no new node while its pod is pending', () => {
    const plan = planOf({
      pools: [nodePool('default')],
      pendingPods: [pod('hermit', { cpu: '4', affinity: everybody }), pod('web', { cpu: '1' })],
      namespaces: [namespace('default')],
    });
    expect(refusalText(plan, 'web')).toBeUndefined();
    expect(plan.claims.flatMap(({ pods }) => pods)).toContain('default/web');
  });

  it('closes neither new nor existing nodes without the label while its pod is running', () => {
    const hermit = pod('hermit', { nodeName: 'n', affinity: everybody });
    for (const allocatable of [ROOM, full]) {
      const plan = planOf({
        pendingPods: [pod('web', { cpu: '1' })],
        nodes: [nodeIn('a', [hermit]), nodeIn('b', [], allocatable)],
        namespaces: [namespace('default')],
      });
      expect(refusalText(plan, 'web')).toBeUndefined();
      expect(plan.placements).toHaveLength(allocatable === ROOM ? 1 : 0);
    }
  });

  it('closes the domain of its pod', () => {
    const hermit = pod('hermit', { nodeName: 'n', affinity: everybody });
    const here = { 'example.com/nowhere': 'here' };
    const plan = planOf({
      pools: [nodePool('default', { labels: here })],
      pendingPods: [pod('web', { cpu: '1' })],
      nodes: [nodeIn('a', [hermit], { labels: here }), nodeIn('b', [], { ...ROOM, labels: here })],
      namespaces: [namespace('default')],
    });
    expect(refusalText(plan, 'web')).toMatch(/anti-affinity, key=example.com\/nowhere/);
  });
});
