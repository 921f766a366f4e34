import { describe, expect, it } from '@jest/globals';
import type { DaemonSet, Node, Pod, Taint, Toleration } from '#api/objects';
import { correctedTaints, evictionTime } from '../../../../../src/local/kubernetes/controllers/node-lifecycle.ts';
import { belongs, podFor } from '../../../../../src/local/kubernetes/controllers/workloads/daemon-pods.ts';

const container = { name: 'main' };

describe('a DaemonSet', () => {
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
    ['a node outside its selector', set({ nodeSelector: { x: 'y' } }), node(), false, false],
    ['a NoSchedule taint', set(), node([{ key: 'x', effect: 'NoSchedule' }]), false, true],
    ['a NoExecute taint', set(), node([{ key: 'x', effect: 'NoExecute' }]), false, false],
    ['a tolerated taint', set({ tolerations }), node([{ key: 'x', effect: 'NoExecute' }]), true, true],
    ['a cordon', set(), node([{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }]), true, true],
    ['a dead node', set(), node([{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }]), true, true],
  ])('is placed by the rules: %s', (_, daemon, target, run, stay) => {
    expect(belongs(daemon, target)).toEqual({ run, stay });
  });

  it('binds its pods by field and keeps other affinity', () => {
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
    ['a node that became Ready', node('True', [own, notReady]), ['mine:NoSchedule']],
    [
      'a node that is not Ready',
      node('False', [own]),
      ['mine:NoSchedule', 'not-ready:NoSchedule', 'not-ready:NoExecute'],
    ],
    ['a silent node', node('Unknown', []), ['unreachable:NoSchedule', 'unreachable:NoExecute']],
    ['a cordon', node('True', [], true), ['unschedulable:NoSchedule']],
  ])('returns the taints: %s', (_, target, expected) => {
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
    ['immediately without a toleration', pod(), 20_000],
    ['never with a toleration', pod(exists), undefined],
    ['later with a toleration that has a limit', pod({ ...exists, tolerationSeconds: 300 }), 310_000],
    ['by the shortest limit', pod({ ...exists, tolerationSeconds: 300 }, { ...exists, tolerationSeconds: 5 }), 15_000],
  ])('returns the time: %s', (_, target, expected) => {
    expect(evictionTime(target, [taint], 20_000)).toBe(expected);
  });

  it('considers only NoExecute taints', () => {
    expect(evictionTime(pod(), [{ key: 'x', effect: 'NoSchedule' }], 0)).toBeUndefined();
  });
});
