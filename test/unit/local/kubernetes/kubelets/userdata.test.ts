import { describe, expect, it } from '@jest/globals';
import { shellWords } from '#lib';
import { decodeUserData } from '../../../../../src/local/kubernetes/kubelets/userdata/index.ts';

const mime = (...parts: readonly [type: string, body: string][]): string =>
  [
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="//"',
    '',
    ...parts.flatMap(([type, body]) => ['--//', `Content-Type: ${type}`, '', body]),
    '--//--',
    '',
  ].join('\n');

const NODE_CONFIG = `# Karpenter Generated NodeConfig
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
metadata: {}
spec:
  cluster:
    apiServerEndpoint: https://api
    certificateAuthority: Y2E=
    cidr: 10.100.0.0/16
    name: local
  containerd: {}
  instance:
    localStorage:
      strategy: RAID0
  kubelet:
    config:
      clusterDNS:
      - 10.100.0.10
      evictionHard:
        memory.available: 5%
      kubeReserved:
        cpu: 100m
      maxPods: 58
      registerWithTaints:
      - effect: NoSchedule
        key: team
        value: x
      - effect: NoExecute
        key: karpenter.sh/unregistered
    flags:
    - --node-labels="karpenter.sh/capacity-type=spot,karpenter.sh/nodepool=default"
`;

const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };

describe('decodeUserData of AL2023', () => {
  const expected = {
    clusterName: 'local',
    endpoint: 'https://api',
    labels: { 'karpenter.sh/capacity-type': 'spot', 'karpenter.sh/nodepool': 'default' },
    taints: [{ key: 'team', value: 'x', effect: 'NoSchedule' }, unregistered],
    maxPods: 58,
    kubeReserved: { cpu: '100m' },
    systemReserved: {},
    evictionHard: { 'memory.available': '5%' },
    raid0: true,
  };

  it.each([
    ['a MIME part', mime(['application/node.eks.aws', NODE_CONFIG])],
    [
      'a part after a script',
      mime(
        ['text/x-shellscript; charset="us-ascii"', '#!/bin/bash\necho hi'],
        ['application/node.eks.aws', NODE_CONFIG],
      ),
    ],
    ['plain YAML', NODE_CONFIG],
    [
      'a message without its closing boundary',
      mime(['application/node.eks.aws', NODE_CONFIG]).replace('--//--\n', '--//\n'),
    ],
    ['Windows line endings', mime(['application/node.eks.aws', NODE_CONFIG]).replaceAll('\n', '\r\n')],
  ])('parses %s', (_, text) => {
    expect(decodeUserData(text)).toEqual(expected);
  });

  it('uses the last of several documents', () => {
    const user =
      'apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config: {maxPods: 7, podsPerCore: 3}\n';
    const config = decodeUserData(mime(['application/node.eks.aws', user], ['application/node.eks.aws', NODE_CONFIG]));
    expect(config).toMatchObject({ maxPods: 58, podsPerCore: 3, clusterName: 'local' });
  });
});

describe('decodeUserData of Bottlerocket', () => {
  it('parses its settings', () => {
    const text = `
[settings]
[settings.kubernetes]
api-server = 'https://api'
cluster-name = 'local'
max-pods = 29

[settings.kubernetes.node-labels]
'karpenter.sh/nodepool' = 'default'

[settings.kubernetes.node-taints]
'karpenter.sh/unregistered' = [':NoExecute']
team = ['x:NoSchedule', 'y:PreferNoSchedule']

[settings.kubernetes.eviction-hard]
'memory.available' = '5%'

[settings.kubernetes.kube-reserved]
cpu = '100m'
`;
    expect(decodeUserData(text)).toEqual({
      clusterName: 'local',
      endpoint: 'https://api',
      labels: { 'karpenter.sh/nodepool': 'default' },
      taints: [
        unregistered,
        { key: 'team', value: 'x', effect: 'NoSchedule' },
        { key: 'team', value: 'y', effect: 'PreferNoSchedule' },
      ],
      maxPods: 29,
      kubeReserved: { cpu: '100m' },
      systemReserved: {},
      evictionHard: { 'memory.available': '5%' },
      raid0: false,
      dataDevice: '/dev/xvdb',
    });
  });
});

