import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CAPACITY_TYPE_LABEL,
  type Condition,
  EC2_NODE_CLASS,
  type EC2NodeClass,
  INSTANCE_TYPE_LABEL,
  NODE_CLAIM,
  PRICE_OVERLAY_ANNOTATION,
  ZONE_LABEL,
} from '#api/objects';
import { CreateFailed, causeOf, InsufficientCapacity, NodeClaimNotFound } from '#cloud';
import { present } from '../../support/present.ts';
import { Account, only } from './support/account.ts';

let account: Account;
beforeEach(async () => {
  account = await Account.open();
});
afterEach(() => account.close());

const labelsOf = (claim: { metadata: { labels?: Readonly<Record<string, string>> } }) => claim.metadata.labels ?? {};
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

const TWO_TYPES = only(INSTANCE_TYPE_LABEL, 'm5.large', 'm5.xlarge');
const ON_DEMAND = only(CAPACITY_TYPE_LABEL, 'on-demand');

describe('create', () => {
  it('launches the cheapest instance and returns its description', async () => {
    const created = await account.provider.create(account.claim(TWO_TYPES, ON_DEMAND));
    expect(labelsOf(created)).toMatchObject({ [INSTANCE_TYPE_LABEL]: 'm5.large', [CAPACITY_TYPE_LABEL]: 'on-demand' });
    expect(created.status).toMatchObject({ capacity: { cpu: '2', memory: '7577Mi', pods: '29' } });
    const [instance] = account.aws.instances.list();
    expect(created.status?.providerID).toBe(`aws:///${instance?.zone}/${instance?.id}`);
    expect(instance?.tags).toMatchObject({ 'eks:eks-cluster-name': 'test', 'karpenter.sh/nodepool': 'default' });
    expect(instance?.userData).toContain('kind: NodeConfig');
  });

  it('combines simultaneous NodeClaims into one fleet', async () => {
    const claims = [1, 2, 3].map(() => account.claim(TWO_TYPES, ON_DEMAND));
    const created = await Promise.all(claims.map((claim) => account.provider.create(claim)));
    expect(new Set(created.map(({ status }) => status?.providerID)).size).toBe(3);
    expect(account.aws.calls.counts()).toMatchObject({ CreateFleet: 1 });
  });

  it('prefers spot if the NodeClaim allows both', async () => {
    const created = await account.provider.create(account.claim(TWO_TYPES));
    expect(labelsOf(created)[CAPACITY_TYPE_LABEL]).toBe('spot');
  });

  it('requests prioritized strategies if a NodeOverlay changes prices', async () => {
    const claim = account.claim(TWO_TYPES, ON_DEMAND);
    const annotations = { [PRICE_OVERLAY_ANNOTATION]: 'true' };
    await account.provider.create({ ...claim, metadata: { ...claim.metadata, annotations } });
    const [fleet] = account.aws.calls.recorded('CreateFleet');
    expect(fleet?.input).toMatchObject({ OnDemandOptions: { AllocationStrategy: 'prioritized' } });
  });

  it('launches the next type if the cheapest is unavailable, and records that for three minutes', async () => {
    account.aws.faults.add({ kind: 'capacity', instanceType: 'm5.large' });
    const first = await account.provider.create(account.claim(TWO_TYPES, ON_DEMAND));
    expect(labelsOf(first)[INSTANCE_TYPE_LABEL]).toBe('m5.xlarge');

    const askedFor = (): unknown[] =>
      account.aws.calls
        .recorded('CreateFleet')
        .slice(-1)
        .flatMap(({ input }) => JSON.stringify(input).match(/"InstanceType":"[^"]+"/g) ?? []);
    await account.provider.create(account.claim(TWO_TYPES, ON_DEMAND));
    expect(new Set(askedFor())).toEqual(new Set(['"InstanceType":"m5.xlarge"']));

    account.aws.faults.clear();
    account.clock.forward(3 * 60_000 + 1);
    const later = await account.provider.create(account.claim(TWO_TYPES, ON_DEMAND));
    expect(labelsOf(later)[INSTANCE_TYPE_LABEL]).toBe('m5.large');
  });

  it('reports insufficient capacity if all types are unavailable, and then sends no further request', async () => {
    account.aws.faults.add({ kind: 'capacity', instanceType: 'm5.*' });
    const first = await failure(account.provider.create(account.claim(TWO_TYPES, ON_DEMAND)));
    expect(causeOf(first, InsufficientCapacity)?.message).toMatch(
      /^insufficient capacity, with fleet error\(s\), InsufficientInstanceCapacity: /,
    );
    const second = await failure(account.provider.create(account.claim(TWO_TYPES, ON_DEMAND)));
    expect(causeOf(second, InsufficientCapacity)?.message).toBe(
      'insufficient capacity, all requested instance types were unavailable during launch',
    );
    expect(account.aws.calls.counts()).toMatchObject({ CreateFleet: 1 });
  });

  it('reports that the spot role is missing, and launches on-demand instances afterwards', async () => {
    account.aws.faults.add({ kind: 'no-spot-role' });
    const error = await failure(account.provider.create(account.claim(TWO_TYPES)));
    expect(causeOf(error, InsufficientCapacity)?.message).toContain(
      'with fleet error(s), AuthFailure.ServiceLinkedRoleCreationNotPermitted: The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances',
    );
    expect(account.events.map(({ message }) => message)).toContain(
      'Attempted to launch a spot instance but failed due to "AuthFailure.ServiceLinkedRoleCreationNotPermitted"',
    );
    const next = await account.provider.create(account.claim(TWO_TYPES));
    expect(labelsOf(next)[CAPACITY_TYPE_LABEL]).toBe('on-demand');
  });

  it('succeeds after throttling', async () => {
    account.aws.faults.add({ kind: 'throttle', action: 'CreateFleet', times: 2 });
    await account.provider.create(account.claim(TWO_TYPES, ON_DEMAND));
    expect(account.running()).toHaveLength(1);
    const text = await account.metricsText();
    const createFleet = 'service="EC2",action="CreateFleet"';
    for (const line of [
      `aws_sdk_go_request_total{${createFleet},code=""} 1`,
      `aws_sdk_go_request_attempt_total{${createFleet},code="RequestLimitExceeded"} 2`,
      `aws_sdk_go_request_attempt_total{${createFleet},code=""} 1`,
      `aws_sdk_go_request_attempt_duration_seconds_count{${createFleet},code="RequestLimitExceeded"} 2`,
      `aws_sdk_go_request_attempt_duration_seconds_count{${createFleet},code=""} 1`,
    ])
      expect(text).toContain(line);
  });

  it('reports a rejected request on the NodeClaim', async () => {
    const message = 'You are not authorized to perform this operation.';
    account.aws.faults.add({ kind: 'error', action: 'CreateFleet', code: 'UnauthorizedOperation', message });
    const error = causeOf(await failure(account.provider.create(account.claim(TWO_TYPES, ON_DEMAND))), CreateFailed);
    expect(error?.reason).toBe('Unauthorized');
    expect(error?.conditionMessage).toBe(
      'Error creating fleet request: User is not authorized to perform this operation because no identity-based policy allows it',
    );
  });

  it('finds its launch template if the response to the creation is lost', async () => {
    account.aws.faults.add({ kind: 'reset', action: 'CreateLaunchTemplate', times: 1 });
    await account.provider.create(account.claim(TWO_TYPES, ON_DEMAND));
    const failures = account.aws.calls.recorded('CreateLaunchTemplate').flatMap(({ errorCode = [] }) => errorCode);
    expect(failures).toEqual(['unanswered', 'InvalidLaunchTemplateName.AlreadyExistsException']);
    expect(account.aws.instances.list()).toHaveLength(1);
  });

  it('creates deleted launch templates again', async () => {
    await account.provider.create(account.claim(TWO_TYPES, ON_DEMAND));
    const code = 'InvalidLaunchTemplateName.NotFoundException';
    account.aws.faults.add({ kind: 'error', action: 'CreateFleet', code, times: 1 });
    await account.provider.create(account.claim(TWO_TYPES, ON_DEMAND));
    expect(account.running()).toHaveLength(2);
  });

  it('uses only zones that the NodeClaim allows', async () => {
    const zone = `${account.aws.region}b`;
    const created = await account.provider.create(account.claim(TWO_TYPES, ON_DEMAND, only(ZONE_LABEL, zone)));
    expect(labelsOf(created)[ZONE_LABEL]).toBe(zone);
  });
});

describe('a NodeClass that is not ready for a launch', () => {
  type Change = (nodeClass: EC2NodeClass) => EC2NodeClass | undefined;
  const withReady =
    (ready: Partial<Condition>): Change =>
    (nodeClass) => {
      const conditions = (nodeClass.status?.conditions ?? []).map((each) =>
        each.type === 'Ready' ? { ...each, ...ready } : each,
      );
      return { ...nodeClass, status: { ...nodeClass.status, conditions } };
    };
  const notFound = 'insufficient capacity, ec2nodeclasses.karpenter.k8s.aws "default"';

  it.each<[string, Change, string]>([
    ['is missing', () => undefined, `${notFound} not found`],
    [
      'is being deleted',
      ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
      `${notFound} is terminating, treating as not found`,
    ],
    [
      'says so',
      withReady({ status: 'False', message: 'SubnetsReady=False' }),
      'NodeClassRef not ready, SubnetsReady=False',
    ],
    ['does not know yet', withReady({ status: 'Unknown' }), 'NodeClass is in Ready=Unknown'],
    ['has never been looked at', ({ status: _, ...rest }) => rest, 'NodeClass is in Ready=Unknown'],
    [
      'has changed since',
      ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, generation: 7 } }),
      'NodeClassRef not ready, nodeclass status has not been reconciled against the latest spec',
    ],
    [
      'has a tag that is not its to set',
      ({ spec, ...rest }) => ({ ...rest, spec: { ...spec, tags: { 'karpenter.sh/nodeclaim': 'mine' } } }),
      'NodeClassRef not ready, tags failed validation requirements',
    ],
  ])('launches no instance because it %s', async (_, change, message) => {
    const nodeClass = withReady({ observedGeneration: 1 })({
      ...account.nodeClass(),
      metadata: { ...account.nodeClass().metadata, generation: 1 },
    });
    const changed = change(present(nodeClass));
    account.kube.put(EC2_NODE_CLASS, changed ?? { ...account.nodeClass(), metadata: { name: 'default' } });
    if (changed === undefined) await account.kube.client().delete(EC2_NODE_CLASS, { name: 'default' });
    await expect(account.provider.create(account.claim(TWO_TYPES, ON_DEMAND))).rejects.toThrow(message);
    expect(account.running()).toEqual([]);
  });
});

