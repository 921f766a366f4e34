/** Choice of the pods that a pod with a higher priority preempts. */
import { describe, expect, it } from '@jest/globals';
import type { Pod, PodDisruptionBudget } from '../../../../../src/api/kubernetes.ts';
import { feasibleNodes } from '../../../../../src/local/kubernetes/scheduler/filters.ts';
import {
  clusterWith,
  findPreemption,
  isWaitingForVictims,
  NominatedPods,
} from '../../../../../src/local/kubernetes/scheduler/preemption.ts';
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
  const found = findPreemption(incoming, clusterFrom(nodes), budgets);
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

  it('waits while its victims are terminating', () => {
    const waiting = { ...pod('new', '4', 5), status: { nominatedNodeName: 'a' } };
    const leaving = pod('old', '4', 0, { deleting: true });
    expect(isWaitingForVictims(waiting, clusterFrom({ a: [leaving] }))).toBe(true);
    expect(isWaitingForVictims(waiting, clusterFrom({ a: [pod('old', '4', 0)] }))).toBe(false);
    expect(isWaitingForVictims(waiting, clusterFrom({ b: [leaving] }))).toBe(false);
  });
});

describe('the room of a nominated pod', () => {
  const nominated = new NominatedPods();
  nominated.put(pod('senior', '3', 5), 'a');
  const fitsOn = (incoming: Pod): readonly string[] => {
    const verdict = feasibleNodes(incoming, nominated.reservedFor(incoming, clusterFrom({ a: [], b: [] })));
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
    const changed = clusterWith(cluster, [{ node, removed: new Set([two]), added: [] }]);
    expect(changed.nodes[0]?.pods).toEqual([one]);
    expect(changed.nodes[0]?.requested.cpu).toBe((node.requested.cpu ?? 0) / 3);
    expect(Object.fromEntries(changed.domainCounts.of(spread).pods)).toEqual({ a: 1, b: 0 });
    expect(Object.fromEntries(cluster.domainCounts.of(spread).pods)).toEqual({ a: 2, b: 0 });
    expect(cluster.nodes[0]?.pods).toHaveLength(2);
  });
});
