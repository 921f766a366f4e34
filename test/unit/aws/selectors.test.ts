import { describe, expect, it } from '@jest/globals';
import { securityGroupQueries } from '../../../src/aws/securitygroups.ts';
import { subnetQueries } from '../../../src/aws/subnets/subnets.ts';
import { launchTags, restrictedTags } from '../../../src/aws/tags.ts';

describe('subnetQueries', () => {
  it('returns one query per term with tags and one for all IDs; an ID overrides the tags of its term', () => {
    const terms = [{ id: 'subnet-1', tags: { a: 'b' } }, { tags: { a: '*', c: 'd' } }, { id: 'subnet-2' }];
    expect(subnetQueries(terms)).toEqual([
      [
        { Name: 'tag-key', Values: ['a'] },
        { Name: 'tag:c', Values: ['d'] },
      ],
      [{ Name: 'subnet-id', Values: ['subnet-1', 'subnet-2'] }],
    ]);
    expect(subnetQueries([])).toEqual([]);
  });
});

describe('securityGroupQueries', () => {
  it('prefers the ID to the name, and the name to the tags', () => {
    const terms = [{ name: 'nodes' }, { id: 'sg-1', name: 'x' }, { tags: { a: 'b' } }];
    expect(securityGroupQueries(terms)).toEqual([
      [{ Name: 'tag:a', Values: ['b'] }],
      [{ Name: 'group-id', Values: ['sg-1'] }],
      [{ Name: 'group-name', Values: ['nodes'] }],
    ]);
  });
});

describe('a tag', () => {
  it('overrides the tag of the NodeClass if the provider sets it', () => {
    const nodeClass = {
      metadata: { name: 'class' },
      spec: { tags: { team: 'a', 'karpenter.sh/nodepool': 'forged' } },
    } as unknown as Parameters<typeof launchTags>[0];
    expect(launchTags(nodeClass, { name: 'prod', uid: 'uid-1' }, 'pool')).toEqual({
      team: 'a',
      'kubernetes.io/cluster/prod': 'owned',
      'karpenter.sh/nodepool': 'pool',
      'eks:eks-cluster-name': 'prod',
      'karpenter.k8s.aws/cluster-uid': 'uid-1',
      'karpenter.k8s.aws/ec2nodeclass': 'class',
    });
    expect(launchTags(nodeClass, { name: 'prod' }, 'pool')).not.toHaveProperty(['karpenter.k8s.aws/cluster-uid']);
  });

  it('is reported if only the provider may set it', () => {
    const tags = {
      team: 'a',
      'kubernetes.io/cluster/x': '',
      'kubernetes.io/cluster/': '',
      'eks:eks-cluster-name': 'x',
      'karpenter.k8s.aws/cluster-uid': 'x',
    };
    expect(restrictedTags(tags)).toEqual([
      'eks:eks-cluster-name',
      'karpenter.k8s.aws/cluster-uid',
      'kubernetes.io/cluster/x',
    ]);
  });
});
