import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { NodePool } from '#api/objects';
import { runConvert } from '../run-convert.ts';
import { conversions, files, fixture, TEMPLATE } from './conversions.ts';

const { converted, write } = conversions();
const report = (name: string): string => join(import.meta.dirname, '../../fixtures/reports', name);

const pool = (pools: readonly NodePool[], name: string): NodePool['spec'] =>
  pools.find(({ metadata }) => metadata.name === name)?.spec as NodePool['spec'];
const values = (spec: NodePool['spec'], key: string): readonly string[] | undefined =>
  spec.template.spec.requirements.find((requirement) => requirement.key === key)?.values;

describe('karpenter convert', () => {
  it.each([
    ['eksctl', files(fixture('cluster.yaml'))],
    ['managed-node-groups', files(fixture('nodegroup.json'), fixture('nodegroup-template.json'), TEMPLATE)],
    ['auto-scaling-groups', files(fixture('auto-scaling-groups.json'), TEMPLATE)],
    [
      'cluster-autoscaler',
      files(
        fixture('cluster-autoscaler.yaml'),
        fixture('auto-scaling-groups.json'),
        fixture('nodegroup.json'),
        TEMPLATE,
      ),
    ],
  ])('prints NodePools and EC2NodeClasses with every assumption: %s', async (name, args) => {
    const { output, errors, code } = await converted(name, ...args);
    expect(`${output}\n${errors}`).toMatchSnapshot();
    expect(code).toBe(0);
  });
});

