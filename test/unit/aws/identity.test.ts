/** Two clusters with the same name in one account do not change each other's objects. */
import { DeleteTagsCommand, DescribeLaunchTemplatesCommand, EC2Client } from '@aws-sdk/client-ec2';
import {
  CreateInstanceProfileCommand,
  IAMClient,
  ListInstanceProfilesCommand,
  type Tag,
  UntagInstanceProfileCommand,
} from '@aws-sdk/client-iam';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, NAMESPACE, NODE_CLAIM, type NodeClaim } from '#api/objects';
import { causeOf, NodeClaimNotFound } from '#cloud';
import { ApiError } from '#kube/client';
import { CLUSTER_UID_TAG } from '../../../src/aws/tags.ts';
import { Account, CLUSTER_UID, only } from './support/account.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const TYPE = only('node.kubernetes.io/instance-type', 'm5.large');
const ON_DEMAND = only('karpenter.sh/capacity-type', 'on-demand');

let account: Account;
let ec2: EC2Client;
let iam: IAMClient;
beforeEach(async () => {
  account = await Account.open();
  ec2 = new EC2Client({});
  iam = new IAMClient({});
});
afterEach(async () => {
  ec2.destroy();
  iam.destroy();
  await account.close();
});

const launch = async (count: number): Promise<readonly NodeClaim[]> => {
  const claims = Array.from({ length: count }, () => account.claim(TYPE, ON_DEMAND));
  return Promise.all(claims.map(async (claim) => account.write(await account.provider.create(claim))));
};

/** Starts a process in another cluster, without the NodeClaims of the first cluster. */
async function enterAnotherCluster(uid = 'another-cluster'): Promise<void> {
  for (const { metadata } of await account.kube.client().listAll(NODE_CLAIM))
    account.kube.remove(NODE_CLAIM, { name: metadata.name });
  account.kube.put(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system', uid } });
  await account.restart();
  account.lines.length = 0;
  account.events.length = 0;
}

/** Runs passes of a garbage collector at its own interval. */
async function collectFor(controller: string, hours: number): Promise<void> {
  for (let passed = 0; passed <= hours * HOUR; ) {
    const outcome = await account.reconcile(controller);
    const waitMs = outcome.kind === 'after' ? outcome.waitMs : MINUTE;
    account.clock.forward(waitMs);
    passed += waitMs;
  }
}

/** Makes reads of namespaces fail. */
const failReads = (error: ApiError): void => {
  account.kube.beforeRead = (operation) => {
    if (operation === 'get namespaces') throw error;
  };
};

const warnings = () => account.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);

describe('a resource of the provider', () => {
  it('carries the identity of the cluster', async () => {
    await launch(1);
    expect(account.aws.instances.list()[0]?.tags).toMatchObject({ [CLUSTER_UID_TAG]: CLUSTER_UID });
  });

  it.each([
    ['does not exist', () => account.kube.remove(NAMESPACE, { name: 'kube-system' })],
    ['may not be read', () => failReads(new ApiError(403, 'Forbidden', 'no'))],
  ])('carries no identity if the namespace kube-system %s, which is reported once', async (_, spoil) => {
    spoil();
    await account.restart();
    await launch(1);
    expect(account.aws.instances.list()[0]?.tags).not.toHaveProperty([CLUSTER_UID_TAG]);
    expect(warnings()).toEqual(['cannot read the UID of the cluster, launching instances without its tag']);
  });

  it('is not created before the API server has responded', async () => {
    failReads(new ApiError(500, 'InternalError', 'not now'));
    await expect(account.restart()).rejects.toMatchObject({
      message: 'failed discovering the cluster and its instance types',
      cause: { message: 'reading the identity of the cluster, not now' },
    });
  });
});

describe('an instance of another cluster', () => {
  it('is neither listed, adopted, described nor terminated', async () => {
    const [claim] = await launch(7);
    const theirs = account.running();
    await enterAnotherCluster();
    expect(await account.provider.list()).toEqual([]);
    await expect(account.provider.get(claim?.status?.providerID ?? '')).rejects.toThrow('belongs to another cluster');
    const refused = await account.provider.delete(claim as NodeClaim).catch((error: unknown) => error);
    expect(causeOf(refused, NodeClaimNotFound)).toBeDefined();

    await launch(1);
    await collectFor('instance.garbagecollection', 6);
    expect(account.running()).toHaveLength(8);
    expect(account.running()).toEqual(expect.arrayContaining([...theirs]));
    expect(new Set(warnings())).toEqual(new Set(['ignoring objects of another cluster with the same name']));
    expect(account.events.map(({ reason }) => reason)).toContain('InstancesOfAnotherCluster');
    expect(await account.metricsText()).toMatch(/collection_held\{[^}]*reason="identity"[^}]*\} 7/);
  });

  it('is held for an hour if Karpenter launched it, and is then terminated gradually', async () => {
    await launch(7);
    const ids = [...account.running()];
    await enterAnotherCluster();
    await ec2.send(new DeleteTagsCommand({ Resources: ids, Tags: [{ Key: CLUSTER_UID_TAG }] }));
    await collectFor('instance.garbagecollection', 0.9);
    expect(account.running()).toHaveLength(7);
    expect(account.events.map(({ reason }) => reason)).toContain('GarbageCollectionHeld');
    expect(new Set(warnings())).toEqual(new Set(['holding garbage collection, too many objects have no NodeClaim']));
    await collectFor('instance.garbagecollection', 0.2);
    expect(account.running()).toHaveLength(5);
    await collectFor('instance.garbagecollection', 1);
    expect(account.running()).toEqual([]);
  });
});

