/** Every field of an EC2NodeClass, from the object to the instance that the local AWS launches for it. */
import { DescribeInstancesCommand, EC2Client, type Instance } from '@aws-sdk/client-ec2';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, type EC2NodeClass, getCondition, type NodeClaim, SERVICE } from '#api/objects';
import type { NodeClaimRequirement } from '#api/testing';
import { instanceIdOfClaim } from '../../../../src/aws/instances/instance.ts';
import { wholeCatalogue } from '../../../support/catalogue.ts';
import { present } from '../../../support/present.ts';
import { Account, CLUSTER_UID, only } from '../support/account.ts';
import type { Json } from '../support/json.ts';

type Spec = Partial<EC2NodeClass['spec']>;

let account: Account;
let ec2: EC2Client;
let plain: EC2NodeClass['spec'];
beforeAll(async () => {
  account = await Account.open({ catalogue: wholeCatalogue() });
  ec2 = new EC2Client({});
  plain = account.nodeClass().spec;
});
afterAll(async () => {
  ec2.destroy();
  await account.close();
});

/** Replaces the fields of the NodeClass, and waits until it is ready. */
async function apply(fields: Spec): Promise<void> {
  const nodeClass = account.nodeClass();
  const spec = Object.fromEntries(
    // A NodeClass may have only one of the two.
    Object.entries({ ...plain, ...fields }).filter(
      ([field]) => field !== 'role' || fields.instanceProfile === undefined,
    ),
  ) as EC2NodeClass['spec'];
  const { name, uid = '', generation = 0, finalizers = [] } = nodeClass.metadata;
  account.kube.put(EC2_NODE_CLASS, {
    ...nodeClass,
    metadata: { name, uid, finalizers, generation: generation + 1 },
    spec,
  });
  await account.reconcileNodeClass();
  expect(getCondition(account.nodeClass(), 'Ready')?.status).toBe('True');
  account.aws.calls.clear();
}

interface Launched {
  readonly claim: NodeClaim;
  readonly instance: Instance;
  /** Decoded user data. */
  readonly userData: string;
  readonly template: Json;
  readonly fleet: Json;
}

const TYPE = only('node.kubernetes.io/instance-type', 'm5.large');
const ON_DEMAND = only('karpenter.sh/capacity-type', 'on-demand');

async function launch(
  requirements: readonly NodeClaimRequirement[] = [TYPE, ON_DEMAND],
  requests: Readonly<Record<string, string>> = {},
): Promise<Launched> {
  const wanted = account.claim(...requirements);
  // A unique label prevents the reuse of an existing launch template.
  const claim = await account.provider.create({
    ...wanted,
    metadata: { ...wanted.metadata, labels: { ...wanted.metadata.labels, run: wanted.metadata.name } },
    spec: { ...wanted.spec, resources: { requests: { ...wanted.spec.resources?.requests, ...requests } } },
  });
  const id = present(instanceIdOfClaim(claim));
  const { Reservations = [] } = await ec2.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
  const instance = Reservations[0]?.Instances?.[0];
  if (instance === undefined) throw new Error(`no instance ${id}`);
  const input = (action: string): Json => account.aws.calls.recorded(action).at(-1)?.input ?? {};
  return {
    claim,
    instance,
    userData: account.aws.instances.get(id)?.userData ?? '',
    template: input('CreateLaunchTemplate').LaunchTemplateData ?? {},
    fleet: input('CreateFleet'),
  };
}

const tagsOf = (tags: Instance['Tags']) =>
  Object.fromEntries((tags ?? []).map(({ Key = '', Value = '' }) => [Key, Value]));

