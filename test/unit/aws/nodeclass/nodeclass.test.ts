import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CAPACITY_TYPE_LABEL,
  EC2_NODE_CLASS,
  type EC2NodeClass,
  getCondition,
  INSTANCE_TYPE_LABEL,
  NODE_CLAIM,
} from '#api/objects';
import { Account, only } from '../support/account.ts';

let account: Account;
beforeEach(async () => {
  account = await Account.open();
});
afterEach(() => account.close());

/** Creates another NodeClass like the default NodeClass, with some fields replaced. */
function another(spec: Partial<EC2NodeClass['spec']>): void {
  const { metadata: _, status: __, ...rest } = account.nodeClass();
  account.kube.put(EC2_NODE_CLASS, { ...rest, metadata: { name: 'other' }, spec: { ...rest.spec, ...spec } });
}

const condition = (type: string, name = 'other') => {
  const found = getCondition(account.nodeClass(name), type);
  return found && { status: found.status, reason: found.reason, message: found.message };
};

describe('a NodeClass', () => {
  it('becomes ready with the objects that its selectors match', () => {
    const { status, metadata } = account.nodeClass();
    expect(status?.subnets).toHaveLength(3);
    expect(status?.amis).toHaveLength(5);
    expect(status?.instanceProfile).toMatch(/^test_\d+$/);
    expect(condition('Ready', 'default')?.status).toBe('True');
    expect(metadata.finalizers).toEqual(['karpenter.k8s.aws/termination']);
  });

  it('reports the selectors without a match, and does not validate', async () => {
    another({ subnetSelectorTerms: [{ tags: { nobody: 'has' } }], securityGroupSelectorTerms: [{ name: 'nobody' }] });
    await account.reconcileNodeClass('other');
    expect(condition('SubnetsReady')).toEqual({
      status: 'False',
      reason: 'SubnetsNotFound',
      message: 'SubnetSelector did not match any Subnets',
    });
    expect(condition('SecurityGroupsReady')).toMatchObject({
      reason: 'SecurityGroupsNotFound',
      message: 'SecurityGroupSelector did not match any SecurityGroups',
    });
    expect(condition('ValidationSucceeded')).toMatchObject({ status: 'False', reason: 'DependenciesNotReady' });
    expect(condition('Ready')?.status).toBe('False');
    expect(account.events.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        'SubnetsReady: SubnetsNotFound: SubnetSelector did not match any Subnets: tag nobody=has',
        'SecurityGroupsReady: SecurityGroupsNotFound: SecurityGroupSelector did not match any SecurityGroups: name nobody',
      ]),
    );
  });

  it('keeps its status if AWS does not respond', async () => {
    const before = account.nodeClass().status?.securityGroups;
    const code = 'UnauthorizedOperation';
    account.aws.faults.add({ kind: 'error', action: 'DescribeSecurityGroups', code, status: 403 });
    account.clock.forward(61_000);
    await expect(account.reconcileNodeClass()).rejects.toThrow('getting security groups, ');
    expect(account.nodeClass().status?.securityGroups).toEqual(before);
    expect(condition('SecurityGroupsReady', 'default')?.status).toBe('True');
  });

  it.each([
    'CreateLaunchTemplate',
    'CreateFleet',
    'RunInstances',
  ])('is not ready if access to %s is denied', async (action) => {
    account.aws.faults.add({ kind: 'error', action, code: 'UnauthorizedOperation', status: 403 });
    another({ tags: { team: 'a' } });
    await account.reconcileNodeClass('other');
    expect(condition('ValidationSucceeded')).toEqual({
      status: 'False',
      reason: `${action}AuthCheckFailed`,
      message: `Controller isn't authorized to call ec2:${action}: User is not authorized to perform this operation because no identity-based policy allows it`,
    });
    // The result is cached, so that the calls are not repeated every minute.
    account.aws.calls.clear();
    await account.reconcileNodeClass('other');
    expect(account.aws.calls.counts()[action]).toBeUndefined();
  });

  it('tries again when a dry run is throttled', async () => {
    account.aws.faults.add({ kind: 'throttle', action: 'RunInstances', times: 3 });
    another({ tags: { team: 'b' } });
    expect(await account.reconcileNodeClass('other')).toEqual({ kind: 'after', waitMs: 1000 });
    expect(condition('ValidationSucceeded')?.status).toBe('Unknown');
    account.aws.faults.clear();
    await account.reconcileNodeClass('other');
    expect(condition('ValidationSucceeded')?.status).toBe('True');
  });

  it('reports a role that does not exist', async () => {
    another({ role: 'no-such-role' });
    await expect(account.reconcileNodeClass('other')).rejects.toThrow(/creating instance profile, .*role/);
    expect(condition('InstanceProfileReady')).toEqual({
      status: 'False',
      reason: 'RoleNotFound',
      message: 'role "no-such-role" does not exist; create it, or correct spec.role',
    });
    // The provider does not repeat the request within a minute, and the condition stays the same.
    await expect(account.reconcileNodeClass('other')).rejects.toThrow(/role not found/);
    expect(condition('InstanceProfileReady')?.reason).toBe('RoleNotFound');
  });

  it.each([
    ['0', ['"0" is not one of']],
    ['unlimited', []],
  ])('reports an annotation for shared GPUs that is not valid: %s', async (value, expected) => {
    const annotation = 'karpenter.k8s.aws/nvidia-consumable-capacity';
    const { metadata: _, status: __, ...rest } = account.nodeClass();
    account.kube.put(EC2_NODE_CLASS, { ...rest, metadata: { name: 'other', annotations: { [annotation]: value } } });
    await account.reconcileNodeClass('other');
    const notes = account.events.filter(({ reason }) => reason === 'InvalidConsumableCapacity');
    expect(notes.map(({ message }) => message)).toEqual(
      expected.map((text) => expect.stringContaining(`Annotation ${annotation}: ${text} "disabled", "memory"`)),
    );
  });

  it('reports subnets with few free addresses in an event', async () => {
    const tags = { scarce: 'yes' };
    account.aws.seed.subnet({ id: 'subnet-small', zone: 'us-west-2a', cidr: '10.0.250.0/24', freeAddresses: 12, tags });
    another({ subnetSelectorTerms: [{ tags }] });
    await account.reconcileNodeClass('other');
    expect(account.events).toContainEqual(
      expect.objectContaining({
        type: 'Warning',
        reason: 'SubnetAddressesScarce',
        message:
          'Launches will soon fail for lack of addresses: subnet-small in us-west-2a has 12 of 251 addresses left',
        object: expect.objectContaining({ kind: 'EC2NodeClass' }),
      }),
    );
    const reasons = account.events.filter(({ object }) => object.metadata.name === 'default');
    expect(reasons.map(({ reason }) => reason)).not.toContain('SubnetAddressesScarce');
  });

  it('reports an alias without an image, with an event', async () => {
    another({ amiSelectorTerms: [{ alias: 'al2023@v20991231' }] });
    expect(await account.reconcileNodeClass('other')).toEqual({ kind: 'after', waitMs: 60_000 });
    const said = 'alias al2023@v20991231 does not match an image in us-west-2; nearest releases: v20260701, v20260801';
    const message = 'AMISelector did not match any AMIs';
    expect(condition('AMIsReady')).toEqual({ status: 'False', reason: 'AMINotFound', message });
    expect(condition('Ready')).toMatchObject({
      status: 'False',
      message: 'ValidationSucceeded=False, AMIsReady=False',
    });
    expect(account.events).toContainEqual(
      expect.objectContaining({
        type: 'Warning',
        reason: 'FailedResolution',
        message: `AMIsReady: AMINotFound: ${said}`,
        object: expect.objectContaining({ kind: 'EC2NodeClass' }),
      }),
    );
  });

  it.each([
    'al2023@v20250920',
    'bottlerocket@v1.39.1',
    'bottlerocket@1.20.5',
  ])('finds the images of an older release in the local AWS: %s', async (alias) => {
    another({ amiSelectorTerms: [{ alias }] });
    await account.reconcileNodeClass('other');
    expect(condition('AMIsReady')?.status).toBe('True');
    const release = alias.replace(/.*@v?/, '');
    for (const { name } of account.nodeClass('other').status?.amis ?? []) expect(name).toContain(`v${release}`);
  });

  it.each([
    'al2023@v20251345',
    'bottlerocket@v1.99.0',
    'al2023@v20180101',
  ])('finds no images of a release that cannot exist: %s', async (alias) => {
    another({ amiSelectorTerms: [{ alias }] });
    await account.reconcileNodeClass('other');
    expect(condition('AMIsReady')?.reason).toBe('AMINotFound');
  });

  it('keeps its images if the alias no longer has any, until its spec changes', async () => {
    const { amis } = account.nodeClass().status ?? {};
    account.aws.faults.add({ kind: 'error', action: 'GetParameter', code: 'ParameterNotFound' });
    account.clock.forward(25 * 3_600_000);
    await expect(account.reconcileNodeClass()).rejects.toThrow('failed to discover any AMIs for alias');
    expect(account.nodeClass().status?.amis).toEqual(amis);
    expect(condition('AMIsReady', 'default')?.status).toBe('True');

    const { metadata, ...rest } = account.nodeClass();
    const generation = (metadata.generation ?? 1) + 1;
    account.kube.put(EC2_NODE_CLASS, { ...rest, metadata: { ...metadata, generation } });
    await account.reconcileNodeClass();
    expect(account.nodeClass().status?.amis).toBeUndefined();
    expect(condition('AMIsReady', 'default')?.reason).toBe('AMINotFound');
  });

  it('reports denied access in a message that stays the same', async () => {
    let tries = 0;
    another({ subnetSelectorTerms: [{ tags: { other: 'one' } }] });
    for (const code of ['x7', 'y8']) {
      tries += 1;
      account.aws.faults.clear();
      account.aws.faults.add({
        kind: 'error',
        action: 'DescribeSubnets',
        code: 'UnauthorizedOperation',
        message: `You are not authorized to perform this operation. Encoded authorization failure message: ${code}`,
        status: 403,
      });
      await expect(account.reconcileNodeClass('other')).rejects.toThrow('getting subnets, ');
      expect(condition('SubnetsReady')).toEqual({
        status: 'Unknown',
        reason: 'ResolutionFailed',
        message: 'UnauthorizedOperation: getting subnets, You are not authorized to perform this operation.',
      });
    }
    expect(tries).toBe(2);
  });

  it('does not report a throttled request', async () => {
    account.aws.faults.add({ kind: 'throttle', action: 'DescribeSubnets' });
    another({ subnetSelectorTerms: [{ tags: { other: 'two' } }] });
    await expect(account.reconcileNodeClass('other')).rejects.toThrow('getting subnets, ');
    expect(condition('SubnetsReady')?.reason).toBe('AwaitingReconciliation');
  });

  it('creates a new profile if the role changes', async () => {
    account.aws.seed.role('second');
    const before = account.nodeClass().status?.instanceProfile;
    const nodeClass = account.nodeClass();
    account.kube.put(EC2_NODE_CLASS, { ...nodeClass, spec: { ...nodeClass.spec, role: 'second' } });
    await account.reconcileNodeClass();
    expect(account.nodeClass().status?.instanceProfile).toMatch(/^test_\d+$/);
    expect(account.nodeClass().status?.instanceProfile).not.toBe(before);
  });

  it.each<[string, NonNullable<EC2NodeClass['spec']['kubelet']>, string]>([
    ['unknown', { podsPerCPU: 3 }, 'InvalidKubeletConfiguration'],
    ['an expression', { maxPods: 'vcpus * 10' }, 'KubeletExpressionsDisabled'],
  ])('rejects a kubelet setting that is %s', async (_, kubelet, reason) => {
    another({ kubelet });
    await account.reconcileNodeClass('other');
    expect(condition('ValidationSucceeded')).toMatchObject({ status: 'False', reason });
  });

  it('reports user data that its AMI family cannot parse', async () => {
    another({ amiSelectorTerms: [{ alias: 'bottlerocket@latest' }], userData: '#!/bin/bash\necho hello\n' });
    await account.reconcileNodeClass('other');
    const validation = condition('ValidationSucceeded');
    expect(validation).toMatchObject({ status: 'False', reason: 'InvalidUserData' });
    expect(validation?.message).toMatch(/^spec\.userData is invalid for the Bottlerocket AMI family: /);
  });

  it('uses images from SSM, an existing profile and unchanged user data, as kOps does', async () => {
    const id = account.aws.seed.image({ name: 'ubuntu-noble-24.04-amd64', architecture: 'x86_64' });
    account.aws.seed.parameter('/kops/ubuntu/ami-id', id);
    account.aws.seed.role('nodes.example');
    account.aws.seed.instanceProfile({ name: 'nodes.example', role: 'nodes.example' });
    const { spec } = account.nodeClass();
    const { role: _, ...without } = spec;
    account.kube.put(EC2_NODE_CLASS, {
      apiVersion: 'karpenter.k8s.aws/v1',
      kind: 'EC2NodeClass',
      metadata: { name: 'default' },
      spec: {
        ...without,
        amiFamily: 'Custom',
        amiSelectorTerms: [{ ssmParameter: '/kops/ubuntu/ami-id' }],
        instanceProfile: 'nodes.example',
        userData: '#!/bin/bash\n/opt/kops/nodeup\n',
      },
    });
    await account.reconcileNodeClass();
    expect(condition('Ready', 'default')?.status).toBe('True');
    const claim = account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large'), only(CAPACITY_TYPE_LABEL, 'on-demand'));
    await account.provider.create(claim);
    const [instance] = account.aws.instances.list();
    expect(instance).toMatchObject({
      imageId: id,
      instanceProfile: 'nodes.example',
      userData: '#!/bin/bash\n/opt/kops/nodeup\n',
    });
  });
});

describe('a deleted NodeClass', () => {
  const remove = (): Promise<void> => account.kube.client().delete(EC2_NODE_CLASS, { name: 'default' });

  it('waits for its NodeClaims', async () => {
    account.claim();
    await remove();
    await account.reconcileNodeClass();
    expect(account.events.map(({ reason }) => reason)).toContain('WaitingOnNodeClaimTermination');
    expect(account.kube.find(EC2_NODE_CLASS, { name: 'default' })).toBeDefined();
  });

  it('deletes its profile and launch templates', async () => {
    const claim = account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large'));
    await account.provider.create(claim);
    await account.kube.client().delete(NODE_CLAIM, { name: claim.metadata.name });
    await remove();
    await account.reconcileNodeClass();
    expect(account.kube.find(EC2_NODE_CLASS, { name: 'default' })).toBeUndefined();
    expect(account.aws.calls.counts()).toMatchObject({ DeleteInstanceProfile: 1 });
    expect(account.aws.calls.counts().DeleteLaunchTemplate).toBeGreaterThan(0);
  });
});
