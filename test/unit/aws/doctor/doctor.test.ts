import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, NODE_POOL } from '../../../../src/api/kinds.ts';
import { missingFields } from '../../../../src/aws/doctor/cluster.ts';
import { examine, type Finding } from '../../../../src/aws/doctor/doctor.ts';
import { startWorld, type World } from '../../../../src/local/world.ts';

const CLUSTER = 'test';

let folder: string;
let world: World;
beforeEach(async () => {
  world = await startWorld({ clusterName: CLUSTER });
  Object.assign(process.env, world.aws.env());
  folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  writeFileSync(join(folder, 'kubeconfig'), world.kube.kubeconfig());
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await world.stop();
});

const run = () =>
  examine({
    clusterName: CLUSTER,
    interruptionQueue: CLUSTER,
    kubeconfig: join(folder, 'kubeconfig'),
    version: '0.1.0',
  });

const of = (findings: readonly Finding[], subject: string): readonly Finding[] =>
  findings.filter((finding) => finding.subject === subject);

const discovery = [{ tags: { 'karpenter.sh/discovery': CLUSTER } }];
const apply = async (spec: object = {}): Promise<void> => {
  await world.kube.client.create(EC2_NODE_CLASS, {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default' },
    spec: {
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      role: `KarpenterNodeRole-${CLUSTER}`,
      subnetSelectorTerms: discovery,
      securityGroupSelectorTerms: discovery,
      ...spec,
    },
  });
  await world.kube.client.create(NODE_POOL, {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'default' },
    spec: {
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
          requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
        },
      },
    },
  });
};

describe('doctor', () => {
  it('finds nothing wrong with the local world, and changes nothing in it', async () => {
    await apply();
    const before = world.aws.calls.counts();
    const findings = await run();
    expect(findings.filter(({ level }) => level === 'error')).toEqual([]);
    for (const subject of [
      'identity',
      'EKS cluster test',
      'ec2:DescribeSubnets',
      'CRD nodepools.karpenter.sh',
      'NodePool default',
    ])
      expect(of(findings, subject)).toMatchObject([{ level: 'ok' }]);
    expect(of(findings, 'EC2NodeClass default').map(({ message }) => message)).toEqual([
      expect.stringMatching(/^\d+ subnets in us-west-2a, us-west-2b, us-west-2c$/),
      expect.stringMatching(/^security groups sg-/),
      expect.stringMatching(/^\d images, newest /),
      'role KarpenterNodeRole-test',
      expect.stringMatching(/^a m5.large could be started in subnet-/),
    ]);
    const made = Object.keys(world.aws.calls.counts()).filter((action) => !(action in before));
    expect(made.filter((action) => !/^(Describe|Get|List)/.test(action))).toEqual(['RunInstances']);
    expect(world.aws.instances.list()).toEqual([]);
    expect(findings.every(({ level, fix }) => (level === 'ok') === (fix === undefined))).toBe(true);
  });

  it('names the right that is missing and the policy that gives it', async () => {
    const code = 'UnauthorizedOperation';
    world.aws.faults.add({ kind: 'error', action: 'DescribeSpotPriceHistory', code, status: 403 });
    expect(of(await run(), 'ec2:DescribeSpotPriceHistory')).toMatchObject([
      { level: 'error', fix: expect.stringContaining('KarpenterControllerResourceDiscoveryPolicy') },
    ]);
  });

  it.each<[string, object, RegExp]>([
    ['subnets', { subnetSelectorTerms: [{ tags: { no: 'where' } }] }, /^spec.subnetSelectorTerms matches nothing/],
    ['images', { amiSelectorTerms: [{ alias: 'al2023@v20010101' }] }, /^spec.amiSelectorTerms/],
    ['the role', { role: 'nobody' }, /^role nobody does not exist/],
    ['the profile', { role: undefined, instanceProfile: 'none' }, /^instance profile none does not exist/],
    ['the placement group', { placementGroupSelector: { name: 'none' } }, /^its placement group/],
  ])('says that a NodeClass names %s in vain', async (_, spec, message) => {
    await apply(spec);
    const wrong = of(await run(), 'EC2NodeClass default').filter(({ level }) => level === 'error');
    expect(wrong).toMatchObject([{ message: expect.stringMatching(message), fix: expect.any(String) }]);
  });

  it('says that a queue, a cluster or the NodeClass of a pool does not exist', async () => {
    await apply();
    await world.kube.client.delete(EC2_NODE_CLASS, { name: 'default' });
    const findings = await examine({
      clusterName: 'other',
      interruptionQueue: 'other',
      kubeconfig: join(folder, 'kubeconfig'),
      version: '0.1.0',
    });
    for (const subject of ['queue other', 'EKS cluster other', 'NodePool default'])
      expect(of(findings, subject)).toMatchObject([{ level: 'error' }]);
  });

  it('asks for the name of the cluster where it finds no installation', async () => {
    const options = { kubeconfig: join(folder, 'kubeconfig'), version: '0.1.0' };
    await expect(examine(options)).rejects.toThrow('set --cluster-name');
  });
});

describe('missingFields', () => {
  const text = { type: 'string' };
  const schema = (spec: object) => ({ type: 'object', properties: { spec: { type: 'object', properties: spec } } });
  it('names what an older schema lacks', () => {
    const list = (inner: object) => ({ type: 'array', items: { type: 'object', properties: inner } });
    const wanted = schema({ a: text, b: text, c: list({ d: text, e: text }) });
    expect(missingFields(wanted, wanted)).toEqual([]);
    expect(missingFields(wanted, schema({ a: text, c: list({ d: text }) }))).toEqual(['.spec.b', '.spec.c[].e']);
    expect(missingFields(schema({ a: text }), wanted)).toEqual([]);
  });
});
