/** Creation, use and removal of the instance profiles for the role of a NodeClass. */
import { GetInstanceProfileCommand, IAMClient, ListInstanceProfilesCommand } from '@aws-sdk/client-iam';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, getCondition, NODE_CLAIM } from '#api/objects';
import { profileName } from '../../../../src/aws/instanceprofiles/names.ts';
import { Account, CLUSTER_UID } from '../support/account.ts';

const PREFIX = '/karpenter/us-west-2/test/';
const MINUTE = 60_000;

let account: Account;
let iam: IAMClient;
beforeAll(async () => {
  account = await Account.open();
  iam = new IAMClient({});
  for (const role of ['first', 'second', 'third']) account.aws.seed.role(role);
  account.aws.seed.role('filed', '/nodes/');
});
afterAll(async () => {
  iam.destroy();
  await account.close();
});
beforeEach(() => account.aws.calls.clear());

const current = (): string => account.nodeClass().status?.instanceProfile ?? '';

async function setRole(role: string): Promise<string> {
  const nodeClass = account.nodeClass();
  account.kube.put(EC2_NODE_CLASS, { ...nodeClass, spec: { ...nodeClass.spec, role } });
  await account.reconcileNodeClass();
  return current();
}

const rolesOf = async (name: string): Promise<readonly (string | undefined)[]> => {
  const { InstanceProfile } = await iam.send(new GetInstanceProfileCommand({ InstanceProfileName: name }));
  return (InstanceProfile?.Roles ?? []).map(({ RoleName }) => RoleName);
};

const profiles = async (): Promise<readonly string[]> => {
  const { InstanceProfiles = [] } = await iam.send(new ListInstanceProfilesCommand({ PathPrefix: PREFIX }));
  return InstanceProfiles.map(({ InstanceProfileName = '' }) => InstanceProfileName).sort();
};

const collect = () => account.reconcile('instanceprofile.garbagecollection');

describe('the name of a profile', () => {
  it('is a hash of the region and the NodeClass', () => {
    // FNV-1 of `us-west-2default`, the name in versions before paths.
    expect(profileName({ region: 'us-west-2', cluster: 'test' }, 'default')).toBe('test_4067990795380418201');
    expect(profileName({ region: 'us-west-2', cluster: 'test' }, 'default', 'x')).not.toBe('test_4067990795380418201');
  });
});

