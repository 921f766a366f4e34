/**
 * Instances without a NodeClaim: they are kept for an hour and then terminated. Instances of another cluster are ignored.
 */
import { CreateTagsCommand, DeleteTagsCommand, EC2Client } from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Kind, NODE, NODE_CLAIM, type Node, type NodeClaim, type ObjectMeta } from '#api/objects';
import { CLUSTER_UID_TAG } from '#aws/testing';
import { isGone } from '../support/kube-api.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, pool } from './pools.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** One instance more than may be collected immediately. */
const NODES = 3;

let scenario: Scenario;
let ec2: EC2Client;
beforeEach(async () => {
  scenario = await startScenario({ ...BRISK, operator: false });
  ec2 = new EC2Client({});
  await scenario.apply(
    ...scenario.example('ec2nodeclass.yaml'),
    pool({ cpus: [2], budgets: [{ nodes: '0' }] }),
    deployment('web', NODES, apart('web')),
  );
  const operator = await scenario.startOperator();
  await scenario.until('running pods', async () => (await scenario.running('web')).length === NODES, 60_000);
  await operator.stop();
  await scenario.scale('web', 0);
});
afterEach(async () => {
  ec2.destroy();
  await scenario.stop();
});

const ids = (): string[] => scenario.instances().map(({ id }) => id);
const tagged = (Value: string) =>
  ec2.send(new CreateTagsCommand({ Resources: ids(), Tags: [{ Key: CLUSTER_UID_TAG, Value }] }));

