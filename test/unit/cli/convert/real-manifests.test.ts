/** Input as public repositories contain it: confused API groups, templates, and values of cluster-autoscaler's chart. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runConvert } from './run-convert.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'real-manifests-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const fileWith = (text: string): string => {
  const file = join(folder, 'input.yaml');
  writeFileSync(file, text);
  return file;
};

const NODE_CLASS = (apiVersion: string, discovery: string): string => `apiVersion: ${apiVersion}
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiFamily: AL2023
  role: nodes
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: ${discovery}}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: ${discovery}}}]
`;

describe('an EC2NodeClass in the group of NodePools', () => {
  it.each(['karpenter.sh/v1beta1', 'karpenter.sh/v1'])('is converted to its own group: %s', async (apiVersion) => {
    const { output, errors, code } = await runConvert('-f', fileWith(NODE_CLASS(apiVersion, 'dev')));
    expect(code).toBe(0);
    expect(output).toContain('apiVersion: karpenter.k8s.aws/v1\n');
    expect(errors).toContain('EC2NodeClass is a kind of karpenter.k8s.aws/');
  });
});

describe('a template', () => {
  it.each([
    '"{{ CLUSTER_NAME }}"',
    '{{ .Values.CLUSTER_NAME }}',
    `"$${'{CLUSTER_NAME}'}"`,
  ])('is converted with the values of its placeholders: %s', async (placeholder) => {
    const file = fileWith(NODE_CLASS('karpenter.k8s.aws/v1beta1', placeholder));
    const { output, code } = await runConvert('-f', file, '--set', 'CLUSTER_NAME=dev');
    expect(code).toBe(0);
    expect(output).toMatch(/karpenter\.sh\/discovery: "?dev"?/);
    expect(output).not.toContain('CLUSTER_NAME');
  });

  it('is refused with the options that it needs', async () => {
    const { errors, code } = await runConvert(
      '-f',
      fileWith(NODE_CLASS('karpenter.k8s.aws/v1beta1', '{{ .Values.CLUSTER_NAME }}')),
    );
    expect(code).toBe(1);
    expect(errors).toContain('is a template; set its placeholders with --set Values.CLUSTER_NAME=VALUE, or render it');
  });
});

const VALUES = `autoDiscovery: {clusterName: dev}
awsRegion: eu-west-1
autoscalingGroups:
  - {name: web, minSize: 1, maxSize: 5}
extraArgs:
  expander: priority
  scale-down-unneeded-time: 5m
  skip-nodes-with-local-storage: false
expanderPriorities:
  10: ["web.*"]
`;
const GROUPS = JSON.stringify({
  AutoScalingGroups: [
    {
      ...{ AutoScalingGroupName: 'web', MinSize: 1, MaxSize: 3, DesiredCapacity: 1, AvailabilityZones: ['eu-west-1a'] },
      LaunchTemplate: { LaunchTemplateName: 'web', Version: '1' },
    },
  ],
});
const TEMPLATES = JSON.stringify({
  LaunchTemplateVersions: [
    { LaunchTemplateName: 'web', VersionNumber: 1, LaunchTemplateData: { InstanceType: 'm5.large', ImageId: 'ami-1' } },
  ],
});

describe('the values file of the chart cluster-autoscaler', () => {
  it('has the effects of the flags and priorities that the chart creates', async () => {
    const files = Object.entries({ 'values.yaml': VALUES, 'groups.json': GROUPS, 'templates.json': TEMPLATES });
    for (const [name, text] of files) writeFileSync(join(folder, name), text);
    const { output, errors } = await runConvert(
      'cluster-autoscaler',
      ...files.flatMap(([name]) => ['-f', join(folder, name)]),
      ...['--role', 'nodes'],
    );
    expect(output).toContain('consolidateAfter: 5m');
    expect(output).toMatch(/weight: \d+/);
    expect(errors).toContain('autoDiscovery: --node-group-auto-discovery: ');
    expect(errors).toContain('extraArgs.expander: --expander: priority becomes spec.weight');
    expect(errors).toContain('autoscalingGroups[0]: --nodes: spec.limits of the NodePool of web');
  });

  it('is reported without groups', async () => {
    const { errors, code } = await runConvert('cluster-autoscaler', '-f', fileWith(VALUES));
    expect(code).toBe(0);
    expect(errors).toContain('the files contain no groups; only flags are converted');
  });
});
