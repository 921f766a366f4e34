/** NodeClasses with the same selectors share requests to EC2. */
import { EC2Client } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import type { EC2NodeClass } from '#api/objects';
import type { Freshness } from '#lib/clock';
import { silent } from '#observe/logger';
import { Amis } from '../../../src/aws/amis/amis.ts';
import { SecurityGroups } from '../../../src/aws/securitygroups.ts';
import { Subnets } from '../../../src/aws/subnets/subnets.ts';
import { partial } from '../../support/partial.ts';

const clock = { now: () => 0, sleep: async () => undefined, after: () => () => undefined };

const nodeClass = (name: string, tag: string): EC2NodeClass => {
  const terms = [{ tags: { team: tag } }];
  return {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name, uid: name, generation: 1 },
    spec: {
      amiFamily: 'AL2023',
      ...{ subnetSelectorTerms: terms, securityGroupSelectorTerms: terms, amiSelectorTerms: terms },
    },
  };
};

type Lister = { list(nodeClass: EC2NodeClass, freshness?: Freshness): Promise<readonly object[]> };

const LISTERS: Readonly<Record<string, (ec2: EC2Client) => Lister>> = {
  subnets: (ec2) => new Subnets(ec2, clock, 60_000),
  'security groups': (ec2) => new SecurityGroups(ec2, clock),
  AMIs: (ec2) =>
    new Amis({ ec2, parameters: partial({}), clusterVersion: () => '1.36', clock, log: silent, refreshMs: 60_000 }),
};

describe.each(Object.entries(LISTERS))('%s', (_, create) => {
  it('is requested once for all NodeClasses with the same selectors', async () => {
    let requests = 0;
    const send = async (): Promise<object> => {
      requests += 1;
      return { Subnets: [{ SubnetId: 'subnet-1' }], SecurityGroups: [{ GroupId: 'sg-1' }], Images: [] };
    };
    const lister = create(Object.assign(Object.create(EC2Client.prototype) as EC2Client, { send }));
    const listed = await Promise.all([lister.list(nodeClass('a', 'x')), lister.list(nodeClass('b', 'x'))]);
    expect(listed[0]).toEqual(listed[1]);
    await lister.list(nodeClass('c', 'x'));
    expect(requests).toBe(1);
    await lister.list(nodeClass('d', 'y'));
    expect(requests).toBe(2);
    await lister.list(nodeClass('a', 'x'), { anew: true });
    expect(requests).toBe(3);
  });
});
