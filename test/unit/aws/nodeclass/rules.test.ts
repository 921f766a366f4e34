/** Conditions, requeue times and hashes of each step of a NodeClass. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, type EC2NodeClass, getCondition, NODE_CLAIM } from '#api/objects';
import { after, settled } from '#kube/reconcilers';
import { hashText } from '#lib';
import { invalid } from '../../../support/partial.ts';
import { Account } from '../support/account.ts';

const MINUTE = 60_000;
type Spec = Partial<EC2NodeClass['spec']>;

let account: Account;
let plain: EC2NodeClass;
beforeAll(async () => {
  account = await Account.open();
  plain = account.nodeClass();
});
afterAll(() => account.close());
beforeEach(() => {
  account.aws.faults.clear();
  account.events.length = 0;
});

/** Creates a separate NodeClass with some fields replaced. */
function make(name: string, spec: Spec = {}): void {
  const { metadata: _, status: __, ...rest } = plain;
  account.kube.put(EC2_NODE_CLASS, { ...rest, metadata: { name }, spec: { ...rest.spec, ...spec } });
}

const condition = (name: string, type: string) => {
  const found = getCondition(account.nodeClass(name), type);
  return found && { status: found.status, reason: found.reason, message: found.message };
};

describe('a NodeClass', () => {
  it('is reconciled again after a minute if it is ready', async () => {
    make('well');
    expect(await account.reconcileNodeClass('well')).toEqual(after(MINUTE));
    expect(condition('well', 'Ready')?.status).toBe('True');
  });

  it('is reconciled again earlier if a reservation ends earlier', async () => {
    const zone = `${account.aws.region}a`;
    const endDateMs = account.clock.now() + 30_000;
    const id = account.aws.seed.capacityReservation({ instanceType: 'm5.large', zone, total: 1, endDateMs });
    make('ending', { capacityReservationSelectorTerms: [{ id }] });
    const outcome = await account.reconcileNodeClass('ending');
    expect(outcome.kind === 'after' && outcome.waitMs).toBeGreaterThan(0);
    expect(outcome.kind === 'after' && outcome.waitMs).toBeLessThanOrEqual(30_000);
  });

  it('is reconciled again only after a change if the error is permanent', async () => {
    make('tagged', { tags: { 'karpenter.sh/nodepool': 'mine', 'kubernetes.io/cluster/other': 'owned' } });
    expect(await account.reconcileNodeClass('tagged')).toEqual(settled);
    expect(condition('tagged', 'ValidationSucceeded')).toEqual({
      status: 'False',
      reason: 'TagValidationFailed',
      message: 'tags failed validation requirements (tags="karpenter.sh/nodepool", "kubernetes.io/cluster/other")',
    });
  });
});

describe('a field that the API server accepts and AWS rejects', () => {
  const mapping = (volumeSize: string) => ({ blockDeviceMappings: [{ deviceName: '/dev/xvda', ebs: { volumeSize } }] });

  it.each<[string, Spec, string]>([
    [
      'sizeless',
      mapping('Ti'),
      'spec.blockDeviceMappings[0].ebs.volumeSize: "Ti" must be a number with Gi, G, Ti or T',
    ],
    ['unitless', mapping('T'), 'spec.blockDeviceMappings[0].ebs.volumeSize: "T" must be a number'],
    ['volumeless', { blockDeviceMappings: [{ deviceName: '/dev/xvda' }] }, 'spec.blockDeviceMappings[0].ebs: must be'],
    [`${'n'.repeat(64)}`, {}, 'metadata.name: "n'],
  ])('is named, and no AWS request is sent (%s)', async (name, spec, text) => {
    make(name, spec);
    account.aws.calls.clear();
    expect(await account.reconcileNodeClass(name)).toEqual(settled);
    expect(await account.reconcileHash(name)).toEqual(settled);
    expect(condition(name, 'ValidationSucceeded')).toMatchObject({ status: 'False', reason: 'InvalidFields' });
    expect(condition(name, 'ValidationSucceeded')?.message).toContain(text);
    expect(condition(name, 'Ready')?.status).toBe('False');
    expect(account.aws.calls.recorded()).toEqual([]);
  });

  it('may be all of them', async () => {
    account.kube.put(EC2_NODE_CLASS, {
      ...plain,
      metadata: { name: 'empty' },
      spec: invalid<EC2NodeClass['spec']>(undefined),
      status: {},
    });
    expect(await account.reconcileNodeClass('empty')).toEqual(settled);
    expect(await account.reconcileHash('empty')).toEqual(settled);
    expect(condition('empty', 'ValidationSucceeded')?.message).toBe('spec: must be set');
  });
});

