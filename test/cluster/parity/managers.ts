/** Field managers after writes of every type. The managedFields of every response are compared. */
import { type Answers, bodyOf, except, get, type Json, patch, post, put, type Step } from './script.ts';

const NS = '/api/v1/namespaces/managed';
const MAPS = `${NS}/configmaps`;
const DEPLOYMENTS = '/apis/apps/v1/namespaces/managed/deployments';
const WEB = `${DEPLOYMENTS}/web`;
const POOLS = '/apis/karpenter.sh/v1/nodepools';

const map = (name: string, data: Json, metadata: Json = {}): Json => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});

const container = (name: string, more: Json = {}): Json => ({ name, image: 'pause', ...more });

const template = (more: Json = {}): Json => ({
  metadata: { labels: { app: 'web' } },
  spec: {
    containers: [
      container('main', {
        env: [{ name: 'A', value: '1' }],
        ports: [{ containerPort: 80 }],
        resources: { requests: { cpu: '1' } },
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
      }),
      container('side'),
    ],
    nodeSelector: { a: 'b' },
    tolerations: [{ key: 'a', operator: 'Exists' }],
    volumes: [{ name: 'v', emptyDir: {} }],
    ...more,
  },
});

const deployment: Json = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', labels: { app: 'web' } },
  spec: { replicas: 0, selector: { matchLabels: { app: 'web' } }, template: template() },
};

const pool = (name: string, spec: Json = {}): Json => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name, labels: { a: 'b' } },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
      },
    },
    ...spec,
  },
});

const handedOver = (manager: string, fieldsV1: Json): Json => ({
  manager,
  operation: 'Apply',
  apiVersion: 'v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1,
});

const changed =
  (from: string, change: (object: Json) => Json) =>
  (answers: Answers): Json =>
    change(bodyOf(answers, from));

