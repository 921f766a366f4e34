/** The main job in a cluster with IPv6 addresses, and in a local zone. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { ZONE_LABEL } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

/** Launches a node for a Deployment, and removes it again. */
async function playMainJob(pod: Record<string, unknown> = {}): Promise<void> {
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }), deployment('web', 2, pod));
  await scenario.until('running pods', async () => (await scenario.running('web')).length === 2);
}

async function removeNodes(): Promise<void> {
  await scenario.scale('web', 0);
  await scenario.until('the end of all instances', () => scenario.instances().length === 0);
  await scenario.until('the end of all NodeClaims', async () => (await scenario.claims()).length === 0);
}

describe('a cluster with IPv6 addresses', () => {
  it('gets nodes whose kubelets, pods and metadata service use IPv6', async () => {
    scenario = await startScenario({ ipFamily: 'ipv6' });
    await playMainJob();
    const [instance] = scenario.instances();
    expect(instance?.ipv6Address).toMatch(/^2600:/);
    expect(instance?.userData).toContain('fd00:10:96::a');
    const node = (await scenario.nodes()).find(({ spec }) => spec?.providerID?.endsWith(instance?.id ?? ''));
    expect(node?.status?.addresses).toContainEqual({ type: 'InternalIP', address: instance?.ipv6Address });
    for (const { status } of await scenario.running('web')) expect(status?.podIP).toMatch(/^fd00:100::/);
    await removeNodes();
  });
});

describe('a local zone', () => {
  it('gets on-demand nodes of its few instance types', async () => {
    scenario = await startScenario({ aws: { localZone: true } });
    await playMainJob({ nodeSelector: { [ZONE_LABEL]: 'us-west-2-lax-1a' } });
    const instances = scenario.instances();
    expect(instances.map(({ zone, capacityType }) => [zone, capacityType])).toEqual(
      instances.map(() => ['us-west-2-lax-1a', 'on-demand']),
    );
    for (const { type } of instances) expect(type).toMatch(/^(?:c5|m5|r5|t3|g4dn)\./);
    const [node] = await scenario.nodes();
    expect(node?.metadata.labels?.['topology.k8s.aws/zone-id']).toBe('usw2-lax1-az1');
    await removeNodes();
  });
});
