import { DescribeImagesCommand, EC2Client } from '@aws-sdk/client-ec2';
import {
  CreateAccessEntryCommand,
  DeleteAccessEntryCommand,
  DescribeAccessEntryCommand,
  DescribeClusterCommand,
  EKSClient,
  ListAccessEntriesCommand,
} from '@aws-sdk/client-eks';
import {
  AddRoleToInstanceProfileCommand,
  CreateInstanceProfileCommand,
  CreateServiceLinkedRoleCommand,
  DeleteInstanceProfileCommand,
  GetInstanceProfileCommand,
  GetRoleCommand,
  IAMClient,
  ListInstanceProfilesCommand,
  ListInstanceProfileTagsCommand,
  RemoveRoleFromInstanceProfileCommand,
  TagInstanceProfileCommand,
} from '@aws-sdk/client-iam';
import { type Filter, GetProductsCommand, PricingClient } from '@aws-sdk/client-pricing';
import { GetParameterCommand, GetParametersByPathCommand, GetParametersCommand, SSMClient } from '@aws-sdk/client-ssm';
import { AssumeRoleWithWebIdentityCommand, GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { codeOf, type Fixture, startFixture } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture();
});
afterAll(() => fixture.close());

describe('SSM', () => {
  const value = async (name: string): Promise<string | undefined> =>
    (await new SSMClient(fixture.config).send(new GetParameterCommand({ Name: name }))).Parameter?.Value;

  it.each([
    {
      path: 'eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended',
      name: /al2023-x86_64-standard-1\.34-v2026/,
      arch: 'x86_64',
    },
    {
      path: 'eks/optimized-ami/1.34/amazon-linux-2023/arm64/nvidia/recommended',
      name: /al2023-arm64-nvidia-1\.34/,
      arch: 'arm64',
    },
    {
      path: 'eks/optimized-ami/1.32/amazon-linux-2-arm64/recommended',
      name: /^amazon-eks-arm64-node-1\.32/,
      arch: 'arm64',
    },
    {
      path: 'bottlerocket/aws-k8s-1.34/x86_64/latest',
      name: /^bottlerocket-aws-k8s-1\.34-x86_64-v1\.52\.0/,
      arch: 'x86_64',
    },
    {
      path: 'bottlerocket/aws-k8s-1.33-nvidia/arm64/1.44.0',
      name: /aws-k8s-1\.33-nvidia-arm64-v1\.44\.0/,
      arch: 'arm64',
    },
    {
      path: 'ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.34',
      name: /^Windows_Server-2022/,
      arch: 'x86_64',
    },
  ])('returns the image of $path', async ({ path, name, arch }) => {
    const id = await value(`/aws/service/${path}/image_id`);
    const { Images = [] } = await fixture.ec2.send(new DescribeImagesCommand({ ImageIds: [String(id)] }));
    expect(Images).toMatchObject([{ Architecture: arch, Name: expect.stringMatching(name), State: 'available' }]);
  });

  it('has no Amazon Linux 2 from 1.33, and no Windows 2025 before 1.35', async () => {
    expect(await codeOf(value('/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/image_id'))).toBe(
      'ParameterNotFound',
    );
    const windows = '/aws/service/ami-windows-latest/Windows_Server-2025-English-Core-EKS_Optimized';
    expect(await codeOf(value(`${windows}-1.34/image_id`))).toBe('ParameterNotFound');
    expect(await value(`${windows}-1.35/image_id`)).toMatch(/^ami-/);
  });

  it('accepts custom parameters, and separates known from unknown names', async () => {
    fixture.aws.seed.parameter('/acme/ami', 'ami-1');
    fixture.aws.seed.parameter('/acme/deep/ami', 'ami-2');
    const ssm = new SSMClient(fixture.config);
    const answer = await ssm.send(new GetParametersCommand({ Names: ['/acme/ami', '/acme/none'] }));
    expect(answer.Parameters).toMatchObject([{ Name: '/acme/ami', Value: 'ami-1' }]);
    expect(answer.InvalidParameters).toEqual(['/acme/none']);
    const list = async (recursive: boolean): Promise<number | undefined> =>
      (await ssm.send(new GetParametersByPathCommand({ Path: '/acme', Recursive: recursive }))).Parameters?.length;
    expect([await list(false), await list(true)]).toEqual([1, 2]);
  });
});