describe('after a crash between CreateFleet and the status write', () => {
  it('returns the existing instance of the NodeClaim', async () => {
    const claims = [account.claim(TWO_TYPES, ON_DEMAND), account.claim(TWO_TYPES, ON_DEMAND)];
    await Promise.all(claims.map((claim) => account.provider.create(claim)));
    const bought = account.running();

    await account.restart();
    const again = await Promise.all(claims.map((claim) => account.provider.create(claim)));
    expect(account.running()).toEqual(bought);
    expect(again.map(({ status }) => status?.providerID?.split('/').at(-1)).sort()).toEqual([...bought].sort());
  });

  it('launches a second instance if the instance in the response of EC2 belongs to another claim', async () => {
    const launched = account.claim(TWO_TYPES, ON_DEMAND);
    const waiting = account.claim(TWO_TYPES, ON_DEMAND);
    await account.provider.create(launched);

    await account.restart();
    const created = [await account.provider.create(waiting), await account.provider.create(launched)];
    expect(new Set(created.map(({ status }) => status?.providerID)).size).toBe(2);
    expect(account.running()).toHaveLength(2);
  });

  it('does not adopt an instance of another NodeClaim or an instance that does not match the request', async () => {
    const owner = account.claim(TWO_TYPES, ON_DEMAND);
    account.write(await account.provider.create(owner));
    const lost = account.claim(only(INSTANCE_TYPE_LABEL, 'c5.large'), ON_DEMAND);
    await account.provider.create(lost);

    await account.restart();
    const other = await account.provider.create(account.claim(only(INSTANCE_TYPE_LABEL, 'm5.xlarge'), ON_DEMAND));
    expect(labelsOf(other)[INSTANCE_TYPE_LABEL]).toBe('m5.xlarge');
    expect(account.running()).toHaveLength(3);
  });

  it('keeps the instance for a waiting NodeClaim, and terminates it if there is none', async () => {
    const claim = account.claim(TWO_TYPES, ON_DEMAND);
    await account.provider.create(claim);
    await account.restart();
    account.clock.forward(31_000);
    await account.reconcile('instance.garbagecollection');
    expect(account.running()).toHaveLength(1);

    await account.kube.client().delete(NODE_CLAIM, { name: claim.metadata.name });
    await account.reconcile('instance.garbagecollection');
    expect(account.running()).toHaveLength(0);
  });
});

