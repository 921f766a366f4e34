/**
 * The operator creates the same objects as Karpenter 1.14.1 did in a recording of the same account, so that Karpenter
 * can continue with them. Names, labels, annotations, hashes, finalizers and tags must be equal.
 */
import { DescribeLaunchTemplatesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  DEPLOYMENT,
  EC2_NODE_CLASS,
  getCondition,
  LEASE,
  type Lease,
  NAMESPACE,
  NODE_POOL,
  type Node,
  type NodeClaim,
  POD,
  type QuantityList,
} from '#api/objects';
import { parseQuantity } from '#api/values';
import { CLUSTER_UID_TAG } from '#aws/testing';
import { partial } from '../support/partial.ts';
import type { Json } from '../unit/aws/support/json.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { recordedAccount, seedAccount, takenOver, withV6Hash } from './takeover-world.ts';

let scenario: Scenario;
/** Value of a tag that Karpenter neither writes nor reads. */
let clusterUid: string | undefined;
afterEach(async () => {
  await scenario.stop();
});

/**
 * Recorded cases. Excluded are cases whose startup taints another component must remove, and cases in which EC2 chose
 * the recorded offering.
 */
const BOUGHT = [
  'al2-shell',
  'al2023-arm64',
  'bottlerocket-toml',
  'expire-never',
  'instance-profile',
  'metadata-all',
  'pool-labels-taints',
  'raid0-al2023',
  'spot-only',
  'tags',
];

/** Label that this operator adds to nodes. Karpenter does not add it, but its scheduler supports it in selectors. */
const EXTRA_LABEL = 'karpenter.k8s.aws/nitro-sandbox';

const quantities = (list: QuantityList = {}) =>
  Object.fromEntries(Object.entries(list).map(([name, quantity]) => [name, parseQuantity(quantity)]));