describe('an image', () => {
  it.each<[string, Spec, string]>([
    ['al2', { amiSelectorTerms: [{ alias: 'al2@latest' }] }, 'AL2 aliases are no longer supported on EKS 1.33+'],
    [
      'windows2025',
      { amiSelectorTerms: [{ alias: 'windows2025@latest' }] },
      'Windows Server 2025 requires EKS version 1.35 or higher, current version: 1.34',
    ],
  ])('is rejected permanently for %s on a version without it', async (name, spec, text) => {
    make(name, spec);
    expect(await account.reconcileNodeClass(name)).toEqual(settled);
    expect(condition(name, 'AMIsReady')).toMatchObject({ status: 'False', reason: 'UnsupportedAlias' });
    expect(condition(name, 'AMIsReady')?.message).toMatch(/^getting amis, getting AMI queries, /);
    expect(condition(name, 'AMIsReady')?.message).toContain(text);
    expect(condition(name, 'ValidationSucceeded')).toMatchObject({ status: 'False', reason: 'DependenciesNotReady' });
  });

  it('leaves the NodeClass unready if it is missing, and is requested every minute', async () => {
    make('noimage', { amiFamily: 'Custom', amiSelectorTerms: [{ name: 'nobody-has-this' }] });
    expect(await account.reconcileNodeClass('noimage')).toEqual(after(MINUTE));
    expect(condition('noimage', 'AMIsReady')).toEqual({
      status: 'False',
      reason: 'AMINotFound',
      message: 'AMISelector did not match any AMIs',
    });
    expect(account.nodeClass('noimage').status).not.toHaveProperty('amis');
  });

  it('is Unknown without a readable parameter, and the condition contains the reason', async () => {
    account.aws.faults.add({ kind: 'error', action: 'GetParameter', code: 'AccessDeniedException', status: 400 });
    make('nossm', { amiSelectorTerms: [{ alias: 'al2023@v20200101' }] });
    await expect(account.reconcileNodeClass('nossm')).rejects.toThrow(
      'getting amis, getting AMI queries, failed to read SSM parameters of the alias (alias=al2023@v20200101)',
    );
    expect(condition('nossm', 'AMIsReady')).toEqual({
      status: 'Unknown',
      reason: 'ResolutionFailed',
      message: expect.stringContaining(
        '(alias=al2023@v20200101): getting ssm parameter, GetParameter failed with AccessDeniedException (parameter=',
      ),
    });
    expect(condition('nossm', 'ValidationSucceeded')).toEqual({
      status: 'Unknown',
      reason: 'DependenciesNotReady',
      message: 'Awaiting AMI, Instance Profile, Security Group, and Subnet resolution',
    });
  });
});

describe('a placement group', () => {
  it('is reported by its requested name or ID if it does not exist', async () => {
    make('group', { placementGroupSelector: { name: 'none' } });
    await account.reconcileNodeClass('group');
    expect(condition('group', 'PlacementGroupReady')).toEqual({
      status: 'False',
      reason: 'PlacementGroupNotFound',
      message: 'Placement group "none" not found',
    });
    // The NodeClass is not ready, but it is validated.
    expect(condition('group', 'ValidationSucceeded')?.status).toBe('True');
    expect(condition('group', 'Ready')).toEqual({
      status: 'False',
      reason: 'UnhealthyDependents',
      message: 'PlacementGroupReady=False',
    });
  });

  it('fails if it cannot be read', async () => {
    account.aws.faults.add({ kind: 'error', action: 'DescribePlacementGroups', code: 'Unauthorized', status: 403 });
    make('nogroup', { placementGroupSelector: { id: 'pg-123' } });
    await expect(account.reconcileNodeClass('nogroup')).rejects.toThrow('Unauthorized');
    expect(condition('nogroup', 'PlacementGroupReady')).toEqual({
      status: 'False',
      reason: 'PlacementGroupResolutionFailed',
      message: 'Failed to resolve placement group',
    });
  });
});

describe('a reservation', () => {
  it('is not an error if it does not exist', async () => {
    make('none', { capacityReservationSelectorTerms: [{ id: 'cr-0123' }] });
    await account.reconcileNodeClass('none');
    expect(condition('none', 'CapacityReservationsReady')?.status).toBe('True');
    expect(account.nodeClass('none').status).not.toHaveProperty('capacityReservations');
  });
});

