import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import { Simulator } from '../../../../../src/engine/disruption/simulations/simulator.ts';
import type { PoolInput, StateNode } from '../../../../../src/engine/model.ts';
import { snapshot } from '../../build.ts';
import { instanceType, NOW, pod, pool, stateNode } from '../objects.ts';

const pools: readonly PoolInput[] = [{ nodePool: pool(), instanceTypes: [instanceType('m.large', 2, 0.1)] }];
const solve = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  reservedMode: 'off',
  ignoreDraRequests: true,
} as const;

interface Shape {
  readonly cpu?: string;
  readonly spec?: Partial<Pod['spec']>;
  readonly labels?: Record<string, string>;
}

const running = (name: string, { cpu = '500m', spec, labels }: Shape = {}): Pod =>
  pod(name, {
    metadata: { labels: labels ?? {} },
    spec: { nodeName: 'x', containers: [{ name: 'main', resources: { requests: { cpu } } }], ...spec },
  });
const waiting = (name: string, cpu: string): Pod => ({
  ...running(name, { cpu, spec: { nodeName: '' } }),
  status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
});

interface Scene {
  /** Names of the nodes in their order, worst first. All nodes have room for 1.9 CPUs. */
  readonly nodes: Readonly<Record<string, readonly Pod[]>>;
  readonly kept?: readonly string[];
  readonly pendingPods?: readonly Pod[];
  readonly state?: Readonly<Record<string, Partial<StateNode>>>;
  readonly untouched?: ReadonlyMap<string, string>;
}

function emptiable({
  nodes,
  kept = [],
  pendingPods = [],
  state = {},
  untouched = new Map(),
}: Scene): readonly string[] {
  const all = Object.entries(nodes).map(([name, pods]) => stateNode(name, { pods, state: state[name] ?? {} }));
  const simulator = new Simulator(
    { ...snapshot({ nowMs: NOW, nodes: all, pendingPods }), pools },
    { nodePools: pools.map(({ nodePool }) => nodePool), solve, untouched },
  );
  const ranked = all.map(({ name, providerId }) => ({ providerId, mayEmpty: !kept.includes(name) }));
  return simulator.emptiable(ranked).map((id) => id.replace('aws:///', ''));
}

describe('the list of nodes that can become empty', () => {
  it('contains the worst ones, if their pods fit together on the others', () => {
    const nodes = { a: [running('p')], b: [running('q')], c: [running('r')], d: [running('s')], e: [running('t')] };
    // e takes two pods, d one
    expect(emptiable({ nodes })).toEqual(['a', 'b', 'c']);
  });

  it('does not include nodes that may not be marked, although these take pods', () => {
    const nodes = { a: [running('p')], b: [running('q')] };
    expect(emptiable({ nodes, kept: ['a'] })).toEqual(['b']);
    expect(emptiable({ nodes, kept: ['a', 'b'] })).toEqual([]);
  });

  it('skips a node with pods that fit nowhere', () => {
    const nodes = { a: [running('p', { cpu: '1800m' })], b: [running('q')], c: [running('r')] };
    expect(emptiable({ nodes })).toEqual(['b']);
  });

  it('leaves room for pods that wait', () => {
    const nodes = { a: [running('p')], b: [running('q', { cpu: '1000m' })] };
    expect(emptiable({ nodes })).toEqual(['a']);
    expect(emptiable({ nodes, pendingPods: [waiting('w', '900m')] })).toEqual([]);
  });

  it.each<[string, Shape, Partial<StateNode>]>([
    ['a node selector', { spec: { nodeSelector: { team: 'blue' } } }, {}],
    ['a taint', {}, { taints: [{ key: 'team', value: 'blue', effect: 'NoSchedule' }] }],
    [
      'a host port',
      { spec: { containers: [{ name: 'main', ports: [{ hostPort: 80, containerPort: 80 }] }] } },
      {
        pods: [
          running('r', { spec: { containers: [{ name: 'main', ports: [{ hostPort: 80, containerPort: 80 }] }] } }),
        ],
      },
    ],
    [
      'anti-affinity',
      {
        labels: { app: 'web' },
        spec: {
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'topology.kubernetes.io/zone' },
              ],
            },
          },
        },
      },
      { pods: [running('r', { labels: { app: 'web' } })] },
    ],
  ])('respects %s', (_, shape, state) => {
    const nodes = { a: [running('p', shape)], b: [] };
    expect(emptiable({ nodes, kept: ['b'], state: { b: state } })).toEqual([]);
    expect(emptiable({ nodes: { a: [running('p')], b: [] }, kept: ['b'] })).toEqual(['a']);
  });

  it('may include pods that cannot be evicted, if they fit elsewhere', () => {
    const own = { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } };
    const nodes = { a: [{ ...running('p'), ...pod('p', own) }], b: [running('q')] };
    expect(emptiable({ nodes })).toEqual(['a']);
  });

  it('lacks a node if a pod on it must not be simulated', () => {
    const nodes = { a: [running('p')], b: [running('q')] };
    expect(emptiable({ nodes, untouched: new Map([['default/p', 'it ended an engine worker']]) })).toEqual(['b']);
  });

  it('lacks a node with a pod that is not valid, without an effect on other nodes', () => {
    const nodes = { a: [running('p', { cpu: 'much' })], b: [running('q')], c: [running('r')] };
    expect(emptiable({ nodes })).toEqual(['b']);
  });

  it('does not include nodes that were removed or are being deleted', () => {
    const nodes = { a: [running('p')], b: [running('q')] };
    expect(emptiable({ nodes, state: { a: { markedForDeletion: true } } })).toEqual([]);
  });
});
