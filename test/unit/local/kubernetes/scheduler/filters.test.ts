import { describe, expect, it } from '@jest/globals';
import type { Toleration } from '../../../../../src/api/kubernetes.ts';
import { podRequests } from '../../../../../src/local/kubernetes/scheduler/amounts.ts';
import {
  feasibleNodes,
  nodeAffinity,
  nodeUnschedulable,
  resourcesFit,
} from '../../../../../src/local/kubernetes/scheduler/filters.ts';
import { nodePorts } from '../../../../../src/local/kubernetes/scheduler/ports.ts';
import { taintToleration } from '../../../../../src/local/kubernetes/scheduler/taints.ts';
import { clusterOf, nodeView, outcome, type PodShape, podWith, refusal } from './fixtures.ts';

describe('nodeUnschedulable', () => {
  const cordoned = clusterOf([nodeView('a', { spec: { unschedulable: true } })]);

  it('keeps pods off cordoned nodes', () => {
    expect(outcome(nodeUnschedulable, podWith(), cordoned)).toBe(refusal('node(s) were unschedulable'));
  });

  it('lets pods in that tolerate it', () => {
    const tolerations = [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' } as const];
    expect(outcome(nodeUnschedulable, podWith({ tolerations }), cordoned)).toEqual(['a']);
  });
});

describe('taintToleration', () => {
  const cluster = clusterOf([nodeView('a', { spec: { taints: [{ key: 'team', value: 'x', effect: 'NoSchedule' }] } })]);
  const untolerated = refusal('node(s) had untolerated taint {team: x}');

  it.each<[string, Toleration, boolean]>([
    ['the same key and value', { key: 'team', value: 'x' }, true],
    ['another value', { key: 'team', value: 'y' }, false],
    ['the key alone without Exists', { key: 'team' }, false],
    ['the key with Exists', { key: 'team', operator: 'Exists' }, true],
    ['everything', { operator: 'Exists' }, true],
    ['the same effect', { key: 'team', value: 'x', effect: 'NoSchedule' }, true],
    ['another effect', { key: 'team', value: 'x', effect: 'NoExecute' }, false],
    ['everything of another effect', { operator: 'Exists', effect: 'NoExecute' }, false],
    ['another key', { key: 'crew', operator: 'Exists' }, false],
  ])('toleration of %s', (_, toleration, tolerated) => {
    const pod = podWith({ tolerations: [toleration] });
    expect(outcome(taintToleration, pod, cluster)).toEqual(tolerated ? ['a'] : untolerated);
  });

  it('does not mind PreferNoSchedule', () => {
    const soft = nodeView('a', { spec: { taints: [{ key: 'team', effect: 'PreferNoSchedule' }] } });
    expect(outcome(taintToleration, podWith(), clusterOf([soft]))).toEqual(['a']);
  });
});

describe('nodeAffinity', () => {
  const cluster = clusterOf([
    nodeView('a', { labels: { zone: 'z1', size: '8' } }),
    nodeView('b', { labels: { zone: 'z2' } }),
  ]);
  const term = (
    key: string,
    operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt',
    ...values: string[]
  ) => ({
    matchExpressions: [{ key, operator, values }],
  });
  const required = (...nodeSelectorTerms: object[]): PodShape => ({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
  });

  it.each<[string, PodShape, readonly string[]]>([
    ['nothing asked', {}, ['a', 'b']],
    ['a selector', { nodeSelector: { zone: 'z2' } }, ['b']],
    ['In', required(term('zone', 'In', 'z1', 'z3')), ['a']],
    ['NotIn, also without the label', required(term('size', 'NotIn', '8')), ['b']],
    ['Exists', required(term('size', 'Exists')), ['a']],
    ['DoesNotExist', required(term('size', 'DoesNotExist')), ['b']],
    ['Gt', required(term('size', 'Gt', '7')), ['a']],
    ['terms are alternatives', required(term('zone', 'In', 'z1'), term('zone', 'In', 'z2')), ['a', 'b']],
    ['a field', required({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] }), ['b']],
    ['selector and affinity together', { nodeSelector: { zone: 'z1' }, ...required(term('size', 'Lt', '9')) }, ['a']],
  ])('%s', (_, shape, fits) => {
    expect(outcome(nodeAffinity, podWith(shape), cluster)).toEqual(fits);
  });

  it.each([
    ['Gt of an equal number', required(term('size', 'Gt', '8'))],
    ['Gt of what is no number', required(term('zone', 'Gt', '1'))],
    ['an empty term', required({})],
  ])('%s matches nothing', (_, shape) => {
    expect(outcome(nodeAffinity, podWith(shape), cluster)).toBe(
      "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    );
  });
});

describe('podRequests', () => {
  const container = (cpu: string, more: object = {}) => ({ name: 'c', resources: { requests: { cpu } }, ...more });

  it.each<[string, PodShape, number]>([
    ['containers add up', { containers: [container('100m'), container('200m')] }, 300],
    [
      'the largest init container counts',
      { containers: [container('1')], initContainers: [container('3'), container('2')] },
      3000,
    ],
    [
      'a sidecar runs beside the containers',
      { containers: [container('1')], initContainers: [container('500m', { restartPolicy: 'Always' })] },
      1500,
    ],
    [
      'an init container runs beside the sidecars before it only',
      {
        containers: [container('1')],
        initContainers: [container('4'), container('1', { restartPolicy: 'Always' }), container('3')],
      },
      4000,
    ],
    ['overhead is added', { containers: [container('1')], overhead: { cpu: '250m' } }, 1250],
    [
      'requests of the pod replace the sum',
      { containers: [container('1')], resources: { requests: { cpu: '2' } } },
      2000,
    ],
    ['limits stand in for requests', { containers: [{ name: 'c', resources: { limits: { cpu: '700m' } } }] }, 700],
  ])('%s', (_, shape, cpuMilli) => {
    expect(podRequests(podWith(shape))).toMatchObject({ cpu: cpuMilli, pods: 1 });
  });
});

describe('resourcesFit', () => {
  const used = podWith({ requests: { cpu: '3' } });

  it.each<[string, PodShape, string | undefined]>([
    ['exactly what is left', { requests: { cpu: '1' } }, undefined],
    ['a thousandth too much', { requests: { cpu: '1001m' } }, 'Insufficient cpu'],
    ['a resource that the node has not', { requests: { 'nvidia.com/gpu': '1' } }, 'Insufficient nvidia.com/gpu'],
    ['none of such a resource', { requests: { 'nvidia.com/gpu': '0' } }, undefined],
  ])('%s', (_, shape, reason) => {
    const cluster = clusterOf([nodeView('a', { pods: [used] })]);
    expect(outcome(resourcesFit, podWith(shape), cluster)).toEqual(reason === undefined ? ['a'] : refusal(reason));
  });

  it('counts the pods', () => {
    const cluster = clusterOf([nodeView('a', { allocatable: { pods: '1' }, pods: [used] })]);
    expect(outcome(resourcesFit, podWith(), cluster)).toBe(refusal('Too many pods'));
  });

  it('names every shortage, sorted', () => {
    const pod = podWith({ requests: { memory: '9Gi', cpu: '5' } });
    const message = outcome(resourcesFit, pod, clusterOf([nodeView('a')]));
    expect(message).toBe('0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.');
  });
});

describe('nodePorts', () => {
  const withPort = (port: object): PodShape => ({ containers: [{ name: 'c', ports: [port] }] });
  const taken = podWith(withPort({ hostPort: 80, hostIP: '10.0.0.1' }));
  const cluster = clusterOf([nodeView('a', { pods: [taken] })]);

  it.each<[string, PodShape, boolean]>([
    ['another port', withPort({ hostPort: 81 }), true],
    ['the same port on another address', withPort({ hostPort: 80, hostIP: '10.0.0.2' }), true],
    ['the same port on the same address', withPort({ hostPort: 80, hostIP: '10.0.0.1' }), false],
    ['the same port on every address', withPort({ hostPort: 80 }), false],
    ['the same port of another protocol', withPort({ hostPort: 80, protocol: 'UDP' }), true],
    ['a container port', withPort({ containerPort: 80 }), true],
    ['a container port on the host network', { hostNetwork: true, ...withPort({ containerPort: 80 }) }, false],
  ])('%s', (_, shape, fits) => {
    const reason = refusal("node(s) didn't have free ports for the requested pod ports");
    expect(outcome(nodePorts, podWith(shape), cluster)).toEqual(fits ? ['a'] : reason);
  });
});

describe('feasibleNodes', () => {
  it('counts nodes by the first filter that refuses them', () => {
    const cluster = clusterOf([
      nodeView('a', { spec: { unschedulable: true }, allocatable: { cpu: '0' } }),
      nodeView('b', { allocatable: { cpu: '0' } }),
      nodeView('c', { allocatable: { cpu: '0' } }),
    ]);
    expect(feasibleNodes(podWith({ requests: { cpu: '1' } }), cluster)).toEqual({
      message: '0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu.',
    });
  });

  it('says so when there are no nodes', () => {
    expect(feasibleNodes(podWith(), clusterOf([]))).toEqual({ message: 'no nodes available to schedule pods' });
  });
});
