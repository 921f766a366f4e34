/** Scores of kube-scheduler's default profile. */
import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import {
  balancedAllocation,
  bestNodes,
  leastAllocated,
  preferredNodes,
  preferredTaints,
} from '../../../../../src/local/kubernetes/scheduler/scores/index.ts';
import { podPreferences } from '../../../../../src/local/kubernetes/scheduler/scores/pod-preferences.ts';
import type { Score } from '../../../../../src/local/kubernetes/scheduler/scores/score.ts';
import { topologySpreadScore } from '../../../../../src/local/kubernetes/scheduler/scores/spread.ts';
import { type ClusterShape, clusterOf, nodeView, type PodShape, podWith } from './fixtures.ts';

const ratings = (
  score: Score,
  pod: PodShape,
  nodes: readonly ReturnType<typeof nodeView>[],
  shape: ClusterShape = {},
) => score(podWith(pod), clusterOf(nodes, shape), nodes);

const busy = (cpu: string, memory = '0'): { pods: readonly Pod[] } => ({
  pods: [podWith({ requests: { cpu, memory } })],
});
const web = (count: number): readonly Pod[] =>
  Array.from({ length: count }, (_, index) => podWith({ name: `web-${index}`, labels: { app: 'web' } }));

describe('leastAllocated', () => {
  it('rates the share of CPU and memory that stays free, rounded down for each', () => {
    // CPU: (4000 - 1000 - 500) / 4000 = 62.5 %; memory: (8 - 1 - 1) / 8 = 75 %
    const nodes = [nodeView('a', busy('1', '1Gi')), nodeView('b')];
    expect(ratings(leastAllocated, { requests: { cpu: '500m', memory: '1Gi' } }, nodes)).toEqual([68, 87]);
  });

  it('counts containers without requests as 100m CPU and 200Mi memory, on the node as well', () => {
    const nodes = [nodeView('a', { pods: Array.from({ length: 10 }, () => podWith()) }), nodeView('b')];
    // CPU: 2900 / 4000 and 3900 / 4000; memory: 5992 / 8192 and 7992 / 8192 Mi
    expect(ratings(leastAllocated, {}, nodes)).toEqual([72, 97]);
  });

  it('keeps an explicit request of zero', () => {
    expect(ratings(leastAllocated, { requests: { cpu: '0', memory: '0' } }, [nodeView('a')])).toEqual([100]);
  });
});

describe('balancedAllocation', () => {
  it('rates a pod that improves the balance above 75, and one that worsens it below', () => {
    const nodes = [nodeView('cpu', busy('2')), nodeView('memory', busy('0', '4Gi')), nodeView('empty')];
    // shares of CPU and memory are (50, 0), (0, 50) and (0, 0) before, and the pod adds 50 % of the memory
    expect(ratings(balancedAllocation, { requests: { memory: '4Gi' } }, nodes)).toEqual([87, 62, 62]);
  });

  it('does not rate nodes for a pod without requests', () => {
    expect(ratings(balancedAllocation, {}, [nodeView('a'), nodeView('b')])).toBeUndefined();
  });
});

describe('preferredTaints', () => {
  const soft = (...keys: string[]) => ({
    spec: { taints: keys.map((key) => ({ key, effect: 'PreferNoSchedule' as const })) },
  });
  const nodes = [nodeView('a', soft('x', 'y', 'z')), nodeView('b', soft('x')), nodeView('c')];

  it('rates by the share of the most untolerated taints of any node', () => {
    expect(ratings(preferredTaints, {}, nodes)).toEqual([0, 67, 100]);
  });

  it('does not count tolerated taints', () => {
    expect(ratings(preferredTaints, { tolerations: [{ operator: 'Exists' }] }, nodes)).toEqual([100, 100, 100]);
  });
});

describe('preferredNodes', () => {
  const zone = (weight: number, value: string) => ({
    weight,
    preference: { matchExpressions: [{ key: 'zone', operator: 'In' as const, values: [value] }] },
  });
  const nodes = [nodeView('a', { labels: { zone: 'z1' } }), nodeView('b', { labels: { zone: 'z2' } }), nodeView('c')];

  it('rates the weights of the terms that match, relative to the best node', () => {
    const preferred = [zone(1, 'z1'), zone(3, 'z2')];
    const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } };
    expect(ratings(preferredNodes, { affinity }, nodes)).toEqual([33, 100, 0]);
  });
});

describe('podPreferences', () => {
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'web' } } };
  const preferred = (weight: number) => [{ weight, podAffinityTerm: term }];
  const nodes = [nodeView('a', { pods: web(4) }), nodeView('b', { pods: web(1) }), nodeView('c')];

  it('stretches the weights of matching pods over 0 to 100', () => {
    const affinity = { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred(10) } };
    expect(ratings(podPreferences, { affinity }, nodes)).toEqual([100, 25, 0]);
  });

  it('prefers nodes without pods that the pod wants to be far from', () => {
    const affinity = { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred(10) } };
    expect(ratings(podPreferences, { affinity }, nodes)).toEqual([0, 75, 100]);
  });

  it('counts the terms of running pods that match the pod: preferred terms by weight, required affinity as 1', () => {
    const wants = podWith({
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [term],
          preferredDuringSchedulingIgnoredDuringExecution: preferred(3),
        },
      },
    });
    const avoids = podWith({
      affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred(4) } },
    });
    const hosts = [nodeView('a', { pods: [wants] }), nodeView('b', { pods: [avoids] }), nodeView('c')];
    expect(ratings(podPreferences, { labels: { app: 'web' } }, hosts)).toEqual([100, 0, 50]);
    expect(ratings(podPreferences, { labels: { app: 'other' } }, hosts)).toBeUndefined();
  });
});

