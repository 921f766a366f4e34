/** Choice of the pods that a pod with a higher priority preempts. */
import { describe, expect, it } from '@jest/globals';
import type { Pod, PodDisruptionBudget } from '#api/objects';
import { withPods } from '../../../../../src/local/kubernetes/scheduler/changed-node.ts';
import { FILTERS, feasibleNodes } from '../../../../../src/local/kubernetes/scheduler/filters.ts';
import { NominatedPods } from '../../../../../src/local/kubernetes/scheduler/nominated-pods.ts';
import { findPreemptions, isWaitingForVictims } from '../../../../../src/local/kubernetes/scheduler/preemption.ts';
import { clusterOf, nodeView, type PodShape, podWith } from './fixtures.ts';

const pod = (name: string, cpu: string, priority: number, more: PodShape = {}): Pod =>
  podWith({ name, requests: { cpu }, priority, ...more });

const budget = (app: string, disruptionsAllowed: number): PodDisruptionBudget =>
  ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: app, namespace: 'default' },
    spec: { selector: { matchLabels: { app } } },
    status: { disruptionsAllowed },
  }) as unknown as PodDisruptionBudget;

type NodePods = Readonly<Record<string, readonly Pod[]>>;
/** Cluster of nodes with four CPUs. */
const clusterFrom = (nodes: NodePods) =>
  clusterOf(Object.entries(nodes).map(([name, pods]) => nodeView(name, { pods })));

function preempted(
  incoming: Pod,
  nodes: NodePods,
  budgets: readonly PodDisruptionBudget[] = [],
): readonly [node: string, victims: readonly string[]] | undefined {
  const [found] = findPreemptions(incoming, clusterFrom(nodes), FILTERS, budgets);
  return found && [found.node.name, found.victims.map(({ metadata }) => metadata.name)];
}

