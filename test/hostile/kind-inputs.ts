/** Extreme objects of the built-in kinds that the operator reads. A real API server accepts all of them. */
import type { KubeObject } from '#api/objects';
import { smallPod } from './healthy.ts';
import { QUANTITIES } from './odd-values.ts';
import type { ObjectsInput } from './play.ts';

type Json = Readonly<Record<string, unknown>>;

const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const dictionary = (count: number, key: (index: number) => string, value: string): Json =>
  Object.fromEntries(many(count, (i) => [key(i), value]));
/** JavaScript property names that are also valid label names. */
const ODD_NAMES = ['constructor', 'toString', 'hasOwnProperty', 'valueOf'] as const;
const oddLabels = (value = 'x'): Json => Object.fromEntries(ODD_NAMES.map((key) => [key, value]));

interface Rest {
  readonly metadata?: Json;
  readonly [field: string]: unknown;
}

const object =
  (apiVersion: string, kind: string, namespace?: string) =>
  (name: string, { metadata = {}, ...rest }: Rest): KubeObject =>
    ({
      apiVersion,
      kind,
      metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...metadata },
      ...rest,
    }) as unknown as KubeObject;

const node = object('v1', 'Node');
const budget = object('policy/v1', 'PodDisruptionBudget', 'default');
const daemonSet = object('apps/v1', 'DaemonSet', 'default');
const claim = object('v1', 'PersistentVolumeClaim', 'default');
const volume = object('v1', 'PersistentVolume');
const storageClass = object('storage.k8s.io/v1', 'StorageClass');
const csiNode = object('storage.k8s.io/v1', 'CSINode');
const attachment = object('storage.k8s.io/v1', 'VolumeAttachment');
const namespace = object('v1', 'Namespace');
const priorityClass = object('scheduling.k8s.io/v1', 'PriorityClass');
const resourceClaim = object('resource.k8s.io/v1', 'ResourceClaim', 'default');
const deviceClass = object('resource.k8s.io/v1', 'DeviceClass');
const resourceSlice = object('resource.k8s.io/v1', 'ResourceSlice');
const lease = object('coordination.k8s.io/v1', 'Lease', 'default');

const READY = [{ type: 'Ready', status: 'True', reason: 'x', message: 'x' }];
const withCapacity = (amounts: Json): Rest => ({
  status: { capacity: amounts, allocatable: amounts, conditions: READY },
});
const MANAGED = { 'karpenter.sh/nodepool': 'healthy', 'node.kubernetes.io/instance-type': 'm5.large' };
const INITIALIZED = { ...MANAGED, 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true' };

const NODES: Readonly<Record<string, readonly Rest[]>> = {
  'no status': [{}],
  'capacities that are odd': QUANTITIES.filter((text) => text !== '1e1.5').map((cpu) =>
    withCapacity({ cpu, memory: cpu, pods: cpu }),
  ),
  'resources of odd names': [withCapacity({ cpu: '4', ...oddLabels('1') })],
  '1,000 resources': [withCapacity(dictionary(1_000, (i) => `example.com/r${i}`, '1'))],
  'labels of odd keys': [{ metadata: { labels: { ...oddLabels(), ...MANAGED } } }],
  '5,000 labels': [{ metadata: { labels: dictionary(5_000, (i) => `example.com/l${i}`, 'x') } }],
  '1,000 taints': [{ spec: { taints: many(1_000, (i) => ({ key: `example.com/t${i}`, effect: 'NoExecute' })) } }],
  'taints of odd keys': [{ spec: { taints: ODD_NAMES.map((key) => ({ key, value: key, effect: 'NoSchedule' })) } }],
  'provider ids that are none of ours': [
    'x',
    'constructor',
    'gce://project/zone/name',
    'aws:///',
    'aws:///us-west-2a/i-0123456789abcdef0',
    'a'.repeat(100_000),
    '\u202e\ud83d\ude00',
  ].map((providerID) => ({ spec: { providerID } })),
  'marks of ours, and an instance that there is not': [
    { metadata: { labels: MANAGED }, spec: { providerID: 'aws:///us-west-2a/i-00000000000000001' } },
    { metadata: { labels: INITIALIZED }, spec: { providerID: 'aws:///us-west-2a/i-00000000000000002' } },
    { metadata: { labels: INITIALIZED } },
    { metadata: { labels: { ...INITIALIZED, 'karpenter.sh/nodepool': 'constructor' } } },
  ],
  'annotations of ours': [
    { metadata: { labels: INITIALIZED, annotations: { 'karpenter.sh/do-not-disrupt': '1'.repeat(100_000) } } },
  ],
  'conditions that are odd': [
    { status: { conditions: many(1_000, (i) => ({ type: `t${i}`, status: 'Unknown', reason: 'x', message: 'x' })) } },
    { status: { conditions: [{ type: 'Ready', status: 'Maybe', lastTransitionTime: '0001-01-01T00:00:00Z' }] } },
  ],
  'labels of a place that is not': [
    { metadata: { labels: { 'topology.kubernetes.io/zone': 'constructor', 'kubernetes.io/hostname': 'constructor' } } },
  ],
};

const selector = (matchLabels: Json): Json => ({ selector: { matchLabels } });

const BUDGETS: Readonly<Record<string, readonly Rest[]>> = {
  'amounts that are odd': [0, 2 ** 31 - 1, '0%', '100%'].flatMap((amount) => [
    { spec: { maxUnavailable: amount, ...selector({ app: 'nobody' }) } },
    { spec: { minAvailable: amount, ...selector({ app: 'nobody' }) } },
  ]),
  'selectors of everything and nothing': [{ spec: { minAvailable: 1, selector: {} } }, { spec: { minAvailable: 1 } }],
  'selectors of odd keys': [{ spec: { minAvailable: 1, ...selector(oddLabels()) } }],
  'selectors of 2,000 expressions': [
    {
      spec: {
        minAvailable: 1,
        selector: {
          matchExpressions: many(2_000, (i) => ({ key: `k${i}`, operator: 'NotIn', values: many(10, (n) => `v${n}`) })),
        },
      },
    },
  ],
  'a budget for each of 500': many(500, (i) => ({ spec: { maxUnavailable: 0, ...selector({ app: `a${i}` }) } })),
};

const daemonOf = (pod: Json, labels: Json = { app: 'daemon' }): Rest => ({
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'pause' }], ...pod } },
  },
});
const requesting = (requests: Json): Json => ({
  containers: [{ name: 'main', image: 'pause', resources: { requests, limits: requests } }],
});
const BESIDE_HEALTHY = { 'karpenter.sh/nodepool': 'open' };

