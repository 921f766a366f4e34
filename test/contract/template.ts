/** The CloudFormation template on moto, which ignores resources of EKS, attached policies and the policy of the queue. */
import { GetPolicyCommand, GetPolicyVersionCommand, GetRoleCommand, ListPoliciesCommand } from '@aws-sdk/client-iam';
import { GetQueueAttributesCommand, GetQueueUrlCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseTemplate } from '../../scripts/cloudformation.ts';
import { TEMPLATE } from '../unit/examples/iam.ts';
import { type Backend, REGION } from './backend.ts';
import { openMoto } from './moto.ts';

const ACCOUNT = '123456789012';
const ISSUER = 'oidc.eks.us-west-2.amazonaws.com/id/ABC';

/** Sends a request of CloudFormation, for which the SDK of the project has no client. */
async function cloudFormation(url: string, fields: Readonly<Record<string, string>>): Promise<string> {
  const scope = `20260101/${REGION}/cloudformation/aws4_request`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `AWS4-HMAC-SHA256 Credential=testing/${scope}, SignedHeaders=host, Signature=none` },
    body: new URLSearchParams({ Version: '2010-05-15', ...fields }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

/**
 * Returns the template with policies as objects, because moto quotes policies that are texts a second time. Keys of objects
 * cannot have functions, so that the references are replaced.
 */
const withObjects = (texts: Readonly<Record<string, string>>): string =>
  TEMPLATE.replace(/!Sub \|\n( +)(\{\n[\s\S]*?\n\1\}\n)/g, (_, indent: string, json: string) => {
    const replaced = json.replace(/\$\{([\w:.]+)\}/g, (reference, name: string) => texts[name] ?? reference);
    return `\n${indent}${replaced}`;
  });

async function deploy(url: string, cluster: string, parameters: Readonly<Record<string, string>>): Promise<string> {
  const given = Object.entries({ ClusterName: cluster, ...parameters }).flatMap(([name, value], at) => [
    [`Parameters.member.${at + 1}.ParameterKey`, name],
    [`Parameters.member.${at + 1}.ParameterValue`, value],
  ]);
  const stack = `Karpenter-${cluster}`;
  const template = withObjects({
    ...Object.fromEntries(
      Object.entries(parseTemplate(TEMPLATE).Parameters).map(([name, { Default = '' }]) => [name, Default]),
    ),
    ...parameters,
    ClusterName: cluster,
    'AWS::Partition': 'aws',
    'AWS::Region': REGION,
    'AWS::AccountId': ACCOUNT,
    'KarpenterNodeRole.Arn': `arn:aws:iam::${ACCOUNT}:role/KarpenterNodeRole-${cluster}`,
    'KarpenterInterruptionQueue.Arn': `arn:aws:sqs:${REGION}:${ACCOUNT}:${cluster}`,
  });
  await cloudFormation(url, {
    Action: 'CreateStack',
    StackName: stack,
    TemplateBody: template,
    ...Object.fromEntries(given),
  });
  return cloudFormation(url, { Action: 'DescribeStacks', StackName: stack });
}

export function templateOn(url: string): void {
  describe('the CloudFormation template on moto', () => {
    let backend: Backend;
    beforeAll(async () => {
      backend = await openMoto(url);
    });
    afterAll(() => backend.close());

    const trustOf = async (role: string): Promise<unknown> => {
      const { Role } = await backend.clients.iam.send(new GetRoleCommand({ RoleName: role }));
      return JSON.parse(decodeURIComponent(Role?.AssumeRolePolicyDocument ?? ''));
    };

    it('creates the role of the operator and six policies of this cluster', async () => {
      const { iam } = backend.clients;
      const described = await deploy(url, 'one', {});
      expect(described).toContain('<StackStatus>CREATE_COMPLETE</StackStatus>');
      expect(described).toContain(`arn:aws:iam::${ACCOUNT}:role/one-karpenter`);
      expect(await trustOf('one-karpenter')).toMatchObject({
        Statement: [{ Principal: { Service: 'pods.eks.amazonaws.com' } }],
      });
      const { Policies = [] } = await iam.send(new ListPoliciesCommand({ Scope: 'Local' }));
      const own = Policies.filter(({ PolicyName }) => PolicyName?.endsWith('-one'));
      expect(own).toHaveLength(6);
      for (const { Arn: PolicyArn } of own) {
        const { Policy } = await iam.send(new GetPolicyCommand({ PolicyArn }));
        const { PolicyVersion } = await iam.send(
          new GetPolicyVersionCommand({ PolicyArn, VersionId: Policy?.DefaultVersionId }),
        );
        const document = decodeURIComponent(PolicyVersion?.Document ?? '');
        expect(JSON.parse(document)).toMatchObject({ Version: '2012-10-17' });
        expect(document).not.toContain('${');
      }
    });

    it('creates the role of the nodes, and the queue with its rules', async () => {
      const { sqs } = backend.clients;
      expect(await trustOf('KarpenterNodeRole-one')).toMatchObject({
        Statement: [{ Principal: { Service: 'ec2.amazonaws.com' } }],
      });
      const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName: 'one' }));
      const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }));
      expect(Attributes?.MessageRetentionPeriod).toBe('300');
      const resources = await cloudFormation(url, { Action: 'ListStackResources', StackName: 'Karpenter-one' });
      expect(resources.match(/AWS::Events::Rule/g)).toHaveLength(5);
    });

    it('trusts one service account with IRSA', async () => {
      await deploy(url, 'two', { Credentials: 'IRSA', OIDCIssuer: ISSUER, Namespace: 'karpenter' });
      expect(await trustOf('two-karpenter')).toMatchObject({
        Statement: [
          {
            Principal: { Federated: `arn:aws:iam::${ACCOUNT}:oidc-provider/${ISSUER}` },
            Condition: { StringEquals: { [`${ISSUER}:sub`]: 'system:serviceaccount:karpenter:karpenter' } },
          },
        ],
      });
    });

    it('creates no role of the operator for eksctl', async () => {
      const described = await deploy(url, 'three', { Credentials: 'None', NodeAccess: 'None' });
      expect(described).toContain('KarpenterNodeRole-three');
      expect(described).not.toContain('three-karpenter');
      await expect(trustOf('three-karpenter')).rejects.toThrow(/three-karpenter/);
    });
  });
}