describe('decodeUserData of AL2', () => {
  const script = `#!/bin/bash -xe
exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1
/etc/eks/bootstrap.sh 'local' --apiserver-endpoint 'https://api' --b64-cluster-ca 'Y2E=' \\
--dns-cluster-ip '10.100.0.10' \\
--use-max-pods false \\
--kubelet-extra-args '--node-labels="a=b,c=d" --register-with-taints="team=x:NoSchedule,karpenter.sh/unregistered:NoExecute" --max-pods=29 --system-reserved="cpu=100m" --eviction-hard="memory.available<5%"' \\
--local-disks raid0`;

  it('parses the arguments of bootstrap.sh', () => {
    expect(decodeUserData(mime(['text/x-shellscript; charset="us-ascii"', script]))).toEqual({
      clusterName: 'local',
      endpoint: 'https://api',
      labels: { a: 'b', c: 'd' },
      taints: [{ key: 'team', value: 'x', effect: 'NoSchedule' }, unregistered],
      maxPods: 29,
      kubeReserved: {},
      systemReserved: { cpu: '100m' },
      evictionHard: { 'memory.available': '5%' },
      raid0: true,
    });
  });

  it('finds the cluster name after the options', () => {
    const line = '/etc/eks/bootstrap.sh --apiserver-endpoint https://api local';
    expect(decodeUserData(line)).toMatchObject({ clusterName: 'local', endpoint: 'https://api' });
  });
});

describe('decodeUserData of other images', () => {
  it('parses the parameters of a Windows bootstrap script', () => {
    const script = `<powershell>
& $EKSBootstrapScriptFile -EKSClusterName 'local' -APIServerEndpoint 'https://api' -KubeletExtraArgs '--node-labels="a=b" --register-with-taints="karpenter.sh/unregistered:NoExecute"'
</powershell>`;
    expect(decodeUserData(script)).toMatchObject({ clusterName: 'local', labels: { a: 'b' }, taints: [unregistered] });
  });

  it.each([
    ['a nodeup script', '#!/bin/bash\nset -o errexit\nNODEUP_URL_AMD64=https://x/nodeup\ndownload-release\n'],
    ['nothing', ''],
  ])('lets %s join without labels and without the unregistered taint', (_, text) => {
    const config = decodeUserData(text);
    expect(config).toMatchObject({ labels: {}, taints: [unregistered] });
    expect(config.clusterName).toBeUndefined();
  });

  it('parses the kubelet flags of any script', () => {
    const script =
      '#!/bin/sh\nexec kubelet --node-labels=a=b --register-with-taints=karpenter.sh/unregistered=true:NoExecute --max-pods 17';
    expect(decodeUserData(script)).toMatchObject({
      labels: { a: 'b' },
      taints: [{ ...unregistered, value: 'true' }],
      maxPods: 17,
    });
  });

  it.each([
    ['a message without boundary', 'MIME-Version: 1.0\nContent-Type: multipart/mixed\n\nx', /boundary/],
    ['a malformed taint', '/etc/eks/bootstrap.sh c --kubelet-extra-args "--register-with-taints=a=b"', /taint "a=b"/],
    ['broken TOML', '[settings.kubernetes]\nmax-pods =', /./],
  ])('rejects %s', (_, text, message) => {
    expect(() => decodeUserData(text)).toThrow(message);
  });
});

describe('words', () => {
  it.each([
    ['a  b', ['a', 'b']],
    [`'single "quotes"' double`, ['single "quotes"', 'double']],
    ['"double \'quotes\' \\"escaped\\""', ['double \'quotes\' "escaped"']],
    ['joined"parts"together\'here\'', ['joinedpartstogetherhere']],
    ['a \\\n  b', ['a', 'b']],
    ["empty '' word", ['empty', '', 'word']],
  ])('splits %j', (text, expected) => {
    expect(shellWords(text)).toEqual(expected);
  });
});

describe('the amount of huge pages', () => {
  it.each([
    ['a script', '#!/bin/bash\nsysctl -w vm.nr_hugepages=128\n', { '2Mi': 128, '1Gi': 0 }],
    ['/proc', '#!/bin/bash\necho 64 > /proc/sys/vm/nr_hugepages\n', { '2Mi': 64, '1Gi': 0 }],
    [
      '/sys',
      '#!/bin/bash\necho 3 | sudo tee /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages\n',
      { '2Mi': 0, '1Gi': 3 },
    ],
    [
      'kernel parameters',
      'grubby --args="hugepagesz=1G hugepages=2 hugepagesz=2M hugepages=5"',
      { '2Mi': 5, '1Gi': 2 },
    ],
    ['Bottlerocket', '[settings.kernel.sysctl]\n"vm.nr_hugepages" = "32"\n', { '2Mi': 32, '1Gi': 0 }],
    ['the last of several', 'sysctl vm.nr_hugepages=1\nsysctl vm.nr_hugepages=7\n', { '2Mi': 7, '1Gi': 0 }],
  ])('is parsed from %s', (_, text, pages) => {
    expect(decodeUserData(text).hugePages).toEqual(pages);
  });
});
