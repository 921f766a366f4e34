/** User data of each image family, option by option, as golden texts for review. */
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { AmiFamily, EC2NodeClass, NodeClaim } from '#api/objects';
import { decodeUserData } from '#local/machines';
import { CLUSTER, claimOf, IPV6, type Situation, type Spec, userDataOf } from './launchtemplates/planned-templates.ts';

const EVERY_KUBELET_FIELD = {
  clusterDNS: ['10.0.0.99'],
  maxPods: 42,
  podsPerCore: 10,
  systemReserved: { cpu: '100m', memory: '100Mi' },
  kubeReserved: { cpu: '200m', 'ephemeral-storage': '2Gi' },
  evictionHard: { 'memory.available': '5%', 'nodefs.available': '1Gi' },
  evictionSoft: { 'memory.available': '10%' },
  evictionSoftGracePeriod: { 'memory.available': '60s' },
  evictionMaxPodGracePeriod: 30,
  imageGCHighThresholdPercent: 85,
  imageGCLowThresholdPercent: 80,
  cpuCFSQuota: false,
};
const { podsPerCore: _, ...FOR_BOTTLEROCKET } = EVERY_KUBELET_FIELD;

const SCRIPT = '#!/bin/bash\necho "before the node joins"\n';
const MIME = [
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary="BOUNDARY"',
  '',
  '--BOUNDARY',
  'content-type: text/x-shellscript; charset="us-ascii"',
  'MIME-Version: 1.0',
  '',
  SCRIPT,
  '--BOUNDARY',
  'Content-Type: text/cloud-config',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  'packages: [a=3Db]',
  '--BOUNDARY--',
  '',
].join('\r\n');
const NODE_CONFIG =
  'apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      shutdownGracePeriod: 30s\n';
const TOML = `
[settings.kubernetes]
max-pods = 7
cluster-name = "theirs"
container-log-max-files = 9
nonsense = true

[settings.kubernetes.node-labels]
"team" = "a"
"karpenter.sh/nodepool" = "theirs"

[settings.kubernetes.node-taints]
theirs = ["true:NoSchedule"]

[settings.kubernetes.credential-providers.ecr-credential-provider]
enabled = true
image-patterns = ["*.dkr.ecr.*.amazonaws.com"]
unheard-of = 1

[settings.kernel.sysctl]
"vm.max_map_count" = "262144"

[settings.bootstrap-commands.first]
commands = [["apiclient", "set", "motd=hello"]]
mode = "once"
essential = false

[unsettled]
ignored = true
`;

const TAINTED: Partial<NodeClaim['spec']> = {
  taints: [
    { key: 'dedicated', value: 'db', effect: 'NoSchedule' },
    { key: 'dedicated', effect: 'NoExecute' },
  ],
  startupTaints: [{ key: 'cni', value: 'starting', effect: 'NoSchedule' }],
};

interface Family {
  readonly name: AmiFamily;
  readonly kubelet: NonNullable<EC2NodeClass['spec']['kubelet']>;
  /** Custom user data that the family merges with its own. */
  readonly custom: Readonly<Record<string, string>>;
}

const scripts = { script: SCRIPT, archive: MIME };
const powershell = { commands: 'Write-Host "before the node joins"' };
const FAMILIES: readonly Family[] = [
  { name: 'AL2', kubelet: EVERY_KUBELET_FIELD, custom: scripts },
  {
    name: 'AL2023',
    kubelet: { ...EVERY_KUBELET_FIELD, shutdownGracePeriod: '1m' },
    custom: {
      ...scripts,
      NodeConfig: NODE_CONFIG,
      'comments alone': '# nothing yet\n',
    },
  },
  { name: 'Bottlerocket', kubelet: FOR_BOTTLEROCKET, custom: { settings: TOML } },
  { name: 'Windows2019', kubelet: EVERY_KUBELET_FIELD, custom: powershell },
  { name: 'Windows2022', kubelet: EVERY_KUBELET_FIELD, custom: powershell },
  { name: 'Windows2025', kubelet: EVERY_KUBELET_FIELD, custom: powershell },
];