describe('a selector', () => {
  it('matches subnets by id', async () => {
    const [, second] = account.nodeClass().status?.subnets ?? [];
    await apply({ subnetSelectorTerms: [{ id: present(second?.id) }] });
    const { instance, claim } = await launch();
    expect(instance.SubnetId).toBe(second?.id);
    expect(claim.metadata.labels).toMatchObject({
      'topology.kubernetes.io/zone': second?.zone,
      'topology.k8s.aws/zone-id': second?.zoneID,
    });
  });

  it('matches security groups by name and by id', async () => {
    const other = account.aws.seed.securityGroup({ name: 'other' });
    const [own] = account.nodeClass().status?.securityGroups ?? [];
    await apply({ securityGroupSelectorTerms: [{ name: 'other' }, { id: present(own?.id) }] });
    const { instance } = await launch();
    expect(instance.SecurityGroups?.map(({ GroupId }) => GroupId).sort()).toEqual([other, own?.id].sort());
  });

  it('matches images by id', async () => {
    const id = account.aws.seed.image({ name: 'own', architecture: 'x86_64' });
    await apply({ amiFamily: 'Custom', amiSelectorTerms: [{ id }] });
    const { instance, claim } = await launch();
    expect(instance.ImageId).toBe(id);
    expect(claim.status?.imageID).toBe(id);
  });

  it.each([
    ['al2023@latest', 'kind: NodeConfig'],
    ['bottlerocket@latest', '[settings.kubernetes]'],
    ['windows2022@latest', '<powershell>'],
  ])('matches images by the alias %s', async (alias, mark) => {
    await apply({ amiSelectorTerms: [{ alias }] });
    const { userData, instance } = await launch();
    expect(userData).toContain(mark);
    expect(instance.ImageId).toBe(account.nodeClass().status?.amis?.find(({ id }) => id === instance.ImageId)?.id);
  });

  it('matches a capacity reservation', async () => {
    const zone = `${account.aws.region}a`;
    const id = account.aws.seed.capacityReservation({
      instanceType: 'c5.large',
      zone,
      total: 2,
      matchCriteria: 'targeted',
    });
    await apply({ capacityReservationSelectorTerms: [{ id }] });
    const { instance, claim, fleet } = await launch([only('karpenter.sh/capacity-type', 'reserved')]);
    expect(instance).toMatchObject({ CapacityReservationId: id, InstanceType: 'c5.large' });
    expect(claim.metadata.labels).toMatchObject({
      'karpenter.sh/capacity-type': 'reserved',
      'karpenter.k8s.aws/capacity-reservation-id': id,
      'karpenter.k8s.aws/capacity-reservation-type': 'default',
      'karpenter.k8s.aws/capacity-reservation-interruptible': 'false',
    });
    expect(fleet.TargetCapacitySpecification).toMatchObject({ DefaultTargetCapacityType: 'on-demand' });
  });

  it('matches a capacity block', async () => {
    const zone = `${account.aws.region}b`;
    const endDateMs = account.clock.now() + 86_400_000;
    const id = account.aws.seed.capacityReservation({
      instanceType: 'c5.2xlarge',
      zone,
      total: 1,
      matchCriteria: 'targeted',
      reservationType: 'capacity-block',
      endDateMs,
    });
    await apply({ capacityReservationSelectorTerms: [{ id }] });
    expect(account.nodeClass().status?.capacityReservations).toMatchObject([
      { id, reservationType: 'capacity-block', state: 'active', endTime: new Date(endDateMs).toISOString() },
    ]);
    const { instance, fleet, template } = await launch([only('karpenter.sh/capacity-type', 'reserved')]);
    expect(instance).toMatchObject({ CapacityReservationId: id, InstanceLifecycle: 'capacity-block' });
    expect(fleet.TargetCapacitySpecification).toMatchObject({ DefaultTargetCapacityType: 'capacity-block' });
    expect(fleet.OnDemandOptions).toBeUndefined();
    expect(template.InstanceMarketOptions).toEqual({ MarketType: 'capacity-block' });
  });

  it.each(['cluster', 'spread'] as const)('matches a %s placement group', async (strategy) => {
    const id = account.aws.seed.placementGroup({ name: strategy, strategy });
    await apply({ placementGroupSelector: { name: strategy } });
    const { instance, claim } = await launch();
    expect(instance.Placement?.GroupId).toBe(id);
    expect(claim.metadata.labels).toMatchObject({ 'karpenter.k8s.aws/placement-group-id': id });
    expect(await account.provider.isDrifted(account.write(claim))).toBeUndefined();
  });

  it('matches a partition of a placement group', async () => {
    const id = account.aws.seed.placementGroup({ name: 'parts', strategy: 'partition', partitions: 3 });
    await apply({ placementGroupSelector: { id } });
    const partition = only('karpenter.k8s.aws/placement-group-partition', '2');
    const { instance, claim } = await launch([TYPE, ON_DEMAND, partition]);
    expect(instance.Placement).toMatchObject({ GroupId: id, PartitionNumber: 2 });
    expect(claim.metadata.labels).toMatchObject({ 'karpenter.k8s.aws/placement-group-partition': '2' });
  });
});

