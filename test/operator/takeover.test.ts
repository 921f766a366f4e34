/** Takeover of a cluster from Karpenter 1.14.1: its nodes remain unchanged, despite faults during the takeover. */
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  EC2_NODE_CLASS,
  getCondition,
  isTrue,
  NODE_POOL,
  type Node,
  type NodeClaim,
  type ObjectMeta,
  POD,
} from '#api/objects';
import type { FaultRule } from '#local/aws';
import { type Scenario, startScenario } from './harness.ts';
import { leaveBehind, podOf, recordedAccount, type TakenNode, takenOver } from './takeover-world.ts';

const MINUTE = 60_000;

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

/** Read-only calls of the operator. */
const READS = [
  'DescribeCapacityReservations',
  'DescribeCluster',
  'DescribeImages',
  'DescribeInstanceStatus',
  'DescribeInstances',
  'DescribeInstanceTypeOfferings',
  'DescribeInstanceTypes',
  'DescribeLaunchTemplates',
  'DescribePlacementGroups',
  'DescribeSecurityGroups',
  'DescribeSpotPriceHistory',
  'DescribeSubnets',
  'GetInstanceProfile',
  'GetParameter',
  'GetProducts',
  'GetQueueUrl',
  'ListInstanceProfiles',
  'ReceiveMessage',
];
/** Calls for the validation of an EC2NodeClass. All except those for the template are dry runs. */
const VALIDATION = ['CreateFleet', 'CreateLaunchTemplate', 'DeleteLaunchTemplate', 'RunInstances'];

/** Calls that an operator must not make for nodes of a takeover and for their resources. */
const FORBIDDEN = [
  'AddRoleToInstanceProfile',
  'CreateInstanceProfile',
  'CreateTags',
  'DeleteInstanceProfile',
  'DeleteTags',
  'RemoveRoleFromInstanceProfile',
  'TagInstanceProfile',
  'TerminateInstances',
];

const HASH = 'karpenter.k8s.aws/ec2nodeclass-hash';
const HASH_VERSION = `${HASH}-version`;

/** Creates a small pod for each node, which fits next to the running pod. */
const addPods = async (): Promise<void> => {
  for (const [name, { manifests }] of Object.entries(takenOver)) {
    const [pod] = manifests.pods;
    const [container] = pod.spec.containers;
    const small = { ...container, resources: { requests: { cpu: '10m', memory: '16Mi' } } };
    await scenario.kube.create(POD, podOf({ ...pod, spec: { ...pod.spec, containers: [small] } }, `${name}-waits`, {}));
  }
};

/** Restarts the operator after failures, like a kubelet. Returns the number of failures. */
async function startUntilUp(): Promise<number> {
  for (let failures = 0; ; failures += 1) {
    try {
      await scenario.startOperator();
      return failures;
    } catch (error) {
      if (failures > 20) throw error;
      await scenario.pass(10_000);
    }
  }
}

const instanceState = () =>
  scenario.world.aws.instances.list().map(({ id, state, tags, imageId }) => ({ id, state, tags, imageId }));

/** Returns the fields that must not change. */
const kept = ({ uid, labels, finalizers, ownerReferences, deletionTimestamp }: ObjectMeta) => ({
  uid,
  labels,
  finalizers,
  ownerReferences,
  deletionTimestamp,
});

const keptClaim = ({ metadata, spec, status }: NodeClaim) => {
  const { lastPodEventTime: _, conditions: __, ...rest } = status ?? {};
  return { ...kept(metadata), spec, status: rest, generation: metadata.generation };
};

const keptNode = ({ metadata, spec }: Node) => ({ ...kept(metadata), annotations: metadata.annotations, spec });

/**
 * Returns the expected annotations. Version 1.14.1 writes v5 hashes, which differ. NodeClaims without drift get the
 * v6 hash.
 */
async function annotationsAfter({ metadata, spec }: NodeClaim): Promise<unknown> {
  const nodeClass = await scenario.kube.find(EC2_NODE_CLASS, { name: spec.nodeClassRef.name });
  const { [HASH]: hash = '', [HASH_VERSION]: version } = nodeClass?.metadata.annotations ?? {};
  expect([hash === metadata.annotations?.[HASH], metadata.annotations?.[HASH_VERSION], version]).toEqual([
    false,
    'v5',
    'v6',
  ]);
  return { ...metadata.annotations, [HASH]: hash, [HASH_VERSION]: 'v6' };
}

