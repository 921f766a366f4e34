import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateLaunchTemplateCommand, DescribeImagesCommand, RunInstancesCommand } from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { DEPLOYMENT, EC2_NODE_CLASS, type EC2NodeClass, NODE_POLICY, NODE_POOL, type Workload } from '#api/objects';
import type { Finding } from '#cloud';
import { openFence } from '#kube/client';
import { VERSION } from '#lib';
import { startWorld, type World } from '#local/world';
import { createClients } from '../../../../src/aws/clients.ts';
import { missingFields } from '../../../../src/aws/doctor/cluster.ts';
import { examine } from '../../../../src/aws/doctor/doctor.ts';
import { controllerRole, findingsOf, roleOfSession } from '../../../../src/aws/doctor/simulation.ts';
import { nodeClassOf, nodePoolOf } from '../../../support/awsobjects.ts';
import { catalogueOf } from '../../../support/catalogue.ts';
import { rendered } from '../../charts/render.ts';

const CLUSTER = 'test';
const WRITES = ['CreateLaunchTemplate', 'CreateFleet', 'DeleteLaunchTemplate', 'TerminateInstances', 'CreateTags'];

let folder: string;
let world: World;
beforeEach(async () => {
  world = await startWorld({ clusterName: CLUSTER, aws: { catalogue: catalogueOf(/^(m5|m6g|t3)\./) } });
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

const apply = async (spec: Partial<EC2NodeClass['spec']> = {}): Promise<void> => {
  await world.kube.client.create(EC2_NODE_CLASS, nodeClassOf(CLUSTER, spec));
  await world.kube.client.create(
    NODE_POOL,
    nodePoolOf({ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }),
  );
};

describe('doctor', () => {
  it('reports no error for the local world and changes no object', async () => {
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
      expect.stringMatching(/^a m5.large could be launched in subnet-/),
    ]);
    const made = Object.keys(world.aws.calls.counts()).filter((action) => !(action in before));
    const writes = made.filter((action) => !/^(Describe|Get|List|Simulate)/.test(action));
    expect(writes.sort()).toEqual([...WRITES, 'RunInstances'].sort());
    for (const action of writes)
      for (const { input } of world.aws.calls.recorded(action)) expect(input.DryRun).toBe(true);
    for (const action of WRITES) expect(of(findings, `ec2:${action}`)).toMatchObject([{ level: 'ok' }]);
    expect(world.aws.instances.list()).toEqual([]);
    expect(findings.every(({ level, fix }) => (level === 'ok') === (fix === undefined))).toBe(true);
  });

  it('names a missing permission and the policy that grants it', async () => {
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
  ])('reports that a NodeClass selects %s that does not exist', async (_, spec, message) => {
    await apply(spec);
    const wrong = of(await run(), 'EC2NodeClass default').filter(({ level }) => level === 'error');
    expect(wrong).toMatchObject([{ message: expect.stringMatching(message), fix: expect.any(String) }]);
  });

  it('names an open reservation that no NodeClass selects, with its price per day, and a scheduled one that it selects', async () => {
    const idle = world.aws.seed.capacityReservation({ instanceType: 'm5.large', zone: 'us-west-2a', total: 3 });
    const tags = { team: 'training' };
    const startDateMs = Date.parse('2099-01-01T00:00:00Z');
    world.aws.seed.capacityReservation({
      ...{ instanceType: 'm5.large', zone: 'us-west-2a', total: 2, tags, startDateMs },
      reservationType: 'capacity-block',
    });
    await apply({ capacityReservationSelectorTerms: [{ tags }] });
    const findings = await run();
    expect(of(findings, `capacity reservation ${idle}`)).toMatchObject([
      {
        level: 'warning',
        message: expect.stringContaining('has 3 unused m5.large instances in us-west-2a, which cost $6.91'),
      },
    ]);
    expect(of(findings, 'EC2NodeClass default').map(({ message }) => message)).toContainEqual(
      expect.stringMatching(
        /^selects capacity block cr-\S+ of 2 m5.large in us-west-2a, which starts at 2099-01-01T00:00:00Z/,
      ),
    );
  });

  it('reports a missing queue, a missing cluster and a missing NodeClass', async () => {
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

  it.each([
    ['nothing to say of the chart that goes with it', VERSION, 'ok'],
    ['a warning of the chart of another version', '0.0.1', 'warning'],
  ])('has %s', async (_, version, level) => {
    await apply();
    const documents = parseAllDocuments(rendered().yaml).map((document): Workload => document.toJS());
    const deployment = documents.find(({ kind }) => kind === 'Deployment') as Workload;
    await world.kube.client.create(DEPLOYMENT, deployment);
    const options = { clusterName: CLUSTER, interruptionQueue: CLUSTER, kubeconfig: join(folder, 'kubeconfig') };
    expect(of(await examine({ ...options, version }), 'Deployment kube-system/karpenter')).toMatchObject([{ level }]);
  });

  it('requires the cluster name if there is no installation', async () => {
    const options = { kubeconfig: join(folder, 'kubeconfig'), version: '0.1.0' };
    await expect(examine(options)).rejects.toThrow('set --cluster-name');
  });
});

describe('a dry run of a write', () => {
  it.each(WRITES)('reports ec2:%s and its policy if access is denied', async (action) => {
    await apply();
    world.aws.faults.add({ kind: 'error', action, code: 'UnauthorizedOperation', status: 403 });
    expect(of(await run(), `ec2:${action}`)).toMatchObject([
      { level: 'error', fix: expect.stringContaining('KarpenterControllerNodeLifecyclePolicy') },
    ]);
  });

  it('includes a reboot only if a NodePolicy uses the action', async () => {
    await apply();
    expect(of(await run(), 'ec2:RebootInstances')).toEqual([]);
    const conditions = [{ type: 'KernelReady', status: 'False', toleration: '5m', action: 'Reboot' }] as const;
    await world.kube.client.create(NODE_POLICY, {
      apiVersion: 'karpenter-ts.sh/v1alpha1',
      kind: 'NodePolicy',
      metadata: { name: 'reboot' },
      spec: { repair: { conditions: [...conditions] } },
    });
    expect(of(await run(), 'ec2:RebootInstances')).toMatchObject([{ level: 'ok' }]);
    world.aws.faults.add({ kind: 'error', action: 'RebootInstances', code: 'UnauthorizedOperation', status: 403 });
    expect(of(await run(), 'ec2:RebootInstances')).toMatchObject([
      { level: 'warning', fix: expect.stringContaining('KarpenterControllerNodeLifecyclePolicy') },
    ]);
  });

  it('uses an existing instance and launch template of the cluster', async () => {
    await apply();
    const { ec2 } = await createClients({ fence: openFence() });
    const tags = [{ Key: 'eks:eks-cluster-name', Value: CLUSTER }];
    await ec2.send(
      new CreateLaunchTemplateCommand({
        LaunchTemplateName: 'theirs',
        LaunchTemplateData: { ImageId: 'ami-1' },
        TagSpecifications: [{ ResourceType: 'launch-template', Tags: tags }],
      }),
    );
    const { Images: [image] = [] } = await ec2.send(new DescribeImagesCommand({}));
    await ec2.send(
      new RunInstancesCommand({
        MinCount: 1,
        MaxCount: 1,
        InstanceType: image?.Architecture === 'arm64' ? 'm6g.large' : 'm5.large',
        ImageId: image?.ImageId,
        TagSpecifications: [{ ResourceType: 'instance', Tags: tags }],
      }),
    );
    const findings = await run();
    expect(of(findings, 'ec2:TerminateInstances')).toMatchObject([{ level: 'ok', message: 'allowed' }]);
    const [instance] = world.aws.instances.list();
    const [terminate] = world.aws.calls.recorded('TerminateInstances');
    expect(terminate?.input).toMatchObject({ DryRun: true, InstanceIds: [instance?.id] });
    const [remove] = world.aws.calls.recorded('DeleteLaunchTemplate');
    expect(remove?.input).toMatchObject({ DryRun: true, LaunchTemplateName: 'theirs' });
    ec2.destroy();
  });
});

describe('a simulation of IAM', () => {
  const results = (decision: string) =>
    ['iam:PassRole', 'sqs:DeleteMessage'].map((EvalActionName) => ({
      EvalActionName,
      EvalDecision: decision as 'allowed',
    }));

  it('is requested for the caller, with the tags that the operator sends', async () => {
    await apply();
    const [finding, ...others] = of(await run(), 'IAM of arn:aws:iam::123456789012:role/local');
    expect(others).toEqual([]);
    expect(finding).toMatchObject({
      level: 'ok',
      message: expect.stringMatching(/^allows iam:CreateInstanceProfile, .*iam:PassRole, .*sqs:DeleteMessage$/),
    });
    const [profiles] = world.aws.calls
      .recorded('SimulatePrincipalPolicy')
      .filter(({ input }) => JSON.stringify(input).includes('iam:CreateInstanceProfile'));
    expect(profiles?.input).toMatchObject({
      PolicySourceArn: 'arn:aws:iam::123456789012:role/local',
      ResourceArns: ['arn:aws:iam::123456789012:instance-profile/karpenter/us-west-2/test/x'],
      ContextEntries: expect.arrayContaining([
        {
          ContextKeyName: 'aws:RequestTag/kubernetes.io/cluster/test',
          ContextKeyType: 'string',
          ContextKeyValues: ['owned'],
        },
      ]),
    });
  });

  it('is a warning if the caller may not simulate', async () => {
    world.aws.faults.add({ kind: 'error', action: 'SimulatePrincipalPolicy', code: 'AccessDenied', status: 403 });
    expect(of(await run(), 'IAM of arn:aws:iam::123456789012:role/local')).toMatchObject([
      { level: 'warning', message: expect.stringMatching(/^cannot be simulated: .*AccessDenied/) },
    ]);
  });

  it('names each denied action, the reason and the policy to change', () => {
    expect(findingsOf('IAM of x', results('implicitDeny'))).toMatchObject([
      {
        level: 'error',
        message: 'iam:PassRole: no policy allows it',
        fix: 'allow iam:PassRole in KarpenterControllerIAMIntegrationPolicy, attached to the role',
      },
      { fix: 'allow sqs:DeleteMessage in KarpenterControllerInterruptionPolicy, attached to the role' },
    ]);
    expect(findingsOf('IAM of x', results('explicitDeny'))[0]).toMatchObject({
      message: 'iam:PassRole: a policy denies it',
      fix: expect.stringContaining('service control policies'),
    });
  });

  it.each([
    ['arn:aws:sts::1:assumed-role/Name/session', 'arn:aws:iam::1:role/Name'],
    ['arn:aws-cn:sts::1:assumed-role/Name/session', 'arn:aws-cn:iam::1:role/Name'],
    ['arn:aws:iam::1:user/me', 'arn:aws:iam::1:user/me'],
  ])('assigns %s to %s', (session, principal) => {
    expect(roleOfSession(session)).toBe(principal);
  });

  it('is for the role that the service account of the installation names', async () => {
    const controller = {
      version: '',
      setting: () => undefined,
      deployment: {
        metadata: { name: 'karpenter', namespace: 'kube-system' },
        spec: { template: { spec: { serviceAccountName: 'karpenter' } } },
      },
    } as unknown as Parameters<typeof controllerRole>[1];
    const asked: string[] = [];
    const annotations = { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/controller' };
    const raw = async (path: string) => {
      asked.push(path);
      return { metadata: { annotations } };
    };
    expect(await controllerRole({ raw }, controller)).toBe('arn:aws:iam::1:role/controller');
    expect(asked).toEqual(['/api/v1/namespaces/kube-system/serviceaccounts/karpenter']);
    expect(await controllerRole({ raw }, undefined)).toBeUndefined();
    expect(await controllerRole({ raw: () => Promise.reject(new Error('forbidden')) }, controller)).toBeUndefined();
  });
});

describe('a rule of EventBridge', () => {
  const pattern = (source: string, ...types: string[]) => JSON.stringify({ source: [source], 'detail-type': types });
  const EVERY = {
    spot: pattern('aws.ec2', 'EC2 Spot Instance Interruption Warning', 'EC2 Instance Rebalance Recommendation'),
    state: pattern('aws.ec2', 'EC2 Instance State-change Notification'),
    health: pattern('aws.health', 'AWS Health Event'),
    reserved: pattern('aws.ec2', 'EC2 Capacity Reservation Instance Interruption Warning'),
  };
  let server: Server;
  let rules: Readonly<Record<string, string>>;
  let state: string;
  const targets: string[] = [];
  beforeEach(async () => {
    state = 'ENABLED';
    rules = EVERY;
    server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const input = JSON.parse(body) as { TargetArn?: string; Name?: string };
      if (input.TargetArn !== undefined) targets.push(input.TargetArn);
      const listed = { RuleNames: Object.keys(rules) };
      const rule = { State: state, EventPattern: rules[input.Name ?? ''] };
      response.end(
        JSON.stringify(request.headers['x-amz-target'] === 'AWSEvents.ListRuleNamesByTarget' ? listed : rule),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    process.env.AWS_ENDPOINT_URL_EVENTS = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    delete process.env.AWS_ENDPOINT_URL_EVENTS;
    server.closeAllConnections();
    server.close();
  });
  const subject = `EventBridge rules for ${CLUSTER}`;

  it('sends every event that the operator handles', async () => {
    expect(of(await run(), subject)).toEqual([{ level: 'ok', subject, message: '4 rules send all required events' }]);
    expect(targets.at(-1)).toMatch(/^arn:aws:sqs:us-west-2:\d+:test$/);
  });

  it('is named if it is missing or disabled', async () => {
    const { health: _, ...others } = EVERY;
    rules = others;
    expect(of(await run(), subject)).toMatchObject([
      { level: 'warning', message: 'no enabled rule sends "AWS Health Event"', fix: expect.any(String) },
    ]);
    rules = EVERY;
    state = 'DISABLED';
    expect(of(await run(), subject)).toMatchObject([
      { level: 'warning', message: expect.stringContaining('"EC2 Spot Instance Interruption Warning"') },
    ]);
    rules = {};
    expect(of(await run(), subject)).toMatchObject([
      { level: 'error', message: 'no rule has the queue as target, so it receives no messages' },
    ]);
  });

  it('is a warning if it cannot be read', async () => {
    process.env.AWS_ENDPOINT_URL_EVENTS = world.aws.url;
    expect(of(await run(), subject)).toMatchObject([
      {
        level: 'warning',
        message: expect.stringMatching(/^cannot be read: /),
        fix: expect.stringContaining('examples/aws'),
      },
    ]);
  });
});

describe('missingFields', () => {
  const text = { type: 'string' };
  const schema = (spec: object) => ({ type: 'object', properties: { spec: { type: 'object', properties: spec } } });
  it('returns the fields that an older schema lacks', () => {
    const list = (inner: object) => ({ type: 'array', items: { type: 'object', properties: inner } });
    const wanted = schema({ a: text, b: text, c: list({ d: text, e: text }) });
    expect(missingFields(wanted, wanted)).toEqual([]);
    expect(missingFields(wanted, schema({ a: text, c: list({ d: text }) }))).toEqual(['.spec.b', '.spec.c[].e']);
    expect(missingFields(schema({ a: text }), wanted)).toEqual([]);
  });
});
