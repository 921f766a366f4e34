/** A failed request or a missing field never counts as drift. */
import { CancelCapacityReservationCommand, EC2Client } from '@aws-sdk/client-ec2';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  CAPACITY_TYPE_LABEL,
  EC2_NODE_CLASS,
  type EC2NodeClass,
  INSTANCE_TYPE_LABEL,
  type NodeClaim,
  PLACEMENT_GROUP_ID_LABEL,
} from '#api/objects';
import type { InstanceType } from '#engine/model';
import type { FaultRule } from '#local/aws';
import {
  isImageDrifted,
  isPlacementGroupDrifted,
  isSecurityGroupDrifted,
  isSubnetDrifted,
} from '../../../src/aws/drift.ts';
import type { Instance } from '../../../src/aws/instances/instance.ts';
import { nodeClaimOf, nodeClassOf } from '../../support/awsobjects.ts';
import { Account, only } from './support/account.ts';

const DAY = 24 * 3_600_000;
const DENIED = { code: 'UnauthorizedOperation', status: 403 };

describe('a drift check', () => {
  const nodeClass: EC2NodeClass = {
    ...nodeClassOf('test'),
    status: {
      amis: [
        {
          id: 'ami-arm',
          name: 'arm',
          requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] }],
        },
      ],
      subnets: [{ id: 'subnet-1', zone: 'a' }],
      securityGroups: [{ id: 'sg-1', name: 'one' }],
    },
  };
  const typeOf = (arch: string): InstanceType => ({
    name: 'm5.large',
    requirements: [only('kubernetes.io/arch', arch)],
    capacity: {},
    overhead: { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} },
    offerings: [],
  });
  const claim: NodeClaim = {
    ...nodeClaimOf('claim', 0, []),
    metadata: { name: 'claim', labels: { [INSTANCE_TYPE_LABEL]: 'm5.large', [PLACEMENT_GROUP_ID_LABEL]: 'pg-1' } },
    status: { imageID: 'ami-1' },
  };
  const instance = { id: 'i-1', subnetId: 'subnet-1', securityGroupIds: ['sg-1'] } as unknown as Instance;
  const group = { id: 'pg-2', name: 'two', strategy: 'spread', partitions: 0 };
  const selecting = { ...nodeClass, spec: { ...nodeClass.spec, placementGroupSelector: { id: 'pg-1' } } };

  it.each([
    {
      of: 'an image that another one replaces',
      is: true,
      check: () => isImageDrifted(claim, nodeClass, [typeOf('arm64')]),
    },
    { of: 'a type that no image supports', is: true, check: () => isImageDrifted(claim, nodeClass, [typeOf('amd64')]) },
    { of: 'another placement group', is: true, check: () => isPlacementGroupDrifted(claim, selecting, group) },
    {
      of: 'a placement group that EC2 does not have',
      is: false,
      check: () => isPlacementGroupDrifted(claim, selecting, undefined),
    },
    {
      of: 'a placement group that is no longer wanted',
      is: true,
      check: () => isPlacementGroupDrifted(claim, nodeClass, undefined),
    },
  ])('results for $of in $is', ({ check, is }) => {
    expect(check()).toBe(is);
  });

  it('fails if EC2 omits a compared field of the instance', () => {
    expect(() => isSecurityGroupDrifted({ ...instance, securityGroupIds: [] }, nodeClass)).toThrow(
      'EC2 returned no security groups for instance i-1',
    );
    expect(() => isSubnetDrifted({ ...instance, subnetId: '' }, nodeClass)).toThrow(
      'EC2 returned no subnet for instance i-1',
    );
  });
});

