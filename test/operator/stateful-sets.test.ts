/** StatefulSets start their pods one after the other. Their first node has room for the pods that follow. */
import { afterEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '../../src/api/kubernetes.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const REPLICAS = 4;

function statefulSet(name: string): KubeObject {
  const { spec, ...rest } = deployment(name, REPLICAS, {}, { cpu: '700m' }) as KubeObject & { readonly spec: object };
  return { ...rest, kind: 'StatefulSet', spec: { ...spec, serviceName: name } } as KubeObject;
}

describe('a StatefulSet of four pods', () => {
  it('gets one node for all pods', async () => {
    scenario = await startScenario({ ...BRISK, env: {} });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2, 4], consolidateAfter: '5m' }));
    await scenario.apply(statefulSet('db'));
    await scenario.until('running pods', async () => (await scenario.running('db')).length === REPLICAS, 120_000);
    expect(scenario.log.filter(({ message }) => message === 'created nodeclaim')).toHaveLength(1);
  }, 300_000);
});