const DAEMON_SETS: Readonly<Record<string, readonly Rest[]>> = {
  'requests beyond every node': ['100000', '1e999', '9223372036854775807'].map((cpu) =>
    daemonOf({ ...requesting({ cpu, memory: '1Ei' }), nodeSelector: BESIDE_HEALTHY }),
  ),
  'requests that are odd': ['0', '1n', '.5', '5.', '+1', '0.000000000000000000001'].map((cpu) =>
    daemonOf({ ...requesting({ cpu }), nodeSelector: BESIDE_HEALTHY }),
  ),
  'resources and selectors of odd names': [
    daemonOf({ ...requesting({ cpu: '1m', 'example.com/constructor': '1' }), nodeSelector: oddLabels() }, oddLabels()),
  ],
  '500 containers': [
    daemonOf({
      containers: many(500, (i) => ({ name: `c${i}`, image: 'pause', resources: { requests: { cpu: '1m' } } })),
      nodeSelector: BESIDE_HEALTHY,
    }),
  ],
  '1,000 node selector terms': [
    daemonOf({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: many(1_000, (i) => ({
              matchExpressions: [{ key: `example.com/k${i}`, operator: 'In', values: ['x'] }],
            })),
          },
        },
      },
    }),
  ],
  'a set for each of 200': many(200, (i) => daemonOf({ nodeSelector: { 'example.com/nowhere': `n${i}` } })),
};

const ACCESS = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const termsOf = (count: number, key: (index: number) => string): Json => ({
  required: {
    nodeSelectorTerms: many(count, (i) => ({
      matchExpressions: [{ key: key(i), operator: 'In', values: [`v${i}`] }],
    })),
  },
});
const source = { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' } };
const volumeOf = (nodeAffinity: Json, capacity = '1Gi'): Rest => ({
  spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: capacity }, nodeAffinity, ...source },
});

/** Returns a pod with volumes, each with its own claim and PersistentVolume. */
function mounted(name: string, count: number, nodeAffinity: (index: number) => Json): readonly KubeObject[] {
  const names = many(count, (i) => `${name}-${i}`);
  const pod = smallPod(name, { 'karpenter.sh/nodepool': 'open' });
  const volumes = names.map((claimName, i) => ({ name: `v${i}`, persistentVolumeClaim: { claimName } }));
  return [
    ...names.map((each, i) => volume(each, volumeOf(nodeAffinity(i)))),
    ...names.map((each) => claim(each, { spec: { ...ACCESS, volumeName: each, storageClassName: '' } })),
    { ...pod, spec: { ...pod.spec, volumes } } as KubeObject,
  ];
}

const STORAGE_CLASSES: Readonly<Record<string, readonly Rest[]>> = {
  'topologies without end': [
    {
      provisioner: 'ebs.csi.aws.com',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowedTopologies: many(1_000, (i) => ({
        matchLabelExpressions: [{ key: `example.com/k${i}`, values: many(20, (n) => `v${n}`) }],
      })),
    },
  ],
  'odd provisioners and keys': ODD_NAMES.map((provisioner) => ({
    provisioner,
    allowedTopologies: [{ matchLabelExpressions: [{ key: provisioner, values: [provisioner] }] }],
  })),
  'parameters without end': [{ provisioner: 'x', parameters: dictionary(500, (i) => `p${i}`, 'x'.repeat(400)) }],
};