describe('karpenter convert eksctl', () => {
  it('makes one NodePool of groups that differ only in their zone', async () => {
    const { pools, classes } = await converted('eksctl', '-f', fixture('cluster.yaml'));
    expect(pools.map(({ metadata }) => metadata.name)).toEqual(['web', 'selected', 'batch-jobs']);
    const web = pool(pools, 'web');
    expect(values(web, 'topology.kubernetes.io/zone')).toEqual(['eu-central-1a', 'eu-central-1b']);
    expect(web.limits).toEqual({ cpu: '40', memory: '160Gi' });
    expect(classes.find(({ metadata }) => metadata.name === 'web')?.spec).toMatchObject({
      role: 'dev-nodes',
      tags: { 'cost-centre': '42' },
      blockDeviceMappings: [{ deviceName: '/dev/xvda', ebs: { volumeSize: '100Gi', encrypted: true } }],
      metadataOptions: { httpPutResponseHopLimit: 2 },
    });
  });

  const cluster = (group: object, list = 'nodeGroups'): string =>
    write('one.yaml', { kind: 'ClusterConfig', metadata: { name: 'dev' }, [list]: [{ name: 'one', ...group }] });

  it.each<[string, object, object]>([
    ['instanceType', { instanceType: 'm6g.large' }, { arch: ['arm64'], types: ['m6g.large'] }],
    ['nothing', {}, { arch: ['amd64'], types: ['m5.large'] }],
    ['spot', { spot: true }, { capacity: ['spot'] }],
    [
      'all on demand',
      { instancesDistribution: { onDemandPercentageAboveBaseCapacity: 100 } },
      { capacity: ['on-demand'] },
    ],
    ['all spot', { instancesDistribution: { onDemandPercentageAboveBaseCapacity: 0 } }, { capacity: ['spot'] }],
    ['windows', { amiFamily: 'WindowsServer2022FullContainer' }, { os: ['windows'] }],
    ['zones', { availabilityZones: ['a'] }, { zones: ['a'] }],
    ['taints of old', { taints: { a: 'b:NoExecute' } }, { taints: [{ key: 'a', value: 'b', effect: 'NoExecute' }] }],
    ['lifetime', { maxInstanceLifetime: 86_400 }, { expireAfter: '24h' }],
  ])('reads %s into the NodePool', async (_, group, expected) => {
    const { pools } = await converted('eksctl', '-f', cluster(group));
    const spec = pool(pools, 'one');
    const { taints, expireAfter } = spec.template.spec;
    expect({
      arch: values(spec, 'kubernetes.io/arch'),
      types: values(spec, 'node.kubernetes.io/instance-type'),
      capacity: values(spec, 'karpenter.sh/capacity-type'),
      os: values(spec, 'kubernetes.io/os'),
      zones: values(spec, 'topology.kubernetes.io/zone'),
      taints,
      expireAfter,
    }).toMatchObject(expected);
  });

  it.each<[string, object, object]>([
    [
      'an image',
      { ami: 'ami-0abc', amiFamily: 'AmazonLinux2' },
      { amiSelectorTerms: [{ id: 'ami-0abc' }], amiFamily: 'AL2' },
    ],
    ['AL2', { amiFamily: 'AmazonLinux2' }, { amiSelectorTerms: [{ alias: 'al2@latest' }] }],
    ['Ubuntu', { amiFamily: 'Ubuntu2204' }, { amiFamily: 'AL2', amiSelectorTerms: [{ owner: '099720109477' }] }],
    [
      'Bottlerocket volumes',
      { amiFamily: 'Bottlerocket', volumeSize: 10 },
      { blockDeviceMappings: [{ deviceName: '/dev/xvdb' }] },
    ],
    [
      'more volumes',
      {
        volumeIOPS: 4000,
        volumeThroughput: 200,
        volumeKmsKeyID: 'k',
        additionalVolumes: [{ volumeName: '/dev/sdb', volumeSize: 5 }],
      },
      {
        blockDeviceMappings: [
          { deviceName: '/dev/xvda', ebs: { volumeSize: '80Gi', iops: 4000, throughput: 200, kmsKeyID: 'k' } },
          { deviceName: '/dev/sdb', ebs: { volumeSize: '5Gi' } },
        ],
      },
    ],
    [
      'an instance profile',
      { iam: { instanceProfileARN: 'arn:aws:iam::1:instance-profile/p' } },
      { instanceProfile: 'p' },
    ],
    ['a role', { iam: { instanceRoleName: 'r' } }, { role: 'r' }],
    [
      'subnets by tags',
      { privateNetworking: true },
      {
        subnetSelectorTerms: [
          { tags: { 'alpha.eksctl.io/cluster-name': 'dev', 'kubernetes.io/role/internal-elb': '1' } },
        ],
      },
    ],
    [
      'security groups',
      { securityGroups: { attachIDs: ['sg-1'], withShared: false } },
      { securityGroupSelectorTerms: [{ id: 'sg-1' }] },
    ],
    [
      'clusterDNS and pods',
      { clusterDNS: '10.0.0.10', maxPodsPerNode: 20 },
      { kubelet: { clusterDNS: ['10.0.0.10'], maxPods: 20 } },
    ],
    ['IMDS', { disablePodIMDS: true }, { metadataOptions: { httpPutResponseHopLimit: 1 } }],
    ['monitoring', { enableDetailedMonitoring: true }, { detailedMonitoring: true }],
    ['a placement group', { placement: { groupName: 'g' } }, { placementGroupSelector: { name: 'g' } }],
    ['commands', { preBootstrapCommands: ['echo a'] }, { userData: '#!/bin/bash\nset -o errexit\necho a\n' }],
    [
      'a reservation',
      { capacityReservation: { capacityReservationTarget: { capacityReservationID: 'cr-1' } } },
      { capacityReservationSelectorTerms: [{ id: 'cr-1' }] },
    ],
  ])('reads %s into the EC2NodeClass', async (_, group, expected) => {
    const { classes } = await converted('eksctl', '-f', cluster(group, 'managedNodeGroups'));
    expect(classes[0]?.spec).toMatchObject(expected);
  });

  it('uses the given role if none is specified', async () => {
    const { classes, errors } = await converted('eksctl', '-f', cluster({}));
    expect(classes[0]?.spec?.role).toBe('$KARPENTER_NODE_ROLE');
    expect(errors).toContain('set it with --role');
    expect((await converted('eksctl', '-f', cluster({}), '--role', 'mine')).classes[0]?.spec?.role).toBe('mine');
  });

  it('shares one EC2NodeClass among groups with equal nodes', async () => {
    const group = { iam: { instanceRoleName: 'r' } };
    const path = write('shared.yaml', {
      kind: 'ClusterConfig',
      metadata: { name: 'dev' },
      nodeGroups: [
        { ...group, name: 'a', labels: { a: 'a' } },
        { ...group, name: 'b', labels: { b: 'b' } },
      ],
    });
    const { pools, classes } = await converted('eksctl', '-f', path);
    expect(pools).toHaveLength(2);
    expect(classes.map(({ metadata }) => metadata.name)).toEqual(['default']);
  });
});