describe('preemption', () => {
  it('deletes no pods with the same or a higher priority', () => {
    const nodes = { a: [pod('same', '4', 5)], b: [pod('higher', '4', 6)] };
    expect(preempted(pod('new', '1', 5), nodes)).toBeUndefined();
  });

  it('deletes no pods for a pod with the policy Never', () => {
    const nodes = { a: [pod('low', '4', 0)] };
    expect(preempted(pod('new', '1', 5, { preemptionPolicy: 'Never' }), nodes)).toBeUndefined();
    expect(preempted(pod('new', '1', 5), nodes)).toEqual(['a', ['low']]);
  });

  it('deletes no pods if the pod does not fit without them', () => {
    expect(preempted(pod('new', '5', 5), { a: [pod('low', '4', 0)] })).toBeUndefined();
    const elsewhere = pod('new', '1', 5, { nodeSelector: { team: 'x' } });
    expect(preempted(elsewhere, { a: [pod('low', '4', 0)] })).toBeUndefined();
  });

  it('keeps the more important pods that fit beside the new pod', () => {
    const nodes = { a: [pod('low', '2', 0), pod('middle', '1', 3), pod('small', '1', 0)] };
    expect(preempted(pod('new', '2', 5), nodes)).toEqual(['a', ['low']]);
    expect(preempted(pod('new', '3', 5), nodes)).toEqual(['a', ['low', 'small']]);
  });

  it('prefers nodes without protected pods, then victims with a low priority, then few victims', () => {
    const guarded = { labels: { app: 'web' } };
    const nodes = { a: [pod('web', '4', 0, guarded)], b: [pod('important', '4', 4)] };
    expect(preempted(pod('new', '4', 5), nodes, [budget('web', 0)])).toEqual(['b', ['important']]);
    expect(preempted(pod('new', '4', 5), nodes, [budget('web', 1)])).toEqual(['a', ['web']]);
    expect(preempted(pod('new', '4', 5), { ...nodes, a: [pod('x', '2', 0), pod('y', '2', 0)] })).toEqual([
      'a',
      ['x', 'y'],
    ]);
    const few = { a: [pod('x', '2', 0), pod('y', '2', 0)], b: [pod('z', '4', 0)] };
    expect(preempted(pod('new', '4', 5), few)).toEqual(['b', ['z']]);
  });

  it('deletes unprotected pods of a node first', () => {
    const nodes = { a: [pod('free', '2', 0), pod('web', '2', 0, { labels: { app: 'web' } })] };
    expect(preempted(pod('new', '2', 5), nodes, [budget('web', 0)])).toEqual(['a', ['free']]);
  });

  it('makes room for a pod with anti-affinity, and for a pod with a topology spread constraint', () => {
    const web = { labels: { app: 'web' } };
    const selector = { matchLabels: { app: 'web' } };
    const apart = {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: selector },
        ],
      },
    };
    expect(preempted(pod('new', '1', 5, { affinity: apart }), { a: [pod('old', '1', 0, web)] })).toEqual([
      'a',
      ['old'],
    ]);
    const spread = {
      ...web,
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'DoNotSchedule' as const,
          labelSelector: selector,
        },
      ],
    };
    const nodes = { a: [pod('old', '1', 0, web)], b: [pod('full', '4', 9, web)] };
    // without its pod, node `a` has fewer pods than node `b`
    expect(preempted(pod('new', '4', 5, spread), nodes)).toEqual(['a', ['old']]);
  });

  it('prefers victims that started late, and victims that have not started', () => {
    const started = (name: string, minute: number): Pod => ({
      ...pod(name, '4', 0),
      status: { startTime: `2026-01-01T00:0${minute}:00Z` },
    });
    const nodes = { a: [started('old', 1)], b: [started('young', 2)] };
    expect(preempted(pod('new', '4', 5), nodes)).toEqual(['b', ['young']]);
    expect(preempted(pod('new', '4', 5), { ...nodes, c: [pod('starting', '4', 0)] })).toEqual(['c', ['starting']]);
  });

  it('rates preemptions of equal pods equally', () => {
    const nodes = clusterFrom({ a: [pod('one', '4', 0)], b: [pod('two', '4', 0)], c: [pod('three', '4', 1)] });
    const best = findPreemptions(pod('new', '4', 5), nodes, FILTERS, []);
    expect(best.map(({ node }) => node.name)).toEqual(['a', 'b']);
  });

  it('does not count budgets without a selector, and evictions that the budget contains', () => {
    const nodes = { a: [pod('web', '4', 0, { labels: { app: 'web' } })], b: [pod('important', '4', 4)] };
    const { spec: _, ...everything } = budget('web', 0);
    const counted = { ...budget('web', 0), status: { disruptionsAllowed: 0, disruptedPods: { web: '' } } };
    for (const each of [{ ...everything, spec: { selector: {} } }, counted])
      expect(preempted(pod('new', '4', 5), nodes, [each as PodDisruptionBudget])).toEqual(['a', ['web']]);
  });

  it('waits while its victims are terminating, but not for other pods or on a node that rejects the pod', () => {
    const waiting = pod('new', '4', 5);
    const condition = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' } as const;
    const leaving = (shape: PodShape): Pod => ({
      ...pod('old', '4', 0, shape),
      status: { conditions: [condition] },
    });
    const waitsOn = (other: Pod): boolean => isWaitingForVictims(waiting, 'a', clusterFrom({ a: [other] }));
    expect(waitsOn(leaving({ deleting: true }))).toBe(true);
    expect(waitsOn(leaving({}))).toBe(false);
    expect(waitsOn(pod('old', '4', 0, { deleting: true }))).toBe(false);
    expect(waitsOn(leaving({ deleting: true, priority: 5 }))).toBe(false);
    const nodes = clusterFrom({ a: [leaving({ deleting: true })] });
    expect(isWaitingForVictims(waiting, 'b', nodes)).toBe(false);
    expect(isWaitingForVictims(pod('new', '4', 5, { nodeSelector: { team: 'x' } }), 'a', nodes)).toBe(false);
  });
});

