import { describe, expect, it } from '@jest/globals';
import type { ContainerStatus, Pod } from '#api/objects';
import { scaleDownOrder } from '../../../../../src/local/kubernetes/controllers/workloads/scale-down-order.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const timeAt = (ageSeconds: number): string => new Date(NOW - ageSeconds * 1000).toISOString();

interface Shape {
  readonly node?: string;
  readonly cost?: string;
  readonly ready?: boolean;
  /** Ages in seconds. */
  readonly readyFor?: number;
  readonly age?: number;
  readonly restarts?: number;
  readonly phase?: 'Pending' | 'Running' | 'Unknown';
  readonly deleted?: boolean;
}

function pod(name: string, shape: Shape = {}): Pod {
  const { node = 'n', cost, ready = true, readyFor = 1000, age = 1000, restarts = 0, phase = 'Running' } = shape;
  const status = ready ? 'True' : 'False';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      uid: `uid-${name}`,
      creationTimestamp: timeAt(age),
      ...(shape.deleted && { deletionTimestamp: timeAt(0) }),
      ...(cost && { annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } }),
    },
    spec: { containers: [{ name: 'main' }], ...(node && { nodeName: node }) },
    status: {
      phase,
      conditions: [{ type: 'Ready', status, lastTransitionTime: timeAt(readyFor) }],
      containerStatuses: [{ name: 'main', restartCount: restarts } as ContainerStatus],
    },
  };
}

const order = (pods: readonly Pod[], related: readonly Pod[] = []): readonly string[] =>
  scaleDownOrder(pods, { related, now: NOW }).map(({ metadata }) => metadata.name);

describe('scaleDownOrder', () => {
  it.each<[string, Pod, Pod]>([
    ['unassigned before assigned', pod('z', { node: '' }), pod('a', { cost: '-9' })],
    ['pending before unknown', pod('z', { phase: 'Pending' }), pod('a', { phase: 'Unknown' })],
    ['unknown before running', pod('z', { phase: 'Unknown' }), pod('a', { ready: false })],
    ['not ready before ready', pod('z', { ready: false }), pod('a', { cost: '-9' })],
    ['low before high deletion cost', pod('z', { cost: '-5' }), pod('a', { readyFor: 1 })],
    ['no cost before a positive one', pod('z'), pod('a', { cost: '1', readyFor: 1 })],
    ['shortly ready before long ready', pod('z', { readyFor: 100 }), pod('a', { readyFor: 1000, restarts: 9 })],
    ['restarted before steady', pod('z', { restarts: 2 }), pod('a', { age: 1 })],
    ['new before old', pod('z', { age: 100 }), pod('a')],
    ['by name if they are equal otherwise', pod('a'), pod('z')],
  ])('selects %s', (_, first, second) => {
    expect(order([second, first])[0]).toBe(first.metadata.name);
  });

  it('ignores a deletion cost that is not a 32-bit integer', () => {
    const costs = { a: '07', b: '-1.5', c: '+3', d: '-2147483649' };
    const pods = Object.entries(costs).map(([name, cost]) => pod(name, { cost }));
    expect(order(pods)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('takes pods with ages of the same order of magnitude by uid', () => {
    // 600 s and 1,000 s are both between 2^39 and 2^40 ns, 500 s is less
    expect(order([pod('b', { readyFor: 600 }), pod('a', { readyFor: 1000 })])).toEqual(['a', 'b']);
    expect(order([pod('b', { readyFor: 500 }), pod('a', { readyFor: 1000 })])).toEqual(['b', 'a']);
    expect(order([pod('b', { age: 600 }), pod('a', { age: 1000 })])).toEqual(['a', 'b']);
  });

  it('thins out the node with most pods of all ReplicaSets of the Deployment', () => {
    const pods = [pod('a', { node: 'x' }), pod('b', { node: 'y', cost: '0' })];
    const others = [pod('old-1', { node: 'y' }), pod('old-2', { node: 'x', deleted: true })];
    expect(order(pods, [...pods, ...others])).toEqual(['b', 'a']);
  });

  it('compares exact ages, and neither costs nor nodes, without surroundings', () => {
    const pods = [pod('a', { readyFor: 1000, cost: '-5' }), pod('b', { readyFor: 600 })];
    expect(scaleDownOrder(pods).map(({ metadata }) => metadata.name)).toEqual(['b', 'a']);
  });
});