const byKey = (list: readonly Json[]): Json[] =>
  list
    .map((each): Json => ({ ...each, ...(each.values ? { values: [...each.values].sort() } : {}) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));

const tagsOf = (tags: readonly Json[]): Record<string, string> =>
  Object.fromEntries(tags.map(({ Key, Value }) => [Key, Value]));

/** Launches a node for a recorded case. Returns the objects with the API server's defaults. */
async function buy(name: string, recorded: Json): Promise<readonly [NodeClaim, Node]> {
  const { kube, world } = scenario;
  const [answer] = recorded.ec2Answer;
  // EC2 chooses between offerings with equal prices.
  world.aws.prefer({ instanceType: answer.InstanceType, zone: answer.AvailabilityZone });
  await kube.create(EC2_NODE_CLASS, recorded.manifests.nodeClass);
  for (const pool of recorded.manifests.nodePools) await kube.create(NODE_POOL, pool);
  await scenario.until(
    `a Ready NodePool ${name}`,
    async () => getCondition((await kube.find(NODE_POOL, { name })) ?? partial({}), 'Ready')?.status === 'True',
  );
  for (const pod of recorded.manifests.pods) await kube.create(POD, pod);
  const claim = await scenario.until(`a tagged node of ${name}`, async () =>
    (await scenario.claims()).find(
      ({ metadata, status }) =>
        metadata.labels?.['karpenter.sh/nodepool'] === name &&
        metadata.annotations?.['karpenter.k8s.aws/tagged'] === 'true' &&
        status?.conditions?.some(({ type, status: is }) => type === 'Initialized' && is === 'True'),
    ),
  );
  const node = (await scenario.nodes()).find(({ metadata }) => metadata.name === claim.status?.nodeName);
  return [claim, node as Node];
}

function expectClaim(claim: NodeClaim, recorded: Json, nodeClass: Json, pool: Json): void {
  const [theirs] = recorded.nodeClaims;
  const poolName = pool.metadata.name;
  const { [EXTRA_LABEL]: _, ...labels } = claim.metadata.labels ?? {};
  expect(labels).toEqual(theirs.metadata.labels);
  expect(claim.metadata.annotations).toEqual({
    ...withV6Hash<Json & { annotations: Record<string, string> }>(theirs.metadata).annotations,
    'karpenter.k8s.aws/instance-profile-name': nodeClass.status.instanceProfile,
  });
  expect(claim.metadata.finalizers).toEqual(['karpenter.sh/termination']);
  expect(claim.metadata.ownerReferences).toEqual([
    {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      name: poolName,
      uid: pool.metadata.uid,
      blockOwnerDeletion: true,
    },
  ]);
  expect(claim.metadata.name).toMatch(new RegExp(`^${poolName}-[a-z0-9]{5}$`));
  const { requirements, ...spec } = claim.spec as Json;
  const { requirements: wanted, ...theirSpec } = theirs.spec;
  expect(spec).toEqual(theirSpec);
  expect(byKey(requirements)).toEqual(byKey(wanted));
  expect(claim.status?.imageID).toBe(theirs.status.imageID);
  expect(quantities(claim.status?.capacity)).toEqual(quantities(theirs.status.capacity));
  expect(quantities(claim.status?.allocatable)).toEqual(quantities(theirs.status.allocatable));
}

function expectNode(node: Node, claim: NodeClaim): void {
  expect(node.metadata.labels).toMatchObject({
    ...claim.metadata.labels,
    'karpenter.sh/registered': 'true',
    'karpenter.sh/initialized': 'true',
  });
  expect(node.metadata.finalizers).toEqual(['karpenter.sh/termination']);
  expect(node.metadata.ownerReferences).toEqual([
    {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      name: claim.metadata.name,
      uid: claim.metadata.uid,
      blockOwnerDeletion: true,
    },
  ]);
  const taints = (node.spec?.taints ?? []).map(({ key, value, effect }) => ({ key, value, effect }));
  expect(taints).toEqual((claim.spec.taints ?? []).map(({ key, value, effect }) => ({ key, value, effect })));
  expect(claim.status?.providerID).toBe(node.spec?.providerID);
}

function expectInstance(claim: NodeClaim, node: Node, recorded: Json): void {
  const id = claim.status?.providerID?.split('/').at(-1) ?? '';
  const instance = scenario.world.aws.instances.get(id);
  const [fleet] = recorded.fleets;
  const launched = fleet.TagSpecifications.find(({ ResourceType }: Json) => ResourceType === 'instance').Tags;
  // EC2 itself sets the tags with the prefix `aws:`.
  const given = Object.entries(instance?.tags ?? {}).filter(([key]) => !key.startsWith('aws:'));
  expect(Object.fromEntries(given)).toEqual({
    ...tagsOf(launched),
    [CLUSTER_UID_TAG]: clusterUid,
    Name: node.metadata.name,
    'karpenter.sh/nodeclaim': claim.metadata.name,
  });
}

function expectProfile(recorded: Json, nodeClass: Json): void {
  const made = scenario.world.aws.calls
    .recorded('CreateInstanceProfile')
    .filter(({ input }) => input.InstanceProfileName === nodeClass.status.instanceProfile);
  const [theirs] = recorded.instanceProfiles;
  if (theirs === undefined) {
    expect(made).toEqual([]);
    return;
  }
  expect(nodeClass.status.instanceProfile).toMatch(/^live_\d{10,20}$/);
  expect(made).toHaveLength(1);
  const input: Json = made[0]?.input ?? {};
  expect(input.Path).toBe(theirs.input.Path.replace('NODECLASS-UID', nodeClass.metadata.uid));
  expect(tagsOf(input.Tags)).toEqual({ ...tagsOf(theirs.input.Tags), [CLUSTER_UID_TAG]: clusterUid });
}

/**
 * Expects that all templates of a case match its launch, because Karpenter uses names and tags to find templates to
 * delete.
 */
async function expectTemplates(ec2: EC2Client, name: string, recorded: Json): Promise<void> {
  const filter = { Name: 'tag:karpenter.k8s.aws/ec2nodeclass', Values: [name] };
  const { LaunchTemplates = [] } = await ec2.send(new DescribeLaunchTemplatesCommand({ Filters: [filter] }));
  expect(LaunchTemplates.length).toBeGreaterThanOrEqual(recorded.launchTemplates.length);
  const [theirs] = recorded.launchTemplates;
  const validation = { 'karpenter.sh/nodepool': '' };
  for (const { LaunchTemplateName, Tags = [] } of LaunchTemplates) {
    expect(LaunchTemplateName).toMatch(/^karpenter\.k8s\.aws\/\d{10,20}$/);
    const wanted = { ...tagsOf(theirs.TagSpecifications[0].Tags), [CLUSTER_UID_TAG]: clusterUid };
    expect([wanted, { ...wanted, ...validation }]).toContainEqual(tagsOf(Tags));
  }
}

describe('a cluster with this operator', () => {
  it('has the same objects as with Karpenter', async () => {
    scenario = await startScenario(recordedAccount());
    seedAccount(scenario.world.aws);
    clusterUid = (await scenario.kube.find(NAMESPACE, { name: 'kube-system' }))?.metadata.uid;
    await scenario.startOperator();
    const ec2 = new EC2Client({});
    try {
      for (const name of BOUGHT) {
        const recorded = takenOver[name] as Json;
        const [claim, node] = await buy(name, recorded);
        const nodeClass = (await scenario.kube.find(EC2_NODE_CLASS, { name })) as Json;
        const pool = (await scenario.kube.find(NODE_POOL, { name })) as Json;
        expect(nodeClass.metadata.finalizers).toEqual(['karpenter.k8s.aws/termination']);
        expect(nodeClass.metadata.annotations).toEqual(
          withV6Hash<Json & { annotations: Record<string, string> }>(recorded.nodeClass.metadata).annotations,
        );
        const { annotations } = recorded.nodeClaims[0].metadata;
        expect(pool.metadata.annotations).toEqual({
          'karpenter.sh/nodepool-hash': annotations['karpenter.sh/nodepool-hash'],
          'karpenter.sh/nodepool-hash-version': 'v3',
        });
        expectClaim(claim, recorded, nodeClass, pool);
        expectNode(node, claim);
        expectInstance(claim, node, recorded);
        expectProfile(recorded, nodeClass);
        await expectTemplates(ec2, name, recorded);
      }
      // Karpenter would garbage collect instances without an owner.
      const owned = new Set((await scenario.claims()).map(({ status }) => status?.providerID));
      const running = scenario.instances().map(({ id, zone }) => `aws:///${zone}/${id}`);
      expect(new Set(running)).toEqual(owned);
      expect(running).toHaveLength(BOUGHT.length);
    } finally {
      ec2.destroy();
    }
  }, 600_000);
});

describe('the Lease', () => {
  const ref = { name: 'karpenter-leader-election', namespace: 'kube-system' };
  const microTime = () => `${new Date(scenario.world.clock.now()).toISOString().slice(0, -1)}000Z`;

  it('is respected while Karpenter renews it, acquired after its release, and released at the end', async () => {
    scenario = await startScenario({ operator: false, leaderElection: true, timeScale: 4 });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), ...scenario.example('nodepool.yaml'));
    const holderIdentity = 'karpenter-6f9d8c7b5-x2x4z_5b9e6a52-8a0c-4b6e-9d0b-0c7f3f0c7a11';
    await scenario.kube.create(LEASE, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: ref,
      spec: { holderIdentity, leaseDurationSeconds: 15, acquireTime: microTime(), renewTime: microTime() },
    } as Lease);
    const operator = await scenario.startOperator();
    await scenario.kube.create(DEPLOYMENT, deployment('web', 1));
    for (let second = 0; second < 40; second += 4) {
      await scenario.kube.patch(LEASE, ref, { spec: { renewTime: microTime() } });
      await scenario.world.clock.sleep(4_000);
    }
    expect(await scenario.claims()).toEqual([]);
    expect((await scenario.kube.find(LEASE, ref))?.spec?.holderIdentity).toBe(holderIdentity);
    expect((await scenario.kube.find(EC2_NODE_CLASS, { name: 'default' }))?.metadata.finalizers).toBeUndefined();

    // Karpenter releases the Lease like this when it is scaled to 0.
    await scenario.kube.patch(LEASE, ref, {
      spec: { holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() },
    });
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    expect((await scenario.kube.find(LEASE, ref))?.spec?.holderIdentity).not.toBe('');
    await operator.stop();
    expect((await scenario.kube.find(LEASE, ref))?.spec?.holderIdentity ?? '').toBe('');
  }, 300_000);
});
