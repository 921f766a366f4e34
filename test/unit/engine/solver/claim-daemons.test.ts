/** Affinity and anti-affinity between pods and the pods of DaemonSets on their nodes. */
import { describe, expect, it } from '@jest/globals';
import { type Affinity, ARCH_LABEL, HOSTNAME_LABEL, type Pod, ZONE_LABEL } from '#api/objects';
import type { Plan } from '../../../../src/engine/model.ts';
import {
  daemon,
  instanceType,
  nodePool,
  oneOf,
  type PodParts,
  planOf,
  pod,
  refusalText,
  replicas,
  type SnapshotParts,
  stateNode,
} from '../build.ts';

const AGENT = { app: 'agent' };
const WEB = { app: 'web' };
const terms = (labels: Readonly<Record<string, string>>, topologyKey: string) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: labels } }],
});
const near = (topologyKey = HOSTNAME_LABEL): Affinity => ({ podAffinity: terms(AGENT, topologyKey) });
const away = (topologyKey = HOSTNAME_LABEL): Affinity => ({ podAntiAffinity: terms(AGENT, topologyKey) });
const agent = (parts: PodParts = {}): Pod => daemon('agent', { cpu: '100m', labels: AGENT, ...parts });
const web = (affinity: Affinity, parts: PodParts = {}): Pod =>
  pod('web', { cpu: '1', labels: WEB, affinity, ...parts });
const TYPES = [
  instanceType('arm', { usd: 0.1, requirements: [oneOf(ARCH_LABEL, 'arm64')] }),
  instanceType('amd', { usd: 0.2, requirements: [oneOf(ARCH_LABEL, 'amd64')] }),
];
const onArm = { nodeSelector: { [ARCH_LABEL]: 'arm64' } };
const typesOf = ({ claims }: Plan): readonly string[] => claims.flatMap(({ instanceTypes }) => instanceTypes).sort();

describe('a pod that requires a pod of a DaemonSet', () => {
  const planWith = (parts: SnapshotParts): Plan => planOf({ types: TYPES, ...parts });

  it.each([HOSTNAME_LABEL, ZONE_LABEL])('gets a new node where the DaemonSet runs, by %s', (key) => {
    for (const packing of ['cheapest', 'compatible'] as const) {
      const pendingPods = replicas(3, 'web', { cpu: '1', affinity: near(key) });
      const plan = planOf({ types: TYPES, daemonPods: [agent()], pendingPods }, { packing });
      expect(plan.refusals.size).toBe(0);
      expect(plan.claims).toHaveLength(1);
    }
  });

  it('joins a new node of other pods', () => {
    const plan = planWith({ daemonPods: [agent()], pendingPods: [pod('large', { cpu: '2' }), web(near())] });
    expect(plan.claims.map(({ pods }) => pods)).toEqual([['default/large', 'default/web']]);
  });

  it('gets a node that the DaemonSet selects', () => {
    const amd = { nodeSelector: { [ARCH_LABEL]: 'amd64' } };
    expect(typesOf(planWith({ daemonPods: [agent(onArm)], pendingPods: [web(near())] }))).toEqual(['arm']);
    expect(typesOf(planWith({ daemonPods: [agent(amd)], pendingPods: [web(near())] }))).toEqual(['amd']);
    expect(planWith({ daemonPods: [agent(onArm)], pendingPods: [web(near(), amd)] }).refusals.size).toBe(1);
  });

  it('is refused if the DaemonSet does not tolerate the taints, or selects a label that no new node has', () => {
    const pools = [nodePool('default', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] })];
    const tolerations = [{ operator: 'Exists' as const }];
    const pendingPods = [web(near(), { tolerations })];
    expect(planWith({ pools, pendingPods, daemonPods: [agent()] }).refusals.size).toBe(1);
    expect(planWith({ pools, pendingPods, daemonPods: [agent({ tolerations })] }).refusals.size).toBe(0);
    const elsewhere = agent({ tolerations, nodeSelector: { team: 'other' } });
    expect(planWith({ pools, pendingPods, daemonPods: [elsewhere] }).refusals.size).toBe(1);
  });

  it.each([
    { state: 'that starts', node: { initialized: false }, is: 'used' },
    { state: 'with room for the DaemonSet', node: {}, is: 'used' },
    { state: 'without room for the DaemonSet', node: { allocatable: { cpu: '1' } }, is: 'not used' },
    { state: 'that the DaemonSet does not select', node: { labels: { [ARCH_LABEL]: 'arm64' } }, is: 'not used' },
  ])('has its node on a node $state: it is $is', ({ node, is }) => {
    const amd = agent({ nodeSelector: { [ARCH_LABEL]: 'amd64' } });
    const existing = stateNode('n', { labels: { [ARCH_LABEL]: 'amd64' }, ...node });
    const plan = planWith({ nodes: [existing], daemonPods: [amd], pendingPods: [web(near())] });
    expect(plan.placements.length > 0 ? 'used' : 'not used').toBe(is);
    expect(plan.refusals.size).toBe(0);
  });
});

