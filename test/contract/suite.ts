/** Contract of the provider with any AWS. It checks both requests and responses. */
import {
  DeleteLaunchTemplateCommand,
  DescribeInstancesCommand,
  DescribeLaunchTemplatesCommand,
  paginateDescribeInstanceTypes,
} from '@aws-sdk/client-ec2';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, getCondition, NODE_CLAIM, type NodeClaim } from '#api/objects';
import type { NodeClaimRequirement } from '#api/testing';
import { fetchTypes, instanceIdOfClaim } from '#aws/testing';
import { NodeClaimNotFound } from '#cloud';
import { present } from '../support/present.ts';
import { type Backend, CLUSTER, type Input, NODE_ROLE, REGION } from './backend.ts';
import { Session } from './session.ts';

const only = (key: string, ...values: string[]): NodeClaimRequirement => ({ key, operator: 'In', values });
const ON_DEMAND = only('karpenter.sh/capacity-type', 'on-demand');
const SPOT = only('karpenter.sh/capacity-type', 'spot');
const TYPES = only('node.kubernetes.io/instance-type', 'm5.large', 'm5.xlarge');
const ONE_TYPE = only('node.kubernetes.io/instance-type', 'm5.large');

const idOf = (claim: NodeClaim): string => present(instanceIdOfClaim(claim));
const tagsIn = (specification: Input | undefined): Record<string, string> =>
  Object.fromEntries((specification?.Tags ?? []).map(({ Key, Value }: Input) => [Key, Value]));

