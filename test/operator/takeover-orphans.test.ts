/**
 * A leader is killed between CreateFleet and its status write, and its successor is of the other kind: the operator
 * after Karpenter, or Karpenter after the operator. Karpenter is simulated by its requests to AWS: it launches again,
 * and terminates instances without a NodeClaim after 30 seconds.
 */
import {
  CreateFleetCommand,
  type CreateFleetCommandInput,
  DeleteTagsCommand,
  DescribeInstancesCommand,
  EC2Client,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, type NodeClaim } from '#api/objects';
import { CLUSTER_UID_TAG } from '#aws/testing';
import { at, launches } from './crash-points.ts';
import { type CrashableOperator, crashableOperator, untilDead } from './crashable-operator.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, leaks, pool } from './pools.ts';

const NODES = 5;
/** Blocks disruption, because the simulation writes fewer instance type labels than Karpenter. This may cause drift. */
const NO_DISRUPTION = [{ nodes: '0' }];

let scenario: Scenario;
let operator: CrashableOperator;
let ec2: EC2Client;

const isRealLaunch = ({ body }: { readonly body: string }): boolean => !body.includes('DryRun=true');

/** Leaves five NodeClaims without an instance, and the instances that were launched for them. */
beforeEach(async () => {
  scenario = await startScenario({ ...BRISK, operator: false });
  operator = await crashableOperator(scenario);
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2], budgets: NO_DISRUPTION }));
  await operator.start(at('after', (request) => launches(request) && isRealLaunch(request)));
  await scenario.apply(deployment('web', NODES, apart('web')));
  await untilDead(scenario, operator);
  Object.assign(process.env, scenario.world.aws.env());
  ec2 = new EC2Client({});
});
afterEach(async () => {
  ec2.destroy();
  await operator.close();
  await scenario.stop();
});

const ids = (): string[] =>
  scenario
    .instances()
    .map(({ id }) => id)
    .sort();
const bought = () => scenario.world.aws.calls.recorded('CreateFleet').filter(({ input }) => input.DryRun !== true);
const ended = () => scenario.world.aws.calls.recorded('TerminateInstances');

const inputOf = (request: ReturnType<typeof bought>[number] | undefined): CreateFleetCommandInput =>
  request?.input as unknown as CreateFleetCommandInput;
const targetOf = (request: ReturnType<typeof bought>[number]): number =>
  inputOf(request).TargetCapacitySpecification?.TotalTargetCapacity ?? 0;

const settled = () =>
  scenario.until(
    'one node for each NodeClaim, and nothing else',
    async () => (await scenario.running('web')).length === NODES && (await leaks(scenario)).length === 0,
    90_000,
  );

describe('an orphaned instance of a leader that was killed after CreateFleet', () => {
  it('is adopted from Karpenter by the operator, which launches and terminates no instance for it', async () => {
    const orphans = ids();
    expect(orphans.length).toBeGreaterThan(0);
    const waiting = NODES - orphans.length;
    // Karpenter's instances have no tag with the identity of the cluster.
    await ec2.send(new DeleteTagsCommand({ Resources: orphans, Tags: [{ Key: CLUSTER_UID_TAG }] }));
    scenario.world.aws.calls.clear();
    await operator.start();
    await settled();
    await scenario.pass(5 * 60_000);
    expect(ids()).toEqual(expect.arrayContaining(orphans));
    expect(ids()).toHaveLength(NODES);
    expect(bought().reduce((sum, request) => sum + targetOf(request), 0)).toBe(waiting);
    expect(ended()).toEqual([]);
  }, 300_000);

  it("is collected by Karpenter if the operator left it, and neither terminated nor adopted after the operator's return", async () => {
    const orphans = ids();
    await scenario.pass(31_000);
    await launchAsKarpenter();
    const collected = await collectAsKarpenter();
    expect(collected.sort()).toEqual(orphans);
    const kept = ids();
    expect(kept).toHaveLength(NODES);
    scenario.world.aws.calls.clear();
    await operator.start();
    await settled();
    await scenario.pass(5 * 60_000);
    expect(ids()).toEqual(kept);
    expect(bought()).toEqual([]);
    expect(ended()).toEqual([]);
  }, 300_000);
});

/** Launches one instance per NodeClaim with the operator's request, but without the identity of the cluster. */
async function launchAsKarpenter(): Promise<void> {
  const [first] = bought();
  const input = inputOf(first);
  for (const claim of await scenario.claims()) {
    const { Instances: [instance] = [] } = await ec2.send(
      new CreateFleetCommand({
        ...input,
        ClientToken: claim.metadata.uid,
        TargetCapacitySpecification: { ...input.TargetCapacitySpecification, TotalTargetCapacity: 1 },
        TagSpecifications: (input.TagSpecifications ?? []).map(({ ResourceType, Tags = [] }) => ({
          ResourceType,
          Tags: Tags.filter(({ Key }) => Key !== CLUSTER_UID_TAG),
        })),
      }),
    );
    await recordAsKarpenter(claim, instance?.InstanceIds?.[0] ?? '');
  }
}

/**
 * Copies labels and resources from the node of the instance. Karpenter copies nearly the same ones from the instance
 * type.
 */
async function recordAsKarpenter({ metadata }: NodeClaim, id: string): Promise<void> {
  const node = await scenario.until(`a node of ${id}`, async () =>
    (await scenario.kube.list(NODE)).items.find(({ spec }) => spec?.providerID?.endsWith(`/${id}`)),
  );
  const labels = Object.fromEntries(
    Object.entries(node.metadata.labels ?? {}).filter(([key]) => key !== 'kubernetes.io/hostname'),
  );
  await scenario.kube.patch(NODE_CLAIM, metadata, { metadata: { labels } });
  const stamp = new Date(scenario.world.clock.now()).toISOString();
  const status = {
    providerID: node.spec?.providerID,
    capacity: node.status?.capacity,
    allocatable: node.status?.allocatable,
    conditions: [{ type: 'Launched', status: 'True', reason: 'Launched', message: '', lastTransitionTime: stamp }],
  };
  await scenario.kube.patch(NODE_CLAIM, metadata, { status }, { subresource: 'status' });
}

/**
 * Terminates instances that match Karpenter's filters, are older than 30 seconds and have no NodeClaim. Returns their
 * ids.
 */
async function collectAsKarpenter(): Promise<string[]> {
  const { Reservations = [] } = await ec2.send(
    new DescribeInstancesCommand({
      Filters: [
        { Name: 'tag-key', Values: ['karpenter.sh/nodepool'] },
        { Name: 'tag-key', Values: ['karpenter.k8s.aws/ec2nodeclass'] },
        { Name: 'tag:eks:eks-cluster-name', Values: ['test'] },
        { Name: 'instance-state-name', Values: ['pending', 'running', 'stopping', 'stopped', 'shutting-down'] },
      ],
    }),
  );
  const named = new Set((await scenario.claims()).map(({ status }) => status?.providerID?.split('/').at(-1)));
  const old = scenario.world.clock.now() - 30_000;
  const garbage = Reservations.flatMap(({ Instances = [] }) => Instances)
    .filter(({ InstanceId, LaunchTime }) => !named.has(InstanceId) && (LaunchTime?.getTime() ?? 0) < old)
    .map(({ InstanceId = '' }) => InstanceId);
  await ec2.send(new TerminateInstancesCommand({ InstanceIds: garbage }));
  return garbage;
}
