import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { parseTemplate } from '../../../scripts/cloudformation.ts';
import { allowedActions, policyStatements, TEMPLATE, templateParameters, templateResources } from './iam.ts';

const ROOT = join(import.meta.dirname, '../../..');
const namesOf = (type: string): readonly string[] =>
  Object.entries(templateResources()).flatMap(([name, { Type }]) => (Type === type ? [name] : []));

/** Returns `service:Action` for every request of the provider. `src/aws/doctor` runs with the credentials of its user. */
function calledActions(): ReadonlySet<string> {
  const folder = join(ROOT, 'src/aws');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.startsWith('doctor/'),
  );
  const imports = files.flatMap((file) => [
    ...readFileSync(join(folder, file), 'utf8').matchAll(/import \{([^}]*)\} from '@aws-sdk\/client-(\w+)'/g),
  ]);
  const actions = imports.flatMap(([, names = '', service = '']) =>
    [...names.matchAll(/\b(?:paginate([A-Z]\w+)|([A-Z]\w+)Command)\b/g)].map(
      ([, paginated, single = '']) => `${service}:${paginated ?? single.replace(/Batch$/, '')}`,
    ),
  );
  return new Set(actions);
}

/** Actions that AWS authorizes in addition, because of fields of another request. */
const IMPLIED: Readonly<Record<string, readonly string[]>> = {
  'ec2:CreateFleet': ['ec2:RunInstances', 'ec2:CreateTags', 'iam:PassRole'],
  'iam:CreateInstanceProfile': ['iam:TagInstanceProfile'],
  'iam:AddRoleToInstanceProfile': ['iam:PassRole'],
  // A signed request without a client of the SDK.
  'eks:DescribeCluster': ['arc-zonal-shift:GetManagedResource'],
};

