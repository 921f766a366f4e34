/** `karpenter migrate status` against the local world: its API server and its AWS, over HTTP. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DescribeImagesCommand, RunInstancesCommand } from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DEPLOYMENT, EC2_NODE_CLASS, NODE, NODE_POOL, type Node, type Workload } from '#api/objects';
import { createClients } from '#aws/testing';
import { openFence } from '#kube/client';
import { startWorld, type World } from '#local/world';
import type { Item } from '../../../../src/cli/migrate/items.ts';
import type { MigrationPlan } from '../../../../src/cli/migrate/plan/step.ts';
import type { Status } from '../../../../src/cli/migrate/status.ts';
import { migrateCommand } from '../../../../src/cli/migrate.ts';
import { failRequests } from '../../../support/api-server-faults.ts';
import { nodeClassOf, nodePoolOf } from '../../../support/awsobjects.ts';
import { catalogueOf } from '../../../support/catalogue.ts';
import { connect } from '../../../support/kube-api.ts';
import { karpenter, managed, node } from './clusters.ts';

const CLUSTER = 'shop';

let world: World;
let folder: string;
beforeEach(async () => {
  world = await startWorld({ clusterName: CLUSTER, aws: { catalogue: catalogueOf(/^(m5|m6g|t3)\./) } });
  Object.assign(process.env, world.aws.env());
  folder = mkdtempSync(join(tmpdir(), 'migrate-'));
  writeFileSync(join(folder, 'kubeconfig'), world.kube.kubeconfig());
});
afterEach(async () => {
  process.exitCode = undefined;
  rmSync(folder, { recursive: true });
  await world.stop();
});

async function status(...args: readonly string[]): Promise<Status & { readonly code: unknown }> {
  const source = args.length > 0 ? args : ['--kubeconfig', join(folder, 'kubeconfig')];
  const text = await printed('status', '-o', 'json', ...source);
  return { ...(JSON.parse(text) as Status), code: process.exitCode };
}

async function printed(...args: readonly string[]): Promise<string> {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await migrateCommand('0').parseAsync([...args], { from: 'user' });
    return written.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    written.mockRestore();
  }
}
const about = ({ items }: Status, subject: string): readonly Item[] => items.filter((item) => item.subject === subject);

const populate = async (tag: string): Promise<void> => {
  const client = connect(world.kube.url);
  await client.create(DEPLOYMENT, karpenter(tag) as Workload);
  await client.create(EC2_NODE_CLASS, nodeClassOf(CLUSTER));
  await client.create(NODE_POOL, nodePoolOf());
  await client.create(NODE, managed('host-a', 'system') as Node);
  await client.create(NODE, managed('host-b', 'system', 'us-east-1b') as Node);
};

/** Launches an instance without an owner and returns its ID. */
async function instance(tags: Readonly<Record<string, string>>): Promise<string> {
  const { ec2 } = await createClients({ fence: openFence() });
  const { Images: [image] = [] } = await ec2.send(new DescribeImagesCommand({ Owners: ['amazon'] }));
  const { Instances: [started] = [] } = await ec2.send(
    new RunInstancesCommand({
      ImageId: image?.ImageId ?? '',
      InstanceType: 'm5.large',
      MinCount: 1,
      MaxCount: 1,
      TagSpecifications: [
        {
          ResourceType: 'instance',
          Tags: Object.entries({ team: 'a', ...tags }).map(([Key, Value]) => ({ Key, Value })),
        },
      ],
    }),
  );
  return started?.InstanceId ?? '';
}