describe('the identity of an instance', () => {
  it('is a role, in a profile that is named and tagged for the NodeClass', async () => {
    account.aws.seed.role('another-role');
    await apply({ role: 'another-role', tags: { team: 'a' } });
    const name = account.nodeClass().status?.instanceProfile ?? '';
    const { instance, claim } = await launch();
    expect(instance.IamInstanceProfile?.Arn).toBe(
      `arn:aws:iam::${account.aws.accountId}:instance-profile/karpenter/us-west-2/test/${account.nodeClass().metadata.uid}/${name}`,
    );
    expect(claim.metadata.annotations).toMatchObject({ 'karpenter.k8s.aws/instance-profile-name': name });
  });

  it('is a profile of the user, and the provider creates none', async () => {
    account.aws.seed.instanceProfile({ name: 'given', role: 'their-role' });
    await apply({ instanceProfile: 'given' });
    const { instance } = await launch();
    expect(instance.IamInstanceProfile?.Arn).toMatch(/\/given$/);
    expect(account.aws.calls.counts()).not.toHaveProperty('CreateInstanceProfile');
  });

  it('has tags of instance, volumes, network interfaces, fleet and template', async () => {
    await apply({ tags: { team: 'blue', empty: '' } });
    const { instance, fleet, template } = await launch();
    const expected = {
      team: 'blue',
      empty: '',
      'karpenter.sh/nodepool': 'default',
      'karpenter.k8s.aws/ec2nodeclass': 'default',
      'eks:eks-cluster-name': 'test',
      'karpenter.k8s.aws/cluster-uid': CLUSTER_UID,
      'kubernetes.io/cluster/test': 'owned',
    };
    expect(tagsOf(instance.Tags)).toMatchObject(expected);
    const specified = [...fleet.TagSpecifications, ...template.TagSpecifications];
    expect(specified.map(({ ResourceType }) => ResourceType).sort()).toEqual([
      'fleet',
      'instance',
      'network-interface',
      'volume',
    ]);
    for (const { Tags } of specified) expect(tagsOf(Tags)).toEqual(expected);
  });
});

describe('the boot configuration of an instance', () => {
  it('contains user data and kubelet settings', async () => {
    await apply({ userData: '#!/bin/bash\necho first\n', kubelet: { maxPods: 17, podsPerCore: 4 } });
    const { userData, claim } = await launch();
    expect(userData).toContain('echo first');
    expect(userData).toContain('maxPods: 17');
    expect(claim.status?.capacity?.pods).toBe('8');
  });

  it('contains local disks', async () => {
    await apply({ instanceStorePolicy: 'RAID0' });
    const { userData, claim } = await launch([only('node.kubernetes.io/instance-type', 'm5d.large'), ON_DEMAND]);
    expect(userData).toContain('strategy: RAID0');
    expect(claim.status?.capacity?.['ephemeral-storage']).toBe('75000000000');
  });

  it('contains block devices', async () => {
    const ebs = { volumeSize: '40Gi', volumeType: 'gp3', encrypted: true, iops: 4000, throughput: 200 } as const;
    await apply({ blockDeviceMappings: [{ deviceName: '/dev/xvda', rootVolume: true, ebs }] });
    const { instance, claim } = await launch();
    const [volume] = account.aws.instances.get(instance.InstanceId ?? '')?.volumes ?? [];
    expect(volume).toMatchObject({ deviceName: '/dev/xvda', sizeGiB: 40, volumeType: 'gp3' });
    expect(claim.status?.capacity?.['ephemeral-storage']).toBe('40Gi');
  });

  it('contains detailed monitoring', async () => {
    await apply({ detailedMonitoring: true });
    expect((await launch()).instance.Monitoring?.State).toBe('enabled');
    await apply({});
    expect((await launch()).instance.Monitoring?.State).toBe('disabled');
  });

  it('contains metadata options', async () => {
    await apply({
      metadataOptions: {
        httpEndpoint: 'enabled',
        httpProtocolIPv6: 'enabled',
        httpPutResponseHopLimit: 5,
        httpTokens: 'optional',
      },
    });
    expect((await launch()).instance.MetadataOptions).toMatchObject({
      HttpEndpoint: 'enabled',
      HttpProtocolIpv6: 'enabled',
      HttpPutResponseHopLimit: 5,
      HttpTokens: 'optional',
    });
  });

  it('contains a context in the fleet, except if minValues were relaxed', async () => {
    await apply({ context: 'reserved-context' });
    const { fleet, template } = await launch();
    expect(fleet.Context).toBe('reserved-context');
    expect(JSON.stringify(template)).not.toContain('reserved-context');
    const claim = account.claim(TYPE, ON_DEMAND);
    const annotations = { 'karpenter.sh/nodeclaim-min-values-relaxed': 'true' };
    await account.provider.create({ ...claim, metadata: { ...claim.metadata, annotations } });
    expect(account.aws.calls.recorded('CreateFleet').at(-1)?.input).not.toHaveProperty('Context');
  });

  it('contains a Nitro enclave if the pods require it', async () => {
    await apply({});
    const { instance } = await launch([TYPE, ON_DEMAND], { 'eks.amazonaws.com/nitro-sandbox': '0' });
    expect(instance.EnclaveOptions?.Enabled).toBe(true);
    expect((await launch()).instance.EnclaveOptions?.Enabled).toBe(false);
  });

  it('contains a dedicated host if the NodePool requires it', async () => {
    const { instance, claim } = await launch([
      TYPE,
      ON_DEMAND,
      only('karpenter.k8s.aws/instance-tenancy', 'dedicated'),
    ]);
    expect(instance.Placement?.Tenancy).toBe('dedicated');
    expect(claim.metadata.labels).toMatchObject({ 'karpenter.k8s.aws/instance-tenancy': 'dedicated' });
  });
});

