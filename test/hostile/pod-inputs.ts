/** Extreme pods that a real API server accepts. */
import type { KubeObject } from '#api/objects';
import type { ObjectsInput } from './play.ts';

type Json = Readonly<Record<string, unknown>>;

const CONTAINER = { name: 'main', image: 'pause', resources: { requests: { cpu: '100m' } } };
const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const dictionary = (count: number, key: (index: number) => string, value: string): Json =>
  Object.fromEntries(many(count, (i) => [key(i), value]));

const pod = (name: string, spec: Json, metadata: Json = {}): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...metadata },
    spec: { terminationGracePeriodSeconds: 0, containers: [CONTAINER], ...spec },
  }) as unknown as KubeObject;

const required = (terms: readonly unknown[]): Json => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
});
const preferred = (terms: readonly unknown[]): Json => ({
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: terms.map((preference) => ({ weight: 1, preference })),
    },
  },
});
const expression = (key: string, operator: string, ...values: readonly string[]): Json => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
});
const apart = (terms: readonly Json[], kind = 'podAntiAffinity'): Json => ({
  affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
});
const requests = (wanted: Json): Json => ({
  containers: [{ ...CONTAINER, resources: { requests: wanted, limits: wanted } }],
});
const spread = (constraint: Json): Json => ({
  topologySpreadConstraints: [{ maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector: {}, ...constraint }],
});

