/** Recorded requests of kubectl and client libraries, including invalid requests. */
import {
  type Answers,
  bodyOf,
  del,
  except,
  get,
  type Json,
  METADATA,
  METADATA_LIST,
  metadataOf,
  patch,
  post,
  put,
  type Step,
  TABLE,
} from './script.ts';

const NS = '/api/v1/namespaces/parity';
const MAPS = `${NS}/configmaps`;
const PODS = `${NS}/pods`;
const DEPLOYMENTS = '/apis/apps/v1/namespaces/parity/deployments';
const BUDGETS = '/apis/policy/v1/namespaces/parity/poddisruptionbudgets';
const POOLS = '/apis/karpenter.sh/v1/nodepools';
const NODES = '/api/v1/nodes';

const map = (name: string, data: Json = {}, metadata: Json = {}): Json => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});

const pod = (name: string, spec: Json = {}, metadata: Json = {}): Json => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  // Explicit, because the admission of service accounts is disabled.
  spec: {
    containers: [{ name: 'main', image: 'pause' }],
    schedulerName: 'nobody',
    serviceAccountName: 'default',
    ...spec,
  },
});

const greedy = (resources: Json): Json => pod('greedy', { containers: [{ name: 'main', image: 'pause', resources }] });

const deployment = (name: string): Json => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [
          { name: 'main', image: 'pause' },
          { name: 'side', image: 'pause' },
        ],
      },
    },
  },
});

const pool = (name: string, spec: Json = {}): Json => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name },
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

const node = (name: string): Json => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'topology.kubernetes.io/zone': 'a' } },
  spec: { providerID: `aws:///a/${name}` },
  status: { capacity: { cpu: '4', memory: '8Gi', pods: '10' } },
});

/** Returns a change of the object in an earlier response. */
const changed =
  (from: string, change: (object: Json) => Json) =>
  (answers: Answers): Json =>
    change(bodyOf(answers, from));

const objects: readonly Step[] = [
  post('create a namespace', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'parity' },
  }),
  post('create', MAPS, map('one', { a: '1' }, { labels: { tier: 'web', app: 'x' } })),
  get('read', `${MAPS}/one`),
  post('create again', MAPS, map('one')),
  post('create under a generated name', MAPS, { ...map(''), metadata: { generateName: 'gen-' } }),
  post('create without any name', MAPS, { ...map(''), metadata: {} }),
  post('create with a bad name', MAPS, map('Bad_Name')),
  post('create with a bad label', MAPS, map('badlabel', {}, { labels: { 'a b': 'c' } })),
  post('create in another namespace than the path says', MAPS, map('two', {}, { namespace: 'default' })),
  post('create in a namespace that is not there', '/api/v1/namespaces/nowhere/configmaps', map('one')),
  except('names Go types', post('create another kind', MAPS, { ...map('two'), kind: 'Secret' })),
  post('create with a resource version', MAPS, map('two', {}, { resourceVersion: '1' })),
  post('create nothing but try', `${MAPS}?dryRun=All`, map('dry')),
  get('read what was only tried', `${MAPS}/dry`),
  post('create with an unknown field, strictly', `${MAPS}?fieldValidation=Strict`, { ...map('strict'), nonsense: 1 }),
  post('create with an unknown field, which is dropped', `${MAPS}?fieldValidation=Ignore`, {
    ...map('loose'),
    nonsense: 1,
  }),
  except('quotes its JSON parser', post('create from broken JSON', MAPS, '{"apiVersion":')),
  post('create from a form', MAPS, 'a=b', { contentType: 'application/x-www-form-urlencoded' }),
  get('read what is not there', `${MAPS}/missing`),
  get('read a resource that is not there', `${NS}/nonsense`),
  get('read a group that is not there', '/apis/nonsense.example.com/v1/things'),
  del('delete what is not there', `${MAPS}/missing`),
  put(
    'replace',
    `${MAPS}/one`,
    changed('create', (one) => ({ ...one, data: { a: '2' } })),
  ),
  put(
    'replace an old version',
    `${MAPS}/one`,
    changed('create', (one) => ({ ...one, data: { a: '3' } })),
  ),
  put('replace without a version', `${MAPS}/one`, map('one', { a: '4' }, { labels: { tier: 'web' } })),
  put('replace under another name', `${MAPS}/one`, map('other')),
  except(
    'names a key in etcd',
    put('replace with another uid', `${MAPS}/one`, map('one', {}, { uid: '00000000-0000-4000-8000-000000000000' })),
  ),
  put('replace what is not there', `${MAPS}/missing`, map('missing')),
  put(
    'replace without a change',
    `${MAPS}/one`,
    changed('replace without a version', (one) => one),
  ),
  del('delete with another uid', `${MAPS}/one`, {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions: { uid: '00000000-0000-4000-8000-000000000000' },
  }),
  del('delete with another version', `${MAPS}/one`, {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions: { resourceVersion: '1' },
  }),
  get('a method that a subresource lacks', `${NS}/pods/x/binding`),
  post('create in an unknown version', '/api/v2/namespaces/parity/configmaps', map('x')),
];