describe('the later life of an instance', () => {
  it('terminates the instance, then reports that it no longer exists', async () => {
    const claim = account.write(await account.provider.create(account.claim(TWO_TYPES, ON_DEMAND)));
    await account.provider.delete(claim);
    expect(account.running()).toHaveLength(0);
    let error: unknown;
    for (let tries = 0; error === undefined && tries < 100; tries++) {
      error = await failure(account.provider.delete(claim));
      if (error === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(causeOf(error, NodeClaimNotFound)).toBeDefined();
  });

  it('ends if a machine stays unhealthy for the toleration period', () => {
    const tolerated = account.provider.repairPolicies.map(
      ({ conditionType, conditionStatus, tolerationMs }) =>
        `${conditionType}=${conditionStatus} ${tolerationMs / 60_000} min`,
    );
    expect(tolerated).toEqual([
      'Ready=False 30 min',
      'Ready=Unknown 30 min',
      'AcceleratedHardwareReady=False 10 min',
      'StorageReady=False 30 min',
      'NetworkingReady=False 30 min',
      'KernelReady=False 30 min',
      'ContainerRuntimeReady=False 30 min',
    ]);
  });

  it('lists and returns instances as NodeClaims', async () => {
    const claim = await account.provider.create(account.claim(TWO_TYPES, ON_DEMAND));
    const [listed] = await account.provider.list();
    expect(listed?.status?.providerID).toBe(claim.status?.providerID);
    expect(labelsOf(listed ?? claim)).toMatchObject({
      [INSTANCE_TYPE_LABEL]: 'm5.large',
      'kubernetes.io/arch': 'amd64',
    });
    const got = await account.provider.get(present(claim.status?.providerID));
    expect(got.status?.allocatable).toEqual(claim.status?.allocatable);
    await expect(account.provider.get('aws:///us-west-2a/i-0123456789abcdef0')).rejects.toThrow('nodeclaim not found');
    await expect(account.provider.get('nonsense')).rejects.toThrow('provider id does not match known format');
  });

  it('is not drifted after the launch, and has a drift reason after a change', async () => {
    const claim = account.write(await account.provider.create(account.claim(TWO_TYPES, ON_DEMAND)));
    expect(await account.provider.isDrifted(claim)).toBeUndefined();
    const moved = { ...claim, status: { ...claim.status, imageID: 'ami-0000000000000000f' } };
    expect(await account.provider.isDrifted(moved)).toBe('AMIDrift');
    const annotations = {
      'karpenter.k8s.aws/ec2nodeclass-hash': '1',
      'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v6',
    };
    const { metadata } = account.nodeClass();
    account.kube.put(EC2_NODE_CLASS, { ...account.nodeClass(), metadata: { ...metadata, annotations } });
    expect(await account.provider.isDrifted(claim)).toBe('NodeClassDrift');
  });
});
