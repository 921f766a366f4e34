import { describe, expect, it } from '@jest/globals';
import type { EC2NodeClass, EC2NodeClassSpec } from '../../../src/api/ec2-nodeclass.ts';
import { canonicalKubelet, ec2NodeClassHash, nodePoolHash } from '../../../src/api/hash.ts';
import type { NodePool } from '../../../src/api/nodepool.ts';

const published: EC2NodeClassSpec = {
  role: 'role-1',
  tags: { 'keyTag-1': 'valueTag-1', 'keyTag-2': 'valueTag-2' },
  context: 'fake-context',
  detailedMonitoring: false,
  associatePublicIPAddress: false,
  metadataOptions: {
    httpEndpoint: 'disabled',
    httpProtocolIPv6: 'disabled',
    httpPutResponseHopLimit: 1,
    httpTokens: 'optional',
  },
  blockDeviceMappings: [
    {
      deviceName: 'map-device-1',
      rootVolume: false,
      ebs: {
        deleteOnTermination: false,
        encrypted: false,
        iops: 0,
        kmsKeyID: 'fakeKMSKeyID',
        snapshotID: 'fakeSnapshot',
        throughput: 0,
        volumeSize: '2G',
        volumeType: 'standard',
      },
    },
    { deviceName: 'map-device-2' },
  ],
  userData: 'userdata-test-1',
  amiSelectorTerms: [],
  subnetSelectorTerms: [],
  securityGroupSelectorTerms: [],
};

const hash = (spec: EC2NodeClassSpec): string => {
  const nodeClass: EC2NodeClass = {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default' },
    spec,
  };
  return ec2NodeClassHash(nodeClass, 'test-ca-bundle');
};

const withVolumeSize = (volumeSize: string): EC2NodeClassSpec => ({
  ...published,
  blockDeviceMappings: (published.blockDeviceMappings ?? []).map((mapping) =>
    mapping.ebs ? { ...mapping, ebs: { ...mapping.ebs, volumeSize } } : mapping,
  ),
});

describe('ec2NodeClassHash', () => {
  const { role: _role, ...withoutRole } = published;
  it.each([
    ['unchanged class', published, '11148166120438674859'],
    ['other user data', { ...published, userData: 'userdata-test-2' }, '11774429238106843388'],
    ['another volume size', withVolumeSize('10G'), '10372902467896351912'],
    ['an instance profile', { ...withoutRole, instanceProfile: 'test-instance-profile' }, '10323991363677716244'],
  ])('equals the hash of existing installations: %s', (_what, spec, expected) => {
    expect(hash(spec)).toBe(expected);
  });

  it.each<[string, Partial<EC2NodeClassSpec>]>([
    ['subnets', { subnetSelectorTerms: [{ id: 'subnet-1' }] }],
    ['the format of a volume size', withVolumeSize('2000M')],
    [
      'the order of block device mappings',
      { blockDeviceMappings: [...(published.blockDeviceMappings ?? [])].reverse() },
    ],
    ['a redundant family Custom', { amiFamily: 'Custom' }],
  ])('does not depend on %s', (_what, change) => {
    expect(hash({ ...published, ...change })).toBe(hash(published));
  });

  it.each<[string, Partial<EC2NodeClassSpec>]>([
    ['the family of an alias', { amiSelectorTerms: [{ alias: 'al2023@latest' }] }],
    ['the kubelet configuration', { kubelet: { maxPods: 10 } }],
    ['an explicit empty object', { cpuOptions: {} }],
    ['empty user data', { userData: '' }],
    [
      'network interfaces',
      { networkInterfaces: [{ networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' }] },
    ],
  ])('depends on %s', (_what, change) => {
    expect(hash({ ...published, ...change })).not.toBe(hash(published));
  });
});

describe('canonicalKubelet', () => {
  it.each([
    [undefined, 'null'],
    [{}, 'null'],
    [{ b: 1, a: '<&>' }, '{"a":"\\u003c\\u0026\\u003e","b":1}'],
    [{ clusterDomain: 'a\u2028b' }, '{"clusterDomain":"a\\u2028b"}'],
  ])('converts %p to %s', (kubelet, text) => {
    expect(canonicalKubelet(kubelet)).toBe(text);
  });
});

describe('nodePoolHash', () => {
  const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
  type TemplateSpec = NodePool['spec']['template']['spec'];
  const pool = (spec: Partial<TemplateSpec> = {}, metadata?: NodePool['spec']['template']['metadata']): NodePool => ({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'default' },
    spec: {
      weight: 5,
      template: {
        ...(metadata && { metadata }),
        spec: { nodeClassRef, requirements: [], expireAfter: '720h', ...spec },
      },
    },
  });
  const taint = { key: 'a', effect: 'NoSchedule' } as const;

  it('is an unsigned decimal number of 64 bits', () => {
    expect(nodePoolHash(pool())).toMatch(/^\d{1,20}$/);
    expect(BigInt(nodePoolHash(pool()))).toBeLessThan(2n ** 64n);
  });

  it.each([
    ['requirements', pool({ requirements: [{ key: 'a', operator: 'Exists' }] })],
    ['the format of a duration', pool({ expireAfter: '43200m' })],
  ])('does not depend on %s', (_what, other) => {
    expect(nodePoolHash(other)).toBe(nodePoolHash(pool()));
  });

  it('does not depend on the order of taints', () => {
    const [one, two] = [taint, { ...taint, key: 'b' }];
    expect(nodePoolHash(pool({ taints: [one, two] }))).toBe(nodePoolHash(pool({ taints: [two, one] })));
  });

  it('differs for every part of the template', () => {
    const hashes = [
      pool(),
      pool({ expireAfter: 'Never' }),
      pool({ expireAfter: '24h' }),
      pool({ terminationGracePeriod: '30s' }),
      pool({ taints: [taint] }),
      pool({ startupTaints: [taint] }),
      pool({ taints: [{ ...taint, value: 'x' }] }),
      pool({ nodeClassRef: { ...nodeClassRef, name: 'other' } }),
      pool({}, { labels: { a: 'b' } }),
      pool({}, { annotations: { a: 'b' } }),
    ].map(nodePoolHash);
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});