describe('migrate status of a live cluster', () => {
  it('reports the version, permissions, the spot role and missing parts', async () => {
    await populate('0.37.0');
    const found = await status();
    expect(found).toMatchObject({ stage: 'beta', code: 2 });
    expect(about(found, 'Karpenter kube-system/karpenter')).toMatchObject([{ state: 'todo' }]);
    for (const subject of ['identity', 'EKS cluster shop', 'ec2:DescribeSubnets', 'instances of Provisioners'])
      expect(about(found, subject)).toMatchObject([{ area: 'account', state: 'ok' }]);
    expect(about(found, 'AWSServiceRoleForEC2Spot')).toHaveLength(1);
    // The local AWS has no EventBridge.
    expect(found.items.filter(({ state }) => state === 'unknown').map(({ subject }) => subject)).toEqual([
      'EventBridge rules for shop',
    ]);
  });

  it('changes no object', async () => {
    await populate('1.14.1');
    const pools = async () => (await connect(world.kube.url).list(NODE_POOL)).items;
    const before = await pools();
    await status();
    expect(await pools()).toEqual(before);
    const writes = Object.keys(world.aws.calls.counts()).filter(
      (action) => !/^(Describe|Get|List|Simulate)/.test(action),
    );
    expect(writes).toEqual([]);
  });

  it('reports instances of Provisioners without a node', async () => {
    await populate('1.14.1');
    const id = await instance({
      'karpenter.sh/provisioner-name': 'default',
      [`kubernetes.io/cluster/${CLUSTER}`]: 'owned',
    });
    expect(id).toMatch(/^i-/);
    expect(about(await status(), 'instances of Provisioners')).toMatchObject([
      { state: 'todo', next: `check the instances, then run: aws ec2 terminate-instances --instance-ids ${id}` },
    ]);
    const own = node('old', { 'karpenter.sh/provisioner-name': 'default' }) as Node;
    await world.kube.client.create(NODE, { ...own, spec: { providerID: `aws:///us-west-2a/${id}` } });
    expect(about(await status(), 'instances of Provisioners')).toMatchObject([{ state: 'ok' }]);
  });

  it('reports denied requests as unknown and continues', async () => {
    await populate('1.14.1');
    failRequests(world.kube.server, {
      match: /\/pods\?|validatingwebhook|configmaps/,
      status: 403,
      message: 'forbidden',
    });
    world.aws.faults.add({ kind: 'error', action: 'GetRole', code: 'AccessDenied', status: 403 });
    const found = await status();
    for (const subject of [
      'pods and workloads',
      'validating webhooks',
      'karpenter-global-settings',
      'AWSServiceRoleForEC2Spot',
    ])
      expect(about(found, subject)).toMatchObject([{ state: 'unknown', next: expect.any(String) }]);
    expect(found.code).toBe(2);
  });

  it('reports the account as unknown without credentials, and for a file', async () => {
    await populate('1.14.1');
    delete process.env.AWS_REGION;
    process.env.AWS_EC2_METADATA_DISABLED = 'true';
    expect(about(await status(), 'AWS account')).toMatchObject([
      { state: 'unknown', message: expect.stringContaining('the AWS region is unknown') },
    ]);
    const file = join(folder, 'now.json');
    writeFileSync(file, JSON.stringify(karpenter('1.14.1')));
    expect(about(await status('-f', file), 'AWS account')).toMatchObject([
      { message: 'cannot be checked from a file' },
    ]);
  });
});

describe('migrate plan of a live cluster', () => {
  const source = () => ['--kubeconfig', join(folder, 'kubeconfig')];

  it('contains the names of its groups, including Auto Scaling groups, and changes no object', async () => {
    const id = await instance({});
    // Only AWS may write such tags.
    const machine = world.aws.instances.get(id) ?? {};
    Object.assign(machine, { tags: { 'aws:autoscaling:groupName': 'shop-workers-asg' } });
    const client = connect(world.kube.url);
    await client.create(NODE, managed('host-a', 'system') as Node);
    await client.create(NODE, { ...(node('own', {}) as Node), spec: { providerID: `aws:///us-west-2a/${id}` } });
    const before = (await client.list(NODE)).items.length;
    const text = await printed('plan', ...source());
    expect(text).toContain('# A cluster: from cluster-autoscaler to this operator');
    expect(text).toMatch(
      /^aws autoscaling update-auto-scaling-group --auto-scaling-group-name shop-workers-asg --min-size 0/m,
    );
    expect(text).toContain('kubectl drain own --ignore-daemonsets');
    expect(process.exitCode).toBeUndefined();
    expect((await client.list(NODE)).items).toHaveLength(before);
  });

  it('has a placeholder if AWS does not return the group', async () => {
    await world.kube.client.create(NODE, node('own', {}) as Node);
    world.aws.faults.add({ kind: 'error', action: 'DescribeInstances', code: 'UnauthorizedOperation', status: 403 });
    const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    const found = JSON.parse(
      await printed('plan', '-o', 'json', '--cluster-name', CLUSTER, ...source()),
    ) as MigrationPlan;
    expect(found).toMatchObject({ from: 'cluster-autoscaler', cluster: CLUSTER });
    expect(found.open).toContainEqual(expect.stringContaining('GROUP is its placeholder'));
    expect(noted.mock.calls.map(([line]) => String(line)).join('')).toContain(
      'the Auto Scaling groups of 1 nodes are unknown',
    );
    noted.mockRestore();
  });

  it('can be computed from a snapshot', async () => {
    await populate('0.37.0');
    const file = join(folder, 'now.json');
    writeFileSync(file, JSON.stringify(karpenter('0.37.0')));
    expect(JSON.parse(await printed('plan', '-f', file, '-o', 'json'))).toMatchObject({
      from: 'karpenter',
      guessed: 'Karpenter 0.37.0 is running',
    });
  });
});