describe('validation', () => {
  it('rejects user data that is too large for EC2', async () => {
    make('large', { amiFamily: 'Custom', userData: 'x'.repeat(16_385) });
    await account.reconcileNodeClass('large');
    expect(condition('large', 'ValidationSucceeded')).toEqual({
      status: 'False',
      reason: 'UserDataSizeLimitExceeded',
      message:
        'ec2:CreateLaunchTemplate rejected the rendered user data as too large: Rendered user data exceeds the EC2 user data size limit',
    });
  });

  it.each([
    ['with an explicit deny in a permissions boundary', 'due to a permission boundary'],
    ['with an explicit deny in a service control policy', 'due to a service control policy'],
    ['because of nothing in particular', 'because no identity-based policy allows it'],
  ])('names the policy that denies access: %s', async (said, why) => {
    const message = `You are not authorized to perform this operation ${said}`;
    account.aws.faults.add({
      kind: 'error',
      action: 'CreateFleet',
      code: 'UnauthorizedOperation',
      message,
      status: 403,
    });
    make('refused', { tags: { why } });
    await account.reconcileNodeClass('refused');
    expect(condition('refused', 'ValidationSucceeded')?.message).toBe(
      `Controller isn't authorized to call ec2:CreateFleet: User is not authorized to perform this operation ${why}`,
    );
  });

  it('waits for a missing profile of the user, and does not cache the result', async () => {
    const { role: _, ...spec } = plain.spec;
    account.kube.put(EC2_NODE_CLASS, {
      ...plain,
      metadata: { name: 'unknown' },
      spec: { ...spec, instanceProfile: 'later' },
      status: {},
    });
    const again = await account.reconcileNodeClass('unknown');
    expect(again.kind === 'after' && again.waitMs).toBeLessThanOrEqual(1_000);
    expect(condition('unknown', 'ValidationSucceeded')).toEqual({
      status: 'False',
      reason: 'InstanceProfileNotFound',
      message: 'Instance profile "later" not found',
    });
    account.aws.seed.instanceProfile({ name: 'later', role: 'any' });
    await account.reconcileNodeClass('unknown');
    expect(condition('unknown', 'ValidationSucceeded')?.status).toBe('True');
  });

  it('reports an error that is neither success nor denial, and does not cache it', async () => {
    account.aws.faults.add({ kind: 'error', action: 'RunInstances', code: 'InvalidParameter', times: 3 });
    make('odd', { tags: { odd: 'yes' } });
    await expect(account.reconcileNodeClass('odd')).rejects.toThrow('validating ec2:RunInstances authorization, ');
    expect(condition('odd', 'ValidationSucceeded')?.status).toBe('Unknown');
    account.aws.faults.clear();
    await account.reconcileNodeClass('odd');
    expect(condition('odd', 'ValidationSucceeded')?.status).toBe('True');
  });

  it('tries the types that the NodePools of the NodeClass allow, or else common types', async () => {
    account.aws.calls.clear();
    make('common', { tags: { a: 'b' } });
    await account.reconcileNodeClass('common');
    const [run] = account.aws.calls.recorded('RunInstances');
    expect(['m5.large', 'm6g.large']).toContain(run?.input.InstanceType);
  });

  it('is skipped if dry runs are disabled', async () => {
    const other = await Account.open({ flags: ['--disable-dry-run'] });
    try {
      expect(getCondition(other.nodeClass(), 'Ready')?.status).toBe('True');
      expect(other.aws.calls.counts()).toEqual({});
      const { metadata } = other.nodeClass();
      other.kube.put(EC2_NODE_CLASS, { ...other.nodeClass(), metadata: { ...metadata, generation: 2 } });
      await other.reconcileNodeClass();
      for (const action of ['CreateLaunchTemplate', 'CreateFleet', 'RunInstances'])
        expect(other.aws.calls.counts()).not.toHaveProperty(action);
    } finally {
      await other.close();
      Object.assign(process.env, account.aws.env());
    }
  });
});