/** Specs, and sometimes metadata, of pods that are played together, by name. */
const SPECS: Readonly<Record<string, readonly Json[] | ((name: string) => readonly KubeObject[])>> = {
  'node selectors of odd keys': ['constructor', 'toString', 'valueOf', 'hasOwnProperty'].map((key) => ({
    nodeSelector: { [key]: 'x' },
  })),
  'a node selector of 2,000 labels': [{ nodeSelector: dictionary(2_000, (i) => `example.com/k${i}`, 'v') }],
  'integers beyond all bounds': [
    '9007199254740992',
    '9223372036854775807',
    '99999999999999999999',
    '-1',
    '007',
    '1e3',
    ' 1',
    '',
  ].flatMap((value) => [
    required([expression('karpenter.k8s.aws/instance-cpu', 'Gt', value)]),
    required([expression('example.com/odd', 'Lt', value)]),
  ]),
  'all integers but one': [
    required([
      {
        matchExpressions: [
          { key: 'example.com/n', operator: 'Gt', values: ['9007199254740992'] },
          { key: 'example.com/n', operator: 'NotIn', values: ['9007199254740993', '9007199254740992'] },
        ],
      },
    ]),
  ],
  'a label within an empty span': [
    required([
      {
        matchExpressions: [
          { key: 'example.com/n', operator: 'Gt', values: ['5'] },
          { key: 'example.com/n', operator: 'Lt', values: ['6'] },
        ],
      },
    ]),
  ],
  '500 required expressions': [
    required([
      { matchExpressions: many(500, (i) => ({ key: `example.com/k${i}`, operator: 'NotIn', values: ['x'] })) },
    ]),
  ],
  '5,000 preferences that nothing meets': [preferred(many(5_000, (i) => expression(`example.com/k${i}`, 'In', 'x')))],
  'anti-affinity to everybody everywhere': [
    apart([{ topologyKey: 'example.com/nowhere', labelSelector: {}, namespaceSelector: {} }]),
  ],
  '500 required terms': [required(many(500, (i) => expression('example.com/k', 'In', `v${i}`)))],
  '5,000 values': [required([expression('example.com/k', 'In', ...many(5_000, (i) => `v${i}`))])],
  '5,000 values that are not': [required([expression('example.com/k', 'NotIn', ...many(5_000, (i) => `v${i}`))])],
  'required terms that are empty': [required([{}]), required([{ matchExpressions: [] }])],
  'fields of another node': [
    required([{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['nowhere'] }] }]),
  ],
  '300 preferences that nothing meets': [preferred(many(300, (i) => expression(`example.com/k${i}`, 'In', 'x')))],
  'preferences of odd keys': [preferred([expression('constructor', 'In', 'x'), expression('toString', 'Exists')])],
  'spread over odd keys': ['constructor', 'toString', 'example.com/nowhere', 'kubernetes.io/hostname'].map(
    (topologyKey) => spread({ topologyKey }),
  ),
  'spread with extreme numbers': [
    spread({ topologyKey: 'topology.kubernetes.io/zone', maxSkew: 2 ** 31 - 1, minDomains: 2 ** 31 - 1 }),
    spread({ topologyKey: 'kubernetes.io/hostname', minDomains: 2 ** 31 - 1 }),
  ],
  'spread by labels of odd keys': [
    spread({ topologyKey: 'topology.kubernetes.io/zone', matchLabelKeys: ['constructor', 'toString'] }),
  ],
  '200 spread constraints': [
    {
      topologySpreadConstraints: many(200, (i) => ({
        maxSkew: 1,
        whenUnsatisfiable: 'ScheduleAnyway',
        topologyKey: `example.com/t${i}`,
        labelSelector: { matchLabels: { a: 'b' } },
      })),
    },
  ],
  'affinity to nobody': [
    apart(
      [{ topologyKey: 'topology.kubernetes.io/zone', labelSelector: { matchLabels: { a: 'nobody' } } }],
      'podAffinity',
    ),
  ],
  'affinity of odd keys': ['constructor', 'toString'].map((key) =>
    apart([{ topologyKey: key, labelSelector: { matchLabels: { [key]: key } } }], 'podAffinity'),
  ),
  '200 terms of anti-affinity': [
    apart(
      many(200, (i) => ({
        topologyKey: 'kubernetes.io/hostname',
        labelSelector: { matchExpressions: [{ key: `k${i}`, operator: 'NotIn', values: many(20, (n) => `v${n}`) }] },
      })),
    ),
  ],
  '200 preferred terms of anti-affinity': [
    {
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: many(200, (i) => ({
            weight: 100,
            podAffinityTerm: { topologyKey: `example.com/t${i}`, labelSelector: {} },
          })),
        },
      },
    },
  ],
  'namespaces that are not': [
    apart([{ topologyKey: 'topology.kubernetes.io/zone', labelSelector: {}, namespaces: ['nowhere', 'constructor'] }]),
  ],
  'requests beyond all machines': ['1Ei', '9223372036854775807', '99999999999999999999', '1e18', '8E'].map((memory) =>
    requests({ memory }),
  ),
  'requests of next to nothing': ['0', '1n', '0.000000001', '1m', '1e-9'].map((cpu) => requests({ cpu })),
  'resources of odd names': [
    'constructor',
    'example.com/constructor',
    'example.com/toString',
    'hugepages-2Mi',
    'requests.cpu',
  ].map((name) => requests({ cpu: '1', [name]: '1' })),
  '500 extended resources': [requests(dictionary(500, (i) => `example.com/r${i}`, '1'))],
  '1,000 containers': [{ containers: many(1_000, (i) => ({ ...CONTAINER, name: `c${i}` })) }],
  '1,000 containers at first': [{ initContainers: many(1_000, (i) => ({ ...CONTAINER, name: `i${i}` })) }],
  'sidecars beside containers that never end': [
    { initContainers: many(50, (i) => ({ ...CONTAINER, name: `i${i}`, restartPolicy: 'Always' })) },
  ],
  'an overhead beyond all machines': [{ overhead: { cpu: '1000000', memory: '1Pi' } }],
  'resources of the whole pod': [{ resources: { requests: { cpu: '1', memory: '100Pi' } } }],
  '2,000 tolerations': [{ tolerations: many(2_000, (i) => ({ key: `k${i}`, operator: 'Exists' })) }],
  'tolerations with extreme times': [-1, 0, 2 ** 53, 2 ** 63 - 1024].map((tolerationSeconds) => ({
    tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds }],
  })),
  'tolerations of odd keys': [
    { tolerations: [{ key: 'constructor', operator: 'Equal', value: 'x' }, { operator: 'Exists' }] },
  ],
  'every port of a node': [
    {
      containers: [
        { ...CONTAINER, ports: many(1_000, (i) => ({ containerPort: 1, hostPort: i + 1, protocol: 'SCTP' })) },
      ],
    },
  ],
  'ports of odd addresses': ['0.0.0.0', '::', '255.255.255.255', '::ffff:1.2.3.4'].map((hostIP) => ({
    containers: [{ ...CONTAINER, ports: [{ containerPort: 1, hostPort: 65_535, hostIP }] }],
  })),
  'volumes that are not': [
    { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'nowhere' } }] },
    { volumes: many(300, (i) => ({ name: `v${i}`, persistentVolumeClaim: { claimName: `nowhere-${i}` } })) },
    {
      volumes: [
        {
          name: 'v',
          ephemeral: {
            volumeClaimTemplate: {
              spec: {
                accessModes: ['ReadWriteOnce'],
                storageClassName: 'constructor',
                resources: { requests: { storage: '1' } },
              },
            },
          },
        },
      ],
    },
  ],
  'devices that are not': [
    { resourceClaims: many(30, (i) => ({ name: `d${i}`, resourceClaimName: `nowhere-${i}` })) },
    { resourceClaims: [{ name: 'd', resourceClaimTemplateName: 'constructor' }] },
  ],
  'a wait of centuries at its end': [{ terminationGracePeriodSeconds: 2 ** 62 }],
  'annotations that hold it': (name) =>
    ['1'.repeat(40_000), '1'.repeat(200_000), '99999999h', '-1h', '1.1.1h', 'constructor', '\u202e\u0000', ''].map(
      (value, i) => pod(`${name}-${i}`, {}, { annotations: { 'karpenter.sh/do-not-disrupt': value } }),
    ),
  'annotations about its end': (name) =>
    ['99999999999999999999', '1e999', '-2147483648', 'x', '1'.repeat(100_000)].map((value, i) =>
      pod(`${name}-${i}`, {}, { annotations: { 'controller.kubernetes.io/pod-deletion-cost': value } }),
    ),
  'as many annotations as there can be': (name) => [
    pod(name, {}, { annotations: dictionary(5_000, (i) => `example.com/a${i}`, 'x'.repeat(10)) }),
  ],
  'as many labels as there can be': (name) => [
    pod(name, {}, { labels: dictionary(5_000, (i) => `example.com/l${i}`, 'x') }),
  ],
  'labels of odd keys': (name) =>
    ['constructor', 'toString', 'hasOwnProperty', 'valueOf'].map((key, i) =>
      pod(`${name}-${i}`, {}, { labels: { [key]: key } }),
    ),
  'owners that are not': (name) => [
    pod(
      name,
      {},
      {
        ownerReferences: many(100, (i) => ({
          apiVersion: 'example.com/v9',
          kind: 'constructor',
          name: `o${i}`,
          uid: `u${i}`,
        })),
      },
    ),
  ],
  'names as long as they can be': () => [pod(`${'a.'.repeat(126)}b`, {}), pod('0', {})],
  '300 pods of which no two are alike': (name) =>
    many(300, (i) => pod(`${name}-${i}`, { nodeSelector: { 'example.com/nowhere': `v${i}` } })),
  'a node of another name': [{ nodeName: 'nowhere' }],
  'another scheduler': [{ schedulerName: 'nobody' }],
  'gates that nobody opens': [{ schedulingGates: many(100, (i) => ({ name: `example.com/g${i}` })) }],
  'a pool that is not': [{ nodeSelector: { 'karpenter.sh/nodepool': 'nowhere' } }],
  'labels that only a node has': [
    { nodeSelector: { 'kubernetes.io/hostname': 'nowhere' } },
    { nodeSelector: { 'karpenter.sh/capacity-type': 'stolen' } },
    { nodeSelector: { 'topology.kubernetes.io/zone': 'mars-north-1a' } },
    { nodeSelector: { 'karpenter.k8s.aws/instance-cpu': '9007199254740993' } },
  ],
};

/** Inputs without an expected explanation, because no node can suit these pods or another scheduler is responsible. */
const SILENT = new Set([
  'a node of another name',
  'another scheduler',
  'gates that nobody opens',
  '300 pods of which no two are alike',
]);

export const POD_INPUTS: readonly ObjectsInput[] = Object.entries(SPECS).map(([name, specs], input) => ({
  name: `pods with ${name}`,
  objects:
    typeof specs === 'function'
      ? specs(`hostile-pod-${input}`)
      : specs.map((spec, i) => pod(`hostile-pod-${input}-${i}`, spec)),
  explained: SILENT.has(name) ? [] : ['Pod'],
}));
