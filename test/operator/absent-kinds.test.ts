/** Requests of an operator in a cluster without the CustomResourceDefinitions of optional kinds. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_BUFFER, isTrue, type Kind, NODE_POLICY, NODE_POOL, POD_TEMPLATE } from '#api/objects';
import { customResourceDefinition } from '#api/schema';
import type { CustomResourceDefinition } from '#api/testing';
import { type CrashableOperator, crashableOperator } from './crashable-operator.ts';
import { type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

const MINUTE = 60_000;
const CRD: Kind<CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

let scenario: Scenario;
let operator: CrashableOperator | undefined;
afterEach(async () => {
  await operator?.close();
  await scenario.stop();
});

describe('a cluster without CapacityBuffers and NodePolicies', () => {
  it('has no watches for them and few requests, and gets room for a buffer when the kind appears', async () => {
    scenario = await startScenario({ ...BRISK, operator: false });
    for (const { plural, group } of [CAPACITY_BUFFER, NODE_POLICY])
      await scenario.kube.delete(CRD, { name: `${plural}.${group}` });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }));
    const paths: string[] = [];
    operator = await crashableOperator(scenario);
    await operator.start(({ url }, moment) => {
      if (moment === 'before') paths.push(url);
      return false;
    });
    await scenario.until('a ready NodePool', async () => {
      const found = await scenario.kube.find(NODE_POOL, { name: 'default' });
      return found !== undefined && isTrue(found, 'Ready');
    });
    const countOf = ({ plural }: Kind): number => paths.filter((path) => path.includes(`/${plural}?`)).length;
    await scenario.pass(5 * MINUTE);
    paths.length = 0;
    await scenario.pass(20 * MINUTE, 120);
    for (const kind of [CAPACITY_BUFFER, NODE_POLICY]) {
      expect(countOf(kind)).toBeGreaterThanOrEqual(1);
      expect(countOf(kind)).toBeLessThanOrEqual(11);
    }
    expect(paths.filter((path) => path.includes('watch=') && /capacitybuffers|nodepolicies/.test(path))).toEqual([]);
    expect(countOf(POD_TEMPLATE)).toBe(0);
    expect(scenario.log.filter(({ level }) => level === 'ERROR')).toEqual([]);

    const definition = customResourceDefinition(CAPACITY_BUFFER.kind);
    if (definition === undefined) throw new Error('there is no definition of CapacityBuffer');
    await scenario.kube.create(CRD, definition);
    const template = {
      spec: { containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '1500m' } } }] },
    };
    const metadata = { name: 'roomy', namespace: 'default' };
    await scenario.kube.create(POD_TEMPLATE, { apiVersion: 'v1', kind: 'PodTemplate', metadata, template });
    await scenario.kube.create(CAPACITY_BUFFER, {
      apiVersion: 'autoscaling.x-k8s.io/v1beta1',
      kind: 'CapacityBuffer',
      metadata: { name: 'spare', namespace: 'default' },
      spec: { podTemplateRef: { name: 'roomy' }, replicas: 1 },
    });
    await scenario.until('room for the buffer', async () => {
      const found = await scenario.kube.find(CAPACITY_BUFFER, { name: 'spare', namespace: 'default' });
      return found !== undefined && isTrue(found, 'Provisioning');
    });
    expect(await scenario.nodes()).toHaveLength(1);
    expect(paths.some((path) => path.includes(`/${POD_TEMPLATE.plural}?`) && path.includes('watch='))).toBe(true);
  }, 300_000);
});