describe('IAM', () => {
  const iam = (): IAMClient => new IAMClient(fixture.config);

  it('creates, updates, lists by path and deletes instance profiles', async () => {
    const InstanceProfileName = 'demo_1';
    const Path = '/karpenter/us-west-2/demo/uid/';
    const create = new CreateInstanceProfileCommand({ InstanceProfileName, Path, Tags: [{ Key: 'a', Value: 'b' }] });
    await iam().send(create);
    expect(await codeOf(iam().send(create))).toBe('EntityAlreadyExists');
    const add = new AddRoleToInstanceProfileCommand({ InstanceProfileName, RoleName: 'KarpenterNodeRole-demo' });
    await iam().send(add);
    expect(await codeOf(iam().send(add))).toBe('LimitExceeded');
    await iam().send(new TagInstanceProfileCommand({ InstanceProfileName, Tags: [{ Key: 'c', Value: 'd' }] }));
    const { InstanceProfile: profile } = await iam().send(new GetInstanceProfileCommand({ InstanceProfileName }));
    expect(profile).toMatchObject({ Path, Roles: [{ RoleName: 'KarpenterNodeRole-demo' }] });
    const { Tags: tags } = await iam().send(new ListInstanceProfileTagsCommand({ InstanceProfileName }));
    expect(tags).toEqual([
      { Key: 'a', Value: 'b' },
      { Key: 'c', Value: 'd' },
    ]);
    const count = async (PathPrefix: string): Promise<number | undefined> =>
      (await iam().send(new ListInstanceProfilesCommand({ PathPrefix }))).InstanceProfiles?.length;
    expect([await count('/karpenter/us-west-2/demo/'), await count('/other/')]).toEqual([1, 0]);

    expect(await codeOf(iam().send(new DeleteInstanceProfileCommand({ InstanceProfileName })))).toBe('DeleteConflict');
    await iam().send(
      new RemoveRoleFromInstanceProfileCommand({ InstanceProfileName, RoleName: 'KarpenterNodeRole-demo' }),
    );
    await iam().send(new DeleteInstanceProfileCommand({ InstanceProfileName }));
    expect(await codeOf(iam().send(new GetInstanceProfileCommand({ InstanceProfileName })))).toBe('NoSuchEntity');
  });

  it('names the missing role', async () => {
    await iam().send(new CreateInstanceProfileCommand({ InstanceProfileName: 'p' }));
    await expect(
      iam().send(new AddRoleToInstanceProfileCommand({ InstanceProfileName: 'p', RoleName: 'none' })),
    ).rejects.toThrow('The role with name none cannot be found.');
    await expect(iam().send(new GetRoleCommand({ RoleName: 'none' }))).rejects.toThrow(/none/);
  });

  it('creates a missing spot role, which removes the fault', async () => {
    const create = new CreateServiceLinkedRoleCommand({ AWSServiceName: 'spot.amazonaws.com' });
    expect(await codeOf(iam().send(create))).toBe('InvalidInput');
    fixture.aws.faults.add({ kind: 'no-spot-role' });
    await iam().send(create);
    expect(fixture.aws.faults.list()).toEqual([]);
  });
});

describe('EKS', () => {
  const eks = (): EKSClient => new EKSClient(fixture.config);

  it('creates, lists and deletes access entries', async () => {
    const entry = { clusterName: 'demo', principalArn: 'arn:aws:iam::111122223333:role/nodes' };
    const create = new CreateAccessEntryCommand({ ...entry, type: 'EC2_LINUX' });
    expect((await eks().send(create)).accessEntry).toMatchObject({ ...entry, type: 'EC2_LINUX' });
    expect(await codeOf(eks().send(create))).toBe('ResourceInUseException');
    const list = new ListAccessEntriesCommand({ clusterName: 'demo' });
    expect((await eks().send(list)).accessEntries).toEqual([entry.principalArn]);
    await eks().send(new DeleteAccessEntryCommand(entry));
    expect(await codeOf(eks().send(new DescribeAccessEntryCommand(entry)))).toBe('ResourceNotFoundException');
  });
  it('describes the cluster', async () => {
    expect((await eks().send(new DescribeClusterCommand({ name: 'demo' }))).cluster).toMatchObject({
      name: 'demo',
      status: 'ACTIVE',
      version: '1.34',
      kubernetesNetworkConfig: { serviceIpv4Cidr: '10.100.0.0/16', ipFamily: 'ipv4' },
      resourcesVpcConfig: { vpcId: expect.stringMatching(/^vpc-/) },
    });
  });
  it('returns an error for other clusters', async () => {
    await expect(eks().send(new DescribeClusterCommand({ name: 'none' }))).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
      message: 'No cluster found for name: none.',
    });
  });
});

