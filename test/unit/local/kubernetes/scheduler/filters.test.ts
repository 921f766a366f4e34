import { describe, expect, it } from '@jest/globals';
import type { Toleration } from '#api/objects';
import { podRequests } from '../../../../../src/local/kubernetes/scheduler/amounts.ts';
import {
  feasibleNodes,
  nodeAffinity,
  nodePorts,
  nodeUnschedulable,
  resourcesFit,
} from '../../../../../src/local/kubernetes/scheduler/filters.ts';
import { taintToleration } from '../../../../../src/local/kubernetes/scheduler/taints.ts';
import { clusterOf, nodeView, outcome, type PodShape, podWith, refusal } from './fixtures.ts';

describe('nodeUnschedulable', () => {
  const cordoned = clusterOf([nodeView('a', { spec: { unschedulable: true } })]);

  it('rejects cordoned nodes', () => {
    expect(outcome(nodeUnschedulable, podWith(), cordoned)).toBe(refusal('node(s) were unschedulable'));
  });

  it('accepts pods that tolerate it', () => {
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
    ['only the key without Exists', { key: 'team' }, false],
    ['the key with Exists', { key: 'team', operator: 'Exists' }, true],
    ['everything', { operator: 'Exists' }, true],
    ['the same effect', { key: 'team', value: 'x', effect: 'NoSchedule' }, true],
    ['another effect', { key: 'team', value: 'x', effect: 'NoExecute' }, false],
    ['every taint of another effect', { operator: 'Exists', effect: 'NoExecute' }, false],
    ['another key', { key: 'crew', operator: 'Exists' }, false],
  ])('accepts or rejects a toleration of %s', (_, toleration, tolerated) => {
    const pod = podWith({ tolerations: [toleration] });
    expect(outcome(taintToleration, pod, cluster)).toEqual(tolerated ? ['a'] : untolerated);
  });

  it('ignores PreferNoSchedule', () => {
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
    ['no requirements', {}, ['a', 'b']],
    ['a selector', { nodeSelector: { zone: 'z2' } }, ['b']],
    ['In', required(term('zone', 'In', 'z1', 'z3')), ['a']],
    ['NotIn, including a missing label', required(term('size', 'NotIn', '8')), ['b']],
    ['Exists', required(term('size', 'Exists')), ['a']],
    ['DoesNotExist', required(term('size', 'DoesNotExist')), ['b']],
    ['Gt', required(term('size', 'Gt', '7')), ['a']],
    ['alternative terms', required(term('zone', 'In', 'z1'), term('zone', 'In', 'z2')), ['a', 'b']],
    ['a field', required({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] }), ['b']],
    ['selector and affinity together', { nodeSelector: { zone: 'z1' }, ...required(term('size', 'Lt', '9')) }, ['a']],
  ])('decides as kube-scheduler: %s', (_, shape, fits) => {
    expect(outcome(nodeAffinity, podWith(shape), cluster)).toEqual(fits);
  });

  it.each([
    ['Gt of an equal number', required(term('size', 'Gt', '8'))],
    ['Gt of a value that is not a number', required(term('zone', 'Gt', '1'))],
    ['an empty term', required({})],
  ])('matches nothing: %s', (_, shape) => {
    expect(outcome(nodeAffinity, podWith(shape), cluster)).toBe(
      "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    );
  });
});

describe('podRequests', () => {
  it('follows the amounts that a kubelet reports while it resizes the pod', () => {
    const pod = podWith({ requests: { cpu: '1' } });
    const [{ name } = { name: '' }] = pod.spec.containers;
    const reported = (cpu: string) => ({
      ...pod,
      status: { containerStatuses: [{ name, resources: { requests: { cpu } }, allocatedResources: { cpu } }] },
    });
    expect([pod, reported('3'), reported('2'), reported('1')].map((each) => podRequests(each).cpu)).toEqual([
      1000, 3000, 2000, 1000,
    ]);
  });

  const container = (cpu: string, more: object = {}) => ({ name: 'c', resources: { requests: { cpu } }, ...more });

  it.each<[string, PodShape, number]>([
    ['the sum of containers', { containers: [container('100m'), container('200m')] }, 300],
    [
      'the largest init container counts',
      { containers: [container('1')], initContainers: [container('3'), container('2')] },
      3000,
    ],
    [
      'a sidecar beside the containers',
      { containers: [container('1')], initContainers: [container('500m', { restartPolicy: 'Always' })] },
      1500,
    ],
    [
      'an init container beside earlier sidecars only',
      {
        containers: [container('1')],
        initContainers: [container('4'), container('1', { restartPolicy: 'Always' }), container('3')],
      },
      4000,
    ],
    ['overhead', { containers: [container('1')], overhead: { cpu: '250m' } }, 1250],
    ['pod-level requests', { containers: [container('1')], resources: { requests: { cpu: '2' } } }, 2000],
    ['limits as default requests', { containers: [{ name: 'c', resources: { limits: { cpu: '700m' } } }] }, 700],
  ])('counts %s', (_, shape, cpuMilli) => {
    expect(podRequests(podWith(shape))).toMatchObject({ cpu: cpuMilli, pods: 1 });
  });
});

describe('resourcesFit', () => {
  const used = podWith({ requests: { cpu: '3' } });

  it.each<[string, PodShape, string | undefined]>([
    ['exactly the remaining amount', { requests: { cpu: '1' } }, undefined],
    ['one thousandth too much', { requests: { cpu: '1001m' } }, 'Insufficient cpu'],
    ['a resource that the node does not have', { requests: { 'nvidia.com/gpu': '1' } }, 'Insufficient nvidia.com/gpu'],
    ['zero of such a resource', { requests: { 'nvidia.com/gpu': '0' } }, undefined],
  ])('decides as kube-scheduler: %s', (_, shape, reason) => {
    const cluster = clusterOf([nodeView('a', { pods: [used] })]);
    expect(outcome(resourcesFit, podWith(shape), cluster)).toEqual(reason === undefined ? ['a'] : refusal(reason));
  });

  it('counts pods', () => {
    const cluster = clusterOf([nodeView('a', { allocatable: { pods: '1' }, pods: [used] })]);
    expect(outcome(resourcesFit, podWith(), cluster)).toBe(refusal('Too many pods'));
  });

  it('names every insufficient resource in sorted order', () => {
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
  ])('decides as kube-scheduler: %s', (_, shape, fits) => {
    const reason = refusal("node(s) didn't have free ports for the requested pod ports");
    expect(outcome(nodePorts, podWith(shape), cluster)).toEqual(fits ? ['a'] : reason);
  });
});

describe('feasibleNodes', () => {
  it('counts nodes by the first filter that rejects them', () => {
    const cluster = clusterOf([
      nodeView('a', { spec: { unschedulable: true }, allocatable: { cpu: '0' } }),
      nodeView('b', { allocatable: { cpu: '0' } }),
      nodeView('c', { allocatable: { cpu: '0' } }),
    ]);
    expect(feasibleNodes(podWith({ requests: { cpu: '1' } }), cluster)).toEqual({
      message: '0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu.',
    });
  });

  it('reports that there are no nodes', () => {
    expect(feasibleNodes(podWith(), clusterOf([]))).toEqual({ message: 'no nodes available to schedule pods' });
  });
});