describe.each(FAMILIES)('user data of $name', ({ name: amiFamily, kubelet, custom }) => {
  const situations: Readonly<Record<string, Situation>> = {
    plain: { spec: { amiFamily } },
    'every kubelet field': { spec: { amiFamily, kubelet } },
    'local disks': { spec: { amiFamily, instanceStorePolicy: 'RAID0' } },
    'taints and labels': { spec: { amiFamily }, claim: claimOf(TAINTED), capacityType: 'spot' },
    'neither CA nor DNS': { spec: { amiFamily }, cluster: { ...CLUSTER, caBundle: undefined, dnsIp: undefined } },
    IPv6: { spec: { amiFamily }, cluster: IPV6 },
    ...Object.fromEntries(
      Object.entries(custom).map(([what, userData]) => [`with custom ${what}`, { spec: { amiFamily, userData } }]),
    ),
  };

  it.each(Object.entries(situations))('renders the recorded text: %s', (_, situation) => {
    const text = userDataOf(situation);
    expect(text).toMatchSnapshot();

    // A machine of the local world with this user data joins as the NodeClaim requires.
    const node = decodeUserData(text);
    const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };
    const { taints = [], startupTaints = [] } = situation.claim?.spec ?? {};
    const inOrder = (list: readonly object[]) => list.map((each) => JSON.stringify(each)).sort();
    expect(node).toMatchObject({
      clusterName: 'demo',
      endpoint: 'https://cluster.example',
      labels: {
        'karpenter.sh/nodepool': 'golden',
        'karpenter.sh/capacity-type': situation.capacityType ?? 'on-demand',
        'karpenter.sh/do-not-sync-taints': 'true',
      },
      maxPods: situation.spec?.kubelet === undefined ? (amiFamily.startsWith('Windows') ? 110 : 29) : 42,
    });
    expect(node.labels).not.toHaveProperty('kubernetes.io/arch');
    const plain = node.taints.map(({ key, value, effect }) => ({ key, ...(value ? { value } : {}), effect }));
    expect(inOrder(plain)).toEqual(inOrder([...taints, ...startupTaints, unregistered]));
  });
});

describe('user data of AL2023 as YAML 1.1, which nodeadm reads', () => {
  it.each([
    'yes',
    'No',
    'on',
    'off',
    'y',
    'N',
    '1_000',
    '0b11',
    '12:30:45',
    '0o14',
    '1e3',
    '2001-01-01',
    'true',
    '7',
  ])('writes the value %s of a taint as text', (value) => {
    const taint = { key: 'dedicated', value, effect: 'NoSchedule' as const };
    const text = userDataOf({ spec: { amiFamily: 'AL2023' }, claim: claimOf({ taints: [taint] }) });
    const [, config = ''] = /(# Karpenter Generated[\s\S]*?)\n--/.exec(text) ?? [];
    for (const version of ['1.1', '1.2'] as const)
      expect(parse(config, { version }).spec.kubelet.config.registerWithTaints).toContainEqual(taint);
  });
});

describe('user data of AL2023 that is not a mapping', () => {
  it.each<[string, string, string]>([
    ['several documents', `${NODE_CONFIG}---\n${NODE_CONFIG}`, 'application/node.eks.aws'],
    ['a list', '- one\n- two\n', 'text/x-shellscript; charset="us-ascii"'],
    ['plain text', 'echo hello\n', 'text/x-shellscript; charset="us-ascii"'],
    ['what is not YAML', 'a: b: c\n\t- [\n', 'text/x-shellscript; charset="us-ascii"'],
  ])('has the type that its first line indicates: %s', (_, userData, type) => {
    const text = userDataOf({ spec: { amiFamily: 'AL2023', userData } });
    expect(text).toContain(`--//\nContent-Type: ${type}\n\n${userData}\n--//\n`);
  });
});

describe('user data of Bottlerocket with local disks', () => {
  it.each<[string, Spec, boolean]>([
    ['an alias of now', { amiSelectorTerms: [{ alias: 'bottlerocket@latest' }] }, false],
    ['an alias of 1.46', { amiSelectorTerms: [{ alias: 'bottlerocket@v1.46.0' }] }, false],
    ['an alias of 1.45', { amiSelectorTerms: [{ alias: 'bottlerocket@1.45.2' }] }, true],
    ['a name of 1.50', { amiSelectorTerms: [{ name: 'bottlerocket-aws-k8s-1.34-x86_64-v1.50.0-abc' }] }, false],
    ['a name without a patch', { amiSelectorTerms: [{ name: 'bottlerocket-aws-k8s-1.34-x86_64-v1.50' }] }, true],
    ['an id that tells nothing', { amiSelectorTerms: [{ id: 'ami-1' }] }, true],
  ])('names the directories unless the image has them built in: %s', (_, spec, named) => {
    const text = userDataOf({ spec: { amiFamily: 'Bottlerocket', instanceStorePolicy: 'RAID0', ...spec } });
    expect(text.includes('--dirs')).toBe(named);
  });
});

describe('user data of Custom', () => {
  it.each([SCRIPT, ''])('is %j unchanged', (userData) => {
    const spec: Spec = { amiFamily: 'Custom', userData, kubelet: EVERY_KUBELET_FIELD, instanceStorePolicy: 'RAID0' };
    expect(userDataOf({ spec, claim: claimOf(TAINTED) })).toBe(userData);
  });
});
