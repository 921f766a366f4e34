import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PolicyDocument, Statement } from '../../../../../src/cli/convert/iam/statements.ts';
import { templateResources } from '../../../examples/iam.ts';
import { runConvert } from '../run-convert.ts';

const ALPHA = join(import.meta.dirname, '../fixtures/iam/alpha.json');
const TEMPLATE = join(import.meta.dirname, '../../../../../examples/aws/cloudformation.yaml');

type Policies = Readonly<Record<string, PolicyDocument>>;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'convert-iam-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
const write = (name: string, value: unknown): string => {
  const path = join(folder, name);
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
  return path;
};
const convert = (...args: readonly string[]) => runConvert('iam', ...args);
const policies = async (...args: readonly string[]): Promise<Policies> => JSON.parse((await convert(...args)).output);
const all = (found: Policies): readonly Statement[] => Object.values(found).flatMap(({ Statement }) => Statement);
const bySid = (found: Policies, sid: string): Statement | undefined => all(found).find(({ Sid }) => Sid === sid);
const policyOf = (...Statement: readonly unknown[]): unknown => ({ Version: '2012-10-17', Statement });

/** Returns the policies of examples/aws for a cluster. */
function expected(texts: Readonly<Record<string, string>>): readonly unknown[] {
  const own = Object.values(templateResources()).filter(({ Type }) => Type === 'AWS::IAM::ManagedPolicy');
  return own.flatMap(({ Properties }) => {
    const text = String(Properties.PolicyDocument).replace(
      /\$\{([\w:.]+)\}/g,
      (_, name: string) => texts[name] ?? name,
    );
    return (JSON.parse(text) as PolicyDocument).Statement;
  });
}

const reference = (name: string): string => `\${${name}}`;

const DEV = {
  ClusterName: 'dev',
  'AWS::Partition': 'aws',
  'AWS::Region': 'eu-central-1',
  'AWS::AccountId': '123456789012',
  'KarpenterNodeRole.Arn': 'arn:aws:iam::123456789012:role/KarpenterNodeRole-dev',
  'KarpenterInterruptionQueue.Arn': 'arn:aws:sqs:eu-central-1:123456789012:Karpenter-dev',
};