describe('a pod that excludes a pod of a DaemonSet', () => {
  it('is refused if the DaemonSet runs on all new nodes, and the reason names the DaemonSet', () => {
    const plan = planOf({ types: TYPES, daemonPods: [agent()], pendingPods: [web(away())] });
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'web')).toContain('DaemonSet default/agent runs a pod on each possible node');
  });

  it.each([
    { what: 'that the DaemonSet does not select', parts: onArm },
    {
      what: 'that no alternative of the DaemonSet selects',
      parts: {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: ARCH_LABEL, operator: 'NotIn' as const, values: ['amd64'] }] },
                { matchExpressions: [{ key: ARCH_LABEL, operator: 'In' as const, values: ['arm64', 's390x'] }] },
              ],
            },
          },
        },
      },
    },
  ])('gets a node $what', ({ parts }) => {
    for (const packing of ['cheapest', 'compatible'] as const) {
      const pendingPods = [web(away()), pod('small', { cpu: '100m' })];
      const plan = planOf({ types: TYPES, daemonPods: [agent(parts)], pendingPods }, { packing });
      expect(plan.refusals.size).toBe(0);
      expect(plan.claims.find(({ pods }) => pods.includes('default/web'))?.instanceTypes).toEqual(['amd']);
    }
  });

  it('does not use an existing node where the DaemonSet will run', () => {
    const nodes = [stateNode('n', { initialized: false, labels: { [ARCH_LABEL]: 'arm64' } })];
    const plan = planOf({ types: TYPES, nodes, daemonPods: [agent(onArm)], pendingPods: [web(away())] });
    expect(plan.placements).toEqual([]);
    expect(typesOf(plan)).toEqual(['amd']);
  });
});

describe('a DaemonSet whose pods exclude a pod', () => {
  const hermit = agent({ ...onArm, affinity: { podAntiAffinity: terms(WEB, HOSTNAME_LABEL) } });

  it('keeps it away from the nodes that the DaemonSet selects', () => {
    const pendingPods = [web({}), pod('other', { cpu: '100m' })];
    const plan = planOf({ types: TYPES, daemonPods: [hermit], pendingPods });
    expect(plan.refusals.size).toBe(0);
    expect(plan.claims.find(({ pods }) => pods.includes('default/web'))?.instanceTypes).toEqual(['amd']);
  });

  it('keeps it away from a node that starts', () => {
    const nodes = [stateNode('n', { initialized: false, labels: { [ARCH_LABEL]: 'arm64' } })];
    const plan = planOf({ types: TYPES, nodes, daemonPods: [hermit], pendingPods: [web({})] });
    expect(plan.placements).toEqual([]);
    expect(typesOf(plan)).toEqual(['amd']);
  });
});

