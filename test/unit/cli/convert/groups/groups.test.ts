import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { EC2NodeClass } from '../../../../../src/api/ec2-nodeclass.ts';
import type { NodePool } from '../../../../../src/api/nodepool.ts';
import { nodePoolErrors } from '../../../../../src/api/nodepool-validation.ts';
import { type Manifest, parseManifests } from '../../../../../src/cli/objects/read.ts';
import { stored } from '../../../../../src/cli/objects/stored.ts';
import { runConvert } from '../run-convert.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures/groups');
const fixture = (name: string): string => join(FIXTURES, name);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'convert-groups-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
const write = (name: string, value: unknown): string => {
  const path = join(folder, name);
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
  return path;
};

const files = (...paths: readonly string[]): readonly string[] => paths.flatMap((path) => ['-f', path]);

/** Runs a conversion whose results the API server and the operator take as they are. */
async function converted(...args: readonly string[]) {
  const { output, errors, code } = await runConvert(...args);
  const manifests: readonly Manifest[] = parseManifests(output, 'result');
  const kept = manifests.map((manifest) => stored(manifest));
  const pools = kept.filter(({ kind }) => kind === 'NodePool') as NodePool[];
  const classes = kept.filter(({ kind }) => kind === 'EC2NodeClass') as EC2NodeClass[];
  expect(pools.flatMap(nodePoolErrors)).toEqual([]);
  const names = classes.map(({ metadata }) => metadata.name);
  for (const { spec } of pools) expect(names).toContain(spec.template.spec.nodeClassRef.name);
  return { output, errors: errors.replaceAll(FIXTURES, '').replaceAll(folder, ''), code, pools, classes };
}

const pool = (pools: readonly NodePool[], name: string): NodePool['spec'] =>
  pools.find(({ metadata }) => metadata.name === name)?.spec as NodePool['spec'];
const values = (spec: NodePool['spec'], key: string): readonly string[] | undefined =>
  spec.template.spec.requirements.find((requirement) => requirement.key === key)?.values;

const TEMPLATE = fixture('launch-template.json');

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
  ])('%s prints NodePools and EC2NodeClasses with every assumption', async (name, args) => {
    const { output, errors, code } = await converted(name, ...args);
    expect(`${output}\n${errors}`).toMatchSnapshot();
    expect(code).toBe(0);
  });
});