describe('topologySpreadScore', () => {
  const labels = { app: 'web' };
  const constraint = {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway' as const,
    labelSelector: { matchLabels: labels },
  };
  const nodes = [nodeView('a', { pods: web(4) }), nodeView('b', { pods: web(1) }), nodeView('c')];

  it('rates by (max + min - count) / max, with counts weighted by the number of domains', () => {
    // ln(3 + 2) = 1.609: 6, 2 and 0
    expect(ratings(topologySpreadScore, { labels, topologySpreadConstraints: [constraint] }, nodes)).toEqual([
      0, 66, 100,
    ]);
  });

  it('waters small differences down by maxSkew - 1', () => {
    const wide = { ...constraint, maxSkew: 5 };
    // 6 + 4, 2 + 4 and 0 + 4
    expect(ratings(topologySpreadScore, { labels, topologySpreadConstraints: [wide] }, nodes)).toEqual([40, 80, 100]);
  });

  it('rates nodes without one of the topology keys worst', () => {
    const zoned = [nodeView('a', { labels: { zone: 'z1' }, pods: web(2) }), nodeView('b')];
    const constraints = [{ ...constraint, topologyKey: 'zone' }, constraint];
    expect(ratings(topologySpreadScore, { labels, topologySpreadConstraints: constraints }, zoned)).toEqual([100, 0]);
  });

  it('counts pods on all nodes of a zone, including nodes that do not fit', () => {
    const full = nodeView('full', { labels: { zone: 'z1' }, pods: web(3) });
    const fits = [nodeView('a', { labels: { zone: 'z1' } }), nodeView('b', { labels: { zone: 'z2' }, pods: web(1) })];
    const pod = podWith({ labels, topologySpreadConstraints: [{ ...constraint, topologyKey: 'zone' }] });
    // ln(2 + 2) = 1.386: 4 and 1
    expect(topologySpreadScore(pod, clusterOf([full, ...fits]), fits)).toEqual([25, 100]);
  });

  it('does not count pods for an empty selector', () => {
    const pod = { labels, topologySpreadConstraints: [{ ...constraint, labelSelector: {} }] };
    expect(ratings(topologySpreadScore, pod, nodes)).toEqual([100, 100, 100]);
  });

  it('spreads pods of a Service or controller by the system defaults, over hostnames and zones', () => {
    const zoned = [
      nodeView('a', { labels: { 'topology.kubernetes.io/zone': 'z1' }, pods: web(4) }),
      nodeView('b', { labels: { 'topology.kubernetes.io/zone': 'z1' } }),
      nodeView('c'),
    ];
    // hostnames: 4 * ln(5) + 2, 2 and 2; zones: 4 * ln(4) + 4 twice, and nothing without a zone; sums of 18, 12 and 2
    expect(ratings(topologySpreadScore, { labels }, zoned, { defaultSelector: { matchLabels: labels } })).toEqual([
      11, 44, 100,
    ]);
  });

  it('leaves the system defaults out for pods with constraints of any kind', () => {
    const topologySpreadConstraints = [{ ...constraint, whenUnsatisfiable: 'DoNotSchedule' as const }];
    const shape = { defaultSelector: { matchLabels: labels } };
    expect(ratings(topologySpreadScore, { labels, topologySpreadConstraints }, nodes, shape)).toBeUndefined();
  });
});

describe('bestNodes', () => {
  const best = (pod: PodShape, ...nodes: ReturnType<typeof nodeView>[]) =>
    bestNodes(podWith(pod), nodes, clusterOf(nodes)).map(({ name }) => name);

  it('returns all nodes with the highest score, by name', () => {
    expect(best({}, nodeView('b'), nodeView('busy', busy('2')), nodeView('a'))).toEqual(['a', 'b']);
  });

  it('weighs a PreferNoSchedule taint more than free room', () => {
    const soft = nodeView('a', { spec: { taints: [{ key: 'x', effect: 'PreferNoSchedule' }] } });
    expect(best({}, soft, nodeView('b', busy('3', '6Gi')))).toEqual(['b']);
  });

  it('weighs spread more than free room', () => {
    const constraint = {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway' as const,
      labelSelector: { matchLabels: { app: 'web' } },
    };
    const alone = nodeView('a', { pods: web(1) });
    const pod = { labels: { app: 'web' }, topologySpreadConstraints: [constraint] };
    expect(best(pod, alone, nodeView('b', busy('3', '6Gi')))).toEqual(['b']);
  });
});