export function contract(name: string, open: () => Promise<Backend>): void {
  describe(`the provider on ${name}`, () => {
    let backend: Backend;
    let session: Session;
    beforeAll(async () => {
      backend = await open();
      session = await Session.open(backend);
      await session.reconcile('nodeclass', session.nodeClass());
    }, 60_000);
    afterAll(() => backend.close());
    beforeEach(() => backend.forget());

    const instance = async (id: string) => {
      const answer = await backend.clients.ec2.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
      return answer.Reservations?.[0]?.Instances?.[0];
    };

    it('resolves the selectors of a NodeClass, and validates it', () => {
      const { status } = session.nodeClass();
      expect(status?.subnets?.map(({ zone }) => zone).sort()).toEqual(
        ['a', 'b', 'c'].map((zone) => `${REGION}${zone}`),
      );
      expect(status?.securityGroups?.length).toBeGreaterThan(0);
      expect((status?.amis ?? []).length).toBeGreaterThanOrEqual(2);
      expect(status?.instanceProfile).toBeDefined();
      const failing = (status?.conditions ?? []).filter((condition) => condition.status !== 'True');
      expect(failing).toEqual([]);
      expect(getCondition(session.nodeClass(), 'Ready')?.status).toBe('True');
    });

    it('fetches every instance type, although it requests them in parts', async () => {
      const { ec2 } = backend.clients;
      const names: string[] = [];
      for await (const page of paginateDescribeInstanceTypes({ client: ec2 }, {}))
        for (const { InstanceType, ProcessorInfo, SupportedVirtualizationTypes } of page.InstanceTypes ?? []) {
          const architectures: readonly string[] = ProcessorInfo?.SupportedArchitectures ?? [];
          const isNode = architectures.includes('x86_64') || architectures.includes('arm64');
          if (isNode && SupportedVirtualizationTypes?.includes('hvm')) names.push(InstanceType ?? '');
        }
      expect(names.length).toBeGreaterThan(400);
      expect([...(await fetchTypes(ec2, () => undefined)).keys()]).toEqual(names.sort());
    }, 60_000);

    it('sends one fleet request with every type and zone, and returns the launched instance', async () => {
      const claim = await session.launch(TYPES, ON_DEMAND);
      const fleets = backend.sent('CreateFleet');
      expect(fleets).toHaveLength(1);
      expect(fleets[0]).toMatchObject({
        Type: 'instant',
        TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: 'on-demand' },
        OnDemandOptions: { AllocationStrategy: 'lowest-price' },
      });
      const overrides = fleets[0]?.LaunchTemplateConfigs.flatMap(({ Overrides }: Input) => Overrides) as Input[];
      const subnets = new Map(session.nodeClass().status?.subnets?.map(({ id, zone }) => [id, zone]));
      expect(overrides).toHaveLength(6);
      for (const each of overrides) {
        expect(subnets.get(each.SubnetId)).toBe(each.AvailabilityZone);
        expect(each.Priority).toBeGreaterThan(0);
      }
      expect(
        tagsIn(fleets[0]?.TagSpecifications.find((each: Input) => each.ResourceType === 'instance')),
      ).toMatchObject({
        team: 'a',
        'karpenter.sh/nodepool': 'default',
        'karpenter.k8s.aws/ec2nodeclass': 'default',
        'eks:eks-cluster-name': CLUSTER,
        [`kubernetes.io/cluster/${CLUSTER}`]: 'owned',
      });

      const labels = claim.metadata.labels ?? {};
      expect(labels).toMatchObject({ 'karpenter.sh/capacity-type': 'on-demand', 'kubernetes.io/arch': 'amd64' });
      const described = await instance(idOf(claim));
      expect(described).toMatchObject({
        InstanceType: labels['node.kubernetes.io/instance-type'],
        Placement: { AvailabilityZone: labels['topology.kubernetes.io/zone'] },
        ImageId: claim.status?.imageID,
      });
      expect(described?.InstanceLifecycle).toBeUndefined();
    });

    it('applies the NodeClass to the launch template', () => {
      // Created by earlier launches or by the validation of the NodeClass: equal templates are shared.
      const { status } = session.nodeClass();
      return expect(
        (async () => {
          const claim = await session.launch(only('node.kubernetes.io/instance-type', 'm5.4xlarge'), ON_DEMAND);
          expect(claim.status?.capacity?.pods).toBe('234');
          const [template] = backend.sent('CreateLaunchTemplate');
          return template?.LaunchTemplateData;
        })(),
      ).resolves.toMatchObject({
        IamInstanceProfile: { Name: status?.instanceProfile },
        MetadataOptions: { HttpTokens: 'required' },
        NetworkInterfaces: [{ Groups: status?.securityGroups?.map(({ id }) => id) }],
        UserData: expect.any(String),
      });
    });

    it('launches spot instances if the NodeClaim requires spot', async () => {
      const claim = await session.launch(ONE_TYPE, SPOT);
      expect(backend.sent('CreateFleet')[0]).toMatchObject({
        SpotOptions: { AllocationStrategy: 'price-capacity-optimized' },
        TargetCapacitySpecification: { DefaultTargetCapacityType: 'spot' },
      });
      expect(claim.metadata.labels?.['karpenter.sh/capacity-type']).toBe('spot');
      expect((await instance(idOf(claim)))?.InstanceLifecycle).toBe('spot');
      const again = await session.provider.get(present(claim.status?.providerID));
      expect(again.metadata.labels).toMatchObject({ 'karpenter.sh/capacity-type': 'spot' });
    });

    it('launches instances for simultaneous NodeClaims in one call, one for each', async () => {
      const claims = await Promise.all([1, 2, 3].map(() => session.launch(ONE_TYPE, ON_DEMAND)));
      expect(new Set(claims.map(idOf)).size).toBe(3);
      const fleets = backend.sent('CreateFleet');
      expect(fleets.map(({ TargetCapacitySpecification: target }) => target.TotalTargetCapacity)).toEqual([3]);
    });

    it('creates a launch template again after its deletion', async () => {
      await session.launch(ONE_TYPE, ON_DEMAND);
      const name =
        backend.sent('CreateFleet')[0]?.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName;
      await backend.clients.ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: name }));
      const claim = await session.launch(ONE_TYPE, ON_DEMAND);
      expect((await instance(idOf(claim)))?.InstanceType).toBe('m5.large');
      expect(backend.sent('CreateLaunchTemplate').map(({ LaunchTemplateName: made }) => made)).toEqual([name]);
    });

    it('lists its instances, and tags instances with a registered node', async () => {
      const claim = await session.launch(ONE_TYPE, ON_DEMAND);
      const listed = await session.provider.list();
      expect(listed.map(({ status }) => status?.providerID)).toContain(claim.status?.providerID);

      const named = session.kube.put(NODE_CLAIM, {
        ...claim,
        status: { ...claim.status, nodeName: 'ip-10-0-0-1.ec2.internal' },
      });
      await session.reconcile('nodeclaim.tagging', named);
      const tags = tagsIn(await instance(idOf(claim)));
      expect(tags).toMatchObject({ Name: 'ip-10-0-0-1.ec2.internal', 'karpenter.sh/nodeclaim': claim.metadata.name });
    });

    it('terminates an instance until AWS no longer returns it', async () => {
      const claim = await session.launch(ONE_TYPE, ON_DEMAND);
      await expect(
        (async () => {
          for (let n = 0; n < 40; n++) {
            await session.provider.delete(claim);
            await new Promise((resolve) => setTimeout(resolve, 100));
          }
        })(),
      ).rejects.toThrow(NodeClaimNotFound);
      expect(backend.sent('TerminateInstances')).toEqual([{ InstanceIds: [idOf(claim)] }]);
      await expect(session.provider.get(present(claim.status?.providerID))).rejects.toThrow(NodeClaimNotFound);
    });

    it('terminates the instances of a batch although one does not exist', async () => {
      const claims = await Promise.all([1, 2].map(() => session.launch(ONE_TYPE, ON_DEMAND)));
      const [claim] = claims;
      if (claim === undefined) throw new Error('nothing was launched');
      backend.forget();
      const lost = { ...claim, status: { providerID: `aws:///${REGION}a/i-0123456789abcdef1` } };
      const answers = await Promise.allSettled([...claims, lost].map((each) => session.provider.delete(each)));
      expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
      const batches = (action: string) => backend.sent(action).map(({ InstanceIds: ids }) => ids.length);
      expect(batches('DescribeInstances')).toEqual([3, 2]);
      expect(batches('TerminateInstances')).toEqual([2]);
    });

    it('detects no drift after a launch, and the reason after a change of the image', async () => {
      const claim = await session.launch(ONE_TYPE, ON_DEMAND);
      expect(await session.provider.isDrifted(claim)).toBeUndefined();
      const moved = { ...claim, status: { ...claim.status, imageID: 'ami-0000000000000000f' } };
      expect(await session.provider.isDrifted(moved)).toBe('AMIDrift');
    });

    it('requests impaired instances and scheduled events, and keeps healthy instances', async () => {
      const claim = await session.launch(ONE_TYPE, ON_DEMAND);
      await session.pass('interruption.instancestatus');
      expect(backend.sent('DescribeInstanceStatus').map(({ Filters }) => Filters[0].Name)).toEqual([
        'instance-status.status',
        'system-status.status',
        'event.code',
      ]);
      expect(session.kube.find(NODE_CLAIM, claim.metadata)?.metadata.deletionTimestamp).toBeUndefined();
    });

    it('reports that an instance does not exist', async () => {
      const unknown = `aws:///${REGION}a/i-0123456789abcdef0`;
      await expect(session.provider.get(unknown)).rejects.toThrow(NodeClaimNotFound);
    });

    it('deletes the NodeClaim of an interrupted spot instance', async () => {
      const claim = await session.launch(ONE_TYPE, SPOT);
      await backend.send({
        version: '0',
        source: 'aws.ec2',
        'detail-type': 'EC2 Spot Instance Interruption Warning',
        time: new Date().toISOString(),
        id: 'message',
        account: '123456789012',
        region: REGION,
        resources: [],
        detail: { 'instance-id': idOf(claim), 'instance-action': 'terminate' },
      });
      for (let n = 0; n < 10 && session.kube.find(NODE_CLAIM, claim.metadata) !== undefined; n++)
        await session.pass('interruption');
      expect(session.kube.find(NODE_CLAIM, claim.metadata)).toBeUndefined();
      expect(backend.sent('DeleteMessage').length).toBeGreaterThan(0);
    });

    it('deletes all AWS resources of a NodeClass', async () => {
      for (const claim of session.kube.all(NODE_CLAIM))
        await session.kube.client().delete(NODE_CLAIM, { name: claim.metadata.name });
      const profile = session.nodeClass().status?.instanceProfile;
      await session.kube.client().delete(EC2_NODE_CLASS, { name: 'default' });
      await session.reconcile('nodeclass', session.nodeClass());
      expect(session.kube.find(EC2_NODE_CLASS, { name: 'default' })).toBeUndefined();
      expect(backend.sent('RemoveRoleFromInstanceProfile')).toEqual([
        { InstanceProfileName: profile, RoleName: NODE_ROLE },
      ]);
      expect(backend.sent('DeleteInstanceProfile')).toEqual([{ InstanceProfileName: profile }]);
      const left = await backend.clients.ec2.send(new DescribeLaunchTemplatesCommand({}));
      expect(left.LaunchTemplates ?? []).toEqual([]);
    });
  });
}
