import { describe, expect, it } from '@jest/globals';
import { GANG_KINDS, type GangObject } from '#api/objects';
import { groupsOf } from '../../../../src/engine/gangs/gang-group.ts';
import { gangMarkOf } from '../../../../src/engine/gangs/gang-mark.ts';
import { pod } from '../build.ts';

const objectOf = (apiVersion: string, kind: string, spec: GangObject['spec']): GangObject => ({
  apiVersion,
  kind,
  metadata: { name: 'train', namespace: 'default' },
  ...(spec !== undefined && { spec }),
});

const groupsIn = (object: GangObject) => {
  const kind = GANG_KINDS.find(
    (each) => each.kind === object.kind && `${each.group}/${each.version}` === object.apiVersion,
  );
  if (kind === undefined) throw new Error(`${object.apiVersion} ${object.kind} is not declared`);
  return groupsOf(kind, object);
};

describe('groupsOf', () => {
  it.each([
    ['v1alpha2', 'scheduling.k8s.io'],
    ['v1alpha3', 'scheduling.k8s.io'],
    ['v1beta1', 'scheduling.k8s.io'],
  ])('reads minimum and topology of PodGroups of %s', (version, group) => {
    const spec = {
      schedulingPolicy: { gang: { minCount: 4 } },
      schedulingConstraints: { topology: [{ key: 'topology.kubernetes.io/zone' }] },
    };
    const own = pod('a');
    const member = { ...own, spec: { ...own.spec, schedulingGroup: { podGroupName: 'train' } } };
    expect(groupsIn(objectOf(`${group}/${version}`, 'PodGroup', spec))).toEqual([
      [gangMarkOf(member)?.groupId, { minimum: 4, topologyKey: 'topology.kubernetes.io/zone' }],
    ]);
  });

  it('has the minimum 1 for the policy without a gang', () => {
    const found = groupsIn(objectOf('scheduling.k8s.io/v1alpha2', 'PodGroup', { schedulingPolicy: {} }));
    expect(found).toEqual([['PodGroup.scheduling.k8s.io default/train', { minimum: 1 }]]);
  });

  it('has one group for each pod group of a Workload, which all its replicas share', () => {
    const spec = { podGroups: [{ name: 'workers', policy: { gang: { minCount: 3 } } }, { name: 'broken' }] };
    const own = pod('a');
    const workloadRef = { name: 'train', podGroup: 'workers', podGroupReplicaKey: '1' };
    const mark = gangMarkOf({ ...own, spec: { ...own.spec, workloadRef } });
    expect(groupsIn(objectOf('scheduling.k8s.io/v1alpha1', 'Workload', spec))).toEqual([
      [mark?.groupId, { minimum: 3 }],
    ]);
    expect(mark?.id).toBe(`${mark?.groupId}/1`);
  });

  it.each([
    ['scheduling.x-k8s.io/v1alpha1', { labels: { 'scheduling.x-k8s.io/pod-group': 'train' } }],
    ['scheduling.volcano.sh/v1beta1', { annotations: { 'scheduling.k8s.io/group-name': 'train' } }],
  ])('reads minMember of PodGroups of %s', (apiVersion, metadata) => {
    const own = pod('a');
    const mark = gangMarkOf({ ...own, metadata: { ...own.metadata, ...metadata } });
    expect(groupsIn(objectOf(apiVersion, 'PodGroup', { minMember: 3 }))).toEqual([[mark?.groupId, { minimum: 3 }]]);
  });

  it.each([
    undefined,
    null as unknown as undefined,
    {},
    { minMember: 0 },
    { minMember: 1.5 },
    { minMember: '3' as unknown as number },
  ])('leaves out the minimum of %p', (spec) => {
    expect(groupsIn(objectOf('scheduling.volcano.sh/v1beta1', 'PodGroup', spec))).toEqual([]);
  });
});