describe('karpenter convert eksctl', () => {
  it('makes one NodePool of groups that differ in their zone alone', async () => {
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

  it('takes the role that is given where none is known', async () => {
    const { classes, errors } = await converted('eksctl', '-f', cluster({}));
    expect(classes[0]?.spec?.role).toBe('$KARPENTER_NODE_ROLE');
    expect(errors).toContain('--role sets it');
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
  ])('takes image type %s as %s for %s', async (amiType, alias, arch) => {
    const { pools, classes } = await converted('managed-node-groups', '-f', group({ amiType }));
    expect(classes[0]?.spec?.amiSelectorTerms).toEqual([{ alias }]);
    expect(values(pool(pools, 'g'), 'kubernetes.io/arch')).toEqual([arch]);
  });

  it.each([
    ['SPOT', 'spot'],
    ['ON_DEMAND', 'on-demand'],
    ['CAPACITY_BLOCK', 'reserved'],
  ])('takes capacity type %s as %s', async (capacityType, capacity) => {
    const { pools } = await converted('managed-node-groups', '-f', group({ capacityType }));
    expect(values(pool(pools, 'g'), 'karpenter.sh/capacity-type')).toEqual([capacity]);
  });

  it('says that a launch template is missing', async () => {
    const { errors } = await converted('managed-node-groups', '-f', fixture('nodegroup-template.json'));
    expect(errors).toContain('launchTemplate: the launch template is not among the files');
  });
});

describe('karpenter convert auto-scaling-groups', () => {
  it('finds launch templates by their version', async () => {
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

  it('chooses types by what the policy asks for, not by the template', async () => {
    const { pools } = await converted('auto-scaling-groups', ...files(fixture('auto-scaling-groups.json'), TEMPLATE));
    const needs = pool(pools, 'dev-needs');
    expect(values(needs, 'node.kubernetes.io/instance-type')).toBeUndefined();
    expect(values(needs, 'karpenter.k8s.aws/instance-family')).toEqual(['m5', 'm6i']);
    expect(needs.limits).toEqual({ nodes: '8' });
    expect(needs.template.spec.expireAfter).toBe('168h');
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
  ])('says what becomes of %s', async (flag) => {
    const { errors, code } = await runConvert('cluster-autoscaler', '-f', write('flag.json', deployment(flag)));
    expect(errors).toMatch(new RegExp(`^(lost|changed): .*command\\[1\\]: ${flag.split('=')[0]}: \\w`, 'm'));
    expect(errors).toContain('there are no groups among the files');
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
  ])('refuses priorities that are %s', async (_, priorities) => {
    const path = write('priorities.json', { kind: 'ConfigMap', data: { priorities } });
    const { errors, code } = await runConvert('cluster-autoscaler', '-f', path);
    expect(errors).toContain(`${path}, document 1: data.priorities: cannot be read as priorities with patterns`);
    expect(code).toBe(1);
  });
});

describe('input that cannot be used', () => {
  const named = { nodegroupName: 'g' };
  it.each<[string, string, unknown, RegExp]>([
    ['managed-node-groups', 'no JSON', '{"nodegroup": ', /not valid/],
    ['managed-node-groups', 'a text', '"x"', /expected|must be/],
    ['managed-node-groups', 'nothing', '', /there is no node group/],
    [
      'managed-node-groups',
      'names alone',
      { nodegroups: ['a'] },
      /give what `aws eks describe-nodegroup` prints of each/,
    ],
    ['managed-node-groups', 'something else', { a: 1 }, /expected what `aws eks describe-nodegroup`/],
    ['managed-node-groups', 'a group of no name', { nodegroup: {} }, /nodegroupName: is required/],
    [
      'managed-node-groups',
      'types that are none',
      { nodegroup: { ...named, instanceTypes: 'm5.large' } },
      /instanceTypes: must be a list/,
    ],
    [
      'managed-node-groups',
      'labels that are none',
      { nodegroup: { ...named, labels: ['a'] } },
      /labels: must be an object/,
    ],
    [
      'managed-node-groups',
      'a disk that is none',
      { nodegroup: { ...named, diskSize: '20' } },
      /diskSize: must be a whole number/,
    ],
    [
      'auto-scaling-groups',
      'groups that are none',
      { AutoScalingGroups: { a: 1 } },
      /AutoScalingGroups: must be a list/,
    ],
    [
      'auto-scaling-groups',
      'a group that is none',
      { AutoScalingGroups: ['g'] },
      /AutoScalingGroups\[0\]: must be an object/,
    ],
    [
      'auto-scaling-groups',
      'subnets that are none',
      { AutoScalingGroups: [{ AutoScalingGroupName: 'g', VPCZoneIdentifier: 1 }] },
      /VPCZoneIdentifier: must be text/,
    ],
    ['eksctl', 'no cluster', { kind: 'ConfigMap', metadata: { name: 'a' } }, /there is no ClusterConfig of eksctl/],
    ['eksctl', 'groups that are none', { kind: 'ClusterConfig', nodeGroups: { a: 1 } }, /nodeGroups: must be a list/],
    [
      'eksctl',
      'a selector of nonsense',
      { kind: 'ClusterConfig', nodeGroups: [{ name: 'a', instanceSelector: { memory: 'much' } }] },
      /instanceSelector\.memory: "much" is not an amount/,
    ],
    [
      'eksctl',
      'a flag that is none',
      { kind: 'ClusterConfig', nodeGroups: [{ name: 'a', spot: 'yes' }] },
      /nodeGroups\[0\]\.spot: must be true or false/,
    ],
    [
      'cluster-autoscaler',
      'no autoscaler',
      { kind: 'Deployment', spec: {} },
      /there is no Deployment whose containers run cluster-autoscaler/,
    ],
    [
      'cluster-autoscaler',
      'containers that are none',
      { kind: 'Deployment', spec: { template: { spec: { containers: 'a' } } } },
      /containers: must be a list/,
    ],
  ])('%s refuses %s, naming file and field', async (verb, _, input, message) => {
    const path = write('wrong.json', input);
    const { output, errors, code } = await runConvert(verb, '-f', path);
    expect(errors).toMatch(message);
    expect(errors).toContain(path);
    expect(errors).not.toMatch(/^\s+at /m);
    expect(output).toBe('');
    expect(code).toBe(1);
  });

  it('does not make a NodePool that the API server refuses', async () => {
    const path = write('bad.yaml', {
      kind: 'ClusterConfig',
      nodeGroups: [{ name: 'a', labels: { a: 'no label value!' } }],
    });
    const { errors, code } = await runConvert('eksctl', '-f', path);
    expect(errors).toMatch(/converted NodePool a: spec\.template\.metadata\.labels/);
    expect(code).toBe(1);
  });

  it('tells of user data that it cannot read', async () => {
    const path = write('template.json', {
      LaunchTemplateVersions: [
        {
          LaunchTemplateName: 'custom',
          VersionNumber: 2,
          LaunchTemplateData: { UserData: Buffer.from('[settings.kubernetes\n=').toString('base64') },
        },
      ],
    });
    const group = {
      AutoScalingGroupName: 'g',
      VPCZoneIdentifier: 'subnet-1',
      LaunchTemplate: { LaunchTemplateName: 'custom', Version: '2' },
    };
    const { errors } = await converted(
      'auto-scaling-groups',
      ...files(write('g.json', { AutoScalingGroups: [group] }), path),
    );
    expect(errors).toContain('LaunchTemplateData.UserData: user data that cannot be read');
  });
});

describe('--pods', () => {
  const meta = (name: string, more: object = {}): object => ({
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    ...more,
  });
  const node = (name: string, labels: object): object => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: meta(name, {
      labels: {
        'node.kubernetes.io/instance-type': 'm6g.large',
        'topology.kubernetes.io/zone': 'eu-central-1a',
        'topology.kubernetes.io/region': 'eu-central-1',
        'kubernetes.io/arch': 'arm64',
        'kubernetes.io/os': 'linux',
        ...labels,
      },
    }),
    spec: { providerID: `aws:///eu-central-1a/i-${name}` },
    status: {
      allocatable: { cpu: '1930m', memory: '7000Mi', pods: '29' },
      capacity: { cpu: '2', memory: '8Gi', pods: '29' },
    },
  });
  const pod = (name: string, spec: object, owner?: string): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: meta(name, {
      namespace: 'default',
      ...(owner ? { ownerReferences: [{ kind: owner, name: 'o', uid: 'o' }] } : {}),
    }),
    spec: { nodeName: 'one', tolerations: [{ key: 'dedicated', operator: 'Exists' }], ...spec },
    status: { phase: 'Running' },
  });
  const requests = (cpu: string): object => ({ containers: [{ name: 'c', resources: { requests: { cpu } } }] });
  const dump = (...pods: readonly object[]): string =>
    write('now.json', {
      apiVersion: 'v1',
      kind: 'List',
      items: [
        node('one', {}),
        node('two', { 'eks.amazonaws.com/capacityType': 'SPOT' }),
        node('kept', { 'eks.amazonaws.com/compute-type': 'fargate' }),
        ...pods,
      ],
    });
  const run = (path: string) =>
    runConvert('managed-node-groups', '-f', fixture('nodegroup.json'), '--pods', path, '--now', '2026-01-01T00:00:00Z');

  it('proves that the present pods fit, and says what nodes cost now and then', async () => {
    const path = dump(
      pod('web', requests('500m'), 'ReplicaSet'),
      pod('proxy', requests('100m'), 'DaemonSet'),
      pod('static', requests('100m'), 'Node'),
      pod('fargate', { ...requests('1'), nodeName: 'kept' }, 'ReplicaSet'),
    );
    const { errors, code } = await run(path);
    expect(errors).toMatch(/^now: +2 nodes for \$0\.1[0-9]+\/h$/m);
    expect(errors).toMatch(/^afterwards: 1 node for \$0\.0[0-9]+\/h$/m);
    expect(errors).toContain('1 new node for');
    expect(errors).toContain('0 pods unschedulable');
    expect(code).toBe(0);
  });

  it('names the pods that would not fit, and why, and ends with 2', async () => {
    const { output, errors, code } = await run(
      dump(pod('huge', requests('64'), 'ReplicaSet'), pod('web', requests('1'))),
    );
    expect(code).toBe(2);
    expect(errors).toMatch(/UNSCHEDULABLE\n {2}default\/huge: /);
    expect(errors).toContain('1 pod unschedulable');
    expect(parseManifests(output, 'result')).toHaveLength(2);
  });

  it('respects the limits that the groups had', async () => {
    const pods = Array.from({ length: 14 }, (_, index) => pod(`p${index}`, requests('1500m')));
    const { errors, code } = await run(dump(...pods));
    expect(code).toBe(2);
    expect(errors).toMatch(/8 pods unschedulable/);
  });
});

it('fixtures are what the tools print', () => {
  expect(JSON.parse(readFileSync(TEMPLATE, 'utf8'))).toHaveProperty('LaunchTemplateVersions');
  expect(parse(readFileSync(fixture('cluster.yaml'), 'utf8'))).toMatchObject({ apiVersion: 'eksctl.io/v1alpha5' });
});