const CSI_NODES: Readonly<Record<string, readonly Rest[]>> = {
  'counts that are odd': [0, 1, 2 ** 31 - 1].map((count) => ({
    spec: { drivers: [{ name: 'ebs.csi.aws.com', nodeID: 'x', allocatable: { count } }] },
  })),
  'drivers of odd names': [{ spec: { drivers: ODD_NAMES.map((name) => ({ name: name.toLowerCase(), nodeID: 'x' })) } }],
  '1,000 drivers': [
    { spec: { drivers: many(1_000, (i) => ({ name: `d${i}`, nodeID: 'x', topologyKeys: [`k${i}`] })) } },
  ],
};

const DEVICES: Readonly<Record<string, readonly KubeObject[]>> = {
  'classes of long expressions': [
    deviceClass('hostile-class', {
      spec: { selectors: [{ cel: { expression: `device.driver == "${'a'.repeat(5_000)}"` } }] },
    }),
  ],
  'claims of classes that are not': many(50, (i) =>
    resourceClaim(`hostile-device-${i}`, {
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: ODD_NAMES[i % 4]?.toLowerCase() } }] } },
    }),
  ),
  'claims of more than there can be': [
    resourceClaim('hostile-many', {
      spec: {
        devices: {
          requests: many(32, (i) => ({
            name: `r${i}`,
            exactly: { deviceClassName: 'nowhere', allocationMode: 'ExactCount', count: 2 ** 31 - 1 },
          })),
        },
      },
    }),
  ],
  'slices of odd devices': [
    resourceSlice('hostile-slice', {
      spec: {
        driver: 'constructor',
        nodeName: 'nowhere',
        pool: { name: 'constructor', generation: 2 ** 53, resourceSliceCount: 1 },
        devices: many(128, (i) => ({
          name: `d${i}`,
          attributes: { constructor: { string: 'x' }, n: { int: 2 ** 53 } },
        })),
      },
    }),
  ],
};

const OTHERS: Readonly<Record<string, readonly KubeObject[]>> = {
  'namespaces of 200 KB of labels': [
    namespace('hostile-namespace', {
      metadata: { labels: dictionary(3_000, (i) => `example.com/l${i}`, 'x'.repeat(50)) },
    }),
    namespace('constructor', { metadata: { labels: oddLabels() } }),
  ],
  'priorities at their ends': [-(2 ** 31), 2 ** 30 - 1, 1_000_000_000].map((value, i) =>
    priorityClass(`hostile-priority-${i}`, { value, description: 'x'.repeat(10_000) }),
  ),
  'leases of others': many(300, (i) =>
    lease(`hostile-lease-${i}`, {
      spec: { holderIdentity: '\u202e', leaseDurationSeconds: 2 ** 31 - 1, leaseTransitions: 2 ** 31 - 1 },
    }),
  ),
  'attachments to nodes that are not': many(200, (i) =>
    attachment(`hostile-attachment-${i}`, {
      spec: { attacher: 'constructor', nodeName: 'nowhere', source: { persistentVolumeName: `nowhere-${i}` } },
    }),
  ),
};

type Make = (name: string, rest: Rest) => KubeObject;

const inputs = (kind: string, make: Make, values: Readonly<Record<string, readonly Rest[]>>): readonly ObjectsInput[] =>
  Object.entries(values).map(([what, rests], input) => ({
    name: `${kind} with ${what}`,
    objects: rests.map((rest, i) => make(`hostile-${kind.toLowerCase()}-${input}-${i}`, rest)),
    explained: [],
  }));

const plain = (values: Readonly<Record<string, readonly KubeObject[]>>): readonly ObjectsInput[] =>
  Object.entries(values).map(([name, objects]) => ({ name, objects, explained: [] }));

const volumes = (what: string, name: string, count: number, affinity: (index: number) => Json): ObjectsInput => ({
  name: `a pod with ${what}`,
  objects: mounted(name, count, affinity),
  explained: ['Pod'],
});

export const KIND_INPUTS: readonly ObjectsInput[] = [
  ...inputs('Node', node, NODES),
  ...inputs('PodDisruptionBudget', budget, BUDGETS),
  ...inputs('DaemonSet', daemonSet, DAEMON_SETS),
  ...inputs('StorageClass', storageClass, STORAGE_CLASSES),
  ...inputs('CSINode', csiNode, CSI_NODES),
  ...plain(DEVICES),
  ...plain(OTHERS),
  volumes('volumes in 1,000 places of the same label', 'hostile-places', 3, () =>
    termsOf(1_000, () => 'example.com/p'),
  ),
  volumes('10 volumes in 1,000 places of labels of their own', 'hostile-own', 10, (volume) =>
    termsOf(1_000, (i) => `example.com/v${volume}-${i}`),
  ),
  volumes('200 volumes in 20 places', 'hostile-many-volumes', 200, () => termsOf(20, (i) => `example.com/p${i}`)),
  volumes('volumes of odd places', 'hostile-odd', 4, (i) => termsOf(4, (n) => ODD_NAMES[(i + n) % 4] ?? '')),
];
