/** Devices for resource claims, from the claim template to the running pod. Drivers are pods that publish devices of nodes. */
import { afterEach, describe, expect, it } from '@jest/globals';
import type { ResourceClaim } from '../../src/api/dra/objects.ts';
import { RESOURCE_CLAIM, RESOURCE_SLICE } from '../../src/api/kinds.ts';
import { INSTANCE_TYPE_LABEL } from '../../src/api/labels.ts';
import { type Scenario, startScenario } from './harness.ts';
import { BRISK, leaks } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const GATES = { AWS_FEATURE_GATES: 'DRANVIDIAGPU=true,DRAEFA=true' };

const begin = async (env: Readonly<Record<string, string>> = GATES): Promise<void> => {
  scenario = await startScenario({ ...BRISK, env: { ...BRISK.env, ...env } });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), ...scenario.example('dra/drivers.yaml'));
};

const runs = (app: string, count: number): Promise<true> =>
  scenario.until(`${count} running pods of ${app}`, async () => (await scenario.running(app)).length === count, 60_000);

const typesOfNodes = async (): Promise<readonly (string | undefined)[]> =>
  (await scenario.nodes()).map(({ metadata }) => metadata.labels?.[INSTANCE_TYPE_LABEL]).sort();

const claims = async (): Promise<readonly ResourceClaim[]> => (await scenario.kube.list(RESOURCE_CLAIM)).items;
const resultsOf = ({ status }: ResourceClaim) => status?.allocation?.devices?.results ?? [];

const settles = (): Promise<true> =>
  scenario.until('a tidy world', async () => (await leaks(scenario)).length === 0, 60_000);

describe('the example', () => {
  it('of a GPU launches a node for the claim, and removes it after the pod', async () => {
    await begin();
    await scenario.apply(...scenario.example('dra/gpu.yaml'));
    await runs('inference', 1);
    const [claim, ...others] = await scenario.claims();
    expect(others).toEqual([]);
    expect(claim?.metadata.annotations?.['karpenter.sh/requested-dra-drivers']).toBe('gpu.nvidia.com');
    expect(await typesOfNodes()).toEqual([expect.stringMatching(/^g[56]\./)]);
    const [device] = (await claims()).flatMap(resultsOf);
    expect(device).toMatchObject({ request: 'gpu', driver: 'gpu.nvidia.com', device: 'gpu-0' });
    expect(device?.pool).toBe((await scenario.nodes())[0]?.metadata.name);

    await scenario.scale('inference', 0);
    await scenario.until('no node', async () => (await scenario.nodes()).length === 0, 60_000);
    expect(await claims()).toEqual([]);
    expect((await scenario.kube.list(RESOURCE_SLICE)).items).toEqual([]);
  }, 300_000);

  it('of MIG partitions runs seven pods on one GPU', async () => {
    await begin();
    await scenario.apply(...scenario.example('dra/mig.yaml'));
    await runs('notebooks', 7);
    expect(await typesOfNodes()).toEqual(['p5.4xlarge']);
    const devices = (await claims()).flatMap(resultsOf).map(({ device }) => device);
    expect(devices.sort()).toEqual([0, 1, 2, 3, 4, 5, 6].map((index) => `gpu-0-mig-1g-${index}`));
    await settles();
  }, 300_000);

  it('of EFA interfaces aligns them with the GPU, and attaches them at launch', async () => {
    await begin();
    await scenario.apply(...scenario.example('dra/efa.yaml'));
    await runs('training', 2);
    expect(await typesOfNodes()).toEqual(['p5.48xlarge']);
    expect(scenario.instances()[0]?.interfaces.filter(({ type }) => type.startsWith('efa'))).toHaveLength(32);
    const slices = (await scenario.kube.list(RESOURCE_SLICE)).items;
    const rootOf = (name: string) =>
      slices.flatMap(({ spec }) => spec.devices ?? []).find((each) => each.name === name)?.attributes?.[
        'resource.kubernetes.io/pcieRoot'
      ]?.string;
    for (const claim of await claims()) {
      const devices = resultsOf(claim).map(({ device }) => device);
      expect(devices).toHaveLength(5);
      expect(new Set(devices.map(rootOf)).size).toBe(1);
    }
  }, 300_000);
});