const created: readonly (readonly [string, string, Json])[] = [
  [
    'a pod',
    `${NS}/pods`,
    { metadata: { name: 'p' }, spec: { ...(template().spec as Json), serviceAccountName: 'sa' } },
  ],
  [
    'a node',
    '/api/v1/nodes',
    { metadata: { name: 'managed' }, spec: { providerID: 'x' }, status: { capacity: { cpu: '1' } } },
  ],
  [
    'a service',
    `${NS}/services`,
    { metadata: { name: 's' }, spec: { clusterIP: '172.20.0.66', ports: [{ port: 80 }], selector: { a: 'b' } } },
  ],
  ['a secret', `${NS}/secrets`, { metadata: { name: 's' }, stringData: { a: 'b' } }],
  ['an account', `${NS}/serviceaccounts`, { metadata: { name: 'sa' } }],
  [
    'a budget',
    '/apis/policy/v1/namespaces/managed/poddisruptionbudgets',
    { metadata: { name: 'b' }, spec: { minAvailable: 1, selector: { matchLabels: { a: 'b' } } } },
  ],
  [
    'a daemon set',
    '/apis/apps/v1/namespaces/managed/daemonsets',
    { metadata: { name: 'd' }, spec: { selector: { matchLabels: { app: 'web' } }, template: template() } },
  ],
  [
    'a stateful set',
    '/apis/apps/v1/namespaces/managed/statefulsets',
    {
      metadata: { name: 'd' },
      spec: { serviceName: 's', selector: { matchLabels: { app: 'web' } }, template: template() },
    },
  ],
  [
    'a job',
    '/apis/batch/v1/namespaces/managed/jobs',
    {
      metadata: { name: 'j' },
      spec: { suspend: true, template: { spec: { restartPolicy: 'Never', containers: [container('main')] } } },
    },
  ],
  [
    'a claim',
    `${NS}/persistentvolumeclaims`,
    { metadata: { name: 'c' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
  ],
  [
    'a role',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    { metadata: { name: 'managed' }, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
  ],
  [
    'a lease',
    '/apis/coordination.k8s.io/v1/namespaces/managed/leases',
    { metadata: { name: 'l' }, spec: { holderIdentity: 'me' } },
  ],
];

export const MANAGERS: readonly Step[] = [
  post('manage a namespace', '/api/v1/namespaces?fieldManager=maker', { metadata: { name: 'managed' } }),
  ...created.map(([what, path, body]) => post(`manage ${what}`, `${path}?fieldManager=maker`, body)),
  post('manage a map', `${MAPS}?fieldManager=maker`, map('one', { a: '1', b: '1' }, { labels: { l: '1' } })),
  patch('merge', 'manage a value by a merge', `${MAPS}/one?fieldManager=merger`, { data: { b: '2', c: '2' } }),
  patch('merge', 'manage nothing by changing nothing', `${MAPS}/one?fieldManager=idle`, { data: { b: '2' } }),
  patch('merge', 'manage no more what is gone', `${MAPS}/one?fieldManager=remover`, { data: { c: null } }),
  patch('json', 'manage a value by a JSON patch', `${MAPS}/one?fieldManager=patcher`, [
    { op: 'add', path: '/metadata/annotations', value: { x: 'y' } },
    { op: 'replace', path: '/data/a', value: '3' },
  ]),
  put(
    'manage by replacing',
    `${MAPS}/one?fieldManager=replacer`,
    changed('manage a value by a JSON patch', (one) => ({ ...one, data: { a: '4', d: '4' } })),
  ),
  put('manage by replacing without the managers', `${MAPS}/one?fieldManager=replacer`, map('one', { a: '5', d: '4' })),
  patch('apply', 'apply over an update', `${MAPS}/one?fieldManager=applier`, map('one', { a: '6', e: '1' })),
  patch('apply', 'apply over two updates', `${MAPS}/one?fieldManager=applier`, map('one', { a: '6', d: '7' })),
  patch('apply', 'apply the values that there are', `${MAPS}/one?fieldManager=applier`, map('one', { a: '5', e: '1' })),
  patch(
    'apply',
    'apply over an update by force',
    `${MAPS}/one?fieldManager=applier&force=true`,
    map('one', { a: '6' }),
  ),
  patch('merge', 'manage what was applied', `${MAPS}/one?fieldManager=merger`, { data: { a: '8' } }),
  patch('apply', 'apply what another changed since', `${MAPS}/one?fieldManager=applier`, map('one', { a: '6' })),
  patch('merge', 'forget who manages', `${MAPS}/one?fieldManager=merger`, { metadata: { managedFields: [{}] } }),
  post('manage annotations', `${MAPS}?fieldManager=maker`, map('two', { a: '1' }, { annotations: { k: 'v' } })),
  // As kubectl does when it migrates to server-side apply.
  patch('json', 'hand fields over to appliers', `${MAPS}/two?fieldManager=kubectl`, [
    {
      op: 'replace',
      path: '/metadata/managedFields',
      value: [
        handedOver('kubectl', {
          'f:data': { '.': {}, 'f:a': {} },
          'f:metadata': { 'f:annotations': { '.': {}, 'f:k': {} } },
        }),
        handedOver('saver', { 'f:metadata': { 'f:annotations': { 'f:k': {} } } }),
      ],
    },
  ]),
  patch('merge', 'write what nobody will manage', `${MAPS}/two?fieldManager=writer`, {
    metadata: { annotations: { free: '1' }, managedFields: null },
  }),
  patch(
    'apply',
    'apply without what another keeps',
    `${MAPS}/two?fieldManager=kubectl`,
    map('two', { a: '1' }, { annotations: { n: '1' } }),
  ),
  patch('apply', 'apply without what nobody keeps', `${MAPS}/two?fieldManager=saver`, map('two', {})),
  post('manage a deployment', `${DEPLOYMENTS}?fieldManager=maker`, deployment),
  patch('merge', 'manage a scale', `${WEB}/scale?fieldManager=scaler`, { spec: { replicas: 3 } }),
  get('who manages the scale', WEB),
  patch('strategic', 'manage a status', `${WEB}/status?fieldManager=controller`, {
    status: { replicas: 3, conditions: [{ type: 'Available', status: 'True' }] },
  }),
  patch('strategic', 'manage one container', `${WEB}?fieldManager=editor`, {
    spec: { template: { spec: { containers: [{ name: 'side', image: 'other', env: [{ name: 'B', value: '1' }] }] } } },
  }),
  patch('strategic', 'manage no more a container that is gone', `${WEB}?fieldManager=editor`, {
    spec: { template: { spec: { containers: [{ name: 'side', $patch: 'delete' }] } } },
  }),
  except(
    'names managers in any order',
    patch('apply', 'apply a deployment over its maker', `${WEB}?fieldManager=applier`, {
      ...deployment,
      spec: { ...(deployment.spec as Json), replicas: 5, template: template({ nodeSelector: { a: 'c' } }) },
    }),
  ),
  patch('apply', 'apply a deployment by force', `${WEB}?fieldManager=applier&force=true`, {
    ...deployment,
    spec: { ...(deployment.spec as Json), replicas: 5, template: template({ nodeSelector: { a: 'c' } }) },
  }),
  patch('apply', 'apply a status', `${WEB}/status?fieldManager=applier`, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    status: { conditions: [{ type: 'Progressing', status: 'True' }] },
  }),
  post('manage a pool', `${POOLS}?fieldManager=maker`, pool('managed', { limits: { cpu: '1' } })),
  patch('merge', 'manage the weight of a pool', `${POOLS}/managed?fieldManager=merger`, { spec: { weight: 3 } }),
  patch('merge', 'manage the status of a pool', `${POOLS}/managed/status?fieldManager=controller`, {
    status: { resources: { cpu: '1' }, nodes: 1 },
  }),
  patch('apply', 'apply a pool over others', `${POOLS}/managed?fieldManager=applier`, pool('managed', { weight: 4 })),
  patch(
    'apply',
    'apply a pool by force',
    `${POOLS}/managed?fieldManager=applier&force=true`,
    pool('managed', { weight: 4 }),
  ),
  patch('apply', 'apply a new pool', `${POOLS}/applied2?fieldManager=applier`, pool('applied2', { weight: 4 })),
  patch('merge', 'manage nothing of a dry run', `${POOLS}/managed?fieldManager=dry&dryRun=All`, {
    spec: { weight: 9 },
  }),
];