describe('Pricing', () => {
  const list = async (filters: Readonly<Record<string, string>>): Promise<Map<string, string>> => {
    const pricing = new PricingClient({ ...fixture.config, region: 'us-east-1' });
    const prices = new Map<string, string>();
    const Filters = Object.entries(filters).map(([Field, Value]): Filter => ({ Type: 'TERM_MATCH', Field, Value }));
    let token: string | undefined;
    do {
      const answer = await pricing.send(
        new GetProductsCommand({ ServiceCode: 'AmazonEC2', Filters, MaxResults: 100, NextToken: token }),
      );
      for (const text of answer.PriceList ?? []) {
        const { product, terms } = JSON.parse(String(text));
        const [term] = Object.values(terms.OnDemand) as {
          priceDimensions: Record<string, { pricePerUnit: { USD: string } }>;
        }[];
        expect(prices.has(product.attributes.instanceType)).toBe(false);
        prices.set(
          product.attributes.instanceType,
          String(Object.values(term?.priceDimensions ?? {})[0]?.pricePerUnit.USD),
        );
      }
      token = answer.NextToken;
    } while (token);
    return prices;
  };
  const common = {
    regionCode: 'us-west-2',
    serviceCode: 'AmazonEC2',
    preInstalledSw: 'NA',
    operatingSystem: 'Linux',
    capacitystatus: 'Used',
    marketoption: 'OnDemand',
  };

  it('lists one Linux price per virtual type, and bare metal types separately', async () => {
    const shared = await list({ ...common, tenancy: 'Shared', productFamily: 'Compute Instance' });
    const metal = await list({ ...common, tenancy: 'Dedicated', productFamily: 'Compute Instance (bare metal)' });
    expect(Number(shared.get('m5.large'))).toBe(0.096);
    expect(shared.has('m5.metal')).toBe(false);
    expect(Number(metal.get('m5.metal'))).toBe(4.608);
    expect(shared.size + metal.size).toBe(fixture.aws.catalogue.types.length);
  });

  it('lists no prices for another region', async () => {
    expect(await list({ ...common, regionCode: 'eu-west-1' })).toEqual(new Map());
  });
});

describe('STS', () => {
  it('returns the caller, and accepts a token without a signature for a role', async () => {
    const sts = new STSClient(fixture.config);
    expect(await sts.send(new GetCallerIdentityCommand({}))).toMatchObject({ Account: '123456789012' });
    const RoleArn = 'arn:aws:iam::123456789012:role/demo-karpenter';
    const assume = (WebIdentityToken: string): Promise<unknown> =>
      sts.send(new AssumeRoleWithWebIdentityCommand({ RoleArn, RoleSessionName: 's', WebIdentityToken }));
    expect(await assume('a.b.c')).toMatchObject({
      Credentials: { Expiration: new Date(fixture.clock.now() + 3_600_000) },
      AssumedRoleUser: { Arn: 'arn:aws:sts::123456789012:assumed-role/demo-karpenter/s' },
    });
    await expect(assume('nonsense')).rejects.toThrow(/JWT/);
  });
});

describe('the listener', () => {
  it('rejects requests that are unsigned or signed for another region', async () => {
    const elsewhere = new EC2Client({ ...fixture.config, region: 'eu-west-1' });
    expect(await codeOf(elsewhere.send(new DescribeImagesCommand({})))).toBe('AuthFailure');
    const unsigned = await fetch(fixture.aws.url, { method: 'POST', body: 'Action=DescribeInstances' });
    expect([unsigned.status, await unsigned.text()]).toEqual([
      403,
      expect.stringContaining('MissingAuthenticationToken'),
    ]);
  });

  it('names an unsupported action', async () => {
    const headers = { authorization: 'AWS4-HMAC-SHA256 Credential=a/20260101/us-west-2/ec2/aws4_request, Signature=x' };
    const answer = await fetch(fixture.aws.url, { method: 'POST', headers, body: 'Action=BuyElephant' });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining('The action BuyElephant is not valid'),
    ]);
  });
});
