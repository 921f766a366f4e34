import { describe, expect, it } from '@jest/globals';
import { parse } from 'smol-toml';
import { silent } from '#observe/logger';
import { familyOf } from '../../../../src/aws/amis/families.ts';
import { tomlText } from '../../../../src/aws/userdata/bottlerocket.ts';
import { InvalidUserData } from '../../../../src/aws/userdata/input.ts';
import { renderUserData } from '../../../../src/aws/userdata/userdata.ts';
import { nodeClassOf } from '../../../support/awsobjects.ts';

const unordered = () => undefined;

describe('user data of Bottlerocket', () => {
  it('is identical to the recorded output of Karpenter 1.14.1', () => {
    const custom = `[settings.kubernetes]
pod-pids-limit = 2048
allowed-unsafe-sysctls = ["net.core.somaxconn"]

[settings.host-containers.admin]
enabled = true

[settings.kernel.sysctl]
"vm.max_map_count" = "262144"
`;
    const text = renderUserData(
      familyOf(nodeClassOf('live', { amiFamily: 'Bottlerocket' })),
      {
        cluster: {
          name: 'live',
          endpoint: 'https://0123.eks.amazonaws.com',
          caBundle: 'LS0tCg==',
          dnsIp: '10.96.0.10',
        },
        cidr: undefined,
        labels: {
          'karpenter.sh/nodepool': 'bottlerocket-toml',
          'karpenter.sh/do-not-sync-taints': 'true',
          'karpenter.sh/capacity-type': 'on-demand',
          'karpenter.k8s.aws/ec2nodeclass': 'bottlerocket-toml',
        },
        taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
        kubelet: { maxPods: 29, clusterDNS: ['10.96.0.10'], kubeReserved: { memory: '200Mi', cpu: '90m' } },
        rawKubelet: {},
        custom,
        raid0: false,
      },
      silent,
    );
    expect(text).toBe(`[settings]
[settings.host-containers]
[settings.host-containers.admin]
enabled = true

[settings.kernel]
[settings.kernel.sysctl]
'vm.max_map_count' = '262144'

[settings.kubernetes]
api-server = 'https://0123.eks.amazonaws.com'
cluster-certificate = 'LS0tCg=='
cluster-name = 'live'
cluster-dns-ip = '10.96.0.10'
max-pods = 29
allowed-unsafe-sysctls = ['net.core.somaxconn']
pod-pids-limit = 2048

[settings.kubernetes.node-labels]
'karpenter.k8s.aws/ec2nodeclass' = 'bottlerocket-toml'
'karpenter.sh/capacity-type' = 'on-demand'
'karpenter.sh/do-not-sync-taints' = 'true'
'karpenter.sh/nodepool' = 'bottlerocket-toml'

[settings.kubernetes.node-taints]
'karpenter.sh/unregistered' = [':NoExecute']

[settings.kubernetes.kube-reserved]
cpu = '90m'
memory = '200Mi'
`);
  });
});

describe('tomlText', () => {
  it.each<[string, string]>([
    ['strings with quotes and line ends', `a = "it's"\nb = "x\\ny"\n"c'd" = "\\u0000"`],
    ['numbers, dates and booleans', 'i = -3\nf = 1.5\nt = true\nd = 2026-01-02T03:04:05Z\nl = 2026-01-02'],
    ['lists and tables in lists', 'a = []\nb = [[1, 2], ["x"]]\nc = [{ d = 1, e = { f = "g" } }, 2]'],
    ['lists of tables', '[[a.b]]\nc = 1\n[[a.b]]\nc = 2\n[a.b.d]\ne = 3'],
    ['keys that need quotes', '"a.b" = 1\n["c d"."e/f"]\ng = 2\n["__proto__x"]\n'],
  ])('keeps %s', (_, text) => {
    expect(parse(tomlText(parse(text), unordered))).toEqual(parse(text));
  });

  it('rejects tables with unlimited nesting', () => {
    const deep = () => tomlText(parse(`[${Array.from({ length: 500 }, () => 'a').join('.')}]`), unordered);
    expect(deep).toThrow(InvalidUserData);
  });
});