describe('the room of a nominated pod', () => {
  const nominated = new NominatedPods();
  nominated.put(pod('senior', '3', 5, { labels: { app: 'senior' } }), 'a');
  const fitsOn = (incoming: Pod): readonly string[] => {
    const verdict = feasibleNodes(incoming, clusterFrom({ a: [], b: [] }), nominated.filtersBeside(FILTERS));
    return 'fits' in verdict ? verdict.fits.map(({ name }) => name) : [];
  };

  it('is not available to pods with the same or a lower priority', () => {
    expect(fitsOn(pod('junior', '2', 0))).toEqual(['b']);
    expect(fitsOn(pod('equal', '2', 5))).toEqual(['b']);
    expect(fitsOn(pod('small', '1', 0))).toEqual(['a', 'b']);
  });

  it('is available to the pod itself and to pods with a higher priority', () => {
    expect(fitsOn(pod('senior', '3', 5))).toEqual(['a', 'b']);
    expect(fitsOn(pod('chief', '2', 6))).toEqual(['a', 'b']);
  });

  it('does not attract pods with affinity to it, because the nominated pod may be bound elsewhere', () => {
    const near = {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'senior' } } },
        ],
      },
    };
    expect(fitsOn(pod('junior', '1', 0, { affinity: near }))).toEqual([]);
  });

  it('is not used for preemption by pods with a lower priority', () => {
    const cluster = clusterFrom({ a: [pod('low', '1', 0)], b: [pod('low', '1', 0)] });
    const victimsOf = (cpu: string) =>
      findPreemptions(pod('new', cpu, 3), cluster, nominated.filtersBeside(FILTERS), []).map(({ node }) => node.name);
    expect(victimsOf('4')).toEqual(['b']);
  });

  it('ends if the pod is removed or nominated for another node', () => {
    const moved = new NominatedPods();
    moved.put(pod('senior', '3', 5), 'a');
    moved.put(pod('senior', '3', 5), 'b');
    expect(moved.lowerOn('a', pod('chief', '1', 6))).toEqual([]);
    expect(moved.lowerOn('b', pod('chief', '1', 6))).toHaveLength(1);
    expect([moved.remove(pod('senior', '3', 5)), moved.remove(pod('senior', '3', 5)), moved.isEmpty]).toEqual([
      true,
      false,
      true,
    ]);
  });
});

describe('a cluster with other pods', () => {
  it('has the requests, the pods and the counts of the change, and leaves the cluster unchanged', () => {
    const [one, two] = [pod('one', '1', 0, { labels: { app: 'web' } }), pod('two', '2', 0, { labels: { app: 'web' } })];
    const cluster = clusterFrom({ a: [one, two], b: [] });
    const [node] = cluster.nodes;
    if (node === undefined) throw new Error('no node');
    const spread = {
      namespace: 'default',
      selector: { matchLabels: { app: 'web' } },
      topologyKey: 'kubernetes.io/hostname',
      nodeLabels: ['kubernetes.io/hostname'],
    };
    const { cluster: changed } = withPods(cluster, node, { removed: new Set([two]) });
    expect(changed.nodes[0]?.pods).toEqual([one]);
    expect(changed.nodes[0]?.requested.cpu).toBe((node.requested.cpu ?? 0) / 3);
    expect(Object.fromEntries(changed.domainCounts.of(spread).pods)).toEqual({ a: 1, b: 0 });
    const again = withPods(changed, changed.nodes[0] ?? node, { added: [two] }).cluster;
    expect(Object.fromEntries(again.domainCounts.of(spread).pods)).toEqual({ a: 2, b: 0 });
    expect(Object.fromEntries(cluster.domainCounts.of(spread).pods)).toEqual({ a: 2, b: 0 });
    expect(cluster.nodes[0]?.pods).toHaveLength(2);
  });
});