describe('the network of an instance', () => {
  it.each([true, false])('has a public address: %s', async (associatePublicIPAddress) => {
    await apply({ associatePublicIPAddress });
    const { instance, template } = await launch();
    expect(template.NetworkInterfaces).toMatchObject([{ AssociatePublicIpAddress: associatePublicIPAddress }]);
    expect(instance.PublicIpAddress !== undefined).toBe(associatePublicIPAddress);
  });

  it('prefixes', async () => {
    await apply({ ipPrefixCount: 2 });
    expect((await launch()).template.NetworkInterfaces).toMatchObject([{ Ipv4PrefixCount: 2 }]);
  });

  it('has connection tracking, which needs Nitro', async () => {
    await apply({ connectionTracking: { tcpEstablishedTimeout: 3600, udpStreamTimeout: 100, udpTimeout: 40 } });
    expect((await launch()).template.NetworkInterfaces).toMatchObject([
      {
        ConnectionTrackingSpecification: { TcpEstablishedTimeout: 3600, UdpStreamTimeout: 100, UdpTimeout: 40 },
      },
    ]);
    const metal = only('node.kubernetes.io/instance-type', 'm5.metal');
    await expect(launch([metal, ON_DEMAND])).rejects.toThrow('all requested instance types were unavailable');
  });

  it('has nested virtualization, which needs a processor that supports it', async () => {
    await apply({ cpuOptions: { nestedVirtualization: 'enabled' } });
    await expect(launch()).rejects.toThrow('all requested instance types were unavailable');
    const { template } = await launch([only('node.kubernetes.io/instance-type', 'm5.large', 'm7i.large'), ON_DEMAND]);
    expect(template.CpuOptions).toEqual({ NestedVirtualization: 'enabled' });
  });

  it('has network interfaces on types with several network cards', async () => {
    await apply({
      networkInterfaces: [
        { networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' },
        { networkCardIndex: 1, deviceIndex: 1, interfaceType: 'efa-only' },
      ],
    });
    const types = only('node.kubernetes.io/instance-type', 'm5.large', 'p4d.24xlarge');
    const { instance, claim } = await launch([types, ON_DEMAND]);
    expect(instance.InstanceType).toBe('p4d.24xlarge');
    const attached = (instance.NetworkInterfaces ?? []).map(({ InterfaceType, Attachment }) => [
      Attachment?.NetworkCardIndex,
      Attachment?.DeviceIndex,
      InterfaceType,
    ]);
    expect(attached).toEqual([
      [0, 0, 'interface'],
      [1, 1, 'efa-only'],
    ]);
    expect(claim.status?.capacity?.['vpc.amazonaws.com/efa']).toBe('1');
  });

  it('has EFA on every card if the pods require it', async () => {
    await apply({});
    const type = only('node.kubernetes.io/instance-type', 'p4d.24xlarge');
    const { instance, claim } = await launch([type, ON_DEMAND], { 'vpc.amazonaws.com/efa': '4' });
    expect((instance.NetworkInterfaces ?? []).map(({ InterfaceType }) => InterfaceType)).toEqual(Array(4).fill('efa'));
    expect(claim.status?.capacity?.['vpc.amazonaws.com/efa']).toBe('4');
    const without = await launch([type, ON_DEMAND]);
    expect(without.claim.status?.capacity).not.toHaveProperty('vpc.amazonaws.com/efa');
  });

  it('has IPv6 if the DNS of the cluster has it', async () => {
    account.kube.put(SERVICE, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace: 'kube-system' },
      spec: { clusterIP: 'fd00:ec2::a' },
    });
    await account.restart();
    // Otherwise, the NodeClaim could match an instance that the earlier process launched.
    account.clock.forward(2_000);
    await account.reconcile('providers.pricing');
    await apply({ ipPrefixCount: 1 });
    const { template, userData } = await launch();
    expect(template.NetworkInterfaces).toMatchObject([{ Ipv6PrefixCount: 1, Ipv6AddressCount: 1, PrimaryIpv6: true }]);
    expect(userData).toContain('fd00:ec2::a');
  });
});
