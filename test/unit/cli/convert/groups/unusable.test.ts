import { describe, expect, it } from '@jest/globals';
import { runConvert } from '../run-convert.ts';
import { conversions, files } from './conversions.ts';

const { converted, write } = conversions();

describe('an input that cannot be used', () => {
  const named = { nodegroupName: 'g' };
  it.each<[string, string, unknown, RegExp]>([
    ['managed-node-groups', 'no JSON', '{"nodegroup": ', /not valid/],
    ['managed-node-groups', 'a text', '"x"', /expected|must be/],
    ['managed-node-groups', 'nothing', '', /no node group found/],
    [
      'managed-node-groups',
      'names alone',
      { nodegroups: ['a'] },
      /use the output of `aws eks describe-nodegroup` for each group/,
    ],
    ['managed-node-groups', 'something else', { a: 1 }, /expected the output of `aws eks describe-nodegroup`/],
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
      /diskSize: must be an integer/,
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
      /VPCZoneIdentifier: must be a string/,
    ],
    ['eksctl', 'no cluster', { kind: 'ConfigMap', metadata: { name: 'a' } }, /no ClusterConfig of eksctl found/],
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
      /no Deployment and no chart values of cluster-autoscaler found/,
    ],
    [
      'cluster-autoscaler',
      'containers that are none',
      { kind: 'Deployment', spec: { template: { spec: { containers: 'a' } } } },
      /containers: must be a list/,
    ],
  ])('rejects, for %s, %s with the file and the field', async (verb, _, input, message) => {
    const path = write('wrong.json', input);
    const { output, errors, code } = await runConvert(verb, '-f', path);
    expect(errors).toMatch(message);
    expect(errors).toContain(path);
    expect(errors).not.toMatch(/^\s+at /m);
    expect(output).toBe('');
    expect(code).toBe(1);
  });

  it('rejects a NodePool that the API server would reject', async () => {
    const path = write('bad.yaml', {
      kind: 'ClusterConfig',
      nodeGroups: [{ name: 'a', labels: { a: 'no label value!' } }],
    });
    const { errors, code } = await runConvert('eksctl', '-f', path);
    expect(errors).toMatch(/converted NodePool a: spec\.template\.metadata\.labels/);
    expect(code).toBe(1);
  });

  it('reports user data that it cannot read', async () => {
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
    expect(errors).toContain('LaunchTemplateData.UserData: the user data cannot be parsed');
  });
});