/** Removes an object including its finalizers. Nodes are deleted with their NodeClaims. */
async function takeAway(kind: Kind, { name }: ObjectMeta): Promise<void> {
  try {
    await scenario.kube.patch(kind, { name }, { metadata: { finalizers: null } });
    await scenario.kube.delete(kind, { name });
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** Restores the API server from a backup that is older than the NodeClaims and Nodes, and returns these objects. */
async function forget(): Promise<{ readonly claims: readonly NodeClaim[]; readonly nodes: readonly Node[] }> {
  const [claims, nodes] = [await scenario.claims(), await scenario.nodes()];
  for (const { metadata } of claims) await takeAway(NODE_CLAIM, metadata);
  for (const { metadata } of nodes) await takeAway(NODE, metadata);
  return { claims, nodes };
}

async function restore({ claims, nodes }: Awaited<ReturnType<typeof forget>>): Promise<void> {
  for (const { metadata, status, ...claim } of claims) {
    const { resourceVersion: _, uid: __, ...kept } = metadata;
    const created = await scenario.kube.create(NODE_CLAIM, { ...claim, metadata: kept });
    await scenario.kube.patch(NODE_CLAIM, created.metadata, { status }, { subresource: 'status' });
  }
  for (const { metadata, ...node } of nodes) {
    const { resourceVersion: _, uid: __, ownerReferences: ___, ...kept } = metadata;
    if ((await scenario.kube.find(NODE, kept)) === undefined)
      await scenario.kube.create(NODE, { ...node, metadata: kept });
  }
}

/** Returns the number of instances that are held because of their share. */
const held = async (): Promise<string | undefined> =>
  /^karpenter_cloudprovider_garbage_collection_held(?=.*resource="instance")(?=.*reason="share").* (\d+)$/m.exec(
    await scenario.metrics(),
  )?.[1];

const terminated = () => scenario.world.aws.calls.recorded('TerminateInstances').length;
const warnings = (): readonly string[] => [
  ...new Set(scenario.log.filter(({ level }) => level === 'WARN').map(({ message }) => message)),
];

describe('an API server without the NodeClaims', () => {
  it('causes no termination for an hour, in which the NodeClaims can be restored', async () => {
    const before = ids();
    const backup = await forget();
    const operator = await scenario.startOperator();
    await scenario.pass(50 * MINUTE, 300);
    expect(ids()).toEqual(before);
    expect(warnings()).toEqual(['holding garbage collection, too many objects have no NodeClaim']);
    const [event] = await scenario.events('GarbageCollectionHeld');
    expect(event?.message).toMatch(
      /^Delaying garbage collection: 3 of 3 instances have no NodeClaim \(.*\); none is deleted before 20/,
    );
    expect(await held()).toBe('3');
    // Follows the runbook: a running operator would launch for NodeClaims whose status is not restored yet.
    await operator.stop();
    await restore(backup);
    await scenario.startOperator();
    await scenario.until('a pass that holds nothing', async () => (await held()) === '0', 60_000);
    await scenario.pass(10 * MINUTE, 300);
    expect(terminated()).toBe(0);
    expect(ids()).toEqual(before);
    expect((await scenario.claims()).map(({ status }) => status?.providerID?.split('/').at(-1)).sort()).toEqual(
      before.sort(),
    );
  }, 900_000);

  it('leads to the termination of every instance within 90 minutes, two every ten minutes', async () => {
    await forget();
    await scenario.startOperator();
    const startMs = scenario.world.clock.now();
    await scenario.pass(HOUR + 20 * MINUTE, 300);
    await scenario.until('an end of all instances', () => scenario.instances().length === 0, 60_000);
    const collected = scenario.log.filter(({ message }) => message === 'garbage collected cloudprovider instance');
    expect(collected).toHaveLength(NODES);
    const [first = 0, second = 0, third = 0] = collected.map(({ time }) => Date.parse(String(time)));
    expect(first - startMs).toBeGreaterThan(HOUR - MINUTE);
    expect(third - second).toBeGreaterThanOrEqual(10 * MINUTE);
    expect(collected[0]).toMatchObject({
      level: 'INFO',
      zone: expect.any(String),
      'instance-type': expect.any(String),
      'capacity-type': 'on-demand',
      NodePool: { name: 'default' },
      reason: 'the API server has no NodeClaim for the instance',
    });
  }, 900_000);
});

describe('an instance that EC2 refuses to terminate', () => {
  it('is reported with the error, and every other instance is terminated', async () => {
    await forget();
    const [refused = ''] = ids();
    scenario.world.aws.faults.add({ kind: 'refuse-termination', instance: refused });
    await scenario.startOperator();
    await scenario.pass(HOUR + 25 * MINUTE, 300);
    await scenario.until('an end of all other instances', () => ids().join() === refused, 60_000);
    const [event] = await scenario.events('GarbageCollectionRefused');
    expect(event?.message).toContain(
      `AWS refused to delete ${refused}, one of the instances without a NodeClaim: OperationNotPermitted: `,
    );
    scenario.world.aws.faults.clear();
    await scenario.pass(15 * MINUTE, 300);
    await scenario.until('an end of all instances', () => ids().length === 0, 60_000);
  }, 900_000);
});

describe('a second cluster with the same name', () => {
  it('keeps its instances indefinitely if they carry its identity', async () => {
    const before = ids();
    await forget();
    await tagged('another-cluster');
    await scenario.startOperator();
    // other instances without a NodeClaim are terminated after an hour
    await scenario.pass(HOUR + 20 * MINUTE, 300);
    expect(ids()).toEqual(before);
    expect(terminated()).toBe(0);
    expect(warnings()).toEqual(['ignoring objects of another cluster with the same name']);
    expect((await scenario.events('InstancesOfAnotherCluster'))[0]?.message).toMatch(
      /^Ignoring 3 instances of another cluster with the same name/,
    );
  }, 900_000);

  it('keeps instances without an identity, which Karpenter launched, for an hour', async () => {
    const before = ids();
    await forget();
    await ec2.send(new DeleteTagsCommand({ Resources: before, Tags: [{ Key: CLUSTER_UID_TAG }] }));
    await scenario.startOperator();
    await scenario.pass(55 * MINUTE, 300);
    expect(ids()).toEqual(before);
    expect(warnings()).toEqual(['holding garbage collection, too many objects have no NodeClaim']);
  }, 900_000);
});
