/** The manifests of the task pages (`docs/tasks`) in the local world: each ends in running pods. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, type KubeObject, NODE, NODE_OVERLAY, POD, type Pod } from '#api/objects';
import { type Scenario, type ScenarioOptions, startScenario } from './harness.ts';
import { BRISK } from './pools.ts';

let scenario: Scenario;
afterEach(() => scenario.stop());

type Replicated = KubeObject & { readonly spec: { readonly replicas: number } };

/** Applies a manifest of a page beside the default EC2NodeClass, and returns its pods when all are running. */
async function play(file: string, options: ScenarioOptions = {}): Promise<readonly Pod[]> {
  scenario = await startScenario({ ...BRISK, ...options });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
  return applied(file);
}

async function applied(file: string): Promise<readonly Pod[]> {
  const objects = scenario.example(`tasks/${file}`);
  await scenario.apply(...objects);
  return allRunning(objects);
}

/** Waits until all pods of the Deployments are running. */
async function allRunning(objects: readonly KubeObject[]): Promise<readonly Pod[]> {
  const deployments = objects.filter((object): object is Replicated => object.kind === 'Deployment');
  const count = deployments.reduce((sum, { spec }) => sum + spec.replicas, 0);
  const names = new Set(deployments.map(({ metadata }) => metadata.name));
  const running = async (): Promise<readonly Pod[]> =>
    (await scenario.kube.list(POD)).items.filter(
      ({ metadata, status }) => status?.phase === 'Running' && names.has(metadata.labels?.app ?? ''),
    );
  await scenario.until(`${count} running pods`, async () => (await running()).length === count, 120_000);
  return running();
}

const labelsOfNodes = async (): Promise<ReadonlyMap<string | undefined, Readonly<Record<string, string>>>> =>
  new Map((await scenario.nodes()).map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));

describe('a task page', () => {
  it('runs one pod of five on demand, and four on spot nodes', async () => {
    const pods = await play('spot-ratio.yaml');
    const labels = await labelsOfNodes();
    const types = pods.map(({ spec }) => labels.get(spec.nodeName)?.[CAPACITY_TYPE_LABEL]);
    expect(
      Object.fromEntries(Object.entries(Object.groupBy(types, String)).map(([type, all]) => [type, all?.length])),
    ).toEqual({ 'on-demand': 2, spot: 8 });
  });

  it('runs pods with a GPU, and shares GPUs', async () => {
    const pods = await play('gpu.yaml', { env: { ...BRISK.env, FEATURE_GATES: 'NodeOverlay=true' } });
    for (const { type } of scenario.instances()) expect(type).toMatch(/^g/);
    expect(new Set(pods.map(({ spec }) => spec.nodeName)).size).toBeGreaterThan(0);
    await scenario.scale('inference', 0);
    await scenario.kube.delete(NODE, (await scenario.nodes())[0]?.metadata ?? { name: '' });

    const objects = scenario.example('tasks/gpu-time-slicing.yaml');
    await scenario.apply(...objects);
    await scenario.until('the overlay', async () => (await scenario.kube.list(NODE_OVERLAY)).items.length === 1);
    const shared = { 'nvidia.com/gpu.shared': '4' };
    const launched = await scenario.until('a launch for shared GPUs', async () =>
      (await scenario.claims()).find(({ status }) => status?.capacity?.['nvidia.com/gpu.shared'] === '4'),
    );
    const node = await scenario.until('its node', async () =>
      (await scenario.nodes()).find(({ spec }) => spec?.providerID === launched.status?.providerID),
    );
    // The device plugin of the node.
    const status = { capacity: shared, allocatable: shared };
    await scenario.kube.patch(NODE, node.metadata, { status }, { subresource: 'status' });
    const sharing = await allRunning(objects);
    expect(new Set(sharing.map(({ spec }) => spec.nodeName)).size).toBe(1);
  }, 300_000);

  it('runs pods on Windows', async () => {
    const [pod] = await play('windows.yaml');
    expect((await labelsOfNodes()).get(pod?.spec.nodeName)).toMatchObject({ 'kubernetes.io/os': 'windows' });
  });

  it('runs pods on Bottlerocket, with its settings', async () => {
    await play('bottlerocket.yaml');
    const [instance] = scenario.instances();
    expect(instance?.userData).toMatch(/somaxconn.*4096/);
    expect(instance?.userData).toContain('169.254.169.123');
    const [node] = await scenario.nodes();
    expect(node?.status?.capacity?.pods).toBe('58');
    expect(instance?.volumes.map(({ deviceName, sizeGiB }) => [deviceName, sizeGiB])).toEqual([
      ['/dev/xvda', 4],
      ['/dev/xvdb', 50],
    ]);
  });

  it('runs the pods of each team on the nodes of this team', async () => {
    const pods = await play('tenants.yaml');
    const labels = await labelsOfNodes();
    for (const { metadata, spec } of pods)
      expect(labels.get(spec.nodeName)?.['example.com/team']).toBe(metadata.namespace);
    expect(new Set(pods.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['team-a', 'team-b']));
  });

  it('runs pods on nodes without public addresses, with an existing instance profile', async () => {
    scenario = await startScenario({ ...BRISK, env: { ...BRISK.env, ISOLATED_VPC: 'true' } });
    const name = 'KarpenterNodeInstanceProfile-local';
    scenario.world.aws.seed.instanceProfile({ name, role: 'KarpenterNodeRole-local' });
    await applied('private.yaml');
    const [node] = await scenario.nodes();
    expect(JSON.stringify(node?.status?.addresses)).toMatch(/InternalIP/);
    expect(JSON.stringify(node?.status?.addresses)).not.toMatch(/ExternalIP/);
    expect(scenario.instances().map(({ instanceProfile }) => instanceProfile)).toEqual([name]);
  });

  it('marks the nodes and the instances of a team', async () => {
    await play('cost-by-team.yaml');
    expect([...(await labelsOfNodes()).values()]).toMatchObject([{ 'example.com/team': 'payments' }]);
    expect(scenario.instances().map(({ tags }) => tags.team)).toEqual(['payments']);
  });

  it('keeps nodes whose pods must not be moved', async () => {
    const [pod] = await play('stop-disruption.yaml');
    expect(pod?.metadata.annotations).toMatchObject({ 'karpenter.sh/do-not-disrupt': 'true' });
  });
});

describe('a manifest of a task', () => {
  it('has a page and a test', async () => {
    scenario = await startScenario({ operator: false });
    const root = join(import.meta.dirname, '../..');
    const pages = readdirSync(join(root, 'docs/tasks'));
    const manifests = readdirSync(join(root, 'examples/tasks')).map((file) => file.replace('.yaml', '.md'));
    expect(manifests.filter((page) => page !== 'gpu-time-slicing.md')).toEqual(pages);
  });
});
