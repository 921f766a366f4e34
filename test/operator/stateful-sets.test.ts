/** StatefulSets start their pods one after the other. Their first node has room for the pods that follow. */
import { afterEach, describe, expect, it } from '@jest/globals';
import type { KubeObject, PodSpec } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const REPLICAS = 4;

function statefulSet(name: string, readyAfterSeconds: number): KubeObject {
  const { spec, ...rest } = deployment(name, REPLICAS, {}, { cpu: '700m' }) as KubeObject & {
    readonly spec: { readonly template: { readonly spec: PodSpec } };
  };
  const readinessProbe = { initialDelaySeconds: readyAfterSeconds, tcpSocket: { port: 5432 } };
  const { template } = spec;
  const containers = template.spec.containers.map((container) => ({ ...container, readinessProbe }));
  const own = { ...spec, serviceName: name, template: { ...template, spec: { ...template.spec, containers } } };
  return { ...rest, kind: 'StatefulSet', spec: own } as KubeObject;
}

const play = async (readyAfterSeconds: number, consolidateAfter: string): Promise<number> => {
  scenario = await startScenario({ ...BRISK, env: {} });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2, 4], consolidateAfter }));
  await scenario.apply(statefulSet('db', readyAfterSeconds));
  await scenario.until('running pods', async () => (await scenario.running('db')).length === REPLICAS, 600_000);
  return scenario.log.filter(({ message }) => message === 'created nodeclaim').length;
};

describe('a StatefulSet of four pods', () => {
  it('gets one node for all pods', async () => {
    expect(await play(0, '5m')).toBe(1);
  }, 300_000);

  it('keeps this node while each pod needs 90 s to become ready, with consolidateAfter: 0s', async () => {
    expect(await play(90, '0s')).toBe(1);
  }, 300_000);
});