describe('a launch template of another cluster', () => {
  const templates = async (): Promise<readonly (string | undefined)[]> =>
    ((await ec2.send(new DescribeLaunchTemplatesCommand({}))).LaunchTemplates ?? [])
      .map(({ LaunchTemplateName }) => LaunchTemplateName)
      .sort();

  it('is not deleted', async () => {
    await launch(1);
    const theirs = await templates();
    await enterAnotherCluster();
    await account.reconcile('providers.launchtemplate');
    account.clock.forward(2 * MINUTE);
    await account.reconcile('providers.launchtemplate');
    expect(await templates()).toEqual(theirs);

    // Templates of the same cluster are deleted if they are unused.
    await enterAnotherCluster(CLUSTER_UID);
    await account.reconcile('providers.launchtemplate');
    account.clock.forward(2 * MINUTE);
    await account.reconcile('providers.launchtemplate');
    expect(await templates()).toEqual([]);
  });
});

describe('an instance profile of another cluster', () => {
  const collect = (hours: number) => collectFor('instanceprofile.garbagecollection', hours);
  const make = (name: string, Tags: Tag[] = []) =>
    iam.send(
      new CreateInstanceProfileCommand({ InstanceProfileName: name, Path: '/karpenter/us-west-2/test/uid-9/', Tags }),
    );
  const profiles = async (): Promise<readonly (string | undefined)[]> => {
    const { InstanceProfiles = [] } = await iam.send(new ListInstanceProfilesCommand({ PathPrefix: '/karpenter/' }));
    return InstanceProfiles.map(({ InstanceProfileName }) => InstanceProfileName).sort();
  };

  it('is never deleted if it carries the identity of that cluster, and after a day if it carries none', async () => {
    const [ours] = await profiles();
    await make('test_theirs', [{ Key: CLUSTER_UID_TAG, Value: 'another-cluster' }]);
    await make('test_untagged');
    await make('test_left', [{ Key: CLUSTER_UID_TAG, Value: CLUSTER_UID }]);
    await collect(0);
    expect(await profiles()).toEqual([ours, 'test_theirs', 'test_untagged'].sort());
    await collect(22);
    expect(await profiles()).toEqual([ours, 'test_theirs', 'test_untagged'].sort());
    expect(account.events.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['InstancesOfAnotherCluster', 'GarbageCollectionHeld']),
    );
    await collect(3);
    expect(await profiles()).toEqual([ours, 'test_theirs'].sort());
  });

  it('is not deleted while an instance with the name of the cluster uses it', async () => {
    const [profile] = await profiles();
    await launch(1);
    await ec2.send(new DeleteTagsCommand({ Resources: [...account.running()], Tags: [{ Key: CLUSTER_UID_TAG }] }));
    // A cluster with other NodeClasses, and an instance profile of Karpenter without an identity.
    const { metadata, ...nodeClass } = account.nodeClass();
    await iam.send(new UntagInstanceProfileCommand({ InstanceProfileName: profile, TagKeys: [CLUSTER_UID_TAG] }));
    await enterAnotherCluster();
    account.kube.remove(EC2_NODE_CLASS, { name: metadata.name });
    account.kube.put(EC2_NODE_CLASS, { ...nodeClass, metadata: { ...metadata, uid: 'uid-8' }, status: {} });
    await collect(30);
    expect(await profiles()).toEqual([profile]);
  });
});

describe('the five-minute hold of an instance that was just launched', () => {
  const collectLater = async (): Promise<readonly string[]> => {
    account.clock.forward(31_000);
    await account.reconcile('instance.garbagecollection');
    return account.running();
  };

  it('ends once the NodeClaim names the instance', async () => {
    const [claim] = await launch(1);
    expect(await collectLater()).toHaveLength(1);
    account.kube.remove(NODE_CLAIM, { name: claim?.metadata.name ?? '' });
    await account.reconcile('instance.garbagecollection');
    expect(account.running()).toEqual([]);
  });

  it('ends with a NodeClaim that never named it', async () => {
    const claim = account.claim(TYPE, ON_DEMAND);
    await account.provider.create(claim);
    account.kube.remove(NODE_CLAIM, claim.metadata);
    expect(await collectLater()).toEqual([]);
  });

  it('does not begin if the NodeClaim was deleted during the launch', async () => {
    const claim = account.claim(TYPE, ON_DEMAND);
    const launching = account.provider.create(claim);
    account.kube.remove(NODE_CLAIM, claim.metadata);
    await launching;
    expect(await collectLater()).toEqual([]);
  });

  it('lasts while a NodeClaim may still name the instance', async () => {
    const claim = account.claim(TYPE, ON_DEMAND);
    await account.provider.create(claim);
    // The instance is older than the NodeClaim, so no other NodeClaim can adopt it.
    account.kube.put(NODE_CLAIM, {
      ...claim,
      metadata: { ...claim.metadata, creationTimestamp: new Date(account.clock.now() + HOUR).toISOString() },
    });
    expect(await collectLater()).toHaveLength(1);
  });
});