describe('a profile', () => {
  it('carries the role, a path and tags', async () => {
    const name = await setRole('first');
    const { InstanceProfile: made } = await iam.send(new GetInstanceProfileCommand({ InstanceProfileName: name }));
    expect(made?.Path).toBe(`${PREFIX}${account.nodeClass().metadata.uid}/`);
    expect(made?.Roles?.map(({ RoleName }) => RoleName)).toEqual(['first']);
    expect(Object.fromEntries((made?.Tags ?? []).map(({ Key, Value }) => [Key, Value]))).toEqual({
      'kubernetes.io/cluster/test': 'owned',
      'eks:eks-cluster-name': 'test',
      'karpenter.k8s.aws/cluster-uid': CLUSTER_UID,
      'karpenter.k8s.aws/ec2nodeclass': 'default',
      'topology.kubernetes.io/region': 'us-west-2',
    });
  });

  it('is kept while the role is the same, and is read every quarter of an hour', async () => {
    const name = await setRole('first');
    account.aws.calls.clear();
    expect(await setRole('first')).toBe(name);
    expect(account.aws.calls.counts()).not.toHaveProperty('GetInstanceProfile');
    account.clock.forward(15 * MINUTE + 1);
    expect(await setRole('first')).toBe(name);
    expect(account.aws.calls.counts()).toMatchObject({ GetInstanceProfile: 1 });
    expect(account.aws.calls.counts()).not.toHaveProperty('CreateInstanceProfile');
  });

  it('never changes its role: another role in the NodeClass creates a new profile', async () => {
    const first = await setRole('first');
    const second = await setRole('second');
    expect(second).not.toBe(first);
    expect(await rolesOf(first)).toEqual(['first']);
    expect(await rolesOf(second)).toEqual(['second']);
    // Within a minute, the provider returns to the earlier profile. Later, it creates a third profile.
    account.clock.forward(2 * MINUTE);
    const third = await setRole('first');
    expect([first, second]).not.toContain(third);
    expect(await setRole('second')).not.toBe(third);
  });

  it('is used even if the write of its name was lost', async () => {
    const before = account.nodeClass();
    const name = await setRole('third');
    const { instanceProfile: _, ...status } = before.status ?? {};
    account.kube.put(EC2_NODE_CLASS, { ...account.nodeClass(), status });
    expect(await setRole('third')).toBe(name);
  });

  it('uses the last part of a role with a path', async () => {
    const name = await setRole('nodes/filed');
    expect(await rolesOf(name)).toEqual(['filed']);
    // IAM returns the role without its path, but it is the same role.
    account.clock.forward(15 * MINUTE + 1);
    expect(await setRole('nodes/filed')).toBe(name);
  });

  it('is created again if it was deleted', async () => {
    const name = await setRole('first');
    await account.reconcile('instanceprofile.garbagecollection');
    account.clock.forward(16 * MINUTE);
    account.aws.faults.add({
      kind: 'error',
      action: 'GetInstanceProfile',
      code: 'NoSuchEntity',
      status: 404,
      times: 1,
    });
    expect(await setRole('first')).not.toBe(name);
    account.aws.faults.clear();
  });

  it('leaves the status unchanged if it cannot be read', async () => {
    const name = await setRole('first');
    account.clock.forward(16 * MINUTE);
    account.aws.faults.add({ kind: 'error', action: 'GetInstanceProfile', code: 'AccessDenied', status: 403 });
    await expect(account.reconcileNodeClass()).rejects.toThrow(`getting instance profile ${name}, `);
    expect(current()).toBe(name);
    expect(getCondition(account.nodeClass(), 'InstanceProfileReady')?.status).toBe('True');
    account.aws.faults.clear();
  });

  it('is deleted if its role is missing, and is not created again within a minute', async () => {
    await setRole('first');
    const before = await profiles();
    account.aws.calls.clear();
    await expect(setRole('nobody')).rejects.toThrow(/^creating instance profile, .*role/);
    expect(account.aws.calls.counts()).toMatchObject({ CreateInstanceProfile: 1, DeleteInstanceProfile: 1 });
    expect(await profiles()).toEqual(before);
    account.aws.calls.clear();
    await expect(setRole('nobody')).rejects.toThrow(/^creating instance profile, role not found, /);
    expect(account.aws.calls.counts()).not.toHaveProperty('CreateInstanceProfile');
    account.clock.forward(MINUTE + 1);
    await expect(setRole('nobody')).rejects.toThrow(/^creating instance profile, /);
    expect(account.aws.calls.counts()).toMatchObject({ CreateInstanceProfile: 1 });
  });
});

describe('garbage collection of profiles', () => {
  it('deletes unused profiles an hour after they were last read', async () => {
    const old = await setRole('first');
    account.clock.forward(2 * MINUTE);
    const used = await setRole('second');
    const claim = account.claim();
    const annotations = { 'karpenter.k8s.aws/instance-profile-name': old };
    const annotated = { ...claim, metadata: { ...claim.metadata, annotations } };
    account.kube.unseen.add(claim.metadata.name);
    account.kube.put(NODE_CLAIM, annotated);
    const foreign = account.aws.seed.instanceProfile({ name: 'theirs', role: 'first' });

    expect(await collect()).toEqual({ kind: 'after', waitMs: 30 * MINUTE });
    expect(await profiles()).toEqual(expect.arrayContaining([old, used]));
    account.clock.forward(61 * MINUTE);
    await collect();
    // The NodeClass uses one profile. A NodeClaim uses the other, even if the watch has not shown its annotation yet.
    expect(await profiles()).toEqual([old, used].sort());
    account.kube.unseen.clear();
    account.kube.put(NODE_CLAIM, annotated);
    await collect();
    expect(await profiles()).toEqual([old, used].sort());

    account.kube.put(NODE_CLAIM, { ...claim, metadata: { ...claim.metadata, annotations: {} } });
    await collect();
    expect(await profiles()).toEqual([used]);
    expect(await rolesOf(foreign)).toEqual(['first']);
  });
});