describe('a DaemonSet on another new node in the zone', () => {
  const amd = { nodeSelector: { [ARCH_LABEL]: 'amd64' } };
  /** Pod that uses a whole node of a type with the architecture. */
  const whole = (name: string, architecture: string, zone?: string): Pod =>
    pod(name, { cpu: '3500m', nodeSelector: { [ARCH_LABEL]: architecture, ...(zone && { [ZONE_LABEL]: zone }) } });
  const zoneOf = ({ claims }: Plan, key: string): readonly string[] | undefined =>
    claims.find(({ pods }) => pods.includes(key))?.requirements.find((each) => each.key === ZONE_LABEL)?.values;
  const small = (affinity: Affinity, parts: PodParts = {}): Pod =>
    pod('web', { cpu: '100m', labels: WEB, affinity, ...parts });

  it('satisfies the affinity of a pod, which starts on a node without the DaemonSet', () => {
    for (const packing of ['cheapest', 'compatible'] as const) {
      const pendingPods = [whole('full', 'arm64', 'zone-b'), small(near(ZONE_LABEL), amd)];
      const plan = planOf({ types: TYPES, daemonPods: [agent(onArm)], pendingPods }, { packing });
      expect(plan.refusals.size).toBe(0);
      expect(zoneOf(plan, 'default/web')).toEqual(['zone-b']);
    }
  });

  it('determines the zone of the first pod of an affinity that also counts the DaemonSet', () => {
    for (const packing of ['cheapest', 'compatible'] as const) {
      const pendingPods = [whole('full', 'arm64'), small(near(ZONE_LABEL), { ...amd, labels: AGENT })];
      const plan = planOf({ types: TYPES, daemonPods: [agent(onArm)], pendingPods }, { packing });
      expect(plan.refusals.size).toBe(0);
      expect(zoneOf(plan, 'default/full')).toHaveLength(1);
      expect(zoneOf(plan, 'default/web')).toEqual(zoneOf(plan, 'default/full'));
    }
  });

  it('keeps a pod that excludes it out of the zone, although the pod is larger', () => {
    for (const packing of ['cheapest', 'compatible'] as const) {
      const pendingPods = [web(away(ZONE_LABEL), { ...amd, cpu: '3500m' }), whole('full', 'arm64', 'zone-a')];
      const plan = planOf({ types: TYPES, daemonPods: [agent(onArm)], pendingPods }, { packing });
      expect(plan.refusals.size).toBe(0);
      expect(zoneOf(plan, 'default/web')).not.toContain('zone-a');
    }
  });

  it('keeps a pod that its DaemonSet excludes out of the zone', () => {
    const hermit = agent({ ...onArm, affinity: { podAntiAffinity: terms(WEB, ZONE_LABEL) } });
    const pendingPods = [web({}, { ...amd, cpu: '3500m' }), whole('full', 'arm64', 'zone-a')];
    const plan = planOf({ types: TYPES, daemonPods: [hermit], pendingPods });
    expect(plan.refusals.size).toBe(0);
    expect(zoneOf(plan, 'default/web')).not.toContain('zone-a');
  });

  it('counts for a spread by zone', () => {
    const spread: PodParts = {
      nodeSelector: { [ARCH_LABEL]: 'amd64' },
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: ZONE_LABEL,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['agent', 'web'] }] },
          nodeAffinityPolicy: 'Ignore',
        },
      ],
    };
    const pendingPods = [
      whole('full', 'arm64', 'zone-a'),
      ...replicas(2, 'web', { cpu: '100m', labels: WEB, ...spread }),
    ];
    const plan = planOf({ types: TYPES, daemonPods: [agent(onArm)], pendingPods });
    expect(plan.refusals.size).toBe(0);
    const zones = ['default/web-0', 'default/web-1'].flatMap((key) => zoneOf(plan, key) ?? []);
    expect(zones.toSorted()).toEqual(['zone-b', 'zone-c']);
  });

  it('makes a spread impossible that requires more zones than there are', () => {
    const parts: PodParts = {
      labels: AGENT,
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: ZONE_LABEL,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: AGENT },
          minDomains: 4,
        },
      ],
    };
    const pendingPods = [pod('web', { cpu: '100m', ...parts })];
    expect(planOf({ types: TYPES, pendingPods }).refusals.size).toBe(0);
    const plan = planOf({ types: TYPES, daemonPods: [agent()], pendingPods });
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'web')).toContain('DaemonSets run 1 of the counted pods on the new node');
  });
});
