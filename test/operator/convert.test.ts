/** Converted manifests of the alpha API: the NodePool becomes Ready and launches nodes. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { isTrue, type KubeObject, NODE_POOL } from '#api/objects';
import { convertFiles, parseFile, renderFile } from '#cli/testing';
import { deployment, type Scenario, startScenario } from './harness.ts';

const ALPHA = `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: apps}
spec:
  labels: {intent: apps}
  kubeletConfiguration: {maxPods: 58}
  limits: {resources: {cpu: 128}}
  ttlSecondsUntilExpired: 5184000
  providerRef: {name: apps}
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: apps}
spec:
  amiFamily: Bottlerocket
  instanceProfile: converted-nodes
  subnetSelector: {team: converted}
  securityGroupSelector: {team: converted}
`;

describe('a converted manifest', () => {
  let scenario: Scenario;
  beforeAll(async () => {
    scenario = await startScenario();
    const { seed, region } = scenario.world.aws;
    const tags = { team: 'converted' };
    seed.subnet({ zone: `${region}a`, cidr: '172.20.32.0/19', public: true, tags });
    seed.securityGroup({ name: 'converted', tags });
    seed.role('converted-nodes');
    seed.instanceProfile({ name: 'converted-nodes', role: 'converted-nodes' });
    const file = parseFile(ALPHA, 'alpha.yaml');
    expect(convertFiles([file], {}).errors).toEqual([]);
    const objects = parseAllDocuments(renderFile(file)).map((document) => document.toJS() as KubeObject);
    await scenario.apply(...objects);
  });
  afterAll(async () => {
    await scenario.stop();
  });

  it('is accepted, and the NodePool becomes Ready and launches nodes for pods', async () => {
    await scenario.until('a Ready NodePool', async () => {
      const pool = await scenario.kube.find(NODE_POOL, { name: 'apps' });
      return pool !== undefined && isTrue(pool, 'Ready');
    });
    await scenario.apply(deployment('web', 2));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2);
    expect(scenario.instances()[0]?.tags).toMatchObject({ 'karpenter.sh/nodepool': 'apps' });
  });
});
