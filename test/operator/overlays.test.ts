/** NodeOverlays affect launches by prices and by resources that only the user can define. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { getCondition, INSTANCE_TYPE_LABEL, NODE, NODE_OVERLAY } from '#api/objects';
import type { NodeOverlaySpec } from '#api/testing';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const begin = async (): Promise<void> => {
  scenario = await startScenario({ ...BRISK, env: { ...BRISK.env, FEATURE_GATES: 'NodeOverlay=true' } });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2, 8] }));
};

const overlay = (name: string, spec: NodeOverlaySpec): Promise<unknown> =>
  scenario.kube.create(NODE_OVERLAY, {
    apiVersion: 'karpenter.sh/v1alpha1',
    kind: 'NodeOverlay',
    metadata: { name },
    spec,
  });

const isReady = (name: string, status: string): Promise<true> =>
  scenario.until(`overlay ${name} with Ready=${status}`, async () => {
    const found = await scenario.kube.find(NODE_OVERLAY, { name });
    return found !== undefined && getCondition(found, 'Ready')?.status === status;
  });

const cpus = (count: number): NodeOverlaySpec['requirements'] => [
  { key: 'karpenter.k8s.aws/instance-cpu', operator: 'In', values: [String(count)] },
];

describe('a NodeOverlay', () => {
  it('makes the operator launch the cheapest offering at its price', async () => {
    await begin();
    await overlay('bargain', { requirements: cpus(8), price: '0.001' });
    await isReady('bargain', 'True');
    await overlay('another', { requirements: cpus(8), priceAdjustment: '-10%' });
    await isReady('another', 'False');

    await scenario.apply(deployment('web', 1));
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    const [claim] = await scenario.claims();
    expect(claim?.metadata.annotations).toMatchObject({ 'karpenter.sh/price-overlay-applied': 'true' });
    expect(claim?.metadata.labels?.['karpenter.k8s.aws/instance-cpu']).toBe('8');

    // without the overlay, the node is too large for its pod
    await scenario.kube.delete(NODE_OVERLAY, { name: 'bargain' });
    await isReady('another', 'True');
    await scenario.until(
      'a smaller node',
      async () => {
        const nodes = await scenario.nodes();
        return nodes.length === 1 && nodes[0]?.metadata.labels?.['karpenter.k8s.aws/instance-cpu'] === '2';
      },
      60_000,
    );
  }, 300_000);

  it('allows nodes with its capacity for pods that request an otherwise unavailable resource', async () => {
    await begin();
    await scenario.apply(deployment('web', 1, {}, { cpu: '1', 'example.com/dongle': '1' }));
    await scenario.until('the refusal', async () => (await scenario.events('FailedScheduling')).length > 0);
    expect(await scenario.claims()).toEqual([]);

    await overlay('dongle', { requirements: cpus(8), capacity: { 'example.com/dongle': '2' } });
    const claim = await scenario.until('a launched claim', async () =>
      (await scenario.claims()).find(({ status }) => status?.capacity),
    );
    expect(claim.status?.capacity).toMatchObject({ 'example.com/dongle': '2' });
    expect(claim.metadata.annotations).toMatchObject({ 'karpenter.sh/capacity-overlay-applied': 'true' });

    // simulates the device plugin of the node
    const node = await scenario.until('the node', async () => (await scenario.nodes())[0]);
    const devices = { 'example.com/dongle': '2' };
    await scenario.kube.patch(
      NODE,
      node.metadata,
      { status: { capacity: devices, allocatable: devices } },
      { subresource: 'status' },
    );
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    expect(await scenario.nodes()).toHaveLength(1);
    expect(node.metadata.labels?.[INSTANCE_TYPE_LABEL]).toBe(claim.metadata.labels?.[INSTANCE_TYPE_LABEL]);
  }, 300_000);
});