describe('karpenter convert iam', () => {
  it('converts an alpha policy to current policies with its names, and keeps the owner’s statements', async () => {
    const found = await policies('-f', ALPHA);
    expect(Object.keys(found)).toEqual([
      'KarpenterControllerNodeLifecyclePolicy-dev',
      'KarpenterControllerIAMIntegrationPolicy-dev',
      'KarpenterControllerEKSIntegrationPolicy-dev',
      'KarpenterControllerInterruptionPolicy-dev',
      'KarpenterControllerZonalShiftPolicy-dev',
      'KarpenterControllerResourceDiscoveryPolicy-dev',
      'KarpenterControllerOwnPolicy-dev',
    ]);
    const { 'KarpenterControllerOwnPolicy-dev': own, ...rest } = found;
    expect(all(rest)).toEqual(expected(DEV));
    expect(own?.Statement.map(({ Sid }) => Sid)).toEqual(['VolumesAreEncrypted']);
    for (const document of Object.values(found)) expect(JSON.stringify(document).length).toBeLessThanOrEqual(6144);
  });

  it('prints the differences by statement, with the reasons', async () => {
    const { output, errors } = await convert('-f', ALPHA, '--diff');
    expect(output.replaceAll(ALPHA, 'alpha.json')).toMatchSnapshot();
    expect(errors).toBe(
      `changed: ${ALPHA}, document 1, PolicyVersion.Document, Statement[5] (VolumesAreEncrypted): kept unchanged: ` +
        'Karpenter never used these actions\n',
    );
  });

  it('leaves its own output and current policies unchanged', async () => {
    const first = (await convert('-f', ALPHA)).output;
    const again = await convert('-f', write('again.json', first));
    expect(again.output).toBe(first);
    expect(again.errors).not.toMatch(/^(ADDED|NARROWER|GONE|ON SOMETHING ELSE)$/m);
    const today = await convert('-f', TEMPLATE);
    expect(all(JSON.parse(today.output))).toEqual(
      expected(Object.fromEntries(Object.keys(DEV).map((name) => [name, reference(name)]))),
    );
    expect((await convert('-f', TEMPLATE, '--diff')).output).toMatch(/^UNCHANGED\n/);
  });

  it('accepts policies in every format of AWS', async () => {
    const statement = {
      Effect: 'Allow',
      Action: 'eks:DescribeCluster',
      Resource: 'arn:aws-cn:eks:cn-north-1:123456789012:cluster/c',
    };
    const document = policyOf(statement);
    const text = JSON.stringify(document);
    const forms: readonly unknown[] = [
      document,
      { ...(document as object), Statement: statement },
      { PolicyVersion: { Document: document } },
      { RoleName: 'r', PolicyName: 'p', PolicyDocument: document },
      { RoleName: 'r', PolicyName: 'p', PolicyDocument: encodeURIComponent(text) },
      { Resources: { P: { Type: 'AWS::IAM::Policy', Properties: { PolicyDocument: document } } } },
      { Resources: { R: { Type: 'AWS::IAM::Role', Properties: { Policies: [{ PolicyDocument: document }] } } } },
      `Resources:\n  P:\n    Type: AWS::IAM::ManagedPolicy\n    Properties:\n      PolicyDocument: !Sub |\n        ${text}\n`,
    ];
    for (const [index, form] of forms.entries()) {
      const found = await policies('-f', write(`form-${index}.yaml`, form));
      expect(bySid(found, 'AllowAPIServerEndpointDiscovery')?.Resource).toBe(statement.Resource);
      expect(bySid(found, 'AllowSSMReadActions')?.Resource).toBe('arn:aws-cn:ssm:cn-north-1::parameter/aws/service/*');
    }
  });

  it('reads the short and the long functions of CloudFormation', async () => {
    const path = write(
      'functions.yaml',
      `Resources:
  P:
    Type: AWS::IAM::ManagedPolicy
    Properties:
      PolicyDocument:
        Statement:
          - {Effect: Allow, Action: iam:PassRole, Resource: !GetAtt NodeRole.Arn}
          - {Effect: Allow, Action: sqs:ReceiveMessage, Resource: {Fn::GetAtt: [Queue, Arn]}}
          - Effect: Allow
            Action: eks:DescribeCluster
            Resource: {Fn::Join: ['', ['arn:', {Ref: AWS::Partition}, ':eks:', {Ref: AWS::Region}, ':', {Ref: AWS::AccountId}, ':cluster/', {Ref: Name}]]}
`,
    );
    const found = await policies('-f', path);
    expect(bySid(found, 'AllowPassingInstanceRole')?.Resource).toBe(reference('NodeRole.Arn'));
    expect(bySid(found, 'AllowInterruptionQueueActions')?.Resource).toBe(reference('Queue.Arn'));
    expect(Object.keys(found)[0]).toMatch(/^KarpenterControllerNodeLifecyclePolicy-\$\{Name\}$/);
  });

  it('uses placeholders for missing values, and names the flags that set them', async () => {
    const bare = write('bare.json', policyOf({ Effect: 'Allow', Action: ['ec2:*', 'iam:PassRole'], Resource: '*' }));
    const { output, errors } = await convert('-f', bare);
    expect(JSON.stringify(bySid(JSON.parse(output), 'AllowPassingInstanceRole'))).toContain(
      'arn:aws:iam::$AWS_ACCOUNT_ID:role/$KARPENTER_NODE_ROLE',
    );
    for (const flag of [
      '--partition',
      '--cluster-name',
      '--region',
      '--account-id',
      '--node-role',
      '--interruption-queue',
    ])
      expect(errors).toContain(`; set it with ${flag}`);
    const given = [
      '--cluster-name',
      'c',
      '--region',
      'eu-west-1',
      '--account-id',
      '210987654321',
      '--partition',
      'aws',
    ];
    const set = await convert('-f', bare, ...given, '--node-role', 'nodes', '--interruption-queue', 'queue');
    expect(set.output).not.toContain('$');
    expect(set.errors).not.toContain('assumed');
    expect(bySid(JSON.parse(set.output), 'AllowPassingInstanceRole')?.Resource).toBe(
      'arn:aws:iam::210987654321:role/nodes',
    );
    expect(bySid(JSON.parse(set.output), 'AllowInterruptionQueueActions')?.Resource).toBe(
      'arn:aws:sqs:eu-west-1:210987654321:queue',
    );
  });

  it('rejects an ambiguous cluster', async () => {
    const of = (name: string): unknown => ({
      Effect: 'Allow',
      Action: 'eks:DescribeCluster',
      Resource: `arn:aws:eks:us-east-1:123456789012:cluster/${name}`,
    });
    const { output, errors } = await convert('-f', write('two.json', policyOf(of('a'), of('b'))));
    expect(errors).toContain(
      'clusterName: the policy contains several: a, b; $CLUSTER_NAME is a placeholder; set it with --cluster-name',
    );
    expect(output).toContain('cluster/$CLUSTER_NAME');
  });

  it('restricts all writes, deletions and passed roles by tags, names or actions', async () => {
    const found = await policies('-f', ALPHA);
    for (const statement of all(found).filter(({ Sid }) => Sid !== 'VolumesAreEncrypted')) {
      const actions = [statement.Action ?? []].flat();
      if (statement.Resource === '*') expect(actions.every((action) => /:(Describe|Get|List)/.test(action))).toBe(true);
    }
    for (const sid of [
      'AllowScopedDeletion',
      'AllowScopedEC2LaunchTemplateAccessActions',
      'AllowScopedResourceTagging',
    ])
      expect(bySid(found, sid)?.Condition?.StringLike).toEqual({ 'aws:ResourceTag/karpenter.sh/nodepool': '*' });
    expect(JSON.stringify(found)).not.toContain('provisioner-name');
  });

  it.each<[string, unknown, string]>([
    ['what denies', { Effect: 'Deny', Action: 'ec2:RunInstances', Resource: '*' }, 'a Deny statement'],
    ['all but some actions', { Effect: 'Allow', NotAction: 'iam:*', Resource: '*' }, 'a NotAction statement'],
    [
      'parameters of one’s own',
      {
        Effect: 'Allow',
        Action: 'ssm:GetParameter',
        Resource: 'arn:aws:ssm:us-east-1:123456789012:parameter/images/gold',
      },
      'amiSelectorTerms with ssmParameter',
    ],
  ])('keeps %s', async (_, statement, why) => {
    const { output, errors } = await convert('-f', write('kept.json', policyOf(statement)), '--cluster-name', 'c');
    expect((JSON.parse(output) as Policies)['KarpenterControllerOwnPolicy-c']?.Statement).toEqual([statement]);
    expect(errors).toContain(why);
  });

  it('keeps the owner’s part of a statement, and reports dropped conditions', async () => {
    const mixed = {
      Effect: 'Allow',
      Action: ['ec2:RunInstances', 'ec2:AssociateAddress'],
      Resource: '*',
      Condition: { StringLike: { 'ec2:InstanceType': 'm5.*' } },
    };
    const path = write('mixed.json', policyOf(mixed));
    const found = await policies('-f', path, '--cluster-name', 'c');
    expect(found['KarpenterControllerOwnPolicy-c']?.Statement).toEqual([
      { ...mixed, Action: ['ec2:AssociateAddress'] },
    ]);
    expect((await convert('-f', path, '--diff')).output).toMatch(/your condition "ec2:InstanceType StringLike m5\.\*"/);
  });

  it('writes a file per policy, or one document with all policies', async () => {
    const to = join(folder, 'policies');
    expect((await convert('-f', ALPHA, '-o', to)).output).toBe('');
    expect(readdirSync(to)).toHaveLength(7);
    const one = JSON.parse(
      readFileSync(join(to, 'KarpenterControllerNodeLifecyclePolicy-dev.json'), 'utf8'),
    ) as PolicyDocument;
    expect(one.Version).toBe('2012-10-17');
    const single = JSON.parse((await convert('-f', ALPHA, '--single')).output) as PolicyDocument;
    expect(single.Statement).toEqual(all(await policies('-f', ALPHA)));
  });

  it.each<[string, unknown, RegExp]>([
    ['no policy', { a: 1 }, /document 1: expected a policy document with Statement/],
    ['no JSON', '{"Statement": [', /not valid/],
    [
      'Terraform',
      'data "aws_iam_policy_document" "x" {\n  statement {\n    actions = ["a"]\n  }\n}\n',
      /not valid YAML|expected a policy/,
    ],
    ['statements that are none', { Statement: 'x' }, /Statement: must be an object|Effect/],
    [
      'an effect that is none',
      policyOf({ Effect: 'Maybe', Action: 'a', Resource: '*' }),
      /Statement\[0\]\.Effect: must be one of Allow, Deny/,
    ],
    ['no action', policyOf({ Effect: 'Allow', Resource: '*' }), /Statement\[0\]\.Action: is required/],
    [
      'actions that are none',
      policyOf({ Effect: 'Allow', Action: [{}], Resource: '*' }),
      /Statement\[0\]\.Action\[0\]: must be a string/,
    ],
    [
      'conditions that are none',
      policyOf({ Effect: 'Allow', Action: 'a', Resource: '*', Condition: { StringLike: 'x' } }),
      /Condition\.StringLike: must be an object/,
    ],
    ['a document that is no JSON', { PolicyDocument: '%7B' }, /PolicyDocument: the policy is not valid JSON/],
    ['nothing', '', /^$/],
  ])('rejects %s with the file and the field', async (_, input, message) => {
    const path = write('wrong.json', input);
    const { output, errors, code } = await convert('-f', path);
    expect(output).toBe('');
    expect(errors).toMatch(message);
    if (errors !== '') expect(errors).toContain(path);
    expect(errors).not.toMatch(/^\s+at /m);
    expect(code).toBe(input === '' ? 0 : 1);
  });
});