const patches: readonly Step[] = [
  patch('merge', 'merge patch', `${MAPS}/one`, { data: { b: '1', a: null }, metadata: { labels: { tier: null } } }),
  patch('merge', 'merge patch with an old version', `${MAPS}/one`, {
    metadata: { resourceVersion: '1' },
    data: { c: '1' },
  }),
  patch('merge', 'merge patch of what is not there', `${MAPS}/missing`, { data: {} }),
  patch('merge', 'merge patch of an immutable field', `${MAPS}/one`, { metadata: { name: 'other' } }),
  patch('json', 'JSON patch', `${MAPS}/one`, [
    { op: 'test', path: '/data/b', value: '1' },
    { op: 'add', path: '/metadata/annotations', value: {} },
    { op: 'add', path: '/metadata/annotations/x~1y', value: '2' },
    { op: 'remove', path: '/data/b' },
  ]),
  patch('json', 'JSON patch whose test fails', `${MAPS}/one`, [
    { op: 'test', path: '/metadata/annotations/x~1y', value: 'no' },
  ]),
  patch('json', 'JSON patch of a path that is not there', `${MAPS}/one`, [{ op: 'remove', path: '/data/none' }]),
  patch('json', 'JSON patch that is no list', `${MAPS}/one`, { op: 'remove' }),
  post('create a deployment', DEPLOYMENTS, deployment('web')),
  patch('strategic', 'strategic patch of one container', `${DEPLOYMENTS}/web`, {
    spec: { template: { spec: { containers: [{ name: 'side', image: 'other', env: [{ name: 'A', value: '1' }] }] } } },
  }),
  patch('strategic', 'strategic patch that deletes a container', `${DEPLOYMENTS}/web`, {
    spec: { template: { spec: { containers: [{ name: 'side', $patch: 'delete' }] } } },
  }),
  patch('strategic', 'strategic patch that is invalid in the end', `${DEPLOYMENTS}/web`, { spec: { replicas: -1 } }),
  patch('strategic', 'strategic patch of the selector', `${DEPLOYMENTS}/web`, {
    spec: { selector: { matchLabels: { app: 'other' } } },
  }),
  patch('strategic', 'strategic patch of a custom resource', `${POOLS}/none`, { spec: {} }),
  patch('apply', 'apply what is new', `${MAPS}/applied?fieldManager=one`, map('applied', { a: '1', b: '1' })),
  patch('apply', 'apply the same', `${MAPS}/applied?fieldManager=one`, map('applied', { a: '1', b: '1' })),
  patch('apply', 'apply less', `${MAPS}/applied?fieldManager=one`, map('applied', { a: '1' })),
  patch('apply', 'apply against another manager', `${MAPS}/applied?fieldManager=two`, map('applied', { a: '2' })),
  patch('apply', 'apply by force', `${MAPS}/applied?fieldManager=two&force=true`, map('applied', { a: '2' })),
  patch('apply', 'apply without a manager', `${MAPS}/applied`, map('applied', { a: '3' })),
  patch('apply', 'apply under another name', `${MAPS}/applied?fieldManager=one`, map('another', {})),
  patch('apply', 'apply without a kind', `${MAPS}/applied?fieldManager=one`, { data: {} }),
];