describe('the cluster CIDR', () => {
  it('is required by AL2023: a server error of EKS is retried, and a denial is reported', async () => {
    await account.restart();
    account.aws.faults.add({ kind: 'error', action: 'DescribeCluster', code: 'InternalFailure', status: 500 });
    make('cidr');
    const again = await account.reconcileNodeClass('cidr');
    expect(again.kind === 'after' && again.waitMs).toBeLessThanOrEqual(1_000);
    expect(condition('cidr', 'ValidationSucceeded')?.status).toBe('Unknown');

    account.aws.faults.clear();
    account.aws.faults.add({ kind: 'expired-credentials' });
    await expect(account.reconcileNodeClass('cidr')).rejects.toThrow(
      'security token included in the request is expired',
    );
    expect(condition('cidr', 'ValidationSucceeded')?.status).toBe('Unknown');

    account.aws.faults.clear();
    account.aws.faults.add({ kind: 'error', action: 'DescribeCluster', code: 'AccessDeniedException', status: 403 });
    await expect(account.reconcileNodeClass('cidr')).rejects.toThrow('failed to detect the cluster CIDR, ');
    expect(condition('cidr', 'ValidationSucceeded')).toEqual({
      status: 'False',
      reason: 'ClusterCIDRResolutionFailed',
      message: 'Failed to detect the cluster CIDR',
    });
    make('nocidr', { amiSelectorTerms: [{ alias: 'bottlerocket@latest' }] });
    await account.reconcileNodeClass('nocidr');
    expect(condition('nocidr', 'Ready')?.status).toBe('True');
  });
});

describe('the hash of a NodeClass', () => {
  const HASH = 'karpenter.k8s.aws/ec2nodeclass-hash';
  const VERSION = 'karpenter.k8s.aws/ec2nodeclass-hash-version';
  const annotationsOf = (name: string) => account.kube.find(NODE_CLAIM, { name })?.metadata.annotations ?? {};

  function claimWith(name: string, annotations: Readonly<Record<string, string>>, drifted = false): void {
    const claim = account.claim();
    account.kube.put(NODE_CLAIM, {
      ...claim,
      metadata: { ...claim.metadata, name, annotations },
      status: drifted
        ? { conditions: [{ type: 'Drifted', status: 'True', reason: 'Drifted', message: '', lastTransitionTime: '' }] }
        : {},
    });
  }

  /** Returns the hash that Karpenter 1.14.1 computes for the present EC2NodeClass, which has no kubelet block. */
  async function hashOfV5(): Promise<string> {
    await account.reconcileHash();
    return String(BigInt(account.nodeClass().metadata.annotations?.[HASH] ?? '') ^ hashText('null'));
  }

  it('is copied to NodeClaims of an older version that have not drifted', async () => {
    claimWith('old', { [HASH]: await hashOfV5(), [VERSION]: 'v5' });
    claimWith('older', { [HASH]: '1', [VERSION]: 'v4' });
    claimWith('edited', { [HASH]: '4', [VERSION]: 'v5' });
    claimWith('drifted', { [HASH]: '2', [VERSION]: 'v5' }, true);
    claimWith('bare', {});
    claimWith('new', { [HASH]: '3', [VERSION]: 'v6' });
    const nodeClass = account.nodeClass();
    account.kube.put(EC2_NODE_CLASS, {
      ...nodeClass,
      metadata: { ...nodeClass.metadata, annotations: { [HASH]: '9', [VERSION]: 'v5' } },
    });
    await account.reconcileHash();
    const { annotations = {} } = account.nodeClass().metadata;
    expect(annotations[VERSION]).toBe('v6');
    expect(annotations[HASH]).toMatch(/^\d{5,20}$/);
    expect(annotationsOf('old')).toEqual({ [HASH]: annotations[HASH], [VERSION]: 'v6' });
    expect(annotationsOf('older')).toEqual({ [HASH]: annotations[HASH], [VERSION]: 'v6' });
    expect(annotationsOf('bare')).toEqual({ [HASH]: annotations[HASH], [VERSION]: 'v6' });
    // The v5 hash shows that the EC2NodeClass was edited. The hash that is kept differs, so the NodeClaim drifts.
    expect(annotationsOf('edited')).toEqual({ [HASH]: '4', [VERSION]: 'v6' });
    expect(annotationsOf('drifted')).toEqual({ [HASH]: '2', [VERSION]: 'v6' });
    expect(annotationsOf('new')).toEqual({ [HASH]: '3', [VERSION]: 'v6' });

    // With the same version, a NodeClaim keeps the hash from its launch.
    await account.reconcileHash();
    expect(annotationsOf('new')).toEqual({ [HASH]: '3', [VERSION]: 'v6' });
  });
});
