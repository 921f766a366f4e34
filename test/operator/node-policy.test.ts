/** NodePolicies over HTTP. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { getCondition, isTrue, type Kind, NODE_POLICY, NODE_POOL } from '#api/objects';
import { customResourceDefinition } from '#api/schema';
import type { CustomResourceDefinition } from '#api/testing';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

const CRD: Kind<CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
const DEFINITION = { name: `${NODE_POLICY.plural}.${NODE_POLICY.group}` };

let scenario: Scenario;
afterEach(() => scenario.stop());

const errors = (): readonly string[] =>
  scenario.log.filter(({ level }) => level === 'ERROR').map((line) => JSON.stringify(line));

describe('NodePolicies', () => {
  it('are optional: without their kind the operator works without an error, and reads the kind when it appears', async () => {
    scenario = await startScenario({ ...BRISK, operator: false });
    await scenario.kube.delete(CRD, DEFINITION);
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }));
    await scenario.startOperator();
    await scenario.until('a ready NodePool', async () => {
      const found = await scenario.kube.find(NODE_POOL, { name: 'default' });
      return found !== undefined && isTrue(found, 'Ready');
    });
    await scenario.apply(deployment('web', 1));
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    expect(errors()).toEqual([]);

    const definition = customResourceDefinition(NODE_POLICY.kind);
    if (definition === undefined) throw new Error('there is no definition of NodePolicy');
    await scenario.kube.create(CRD, definition);
    await scenario.apply(
      ...['first', 'second'].map((name) => ({
        apiVersion: 'karpenter-ts.sh/v1alpha1',
        kind: 'NodePolicy',
        metadata: { name },
        spec: { windows: { timeZone: 'Europe/Nowhere', allowed: [{ start: '20:00' }] } },
      })),
    );
    await scenario.until('the conditions', async () => {
      const { items } = await scenario.kube.list(NODE_POLICY);
      const overruled = items.filter((policy) => isTrue(policy, 'Overruled'));
      return overruled.length === 1 && items.every((policy) => getCondition(policy, 'Ready')?.status === 'False');
    });
    expect(errors()).toEqual([]);
  }, 120_000);
});
