import { describe, expect, it } from '@jest/globals';
import type { CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass } from '#api/objects';
import { volumeLimits } from '../../../../../src/local/kubernetes/scheduler/filters.ts';
import { volumeBinding } from '../../../../../src/local/kubernetes/scheduler/volumes.ts';
import { type ClusterShape, clusterOf, nodeView, outcome, podWith } from './fixtures.ts';

const storageClass = (name: string, more: Partial<StorageClass> = {}): StorageClass => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name },
  provisioner: 'ebs.csi.aws.com',
  volumeBindingMode: 'WaitForFirstConsumer',
  ...more,
});
const claim = (name: string, spec: PersistentVolumeClaim['spec'], more: object = {}): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'default', ...more },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } }, ...spec },
});
const volume = (name: string, zone: string, more: object = {}): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: {
    csi: { driver: 'ebs.csi.aws.com', volumeHandle: name },
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [zone] }] }] },
    },
    ...more,
  },
});
const free = { capacity: { storage: '10Gi' }, accessModes: ['ReadWriteOnce'], storageClassName: 'local' };
const using = (...names: string[]) =>
  podWith({ volumes: names.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })) });
const nodes = [nodeView('a', { labels: { zone: 'z1' } }), nodeView('b', { labels: { zone: 'z2' } })];
const local = storageClass('local', { provisioner: 'kubernetes.io/no-provisioner' });
const inZ2 = [{ matchLabelExpressions: [{ key: 'zone', values: ['z2'] }] }];

describe('volumeBinding', () => {
  it.each<[string, ClusterShape, readonly string[] | string]>([
    [
      'a bound volume determines the zone',
      { claims: [claim('data', { volumeName: 'v' })], volumes: [volume('v', 'z2')] },
      ['b'],
    ],
    [
      'a class that waits for the first consumer allows any node',
      { claims: [claim('data', { storageClassName: 'wait' })], classes: [storageClass('wait')] },
      ['a', 'b'],
    ],
    [
      'allowed topologies restrict it',
      {
        claims: [claim('data', { storageClassName: 'wait' })],
        classes: [storageClass('wait', { allowedTopologies: inZ2 })],
      },
      ['b'],
    ],
    [
      'an available volume can be used in its zone',
      {
        claims: [claim('data', { storageClassName: 'local' })],
        classes: [local],
        volumes: [volume('v', 'z1', free)],
      },
      ['a'],
    ],
    [
      'a volume that is too small cannot be used',
      {
        claims: [claim('data', { storageClassName: 'local' })],
        classes: [local],
        volumes: [volume('v', 'z1', { ...free, capacity: { storage: '1Gi' } })],
      },
      "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.",
    ],
    [
      'a volume reserved for another claim cannot be used',
      {
        claims: [claim('data', { storageClassName: 'local' })],
        classes: [local],
        volumes: [volume('v', 'z1', { ...free, claimRef: { namespace: 'default', name: 'other' } })],
      },
      "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.",
    ],
    ['a missing claim', {}, '0/2 nodes are available: persistentvolumeclaim "data" not found.'],
    [
      'a claim that is being deleted',
      { claims: [claim('data', { volumeName: 'v' }, { deletionTimestamp: '2026-01-01T00:00:00Z' })] },
      '0/2 nodes are available: persistentvolumeclaim "data" is being deleted.',
    ],
    [
      'an unbound claim of an immediate class',
      {
        claims: [claim('data', { storageClassName: 'now' })],
        classes: [storageClass('now', { volumeBindingMode: 'Immediate' })],
      },
      '0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.',
    ],
  ])('decides as kube-scheduler: %s', (_, shape, expected) => {
    expect(outcome(volumeBinding, using('data'), clusterOf(nodes, shape))).toEqual(expected);
  });

  it('waits for the claim of an ephemeral volume', () => {
    const pod = podWith({ name: 'p', volumes: [{ name: 'scratch', ephemeral: {} }] });
    expect(outcome(volumeBinding, pod, clusterOf(nodes))).toBe(
      '0/2 nodes are available: waiting for ephemeral volume controller to create the persistentvolumeclaim "p-scratch".',
    );
  });
});

describe('volumeLimits', () => {
  const csiNode = (count: number): CSINode => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: 'a' },
    spec: { drivers: [{ name: 'ebs.csi.aws.com', allocatable: { count } }] },
  });
  const shape = (count: number): ClusterShape => ({
    claims: ['one', 'two', 'three'].map((name) => claim(name, { volumeName: `v-${name}` })),
    volumes: ['one', 'two', 'three'].map((name) => volume(`v-${name}`, 'z1')),
    csiNodes: [csiNode(count)],
  });
  const busy = [nodeView('a', { pods: [using('one')] })];

  it.each<[string, number, readonly string[], boolean]>([
    ['one volume within the limit', 2, ['two'], true],
    ['one volume beyond the limit', 1, ['two'], false],
    ['the same volume counts once', 1, ['one'], true],
    ['two volumes beyond the limit', 2, ['two', 'three'], false],
  ])('decides as kube-scheduler: %s', (_, count, names, fits) => {
    const expected = fits ? ['a'] : '0/1 nodes are available: 1 node(s) exceed max volume count.';
    expect(outcome(volumeLimits, using(...names), clusterOf(busy, shape(count)))).toEqual(expected);
  });

  it('does not limit a node without a driver', () => {
    const { csiNodes: _, ...rest } = shape(0);
    expect(outcome(volumeLimits, using('two'), clusterOf(busy, rest))).toEqual(['a']);
  });
});
