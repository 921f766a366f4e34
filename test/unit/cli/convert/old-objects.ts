/** Random objects that the alpha and beta APIs of Karpenter accepted. */
import fc from 'fast-check';

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
const labelValue = fc.oneof(word, fc.constantFrom('on', 'yes', '1', '0x1f', 'null', '1e3', '012', '1.0'));
const mapOf = <T>(key: fc.Arbitrary<string>, value: fc.Arbitrary<T>) =>
  fc.dictionary(key, value, { maxKeys: 3, noNullPrototype: true });
const id = (prefix: string) => word.map((text) => `${prefix}-0${text}`);
const seconds = fc.oneof(fc.nat(100_000), fc.constantFrom(0, 30, 60, 3600, 86_400, 2_592_000));

const AWS = 'karpenter.k8s.aws';
const requirement = fc.oneof(
  fc.record({
    key: fc.constantFrom(
      'node.kubernetes.io/instance-type',
      'topology.kubernetes.io/zone',
      'kubernetes.io/arch',
      'beta.kubernetes.io/os',
      'karpenter.sh/capacity-type',
      `${AWS}/instance-family`,
      'example.com/team',
      'team',
    ),
    operator: fc.constantFrom('In', 'NotIn'),
    values: fc.array(labelValue, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    key: fc.constantFrom(`${AWS}/instance-cpu`, `${AWS}/instance-generation`, `${AWS}/instance-pods`),
    operator: fc.constantFrom('Gt', 'Lt'),
    values: fc.nat(100).map((count) => [String(count)]),
  }),
  fc.record({
    key: fc.constantFrom('example.com/a', `${AWS}/instance-gpu-name`),
    operator: fc.constantFrom('Exists', 'DoesNotExist'),
  }),
);
const taint = fc.record(
  {
    key: fc.oneof(word, fc.constantFrom('karpenter.sh/legacy', 'example.com/gpu')),
    value: fc.oneof(labelValue, fc.constant('')),
    effect: fc.constantFrom('NoSchedule', 'PreferNoSchedule', 'NoExecute'),
  },
  { requiredKeys: ['key', 'effect'] },
);
const kubelet = fc.record(
  {
    clusterDNS: fc.constant(['10.0.0.10']),
    maxPods: fc.integer({ min: 1, max: 200 }),
    systemReserved: fc.constant({ cpu: '100m', memory: '100Mi' }),
    evictionHard: fc.constant({ 'memory.available': '5%' }),
    cpuCFSQuota: fc.boolean(),
  },
  { requiredKeys: [] },
);
const labels = mapOf(
  fc.constantFrom('team', 'example.com/team', 'karpenter.sh/capacity-type', 'kubernetes.io/os'),
  labelValue,
);
const annotations = mapOf(
  fc.constantFrom('karpenter.sh/do-not-consolidate', 'example.com/a', 'karpenter.sh/do-not-disrupt'),
  fc.constantFrom('true', "some text: of one's own"),
);
const quantities = mapOf(
  fc.constantFrom('cpu', 'memory', 'nvidia.com/gpu'),
  fc.oneof(fc.nat(1000), fc.constantFrom('1000', '512Gi', '1500m', '1e3')),
);

const metadata = (names: readonly string[]) =>
  fc.record(
    {
      name: fc.constantFrom(...names),
      labels: mapOf(word, labelValue),
      annotations: mapOf(fc.constantFrom('karpenter.sh/provisioner-hash', 'karpenter.sh/nodepool-hash', 'a/b'), word),
      creationTimestamp: fc.constant('2023-11-02T15:33:26Z'),
      uid: fc.constant('c7c1e1f2-0000-4000-8000-000000000000'),
      resourceVersion: fc.constant('42'),
      generation: fc.nat(9),
      finalizers: fc.constant(['karpenter.sh/termination']),
    },
    { requiredKeys: ['name'] },
  );

const disruptionOfAlpha = fc.oneof(
  fc.record({ consolidation: fc.record({ enabled: fc.boolean() }) }),
  fc.record({ ttlSecondsAfterEmpty: seconds }),
  fc.constant({}),
);

const blockDevices = fc.array(
  fc.record(
    {
      deviceName: fc.constantFrom('/dev/xvda', '/dev/xvdb'),
      ebs: fc.record(
        {
          volumeSize: fc.oneof(
            fc.integer({ min: 1, max: 16_384 }).map((size) => `${size}Gi`),
            fc.constantFrom('100G', '1Ti', '18Ti', '20480Mi', '1.5Ti', '64T', '100000Mi', '30Ti'),
          ),
          volumeType: fc.constantFrom('gp2', 'gp3', 'io1'),
          encrypted: fc.boolean(),
          deleteOnTermination: fc.boolean(),
          iops: fc.integer({ min: 3000, max: 16_000 }),
        },
        { requiredKeys: ['volumeSize'] },
      ),
    },
    { requiredKeys: ['ebs'] },
  ),
  { minLength: 1, maxLength: 2 },
);
const metadataOptions = fc.record(
  {
    httpEndpoint: fc.constantFrom('enabled', 'disabled'),
    httpTokens: fc.constantFrom('required', 'optional'),
    httpPutResponseHopLimit: fc.integer({ min: 1, max: 64 }),
    httpProtocolIPv6: fc.constantFrom('enabled', 'disabled'),
  },
  { requiredKeys: [] },
);
const tags = mapOf(
  fc.constantFrom('Name', 'team', 'kubernetes.io/cluster/dev', 'karpenter.sh/nodepool', 'eks:eks-cluster-name', '1'),
  labelValue,
);
const shared = {
  userData: fc.constant('#!/bin/bash\necho "a: b" # c\n\n  indented\n'),
  tags,
  metadataOptions,
  detailedMonitoring: fc.boolean(),
  context: word,
};

const tagSelector = fc.dictionary(
  fc.constantFrom('Name', 'karpenter.sh/discovery', 'env', 'aws:thing'),
  fc.oneof(labelValue, fc.constantFrom('*', '', 'a,b', ' a , b ', 'on,off')),
  { minKeys: 1, maxKeys: 3, noNullPrototype: true },
);
const ids = (prefix: string) =>
  fc.record({
    key: fc.constantFrom('aws-ids', 'aws::ids'),
    values: fc.array(id(prefix), { minLength: 1, maxLength: 3 }),
  });
const selectorOf = (prefix: string) =>
  fc.oneof(
    tagSelector,
    ids(prefix).map(({ key, values }) => ({ [key]: values.join(', ') })),
    fc.tuple(ids(prefix), tagSelector).map(([{ key, values }, more]) => ({ [key]: values.join(','), ...more })),
  );
const imageSelector = fc.oneof(
  selectorOf('ami'),
  fc.record(
    {
      'aws::name': fc.constantFrom('a,b', 'my-*'),
      'aws::owners': fc.constantFrom('self', 'self,amazon', '123456789012'),
    },
    { requiredKeys: [] },
  ),
);

const templateFields = {
  ...shared,
  amiFamily: fc.constantFrom('AL2', 'Bottlerocket', 'Ubuntu', 'Windows2019', 'Windows2022'),
  subnetSelector: selectorOf('subnet'),
  securityGroupSelector: selectorOf('sg'),
  instanceProfile: word,
  blockDeviceMappings: blockDevices,
};
const REQUIRED_OF_TEMPLATES = ['subnetSelector', 'securityGroupSelector'] as const;

export const nodeTemplate = fc.record({
  apiVersion: fc.constant('karpenter.k8s.aws/v1alpha1'),
  kind: fc.constant('AWSNodeTemplate'),
  metadata: metadata(['default', 'gpu']),
  spec: fc.record({ ...templateFields, amiSelector: imageSelector }, { requiredKeys: [...REQUIRED_OF_TEMPLATES] }),
  status: fc.constant({ subnets: [{ id: 'subnet-1', zone: 'us-east-1a' }] }),
});

const classOf = fc.oneof(
  fc.record({ providerRef: fc.record({ name: fc.constantFrom('default', 'gpu', 'elsewhere') }) }),
  fc.record({ provider: fc.record(templateFields, { requiredKeys: [...REQUIRED_OF_TEMPLATES] }) }),
);

export const provisioner = fc
  .tuple(
    metadata(['default', 'apps', 'spot']),
    classOf,
    disruptionOfAlpha,
    fc.record(
      {
        labels,
        annotations,
        requirements: fc.array(requirement, { maxLength: 4 }),
        taints: fc.array(taint, { maxLength: 2 }),
        startupTaints: fc.array(taint, { maxLength: 2 }),
        kubeletConfiguration: kubelet.chain((block) =>
          fc.constantFrom(block, { ...block, containerRuntime: 'containerd' }),
        ),
        limits: fc.record({ resources: quantities }, { requiredKeys: [] }),
        weight: fc.integer({ min: 1, max: 100 }),
        ttlSecondsUntilExpired: seconds,
      },
      { requiredKeys: [] },
    ),
  )
  .map(([meta, reference, disruption, rest]) => ({
    apiVersion: 'karpenter.sh/v1alpha5',
    kind: 'Provisioner',
    metadata: meta,
    spec: { ...rest, ...reference, ...disruption },
    status: { resources: { cpu: '4' } },
  }));

const duration = fc.oneof(
  fc.constantFrom('30s', '720h', '1h30m', 'Never'),
  fc.nat(99).map((count) => `${count}h`),
);
const budget = fc.oneof(
  fc.record({ nodes: fc.constantFrom('10%', '0', '5', '100%') }),
  fc.constant({ nodes: '0', schedule: '0 9 * * mon-fri', duration: '8h' }),
);
const disruptionOfBeta = fc
  .tuple(
    fc.constantFrom(
      {},
      { consolidationPolicy: 'WhenUnderutilized' },
      { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' },
      { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' },
      { consolidationPolicy: 'WhenUnderutilized', consolidateAfter: 'Never' },
    ),
    fc.record({ expireAfter: duration, budgets: fc.array(budget, { maxLength: 2 }) }, { requiredKeys: [] }),
  )
  .map(([policy, rest]) => ({ ...policy, ...rest }));

const classReference = fc.record(
  {
    name: fc.constantFrom('default', 'gpu', 'elsewhere'),
    kind: fc.constant('EC2NodeClass'),
    apiVersion: fc.constant('karpenter.k8s.aws/v1beta1'),
  },
  { requiredKeys: ['name'] },
);
const betaSpec = {
  nodeClassRef: classReference,
  requirements: fc.array(requirement, { maxLength: 4 }),
  taints: fc.array(taint, { maxLength: 2 }),
  startupTaints: fc.array(taint, { maxLength: 2 }),
  kubelet,
};

export const nodePool = fc.record({
  apiVersion: fc.constant('karpenter.sh/v1beta1'),
  kind: fc.constant('NodePool'),
  metadata: metadata(['default', 'apps', 'spot']),
  spec: fc.record(
    {
      template: fc.record(
        {
          metadata: fc.record({ labels, annotations }, { requiredKeys: [] }),
          spec: fc.record(betaSpec, { requiredKeys: ['nodeClassRef', 'requirements'] }),
        },
        { requiredKeys: ['spec'] },
      ),
      disruption: disruptionOfBeta,
      limits: quantities,
      weight: fc.integer({ min: 1, max: 100 }),
    },
    { requiredKeys: ['template'] },
  ),
});

export const nodeClaim = fc.record({
  apiVersion: fc.constant('karpenter.sh/v1beta1'),
  kind: fc.constant('NodeClaim'),
  metadata: metadata(['default-x7f2p', 'mine']),
  spec: fc.record(
    { ...betaSpec, resources: fc.record({ requests: quantities }) },
    { requiredKeys: ['nodeClassRef', 'requirements'] },
  ),
});

const termsOf = (prefix: string) =>
  fc.array(
    fc.oneof(
      id(prefix).map((value) => ({ id: value })),
      fc
        .dictionary(fc.constantFrom('Name', 'env'), fc.oneof(word, fc.constant('*')), {
          minKeys: 1,
          noNullPrototype: true,
        })
        .map((value) => ({ tags: value })),
    ),
    { minLength: 1, maxLength: 3 },
  );

export const nodeClass = fc
  .tuple(
    metadata(['default', 'gpu']),
    fc.oneof(fc.record({ role: word }), fc.record({ instanceProfile: word })),
    fc.record(
      {
        ...shared,
        amiFamily: fc.constantFrom('AL2', 'AL2023', 'Bottlerocket', 'Ubuntu', 'Windows2019', 'Windows2022'),
        subnetSelectorTerms: termsOf('subnet'),
        securityGroupSelectorTerms: termsOf('sg'),
        amiSelectorTerms: termsOf('ami'),
        blockDeviceMappings: blockDevices.map((devices) =>
          devices.map((device) => ({ ...device, ebs: { ...device.ebs, volumeSize: '100Gi' } })),
        ),
        instanceStorePolicy: fc.constant('RAID0'),
        associatePublicIPAddress: fc.boolean(),
      },
      { requiredKeys: ['amiFamily', 'subnetSelectorTerms', 'securityGroupSelectorTerms'] },
    ),
  )
  .map(([meta, profile, spec]) => ({
    apiVersion: 'karpenter.k8s.aws/v1beta1',
    kind: 'EC2NodeClass',
    metadata: meta,
    spec: { ...spec, ...profile },
  }));
