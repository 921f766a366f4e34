/** Conversion of each field of the alpha and beta APIs. */
import { describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { convertText, convertTexts, rejections } from './convert-text.ts';

const ON_ANY = [
  'karpenter.sh/capacity-type In on-demand',
  'kubernetes.io/os In linux',
  'kubernetes.io/arch In amd64',
  'karpenter.k8s.aws/instance-category In c,m,r',
  'karpenter.k8s.aws/instance-generation Gt 2',
];

const provisioner = (spec: string, name = 'a'): string =>
  `apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: ${name}}\nspec: {${spec === '' ? '' : `${spec}, `}providerRef: {name: c}}\n`;
const template = (spec: string): string =>
  'apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: c}\n' +
  stringify({
    spec: { subnetSelector: { s: 'x' }, securityGroupSelector: { g: 'y' }, ...(parse(`{${spec}}`) as object) },
  });
const nodePool = (spec: string, disruption = ''): string =>
  `apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {nodeClassRef: {name: c}, requirements: []${spec}}}${disruption}}\n`;
const nodeClass = (spec: string, family = 'AL2'): string =>
  `apiVersion: karpenter.k8s.aws/v1beta1\nkind: EC2NodeClass\nmetadata: {name: c}\nspec: {amiFamily: ${family}, role: r, subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]${spec}}\n`;

/** Returns the spec of the result, which v1 accepts. */
function specOf(text: string, options = {}): Record<string, unknown> {
  const { objects, errors } = convertText(text, options);
  expect(errors).toEqual([]);
  for (const object of objects) expect(rejections(object)).toEqual([]);
  return (objects[0] as unknown as { spec: Record<string, unknown> }).spec;
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}
const requirementsOf = (text: string, options = {}): readonly string[] => {
  const { template: made } = specOf(text, options) as { template: { spec: { requirements: readonly Requirement[] } } };
  return made.spec.requirements.map(({ key, operator, values = [] }) =>
    `${key} ${operator} ${values.join(',')}`.trim(),
  );
};

describe('a Provisioner', () => {
  it.each([
    [
      'consolidation: {enabled: true}',
      { disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' } },
    ],
    [
      'consolidation: {enabled: false}',
      { disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' } },
    ],
    ['', { disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' } }],
    ['ttlSecondsAfterEmpty: 120', { disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '2m' } }],
    ['ttlSecondsAfterEmpty: 0', { disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '0s' } }],
    ['ttlSecondsUntilExpired: 5184000', { template: { spec: { expireAfter: '1440h' } } }],
    ['ttlSecondsUntilExpired: 90', { template: { spec: { expireAfter: '90s' } } }],
    ['weight: 7', { weight: 7, template: { spec: { expireAfter: 'Never' } } }],
    ['limits: {resources: {cpu: 128, memory: 1Gi}}', { limits: { cpu: 128, memory: '1Gi' } }],
    [
      'labels: {team: x}, annotations: {karpenter.sh/do-not-consolidate: "true"}',
      { template: { metadata: { labels: { team: 'x' }, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } } },
    ],
    [
      'taints: [{key: a, value: "", effect: NoSchedule}], startupTaints: [{key: b, effect: NoExecute}]',
      {
        template: {
          spec: { taints: [{ key: 'a', effect: 'NoSchedule' }], startupTaints: [{ key: 'b', effect: 'NoExecute' }] },
        },
      },
    ],
    [
      'weight: 1',
      { template: { spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'c' } } } },
    ],
  ])('is converted with {%s}', (spec, expected) => {
    expect(specOf(provisioner(spec))).toMatchObject(expected);
  });

  it.each([
    ['', ON_ANY],
    ['labels: {karpenter.sh/capacity-type: spot, kubernetes.io/os: linux}', ON_ANY.slice(2)],
    [
      'requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}]',
      ['karpenter.k8s.aws/instance-family In m5', ...ON_ANY.slice(0, 3)],
    ],
    [
      'requirements: [{key: beta.kubernetes.io/arch, operator: Exists}]',
      ['beta.kubernetes.io/arch Exists', ON_ANY[0], ON_ANY[1], ...ON_ANY.slice(3)],
    ],
    ['requirements: [{key: karpenter.k8s.aws/instance-pods, operator: Gt, values: ["9"]}]', ON_ANY],
  ])('gets the requirements that the webhook added with {%s}', (spec, expected) => {
    expect(requirementsOf(provisioner(spec))).toEqual(expected);
  });

  it('has none of them with --ignore-defaults', () => {
    expect(requirementsOf(provisioner(''), { ignoreDefaults: true })).toEqual([]);
  });

  it('results in an EC2NodeClass of its own if it has node settings', () => {
    const inline = provisioner('').replace(
      'providerRef: {name: c}',
      'provider: {instanceProfile: p, subnetSelector: {a: b}, securityGroupSelector: {aws-ids: "sg-1,sg-2"}}',
    );
    const { objects, errors } = convertText(inline);
    expect(errors).toEqual([]);
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(['NodePool a', 'EC2NodeClass a']);
    expect(objects[1]).toMatchObject({
      spec: { instanceProfile: 'p', securityGroupSelectorTerms: [{ id: 'sg-1' }, { id: 'sg-2' }] },
    });
  });

  it.each([
    ['ttlSecondsAfterEmpty: soon', 'in.yaml, document 1, Provisioner a: spec.ttlSecondsAfterEmpty: must be an integer'],
    [
      'consolidation: {enabled: true}, ttlSecondsAfterEmpty: 1',
      'spec.consolidation: cannot be combined with spec.ttlSecondsAfterEmpty',
    ],
    ['requirements: {a: b}', 'spec.template.spec.requirements: must be a list'],
    ['labels: [a]', 'must be an object'],
    ['weight: 500', 'v1 rejects this value: spec.weight'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a template of another tool, as in users' files
    ['requirements: "${list}"', 'render it and convert the result'],
  ])('stays unchanged, with an error, with {%s}', (spec, message) => {
    const { errors, text } = convertText(provisioner(spec));
    expect(errors).toEqual([expect.stringContaining(message)]);
    expect(text).toBe(provisioner(spec));
  });
});

describe('an AWSNodeTemplate', () => {
  it.each([
    [
      '',
      {
        amiFamily: 'AL2',
        amiSelectorTerms: [{ alias: 'al2@latest' }],
        role: '$KARPENTER_NODE_ROLE',
        metadataOptions: { httpPutResponseHopLimit: 2 },
      },
    ],
    ['amiFamily: Windows2022', { amiSelectorTerms: [{ alias: 'windows2022@latest' }] }],
    ['instanceProfile: p', { instanceProfile: 'p' }],
    ['metadataOptions: {httpPutResponseHopLimit: 3}', { metadataOptions: { httpPutResponseHopLimit: 3 } }],
    [
      'subnetSelector: {"aws::ids": "subnet-1, subnet-2"}',
      { subnetSelectorTerms: [{ id: 'subnet-1' }, { id: 'subnet-2' }] },
    ],
    ['subnetSelector: {a: "*", b: ""}', { subnetSelectorTerms: [{ tags: { a: '*', b: '*' } }] }],
    [
      'securityGroupSelector: {Name: n, env: "x,y"}',
      { securityGroupSelectorTerms: [{ tags: { Name: 'n', env: 'x' } }, { tags: { Name: 'n', env: 'y' } }] },
    ],
    [
      'amiSelector: {"aws::name": "a,b", "aws::owners": "self,amazon"}',
      {
        amiSelectorTerms: [
          { name: 'a', owner: 'self' },
          { name: 'a', owner: 'amazon' },
          { name: 'b', owner: 'self' },
          { name: 'b', owner: 'amazon' },
        ],
      },
    ],
    ['amiSelector: {"aws::owners": self}', { amiSelectorTerms: [{ name: '*', owner: 'self' }] }],
    ['amiSelector: {aws-ids: ami-1}, amiFamily: Custom', { amiFamily: 'Custom', amiSelectorTerms: [{ id: 'ami-1' }] }],
    [
      'amiFamily: Ubuntu, amiSelector: {a: b}',
      {
        amiFamily: 'AL2',
        amiSelectorTerms: [{ tags: { a: 'b' } }],
        blockDeviceMappings: [{ deviceName: '/dev/sda1', rootVolume: true, ebs: { volumeSize: '20Gi' } }],
      },
    ],
    ['tags: {Name: n, "kubernetes.io/cluster/x": owned}', { tags: { Name: 'n' } }],
    [
      'blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 1.5Ti}}]',
      { blockDeviceMappings: [{ ebs: { volumeSize: '1536Gi' } }] },
    ],
  ])('is converted with {%s}', (spec, expected) => {
    expect(specOf(template(spec))).toMatchObject(expected);
  });

  it('uses the given role, also instead of an instance profile', () => {
    expect(specOf(template(''), { role: 'r' })).toMatchObject({ role: 'r' });
    const spec = specOf(template('instanceProfile: p'), { role: 'r' });
    expect(spec).toMatchObject({ role: 'r' });
    expect(spec).not.toHaveProperty('instanceProfile');
  });

  it.each([
    ['launchTemplate: lt', 'spec.launchTemplate: is not supported in v1'],
    ['amiFamily: Custom', 'spec.amiSelectorTerms: is required with amiFamily Custom'],
    [`subnetSelector: {a: "${Array.from({ length: 31 }, (_, n) => n).join(',')}"}`, 'becomes 31 selector terms'],
    [
      'blockDeviceMappings: [{ebs: {volumeSize: 100Ti}}]',
      'spec.blockDeviceMappings[0].ebs.volumeSize: 100Ti is not between',
    ],
    ['subnetSelector: [a]', 'spec.subnetSelector: must be an object'],
  ])('stays unchanged, with an error, with {%s}', (spec, message) => {
    expect(convertText(template(spec)).errors).toEqual([
      expect.stringMatching(/^in.yaml, document 1, AWSNodeTemplate c: .*/),
    ]);
    expect(convertText(template(spec)).errors[0]).toContain(message);
  });
});

describe('a NodePool of v1beta1', () => {
  it.each([
    [
      '',
      '',
      {
        template: {
          spec: { expireAfter: '720h', nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'c' } },
        },
        disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' },
      },
    ],
    [
      '',
      ', disruption: {consolidationPolicy: WhenUnderutilized, expireAfter: 1h}',
      {
        template: { spec: { expireAfter: '1h' } },
        disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' },
      },
    ],
    [
      '',
      ', disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s, budgets: [{nodes: "0"}]}',
      { disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s', budgets: [{ nodes: '0' }] } },
    ],
    [
      '',
      ', disruption: {consolidateAfter: Never}',
      { disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: 'Never' } },
    ],
  ])('is converted with {%s%s}', (spec, disruption, expected) => {
    expect(specOf(nodePool(spec, disruption))).toMatchObject(expected);
    expect(specOf(nodePool(spec, disruption))).not.toHaveProperty('disruption.expireAfter');
  });
});

describe('an EC2NodeClass of v1beta1', () => {
  it.each([
    [
      '',
      'AL2023',
      { amiSelectorTerms: [{ alias: 'al2023@latest' }], role: 'r', metadataOptions: { httpPutResponseHopLimit: 2 } },
    ],
    [
      ', amiSelectorTerms: [{id: ami-1}]',
      'Bottlerocket',
      { amiFamily: 'Bottlerocket', amiSelectorTerms: [{ id: 'ami-1' }] },
    ],
    [
      ', associatePublicIPAddress: false, instanceStorePolicy: RAID0',
      'AL2',
      { associatePublicIPAddress: false, instanceStorePolicy: 'RAID0' },
    ],
  ])('is converted with {%s} and amiFamily %s', (spec, family, expected) => {
    expect(specOf(nodeClass(spec, family))).toMatchObject(expected);
  });

  it('gets the images of Ubuntu by parameter if it has none, with a note', () => {
    const { text, notes } = convertText(nodeClass('', 'Ubuntu'));
    expect(text).toContain('/ubuntu/eks/22.04/$KUBERNETES_VERSION/');
    expect(notes.join()).toContain('replace $KUBERNETES_VERSION with the version of your cluster');
  });
});

describe('the block of kubelet settings', () => {
  const withKubelet = (name: string, block: string): string =>
    nodePool(`, kubelet: ${block}`).replace('name: a', `name: ${name}`);

  it('moves into the class if all its NodePools have the same settings', () => {
    const { objects } = convertTexts({
      'a.yaml': withKubelet('a', '{maxPods: 5, podsPerCore: 2}'),
      'b.yaml': `${withKubelet('b', '{podsPerCore: 2, maxPods: 5}')}---\n${nodeClass('')}`,
    });
    const classes = objects.filter(({ kind }) => kind === 'EC2NodeClass');
    expect(classes).toHaveLength(1);
    expect(classes[0]).toMatchObject({ spec: { kubelet: { maxPods: 5, podsPerCore: 2 } } });
  });

  it('makes a class per distinct block otherwise', () => {
    const text = [withKubelet('a', '{maxPods: 5}'), nodePool('').replace('name: a', 'name: b'), nodeClass('')].join(
      '---\n',
    );
    const { objects } = convertText(text);
    const classes = objects.filter(({ kind }) => kind === 'EC2NodeClass');
    expect(classes.map(({ metadata }) => metadata.name)).toEqual(['c', 'c-a']);
    expect(classes[0]).not.toHaveProperty('spec.kubelet');
    expect(objects[0]).toMatchObject({ spec: { template: { spec: { nodeClassRef: { name: 'c-a' } } } } });
    expect(objects[1]).toMatchObject({ spec: { template: { spec: { nodeClassRef: { name: 'c' } } } } });
  });

  it('is written as a comment if its class is missing in the input', () => {
    const { text, notes } = convertText(withKubelet('a', '{maxPods: 5}'));
    expect(text).toMatch(/# EC2NodeClass c needs:\n *# spec:\n *# {3}kubelet:\n *# {5}maxPods: 5\n/);
    expect(notes).toContainEqual(expect.stringMatching(/^lost: .*which is not in the input/));
  });

  it('is resolved from the annotation of a conversion webhook, on objects of v1', () => {
    const v1 = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: a
  annotations:
    compatibility.karpenter.sh/v1beta1-kubelet-conversion: '{"maxPods":5}'
    compatibility.karpenter.sh/v1beta1-nodeclass-reference: '{"name":"c"}'
spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}, requirements: []}}}
---
${nodeClass('')}`;
    const { objects, errors } = convertText(v1);
    expect(errors).toEqual([]);
    expect(objects[0]?.metadata).toEqual({ name: 'a' });
    expect(objects[1]).toMatchObject({ spec: { kubelet: { maxPods: 5 } } });
  });
});

describe('the converter', () => {
  it('converts a NodeClaim with the expiry of its pool, and omits a Machine', () => {
    const claim =
      'apiVersion: karpenter.sh/v1beta1\nkind: NodeClaim\nmetadata: {name: a}\nspec: {nodeClassRef: {name: c}, requirements: []}\n';
    expect(specOf(claim)).toMatchObject({ expireAfter: 'Never', nodeClassRef: { group: 'karpenter.k8s.aws' } });
    const { text, notes } = convertText('apiVersion: karpenter.sh/v1alpha5\nkind: Machine\nmetadata: {name: m}\n');
    expect(text).toBe(
      '# Machine m: Machines are not converted; they are deleted with their nodes, and NodePools create NodeClaims for new nodes\n',
    );
    expect(notes).toHaveLength(1);
  });
});