describe('karpenter convert managed-node-groups', () => {
  const group = (fields: object): string =>
    write('group.json', {
      nodegroup: {
        nodegroupName: 'g',
        clusterName: 'dev',
        nodeRole: 'arn:aws:iam::1:role/r',
        subnets: ['subnet-1'],
        ...fields,
      },
    });

  it.each([
    ['AL2_x86_64', 'al2@latest', 'amd64'],
    ['AL2_ARM_64', 'al2@latest', 'arm64'],
    ['AL2_x86_64_GPU', 'al2@latest', 'amd64'],
    ['AL2023_x86_64_STANDARD', 'al2023@latest', 'amd64'],
    ['AL2023_ARM_64_STANDARD', 'al2023@latest', 'arm64'],
    ['AL2023_x86_64_NVIDIA', 'al2023@latest', 'amd64'],
    ['BOTTLEROCKET_ARM_64', 'bottlerocket@latest', 'arm64'],
    ['BOTTLEROCKET_x86_64_NVIDIA', 'bottlerocket@latest', 'amd64'],
    ['WINDOWS_CORE_2019_x86_64', 'windows2019@latest', 'amd64'],
    ['WINDOWS_FULL_2022_x86_64', 'windows2022@latest', 'amd64'],
    ['SOMETHING_NEW', 'al2023@latest', 'amd64'],
  ])('converts image type %s to %s for %s', async (amiType, alias, arch) => {
    const { pools, classes } = await converted('managed-node-groups', '-f', group({ amiType }));
    expect(classes[0]?.spec?.amiSelectorTerms).toEqual([{ alias }]);
    expect(values(pool(pools, 'g'), 'kubernetes.io/arch')).toEqual([arch]);
  });

  it.each([
    ['SPOT', 'spot'],
    ['ON_DEMAND', 'on-demand'],
    ['CAPACITY_BLOCK', 'reserved'],
  ])('converts capacity type %s to %s', async (capacityType, capacity) => {
    const { pools } = await converted('managed-node-groups', '-f', group({ capacityType }));
    expect(values(pool(pools, 'g'), 'karpenter.sh/capacity-type')).toEqual([capacity]);
  });

  it('reports a missing launch template', async () => {
    const { errors } = await converted('managed-node-groups', '-f', fixture('nodegroup-template.json'));
    expect(errors).toContain('launchTemplate: the files do not contain the launch template');
  });
});

describe('karpenter convert auto-scaling-groups', () => {
  it('selects launch templates by their version', async () => {
    const of = (Version: string): string =>
      write('versions.json', {
        AutoScalingGroups: [
          {
            AutoScalingGroupName: 'g',
            VPCZoneIdentifier: 'subnet-1',
            LaunchTemplate: { LaunchTemplateName: 'custom', Version },
          },
        ],
      });
    for (const [version, type] of [
      ['1', 't3.medium'],
      ['2', 'm5.xlarge'],
      ['$Latest', 'm5.xlarge'],
      ['$Default', 't3.medium'],
    ] as const) {
      const { pools } = await converted('auto-scaling-groups', ...files(of(version), TEMPLATE));
      expect(values(pool(pools, 'g'), 'node.kubernetes.io/instance-type')).toEqual([type]);
    }
  });

  it('selects types according to the policy and not the template', async () => {
    const { pools } = await converted('auto-scaling-groups', ...files(fixture('auto-scaling-groups.json'), TEMPLATE));
    const needs = pool(pools, 'dev-needs');
    expect(values(needs, 'node.kubernetes.io/instance-type')).toBeUndefined();
    expect(values(needs, 'karpenter.k8s.aws/instance-family')).toEqual(['m5', 'm6i']);
    expect(needs.limits).toEqual({ nodes: '8' });
    expect(needs.template.spec.expireAfter).toBe('168h');
  });

  it.each([
    'topology.ebs.csi.aws.com/zone',
    'topology.kubernetes.io/zone',
    'failure-domain.beta.kubernetes.io/zone',
    'topology.efs.csi.aws.com/zone',
    'topology.k8s.aws/zone-id',
    'beta.kubernetes.io/instance-type',
  ])('launches nodes in all zones and types of a group despite the label %s of one node', async (label) => {
    const given = JSON.parse(readFileSync(report('asg.json'), 'utf8'));
    const [group] = given.AutoScalingGroups;
    for (const tag of group.Tags) tag.Key = tag.Key.replace('topology.ebs.csi.aws.com/zone', label);
    const { pools, errors } = await converted(
      'cluster-autoscaler',
      ...files(report('ca.yaml'), write('asg.json', given)),
    );
    const found = pool(pools, 'c1-spot-mixed');
    expect(found.template.metadata?.labels).toEqual({ lifecycle: 'Ec2Spot' });
    expect(values(found, 'topology.kubernetes.io/zone')).toEqual(['us-west-2a', 'us-west-2b']);
    expect(values(found, 'node.kubernetes.io/instance-type')).toHaveLength(3);
    expect(errors).toContain(`label ${label}=us-west-2a is set on each node from its instance`);
    expect(errors.includes('all zones of the group: us-west-2a, us-west-2b')).toBe(/zone$/.test(label));
  });
});

