import { describe, expect, it } from '@jest/globals';
import type { DaemonSet, Node, Pod, Taint, Toleration } from '../../../../../src/api/kubernetes.ts';
import { correctedTaints, evictionTime } from '../../../../../src/local/kubernetes/controllers/node-lifecycle.ts';
import { belongs, podFor } from '../../../../../src/local/kubernetes/controllers/workloads/daemon-pods.ts';
import { resolveCount, rolloutStep } from '../../../../../src/local/kubernetes/controllers/workloads/deployment.ts';
import { activeWished } from '../../../../../src/local/kubernetes/controllers/workloads/job.ts';
import type { Job, Scaled } from '../../../../../src/local/kubernetes/controllers/workloads/kinds.ts';
import { deletionOrder } from '../../../../../src/local/kubernetes/controllers/workloads/pods.ts';

const container = { name: 'main' };

describe('rolloutStep', () => {
  const deployment = (replicas: number, strategy?: Scaled['spec']['strategy']): Scaled => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: { replicas, template: { spec: { containers: [container] } }, ...(strategy ? { strategy } : {}) },
  });
  const set = (replicas: number, available = replicas) => ({ replicas, available });
  const careful = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } as const;
  const recreate = { type: 'Recreate' } as const;

  it.each<[string, Scaled, ReturnType<typeof set>, ReturnType<typeof set>[], number, number[]]>([
    ['the first rollout', deployment(3), set(0), [], 3, []],
    ['a scale-down', deployment(1), set(3), [], 1, []],
    ['a surge before anything goes', deployment(4, careful), set(0), [set(4)], 1, [4]],
    ['a new pod that is not ready', deployment(4, careful), set(1, 0), [set(4)], 1, [4]],
    ['one old pod for a ready new one', deployment(4, careful), set(1), [set(4)], 1, [3]],
    ['one old pod at once when one may miss', deployment(4), set(0), [set(4)], 1, [3]],
    ['old pods that are not ready first', deployment(4), set(1), [set(2, 0), set(2)], 1, [0, 2]],
    ['the last old pod', deployment(2, careful), set(2), [set(1)], 2, [0]],
    ['Recreate waits for old pods', deployment(2, recreate), set(0), [set(2)], 0, [0]],
    ['Recreate goes on without them', deployment(2, recreate), set(0), [set(0)], 2, [0]],
  ])('%s', (_, wish, fresh, old, expectedFresh, expectedOld) => {
    expect(rolloutStep(wish, fresh, old)).toEqual({ fresh: expectedFresh, old: expectedOld });
  });

  it.each([
    ['25%', 10, 'up', 3],
    ['25%', 10, 'down', 2],
    [2, 10, 'up', 2],
    [undefined, 4, 'up', 1],
  ] as const)('%s of %d rounded %s is %d', (value, total, round, expected) => {
    expect(resolveCount(value, total, round)).toBe(expected);
  });
});

describe('deletionOrder', () => {
  const pod = (name: string, more: object = {}, { ready = true, cost = '', age = 0, node = 'n' } = {}): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      creationTimestamp: new Date(1_000_000 - age * 1000).toISOString(),
      ...(cost ? { annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } } : {}),
    },
    spec: { containers: [container], ...(node ? { nodeName: node } : {}) },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }], ...more },
  });

  it.each<[string, Pod, Pod]>([
    ['unassigned before assigned', pod('z', {}, { node: '' }), pod('a')],
    ['pending before running', pod('z', { phase: 'Pending' }), pod('a')],
    ['not ready before ready', pod('z', {}, { ready: false }), pod('a')],
    ['cheap before dear', pod('z', {}, { cost: '-5' }), pod('a')],
    ['young before old', pod('z', {}, { age: 1 }), pod('a', {}, { age: 100 })],
    ['by name when all is equal', pod('a'), pod('z')],
  ])('takes %s', (_, first, second) => {
    expect(deletionOrder([second, first]).map(({ metadata }) => metadata.name)[0]).toBe(first.metadata.name);
  });

  it('thins out the fullest node first', () => {
    const crowd = [
      pod('a', {}, { node: 'x', age: 5 }),
      pod('b', {}, { node: 'x', age: 9 }),
      pod('c', {}, { node: 'y' }),
    ];
    expect(deletionOrder(crowd).map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c']);
  });
});