/** @param instances their state before the takeover */
async function expectUntouched(left: ReadonlyMap<string, TakenNode>, instances: unknown): Promise<void> {
  const { aws } = scenario.world;
  for (const action of FORBIDDEN) expect({ action, calls: aws.calls.recorded(action) }).toEqual({ action, calls: [] });
  for (const action of ['CreateFleet', 'RunInstances'])
    expect(aws.calls.recorded(action).filter(({ input }) => input.DryRun !== true)).toEqual([]);
  expect(instanceState()).toEqual(instances);

  const claims = new Map((await scenario.claims()).map((claim) => [claim.metadata.name, claim]));
  const nodes = new Map((await scenario.nodes()).map((node) => [node.metadata.name, node]));
  expect([...claims.keys()].sort()).toEqual([...left.values()].map(({ claim }) => claim.metadata.name).sort());
  expect(nodes.size).toBe(left.size);
  for (const { claim, node } of left.values()) {
    const now = claims.get(claim.metadata.name) as NodeClaim;
    expect(keptClaim(now)).toEqual(keptClaim(claim));
    expect(getCondition(now, 'Drifted')).toBeUndefined();
    expect(isTrue(now, 'Ready')).toBe(true);
    expect(now.metadata.annotations).toEqual(await annotationsAfter(claim));
    expect(keptNode(nodes.get(node.metadata.name) as Node)).toEqual(keptNode(node));
  }
}

describe('a cluster with a takeover', () => {
  const once = (action: string): FaultRule => ({
    kind: 'error',
    action,
    code: 'UnauthorizedOperation',
    status: 403,
    times: 1,
  });
  /** Returns a fault that occurs more often than the SDK retries. */
  const often = (action: string): FaultRule => ({
    kind: 'error',
    action,
    code: 'InternalError',
    status: 500,
    times: 5,
  });

  it('keeps its nodes for an hour, while AWS refuses each call once and then fails it for a while', async () => {
    const faults = [...READS, ...VALIDATION].flatMap((action) => [once(action), often(action)]);
    scenario = await startScenario(recordedAccount());
    const left = await leaveBehind(scenario);
    const { aws } = scenario.world;
    const before = instanceState();
    for (const fault of faults) aws.faults.add(fault);
    await addPods();
    await startUntilUp();
    await scenario.pass(15 * MINUTE, 120);
    // Repeats the faults after all caches are filled. A refused dry run is cached for half an hour.
    for (const fault of faults) aws.faults.add(fault);
    await scenario.pass(50 * MINUTE, 120);

    await expectUntouched(left, before);
    for (const name of left.keys()) {
      const [pod] = await scenario.pods(`${name}-waits`);
      expect([pod?.status?.phase, pod?.spec.nodeName]).toEqual(['Running', left.get(name)?.node.metadata.name]);
    }
    const pools = (await scenario.kube.list(NODE_POOL)).items;
    for (const object of [...pools, ...(await scenario.kube.list(EC2_NODE_CLASS)).items])
      expect([object.metadata.name, getCondition(object, 'Ready')?.status]).toEqual([object.metadata.name, 'True']);

    // Proves that drift is detected at all: only a real change causes it.
    await scenario.kube.patch(EC2_NODE_CLASS, { name: 'tags' }, { spec: { tags: { changed: 'yes' } } });
    const changed = left.get('tags')?.claim.metadata.name;
    const drifted = async () => (await scenario.claims()).filter((claim) => isTrue(claim, 'Drifted'));
    const found = await scenario.until('drift', async () => {
      const claims = await drifted();
      return claims.length > 0 && claims.map(({ metadata }) => metadata.name);
    });
    expect(found).toEqual([changed]);
  }, 600_000);

  it('replaces only nodes of an EC2NodeClass that was edited while no controller ran', async () => {
    scenario = await startScenario(recordedAccount());
    const left = await leaveBehind(scenario);
    await scenario.kube.patch(EC2_NODE_CLASS, { name: 'tags' }, { spec: { tags: { changed: 'yes' } } });
    // this class has a kubelet block, for which v5 computes the hash in another way
    await scenario.kube.patch(EC2_NODE_CLASS, { name: 'kubelet-all-al2' }, { spec: { kubelet: { maxPods: 61 } } });
    await scenario.startOperator();
    const names = async (): Promise<readonly string[]> =>
      (await scenario.claims()).filter((claim) => isTrue(claim, 'Drifted')).map(({ metadata }) => metadata.name);
    const edited = ['kubelet-all-al2', 'tags'].map((name) => left.get(name)?.claim.metadata.name).sort();
    await scenario.until('drift', async () => (await names()).length >= edited.length, 60_000);
    await scenario.pass(15 * MINUTE, 120);
    expect([...left.values()].filter(({ claim }) => claim.metadata.deletionTimestamp !== undefined)).toEqual([]);
    const kept = new Set((await scenario.claims()).map(({ metadata }) => metadata.name));
    const gone = [...left.values()].map(({ claim }) => claim.metadata.name).filter((name) => !kept.has(name));
    expect([...new Set([...gone, ...(await names())])].sort()).toEqual(edited);
  }, 600_000);
});