describe('karpenter convert cluster-autoscaler', () => {
  const deployment = (...command: readonly string[]): unknown => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'ca' },
    spec: { template: { spec: { containers: [{ name: 'ca', command: ['./cluster-autoscaler', ...command] }] } } },
  });
  const groups = fixture('nodegroup.json');

  it.each<[string, object]>([
    ['--scale-down-enabled=false', { disruption: { consolidateAfter: 'Never' } }],
    ['--scale-down-unneeded-time=3m', { disruption: { consolidateAfter: '3m' } }],
    ['--max-scale-down-parallelism=4', { disruption: { budgets: [{ nodes: '33%' }, { nodes: '4' }] } }],
    ['--max-graceful-termination-sec=90', { template: { spec: { terminationGracePeriod: '90s' } } }],
    ['--ignore-taint=dedicated', { template: { spec: { startupTaints: [{ key: 'dedicated' }] } } }],
    ['--max-nodes-total=2', { limits: { cpu: '4' } }],
    ['--nodes=0:3:apps', { limits: { cpu: '6' } }],
  ])('applies %s to the NodePools', async (flag, expected) => {
    const path = write('ca.json', deployment(flag));
    const { pools, errors } = await converted('cluster-autoscaler', ...files(path, groups));
    expect(pool(pools, 'apps')).toMatchObject(expected);
    expect(errors).toContain(`command[1]: ${flag.split('=')[0]}: `);
  });

  it.each([
    '--scale-down-utilization-threshold=0.5',
    '--skip-nodes-with-local-storage=false',
    '--expander=random',
    '--cores-total=0:10',
    '--new-pod-scale-up-delay=5s',
    '--scale-down-unneeded-time=soon',
    '--nodes=a:b:c',
    '--unheard-of',
  ])('reports the effect of %s', async (flag) => {
    const { errors, code } = await runConvert('cluster-autoscaler', '-f', write('flag.json', deployment(flag)));
    expect(errors).toMatch(new RegExp(`^(lost|changed): .*command\\[1\\]: ${flag.split('=')[0]}: \\w`, 'm'));
    expect(errors).toContain('the files contain no groups');
    expect(code).toBe(0);
  });

  it('makes weights of priorities, in their order where they are too large', async () => {
    const { pools } = await converted(
      'cluster-autoscaler',
      ...files(fixture('cluster-autoscaler.yaml'), fixture('auto-scaling-groups.json'), TEMPLATE),
    );
    expect(pool(pools, 'dev-search').weight).toBe(2);
    expect(pool(pools, 'dev-needs').weight).toBe(1);
  });

  it.each([
    ['no map', '- a'],
    ['no numbers', 'a: [b]'],
    ['no lists', '10: b'],
    ['no patterns', '10: ["("]'],
    ['no YAML', '{'],
  ])('rejects priorities that are %s', async (_, priorities) => {
    const path = write('priorities.json', { kind: 'ConfigMap', data: { priorities } });
    const { errors, code } = await runConvert('cluster-autoscaler', '-f', path);
    expect(errors).toContain(`${path}, document 1: data.priorities: cannot be parsed as priorities with patterns`);
    expect(code).toBe(1);
  });
});

it('fixtures have the format of the tools', () => {
  expect(JSON.parse(readFileSync(TEMPLATE, 'utf8'))).toHaveProperty('LaunchTemplateVersions');
  expect(parse(readFileSync(fixture('cluster.yaml'), 'utf8'))).toMatchObject({ apiVersion: 'eksctl.io/v1alpha5' });
});
