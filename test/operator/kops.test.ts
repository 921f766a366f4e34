/**
 * A kOps cluster: custom AMIs behind SSM parameters, a custom instance profile, and a bootstrap script as user data.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { EC2_NODE_CLASS, isTrue, type KubeObject } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';

const NAME = 'my-cluster.example.com';
const SCRIPT = ['#!/bin/bash', 'set -o errexit', 'NODEUP_URL=https://artifacts.example.com/nodeup', 'run-nodeup'].join(
  '\n',
);
const PARAMETER = (architecture: string): string =>
  `/aws/service/canonical/ubuntu/server/24.04/stable/current/${architecture}/hvm/ebs-gp3/ami-id`;

const NODE_CLASS = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  amiFamily: Custom
  amiSelectorTerms:
    - ssmParameter: ${PARAMETER('amd64')}
    - ssmParameter: ${PARAMETER('arm64')}
  associatePublicIPAddress: true
  tags:
    KubernetesCluster: ${NAME}
    kops.k8s.io/instancegroup: nodes
    k8s.io/role/node: "1"
  subnetSelectorTerms:
    - tags:
        KubernetesCluster: ${NAME}
  securityGroupSelectorTerms:
    - tags:
        KubernetesCluster: ${NAME}
        Name: nodes.${NAME}
  instanceProfile: nodes.${NAME}
  userData: |
    ${SCRIPT.replaceAll('\n', '\n    ')}
`;

const NODE_POOL = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: ["amd64", "arm64"]
        - key: kubernetes.io/os
          operator: In
          values: ["linux"]
        - key: karpenter.sh/capacity-type
          operator: In
          values: ["on-demand", "spot"]
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
`;

describe('a kOps cluster', () => {
  let scenario: Scenario;
  beforeAll(async () => {
    scenario = await startScenario();
    const { seed, region } = scenario.world.aws;
    const tags = { KubernetesCluster: NAME };
    seed.subnet({ zone: `${region}a`, cidr: '172.20.32.0/19', public: true, tags });
    seed.subnet({ zone: `${region}b`, cidr: '172.20.64.0/19', public: true, tags });
    seed.securityGroup({ name: `nodes.${NAME}`, tags: { ...tags, Name: `nodes.${NAME}` } });
    seed.role(`nodes.${NAME}`);
    seed.instanceProfile({ name: `nodes.${NAME}`, role: `nodes.${NAME}` });
    for (const [name, architecture] of [
      ['amd64', 'x86_64'],
      ['arm64', 'arm64'],
    ] as const)
      seed.parameter(
        PARAMETER(name),
        seed.image({ name: `ubuntu-24.04-${name}`, architecture, ownerId: '099720109477' }),
      );
    await scenario.apply(parse(NODE_CLASS) as KubeObject, parse(NODE_POOL) as KubeObject);
  });
  afterAll(async () => {
    await scenario.stop();
  });

  it('gets a Ready EC2NodeClass with both images and the given instance profile', async () => {
    const ready = await scenario.until('a Ready EC2NodeClass', async () => {
      const nodeClass = await scenario.kube.find(EC2_NODE_CLASS, { name: 'default' });
      return nodeClass !== undefined && isTrue(nodeClass, 'Ready') && nodeClass;
    });
    expect(ready.status?.amis).toHaveLength(2);
    expect(ready.status?.subnets).toHaveLength(2);
    expect(ready.status?.instanceProfile).toBe(`nodes.${NAME}`);
  });

  it('gets nodes for its pods, with the unchanged script and the specified tags', async () => {
    await scenario.apply(deployment('web', 3));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 3);
    const [instance] = scenario.instances();
    expect(instance?.userData.trim()).toBe(SCRIPT);
    expect(instance?.instanceProfile).toBe(`nodes.${NAME}`);
    expect(instance?.imageName).toMatch(/^ubuntu-24\.04-/);
    expect(instance?.tags).toMatchObject({
      KubernetesCluster: NAME,
      'kops.k8s.io/instancegroup': 'nodes',
      'karpenter.sh/nodepool': 'default',
    });
  });
});