describe('the drift reason of a NodeClaim', () => {
  let account: Account;
  let claim: NodeClaim;
  let sound: EC2NodeClass;
  let reservation: string;
  beforeAll(async () => {
    account = await Account.open();
    const zone = `${account.aws.region}a`;
    reservation = account.aws.seed.capacityReservation({ instanceType: 'm5.large', zone, total: 2 });
    const { spec, ...rest } = account.nodeClass();
    const terms = [{ id: reservation }];
    account.kube.put(EC2_NODE_CLASS, { ...rest, spec: { ...spec, capacityReservationSelectorTerms: terms } });
    await account.reconcileNodeClass();
    sound = account.nodeClass();
    const wanted = account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large'), only(CAPACITY_TYPE_LABEL, 'reserved'));
    claim = account.write(await account.provider.create(wanted));
  });
  afterAll(() => account.close());
  afterEach(() => void account.kube.put(EC2_NODE_CLASS, sound));

  type Status = Partial<NonNullable<EC2NodeClass['status']>>;
  const securityGroups = [{ id: 'sg-0f', name: 'another' }];
  const subnets = () => [{ id: 'subnet-0f', zone: `${account.aws.region}a` }];
  const amis = () => (sound.status?.amis ?? []).map((ami) => ({ ...ami, id: 'ami-0f' }));
  const elsewhere = { [PLACEMENT_GROUP_ID_LABEL]: 'pg-0f' };
  const none = { capacityReservations: [] };

  it.each<[string, () => Status, Readonly<Record<string, string>>, string | undefined]>([
    ['nothing', () => ({}), {}, undefined],
    ['its security groups', () => ({ securityGroups }), {}, 'SecurityGroupDrift'],
    ['its subnet', () => ({ subnets: subnets() }), {}, 'SubnetDrift'],
    ['its reservation', () => none, {}, 'CapacityReservationDrift'],
    ['its placement group', () => ({}), elsewhere, 'PlacementGroupDrift'],
    ['its image before all of these', () => ({ amis: amis(), securityGroups, ...none }), {}, 'AMIDrift'],
    ['security groups before its subnet', () => ({ securityGroups, subnets: subnets() }), {}, 'SecurityGroupDrift'],
    ['its subnet before its reservation', () => ({ subnets: subnets(), ...none }), {}, 'SubnetDrift'],
    ['its reservation before its group', () => none, elsewhere, 'CapacityReservationDrift'],
  ])('is %s', async (_, status, labels, reason) => {
    account.kube.put(EC2_NODE_CLASS, { ...sound, status: { ...sound.status, ...status() } });
    const { metadata } = claim;
    const labelled = { ...claim, metadata: { ...metadata, labels: { ...metadata.labels, ...labels } } };
    expect(await account.provider.isDrifted(labelled)).toBe(reason);
  });

  it('is not returned while a later check fails', async () => {
    account.kube.put(EC2_NODE_CLASS, { ...sound, status: { ...sound.status, subnets: subnets(), securityGroups: [] } });
    await expect(account.provider.isDrifted(claim)).rejects.toThrow('no security groups are present in the status');
  });

  it('is not the reservation after the instance has left it', async () => {
    await new EC2Client({}).send(new CancelCapacityReservationCommand({ CapacityReservationId: reservation }));
    account.kube.put(EC2_NODE_CLASS, { ...sound, status: { ...sound.status, ...none } });
    expect(await account.provider.isDrifted(claim)).toBeUndefined();
  });
});

describe('a NodeClass with its claims', () => {
  let account: Account;
  let claim: NodeClaim;
  beforeAll(async () => {
    account = await Account.open();
    const created = await account.provider.create(
      account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large'), only(CAPACITY_TYPE_LABEL, 'on-demand')),
    );
    claim = account.write(created);
  });
  afterAll(() => account.close());
  afterEach(() => account.aws.faults.clear());

  const lists = ({ status }: EC2NodeClass) =>
    [status?.amis, status?.subnets, status?.securityGroups].map((list) => (list ?? []).map(({ id }) => id).sort());
  /** Runs one pass of a process that has just started or that has expired caches. */
  const look = async (): Promise<unknown> => {
    account.clock.forward(DAY);
    return account.reconcileNodeClass().catch((error: Error) => error.message);
  };

  it.each<FaultRule>([
    { kind: 'error', action: 'GetParameter', ...DENIED, times: 1 },
    { kind: 'error', action: 'GetParameter', ...DENIED, times: 3 },
    { kind: 'error', action: 'DescribeImages', ...DENIED, times: 1 },
    { kind: 'error', action: 'DescribeSubnets', ...DENIED, times: 1 },
    { kind: 'error', action: 'DescribeSecurityGroups', ...DENIED, times: 1 },
    { kind: 'empty', action: 'GetParameter', times: 1 },
    { kind: 'empty', action: 'DescribeImages', times: 1 },
    { kind: 'empty', action: 'DescribeSubnets', times: 1 },
    { kind: 'empty', action: 'DescribeSecurityGroups', times: 1 },
  ])('stays unchanged if AWS responds with $kind to $action $times times', async (fault) => {
    const before = lists(account.nodeClass());
    account.aws.faults.add(fault);
    await look();
    expect(account.aws.faults.list()).toEqual([]);
    expect(lists(account.nodeClass())).toEqual(before);
    expect(await account.provider.isDrifted(claim)).toBeUndefined();
    await account.reconcileNodeClass();
    expect(lists(account.nodeClass())).toEqual(before);
  });

  it('loses an object after EC2 omits it twice', async () => {
    account.aws.faults.add({ kind: 'empty', action: 'DescribeSecurityGroups', times: 2 });
    await look();
    expect(account.nodeClass().status).not.toHaveProperty('securityGroups');
    await expect(account.provider.isDrifted(claim)).rejects.toThrow('no security groups are present in the status');
  });

  it('does not drift while the placement group is unknown to a new process', async () => {
    await look();
    const { status, ...rest } = account.nodeClass();
    const spec = { ...rest.spec, placementGroupSelector: { id: 'pg-0123456789abcdef0' } };
    const labels = { ...claim.metadata.labels, [PLACEMENT_GROUP_ID_LABEL]: 'pg-0123456789abcdef0' };
    account.kube.put(EC2_NODE_CLASS, { ...rest, spec, status: status ?? {} });
    await account.restart();
    account.aws.faults.add({ kind: 'error', action: 'DescribePlacementGroups', ...DENIED });
    const grouped = { ...claim, metadata: { ...claim.metadata, labels } };
    await expect(account.provider.isDrifted(grouped)).rejects.toThrow('getting the placement group, ');
    // No instance is launched outside of the group either.
    await expect(account.provider.create(account.claim())).rejects.toThrow('Error resolving instance types');
    expect(account.running()).toHaveLength(1);
    expect(await account.provider.list()).toHaveLength(1);
  });
});