describe('DaemonSets', () => {
  const set = (spec: Partial<Pod['spec']> = {}): DaemonSet => ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'agent', namespace: 'default', uid: '1' },
    spec: { template: { spec: { containers: [container], ...spec } } },
  });
  const node = (taints: readonly Taint[] = [], labels = {}): Node => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'a', labels },
    spec: { taints },
  });
  const tolerations: readonly Toleration[] = [{ operator: 'Exists' }];

  it.each<[string, DaemonSet, Node, boolean, boolean]>([
    ['a plain node', set(), node(), true, true],
    ['a node it does not select', set({ nodeSelector: { x: 'y' } }), node(), false, false],
    ['a NoSchedule taint', set(), node([{ key: 'x', effect: 'NoSchedule' }]), false, true],
    ['a NoExecute taint', set(), node([{ key: 'x', effect: 'NoExecute' }]), false, false],
    ['a tolerated taint', set({ tolerations }), node([{ key: 'x', effect: 'NoExecute' }]), true, true],
    ['a cordon', set(), node([{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }]), true, true],
    ['a dead node', set(), node([{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }]), true, true],
  ])('%s', (_, daemon, target, run, stay) => {
    expect(belongs(daemon, target)).toEqual({ run, stay });
  });

  it('pin their pods by field and keep other affinity', () => {
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [] } };
    const { spec } = podFor(set({ affinity }), node(), 'r1');
    expect(spec.affinity).toEqual({
      ...affinity,
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }],
        },
      },
    });
  });
});

describe('correctedTaints', () => {
  const node = (ready: 'True' | 'False' | 'Unknown', taints: readonly Taint[], unschedulable = false): Node => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'a' },
    spec: { taints, unschedulable },
    status: { conditions: [{ type: 'Ready', status: ready }] },
  });
  const own: Taint = { key: 'mine', effect: 'NoSchedule' };
  const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  const keys = (target: Node) =>
    correctedTaints(target, 0)?.map(({ key, effect }) => `${key.split('/').at(-1)}:${effect}`);

  it.each<[string, Node, readonly string[] | undefined]>([
    ['a healthy node', node('True', [own]), undefined],
    ['a node that got Ready', node('True', [own, notReady]), ['mine:NoSchedule']],
    ['a node that is not', node('False', [own]), ['mine:NoSchedule', 'not-ready:NoSchedule', 'not-ready:NoExecute']],
    ['a silent node', node('Unknown', []), ['unreachable:NoSchedule', 'unreachable:NoExecute']],
    ['a cordon', node('True', [], true), ['unschedulable:NoSchedule']],
  ])('%s', (_, target, expected) => {
    expect(keys(target)).toEqual(expected);
  });
});

describe('evictionTime', () => {
  const taint: Taint = { key: 'x', effect: 'NoExecute', timeAdded: '1970-01-01T00:00:10Z' };
  const pod = (...tolerations: Toleration[]): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [container], tolerations },
  });
  const exists: Toleration = { key: 'x', operator: 'Exists' };

  it.each<[string, Pod, number | undefined]>([
    ['at once without a toleration', pod(), 20_000],
    ['never with one', pod(exists), undefined],
    ['later with a limited one', pod({ ...exists, tolerationSeconds: 300 }), 310_000],
    [
      'by the shortest of several',
      pod({ ...exists, tolerationSeconds: 300 }, { ...exists, tolerationSeconds: 5 }),
      15_000,
    ],
  ])('%s', (_, target, expected) => {
    expect(evictionTime(target, [taint], 20_000)).toBe(expected);
  });

  it('minds NoExecute taints alone', () => {
    expect(evictionTime(pod(), [{ key: 'x', effect: 'NoSchedule' }], 0)).toBeUndefined();
  });
});

describe('activeWished', () => {
  const job = (spec: object): Job => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'j' },
    spec: { template: { spec: { containers: [container] } }, ...spec },
  });

  it.each<[string, Job, number, number]>([
    ['a plain job', job({}), 0, 1],
    ['a plain job that is done', job({}), 1, 0],
    ['no more than what is left', job({ completions: 3, parallelism: 2 }), 2, 1],
    ['a work queue', job({ parallelism: 2 }), 0, 2],
    ['a work queue after its first success', job({ parallelism: 2 }), 1, 0],
    ['a suspended job', job({ suspend: true }), 0, 0],
  ])('%s', (_, target, succeeded, expected) => {
    expect(activeWished(target, succeeded)).toBe(expected);
  });
});