describe('the CloudFormation template', () => {
  it('holds six policies of Allow statements with unique names', () => {
    const statements = policyStatements();
    expect(Object.values(templateResources()).filter(({ Type }) => Type === 'AWS::IAM::ManagedPolicy')).toHaveLength(6);
    expect(new Set(statements.map(({ Sid }) => Sid)).size).toBe(statements.length);
    expect(statements.every(({ Effect }) => Effect === 'Allow')).toBe(true);
  });

  it('allows no action on everything but reads', () => {
    const unscoped = policyStatements()
      .filter(({ Resource }) => Resource === '*')
      .flatMap(({ Action }) => Action);
    expect(unscoped.every((action) => /:(Describe|Get|List)/.test(action))).toBe(true);
    expect(allowedActions()).not.toContain('ec2:*');
  });

  it('allows exactly the actions that the provider calls', () => {
    const called = calledActions();
    expect(called.size).toBeGreaterThan(20);
    // Every principal may call it.
    const needed = [...called].filter((action) => action !== 'sts:GetCallerIdentity');
    const all = new Set(needed.flatMap((action) => [action, ...(IMPLIED[action] ?? [])]));
    expect([...all].sort()).toEqual([...allowedActions()].sort());
  });

  it('attaches every policy to the role of the operator', () => {
    const { KarpenterControllerRole: role } = templateResources();
    expect(role?.Properties.ManagedPolicyArns).toEqual(namesOf('AWS::IAM::ManagedPolicy'));
  });

  it('trusts the service account of the operator alone with IRSA, and EKS Pod Identity otherwise', () => {
    const [condition, irsa, podIdentity] = templateResources().KarpenterControllerRole?.Properties
      .AssumeRolePolicyDocument as readonly [string, string, unknown];
    expect(condition).toBe('UsesIRSA');
    const { Statement } = JSON.parse(irsa) as { readonly Statement: readonly unknown[] };
    expect(Statement).toEqual([
      {
        Effect: 'Allow',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a text of the template
        Principal: { Federated: 'arn:${AWS::Partition}:iam::${AWS::AccountId}:oidc-provider/${OIDCIssuer}' },
        Action: 'sts:AssumeRoleWithWebIdentity',
        Condition: {
          StringEquals: {
            '${OIDCIssuer}:aud': 'sts.amazonaws.com',
            // biome-ignore lint/suspicious/noTemplateCurlyInString: a text of the template
            '${OIDCIssuer}:sub': 'system:serviceaccount:${Namespace}:${ServiceAccountName}',
          },
        },
      },
    ]);
    expect(podIdentity).toMatchObject({
      Statement: [{ Principal: { Service: 'pods.eks.amazonaws.com' }, Action: ['sts:AssumeRole', 'sts:TagSession'] }],
    });
  });

  it('connects the cluster by default, and nothing to it if eksctl does', () => {
    const { Parameters, Resources } = parseTemplate(TEMPLATE);
    expect(Parameters.Credentials).toMatchObject({
      Default: 'PodIdentity',
      AllowedValues: ['PodIdentity', 'IRSA', 'None'],
    });
    expect(Parameters.NodeAccess).toMatchObject({ Default: 'AccessEntry', AllowedValues: ['AccessEntry', 'None'] });
    const conditions = Object.entries(Resources).flatMap(([name, { Condition }]) =>
      Condition ? [[name, Condition]] : [],
    );
    expect(conditions).toEqual([
      ['KarpenterControllerRole', 'CreatesControllerRole'],
      ['KarpenterPodIdentityAssociation', 'UsesPodIdentity'],
      ['KarpenterNodeAccessEntry', 'CreatesAccessEntry'],
    ]);
  });

  it.each(['README.md', 'docs/install.md'])('has every parameter that %s sets', (page) => {
    const text = readFileSync(join(ROOT, page), 'utf8');
    const given = [...text.matchAll(/(?<![\w-])"?([A-Z]\w+)=(?!=)/g)].flatMap(([, name = '']) =>
      /^[A-Z][a-z]|^OIDC/.test(name) && !/^(Key|Value|Name)$/.test(name) ? [name] : [],
    );
    expect(given).toContain('ClusterName');
    expect(templateParameters(TEMPLATE)).toEqual(expect.arrayContaining(given));
  });

  it('feeds the queue from the five kinds of events', () => {
    const rules = Object.values(templateResources()).filter(({ Type }) => Type === 'AWS::Events::Rule');
    expect(
      rules.map(({ Properties }) => (Properties.EventPattern as { 'detail-type': string[] })['detail-type'][0]).sort(),
    ).toEqual([
      'AWS Health Event',
      'EC2 Capacity Reservation Instance Interruption Warning',
      'EC2 Instance Rebalance Recommendation',
      'EC2 Instance State-change Notification',
      'EC2 Spot Instance Interruption Warning',
    ]);
  });

  it('takes messages into the queue from its own rules alone, without a circle of references', () => {
    const resources = templateResources();
    const policy = resources.KarpenterInterruptionQueuePolicy?.Properties.PolicyDocument as {
      readonly Statement: readonly {
        readonly Effect: string;
        readonly Condition?: unknown;
        readonly Principal: unknown;
      }[];
    };
    const rules = Object.keys(resources).filter((name) => resources[name]?.Type === 'AWS::Events::Rule');
    expect(policy.Statement.filter(({ Effect }) => Effect === 'Allow')).toEqual([
      expect.objectContaining({
        Principal: { Service: 'events.amazonaws.com' },
        Condition: { ArnEquals: { 'aws:SourceArn': rules.map((rule) => `${rule}.Arn`) } },
      }),
    ]);
    const mentions = (name: string): readonly string[] => {
      const text = JSON.stringify(resources[name]?.Properties);
      return Object.keys(resources).filter((other) => new RegExp(`["{]${other}[".}]`).test(text));
    };
    const reaches = (name: string, seen: readonly string[] = []): boolean =>
      mentions(name).some((next) => seen.includes(next) || reaches(next, [...seen, next]));
    expect(mentions('KarpenterInterruptionQueuePolicy')).toEqual(['KarpenterInterruptionQueue', ...rules]);
    expect(Object.keys(resources).filter((name) => reaches(name, [name]))).toEqual([]);
  });
});

describe('the cluster of eksctl', () => {
  const cluster = parse(readFileSync(join(ROOT, 'examples/aws/cluster.yaml'), 'utf8')) as {
    readonly metadata: { readonly tags: object };
    readonly accessConfig: unknown;
    readonly iam: { readonly podIdentityAssociations: readonly { readonly permissionPolicyARNs: readonly string[] }[] };
    readonly managedNodeGroups: readonly { readonly minSize: number }[];
  };

  it('gives the operator every policy of the stack, and the node role of the stack access', () => {
    const [association] = cluster.iam.podIdentityAssociations;
    expect(association).toMatchObject({ namespace: 'kube-system', serviceAccountName: 'karpenter' });
    expect(association?.permissionPolicyARNs).toEqual(
      namesOf('AWS::IAM::ManagedPolicy').map((name) => `arn:aws:iam::111122223333:policy/${name}-my-cluster`),
    );
    expect(cluster.accessConfig).toMatchObject({
      accessEntries: [
        { principalARN: 'arn:aws:iam::111122223333:role/KarpenterNodeRole-my-cluster', type: 'EC2_LINUX' },
      ],
    });
  });

  it('contains no placeholder after the command of docs/install.md', () => {
    const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8');
    const [, command = ''] = /^(sed "s\/my-cluster.*?) \| eksctl create cluster -f -$/ms.exec(page) ?? [];
    const env = {
      ...process.env,
      CLUSTER_NAME: 'prod',
      AWS_REGION: 'eu-west-1',
      ACCOUNT: '1234',
      KARPENTER_NAMESPACE: 'ops',
    };
    const text = execFileSync('bash', ['-c', command], { cwd: ROOT, env, encoding: 'utf8' });
    expect(text.match(/my-cluster|us-west-2|1{4}2{4}3{4}|kube-system/g)).toBeNull();
    expect(parse(text)).toMatchObject({
      metadata: { name: 'prod', region: 'eu-west-1' },
      iam: { podIdentityAssociations: [{ namespace: 'ops', roleName: 'prod-karpenter' }] },
    });
  });

  it('has the discovery tag, and two nodes for the replicas of the chart', () => {
    expect(cluster.metadata.tags).toEqual({ 'karpenter.sh/discovery': 'my-cluster' });
    expect(cluster.managedNodeGroups).toMatchObject([{ minSize: 2 }]);
  });
});