const pods: readonly Step[] = [
  post('create a pod', PODS, pod('first', {}, { labels: { app: 'pods' } })),
  post('create a pod without containers', PODS, pod('none', { containers: [] })),
  post('create a pod with a bad quantity', PODS, greedy({ requests: { cpu: 'much' } })),
  post(
    'create a pod that asks for more than its limit',
    PODS,
    greedy({ requests: { cpu: '2' }, limits: { cpu: '1' } }),
  ),
  post('create a pod of an unknown priority class', PODS, pod('bad', { priorityClassName: 'none' })),
  post('create a pod with a device but no limit', PODS, greedy({ requests: { 'example.com/gpu': '1' } })),
  post(
    'create a pod that asks for fewer devices than its limit',
    PODS,
    greedy({ requests: { 'example.com/gpu': '1' }, limits: { 'example.com/gpu': '2' } }),
  ),
  post('create a pod with huge pages but no limit', PODS, greedy({ requests: { 'hugepages-2Mi': '2Mi' } })),
  post('create a system pod', PODS, pod('system', { priorityClassName: 'system-node-critical' })),
  patch('merge', 'change the image of a pod', `${PODS}/first`, {
    spec: { containers: [{ name: 'main', image: 'other' }] },
  }),
  except(
    'shows a Go struct',
    patch('merge', 'change the node of a pod', `${PODS}/first`, { spec: { nodeName: 'elsewhere' } }),
  ),
  patch('json', 'add a toleration', `${PODS}/first`, [
    { op: 'add', path: '/spec/tolerations/-', value: { key: 'a', operator: 'Exists' } },
  ]),
  patch('merge', 'take tolerations away', `${PODS}/first`, { spec: { tolerations: [{ key: 'b' }] } }),
  patch('strategic', 'write the status of a pod', `${PODS}/first/status`, {
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    spec: { nodeName: 'ignored' },
  }),
  patch('strategic', 'write one more condition', `${PODS}/first/status`, {
    status: { conditions: [{ type: 'Initialized', status: 'True' }] },
  }),
  post('bind a pod', `${PODS}/first/binding`, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'first' },
    target: { apiVersion: 'v1', kind: 'Node', name: 'parity-node' },
  }),
  post('bind it again', `${PODS}/first/binding`, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'first' },
    target: { apiVersion: 'v1', kind: 'Node', name: 'other-node' },
  }),
  get('read the bound pod', `${PODS}/first`),
  get('pods of a node', `/api/v1/pods?fieldSelector=spec.nodeName%3Dparity-node`),
  get('pods by an unknown field', `/api/v1/pods?fieldSelector=spec.color%3Dred`),
  get('pods by a broken field selector', `/api/v1/pods?fieldSelector=x`),
  except('quotes its parser', get('pods by a broken label selector', `/api/v1/pods?labelSelector=a%20in`)),
  post('evict a pod, only to try', `${PODS}/first/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'first' },
    deleteOptions: { dryRun: ['All'] },
  }),
  post('evict a pod of another name', `${PODS}/first/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'second' },
  }),
  post('evict a pod that is not there', `${PODS}/missing/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'missing' },
  }),
  except(
    'shows a Go struct',
    post('create a budget that is invalid', BUDGETS, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'bad' },
      spec: { minAvailable: 1, maxUnavailable: 1 },
    }),
  ),
  del('delete a pod with another uid', `${PODS}/first`, {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions: { uid: '00000000-0000-4000-8000-000000000000' },
  }),
  del('delete a pod that a kubelet has to stop', `${PODS}/first`),
  get('read the pod that is being stopped', `${PODS}/first`),
  del('delete it for good', `${PODS}/first?gracePeriodSeconds=0`),
  get('read the pod that is gone', `${PODS}/first`),
  post('create a pod with a finalizer', PODS, pod('held', {}, { finalizers: ['example.com/hold'] })),
  del('delete the pod with a finalizer', `${PODS}/held?gracePeriodSeconds=0`),
  except(
    'found by two rules',
    patch('merge', 'add a finalizer to what is being deleted', `${PODS}/held`, {
      metadata: { finalizers: ['example.com/hold', 'example.com/more'] },
    }),
  ),
  patch('merge', 'take the finalizer away', `${PODS}/held`, { metadata: { finalizers: null } }),
  get('read what the finalizer held', `${PODS}/held`),
];

const nodes: readonly Step[] = [
  post('create a node', NODES, node('parity-node')),
  patch('strategic', 'write the status of a node', `${NODES}/parity-node/status`, {
    status: { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'ok' }] },
  }),
  patch('merge', 'change the provider of a node', `${NODES}/parity-node`, { spec: { providerID: 'aws:///a/other' } }),
  patch('strategic', 'taint a node', `${NODES}/parity-node`, {
    spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] },
  }),
  except(
    'found by two rules',
    patch('merge', 'taint a node with nonsense', `${NODES}/parity-node`, {
      spec: { taints: [{ key: 'a', effect: 'No' }] },
    }),
  ),
  post('create a node with a bad taint', NODES, { ...node('bad'), spec: { taints: [{ key: 'a', effect: 'No' }] } }),
];

const customResources: readonly Step[] = [
  post('create a pool', POOLS, pool('one')),
  post('create a pool that breaks a rule', POOLS, pool('bad', { disruption: { consolidateAfter: 'soon' } })),
  post('create a pool with a status', POOLS, { ...pool('two'), status: { resources: { cpu: '1' } } }),
  post(
    'create a pool with an unknown field, strictly',
    `${POOLS}?fieldValidation=Strict`,
    pool('three', { color: 'red' }),
  ),
  post(
    'create a pool with an unknown field, with a warning',
    `${POOLS}?fieldValidation=Warn&dryRun=All`,
    pool('three', { color: 'red' }),
  ),
  patch('merge', 'change the spec of a pool', `${POOLS}/one`, { spec: { weight: 5 } }),
  patch('merge', 'change only labels of a pool', `${POOLS}/one`, { metadata: { labels: { a: 'b' } } }),
  patch('merge', 'write the status of a pool', `${POOLS}/one/status`, {
    spec: { weight: 7 },
    status: { resources: { cpu: '4' } },
  }),
  patch('merge', 'a pool as it may not be', `${POOLS}/one`, { spec: { weight: 1000 } }),
  patch('json', 'JSON patch of a pool', `${POOLS}/one`, [{ op: 'replace', path: '/spec/weight', value: 6 }]),
  patch('apply', 'apply a pool', `${POOLS}/applied?fieldManager=one`, pool('applied', { weight: 1 })),
  patch(
    'apply',
    'apply a pool with an unknown field',
    `${POOLS}/applied?fieldManager=one`,
    pool('applied', { color: 1 }),
  ),
  patch('strategic', 'strategic patch of a pool', `${POOLS}/one`, { spec: { weight: 8 } }),
  get('the scale of what has none', `${POOLS}/one/scale`),
  get('a subresource that a custom resource lacks', '/apis/karpenter.k8s.aws/v1/ec2nodeclasses/one/scale'),
  get('a subresource that pods lack', `${PODS}/system/scale`),
  patch('merge', 'patch the scale of what has none', `${POOLS}/one/scale`, { spec: { replicas: 1 } }),
  post('create a static pool of less than nothing', POOLS, pool('static', { replicas: -1 })),
  post('create a static pool of too many', POOLS, pool('static', { replicas: 2 ** 31 })),
  post('create a static pool of a text', POOLS, pool('static', { replicas: 'two' })),
  post('create a static pool', POOLS, pool('static', { replicas: 2 })),
  get('read the scale of a static pool', `${POOLS}/static/scale`),
  patch('merge', 'scale a static pool', `${POOLS}/static/scale`, { spec: { replicas: 3 } }),
  patch('merge', 'scale a static pool below nothing', `${POOLS}/static/scale`, { spec: { replicas: -1 } }),
  put('write a scale without replicas', `${POOLS}/static/scale`, {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name: 'static' },
  }),
  get('pools as kubectl shows them', POOLS, { accept: TABLE }),
  get('a pool as kubectl shows it', `${POOLS}/one`, { accept: TABLE }),
  del('delete every pool', POOLS),
  get('what is left of the pools', POOLS),
];

const scales: readonly Step[] = [
  get('read a scale', `${DEPLOYMENTS}/web/scale`),
  put(
    'write a scale',
    `${DEPLOYMENTS}/web/scale`,
    changed('read a scale', (scale) => ({ ...scale, spec: { replicas: 0 } })),
  ),
  patch('merge', 'patch a scale', `${DEPLOYMENTS}/web/scale`, { spec: { replicas: 0 } }),
  patch('merge', 'patch a scale below nothing', `${DEPLOYMENTS}/web/scale`, { spec: { replicas: -2 } }),
];

const continued = (from: string) => (answers: Answers) =>
  `${MAPS}?labelSelector=page&limit=2&continue=${encodeURIComponent(String(metadataOf(answers, from).continue))}`;

const lists: readonly Step[] = [
  ...['a', 'b', 'c', 'd', 'e'].map((name) =>
    post(`create page ${name}`, MAPS, map(`page-${name}`, {}, { labels: { page: name } })),
  ),
  get('the first page', `${MAPS}?labelSelector=page&limit=2`),
  get('the second page', continued('the first page')),
  get('the last page', continued('the second page')),
  except('quotes its JSON parser', get('a page from a broken token', `${MAPS}?limit=2&continue=nonsense`)),
  get('a set of labels', `${MAPS}?labelSelector=page%20in%20(a,b)`),
  get('not in a set of labels', `${MAPS}?labelSelector=page,page%20notin%20(a,b)`),
  get('without a label', `${MAPS}?labelSelector=!page&fieldSelector=metadata.name%3Done`),
  get('by name', `${MAPS}?fieldSelector=metadata.name%3Dpage-a`),
  get('by a field of no map', `${MAPS}?fieldSelector=data.a%3D1`),
  get('a version without a match rule', `${MAPS}?labelSelector=page&limit=1&resourceVersionMatch=Exact`),
  get('a version that is no number', `${MAPS}?labelSelector=page&resourceVersion=abc`),
  get('a limit that is no number', `${MAPS}?limit=abc`),
  get('maps as kubectl shows them', `${MAPS}?labelSelector=page`, { accept: TABLE }),
  get('maps as kubectl shows them, bare', `${MAPS}?labelSelector=page&includeObject=None`, { accept: TABLE }),
  get('a deployment as kubectl shows it', `${DEPLOYMENTS}/web`, { accept: TABLE }),
  get('a pod as kubectl shows it', `${PODS}/system`, { accept: TABLE }),
  get('a namespace as kubectl shows it', '/api/v1/namespaces/parity', { accept: TABLE }),
  get('the metadata of a map', `${MAPS}/one`, { accept: METADATA }),
  get('the metadata of maps', `${MAPS}?labelSelector=page`, { accept: METADATA_LIST }),
  except('lists protobuf', get('in a form that is not served', `${MAPS}/one`, { accept: 'text/html' })),
  del('delete by label', `${MAPS}?labelSelector=page%20in%20(a,b)`),
  get('what is left of the pages', `${MAPS}?labelSelector=page`),
];

const access: readonly Step[] = [
  post('ask what one may do', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
  }),
  get('readiness', '/readyz'),
  get('liveness', '/livez'),
];

export const SCRIPT: readonly Step[] = [
  ...objects,
  ...patches,
  ...pods,
  ...nodes,
  ...customResources,
  ...scales,
  ...lists,
  ...access,
];
