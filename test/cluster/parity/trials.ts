/** Dry-run requests, and field selectors of every kind that has some. */
import { type Answers, bodyOf, del, get, type Json, patch, post, put, type Step, TABLE } from './script.ts';

const NS = '/api/v1/namespaces/trials';
const MAPS = `${NS}/configmaps`;
const POOLS = '/apis/karpenter.sh/v1/nodepools';

const map = (name: string, data: Json): Json => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
const original = (answers: Answers): Json => bodyOf(answers, 'create what is to be tried on');
const pool = (weight: number): Json => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'tried' },
  spec: {
    weight,
    template: {
      spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'x' }, requirements: [] },
    },
  },
});
const DELETE = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'] };

const trials: readonly Step[] = [
  post('create a namespace for trials', '/api/v1/namespaces', { metadata: { name: 'trials' } }),
  post('create what is to be tried on', MAPS, map('one', { a: '1' })),
  put('try a replacement', `${MAPS}/one?dryRun=All`, (answers: Answers) => ({
    ...original(answers),
    data: { a: '2' },
  })),
  patch('merge', 'try a merge', `${MAPS}/one?dryRun=All`, { data: { a: '3' } }),
  patch('json', 'try a JSON patch', `${MAPS}/one?dryRun=All`, [{ op: 'remove', path: '/data/a' }]),
  patch('apply', 'try an apply', `${MAPS}/one?dryRun=All&fieldManager=trier&force=true`, map('one', { b: '1' })),
  patch('apply', 'try an apply of what is new', `${MAPS}/two?dryRun=All&fieldManager=trier`, map('two', { b: '1' })),
  del('try a deletion', `${MAPS}/one?dryRun=All`),
  del('try a deletion by its body', `${MAPS}/one`, DELETE),
  del('try to delete all', `${MAPS}?dryRun=All&labelSelector=none`),
  get('read what was tried on', `${MAPS}/one`),
  get('read what was tried to be made', `${MAPS}/two`),
  post('try without knowing how', `${MAPS}?dryRun=Some`, map('three', {})),
  patch('merge', 'try to patch without knowing how', `${MAPS}/one?dryRun=Some`, {}),
  del('try to delete without knowing how', `${MAPS}/one`, { ...DELETE, dryRun: ['Some'] }),
  post('validate in a way that there is not', `${MAPS}?fieldValidation=Maybe`, map('three', {})),
  post('try to create what is there', `${MAPS}?dryRun=All`, map('one', {})),
  post('try to create what is invalid', `${POOLS}?dryRun=All`, pool(1000)),
  post('try a custom resource', `${POOLS}?dryRun=All`, pool(10)),
  patch('apply', 'try to apply a custom resource', `${POOLS}/tried?dryRun=All&fieldManager=trier`, pool(10)),
  post('make a custom resource after all', POOLS, pool(10)),
  patch('merge', 'try a custom resource as it may not be', `${POOLS}/tried?dryRun=All`, { spec: { weight: 1000 } }),
  patch('merge', 'try the status of a custom resource', `${POOLS}/tried/status?dryRun=All`, { status: { nodes: 2 } }),
  del('try to delete a custom resource', `${POOLS}/tried?dryRun=All`),
  get('read the custom resource as a table', `${POOLS}/tried`, { accept: TABLE }),
  del('delete the custom resource', `${POOLS}/tried`),
  del('try to delete the namespace', '/api/v1/namespaces/trials?dryRun=All'),
  get('read the namespace', '/api/v1/namespaces/trials'),
];

const CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses';
const priority = (metadata: Json): Json => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name: 'spaced', namespace: 'trials', ...metadata },
  value: 7,
});

/** Cluster-scoped objects with a namespace, as charts and clients send them. */
const spaced: readonly Step[] = [
  post('create a cluster-scoped object with a namespace', CLASSES, priority({})),
  put('replace a cluster-scoped object with a namespace', `${CLASSES}/spaced`, priority({ labels: { a: 'b' } })),
  patch('merge', 'patch a cluster-scoped object with a namespace', `${CLASSES}/spaced`, priority({})),
  patch('apply', 'apply a cluster-scoped object with a namespace', `${CLASSES}/spaced?fieldManager=a`, priority({})),
  patch('apply', 'apply another with a namespace', `${CLASSES}/other?fieldManager=a`, priority({ name: 'other' })),
  post('create a cluster-scoped custom resource with a namespace', POOLS, {
    ...pool(10),
    metadata: { name: 'spaced', namespace: 'trials' },
  }),
  ...['spaced', 'other'].map((name) => del(`delete the priority class ${name}`, `${CLASSES}/${name}`)),
  del('delete the custom resource with a namespace', `${POOLS}/spaced`),
];

const selector = (fields: string): string => `fieldSelector=${encodeURIComponent(fields)}`;

const selections: readonly Step[] = [
  ['pods by phase', '/api/v1/pods', 'status.phase!=Failed,status.phase!=Succeeded'],
  ['pods by scheduler', `${NS}/pods`, 'spec.schedulerName=nobody'],
  ['pods by restart policy', `${NS}/pods`, 'spec.restartPolicy=Always'],
  ['pods by namespace', '/api/v1/pods', 'metadata.namespace=trials'],
  ['nodes by cordon', '/api/v1/nodes', 'spec.unschedulable=true'],
  ['nodes by name', '/api/v1/nodes', 'metadata.name=none'],
  ['nodes by their provider', '/api/v1/nodes', 'spec.providerID=x'],
  ['namespaces by phase', '/api/v1/namespaces', 'status.phase=Active,metadata.name=trials'],
  ['secrets by type', `${NS}/secrets`, 'type=Opaque'],
  ['services by address', `${NS}/services`, 'spec.clusterIP=None'],
  ['events by their object', `${NS}/events`, 'involvedObject.kind=Pod,involvedObject.name=p,type=Warning'],
  ['new events by their object', '/apis/events.k8s.io/v1/namespaces/trials/events', 'regarding.kind=Pod'],
  ['jobs by success', '/apis/batch/v1/namespaces/trials/jobs', 'status.successful=1'],
  ['deployments by replicas', '/apis/apps/v1/namespaces/trials/deployments', 'spec.replicas=1'],
  ['pools by name', POOLS, 'metadata.name=tried'],
  ['pools by weight', POOLS, 'spec.weight=1'],
  ['claims by namespace', '/apis/karpenter.sh/v1/nodeclaims', 'metadata.namespace=x'],
  ['nothing by an empty value', MAPS, 'metadata.name='],
  ['two operators', MAPS, 'metadata.name==one,metadata.namespace!=default'],
  ['an operator that is none', MAPS, 'metadata.name>one'],
].map(([name = '', path = '', fields = '']) => get(`select ${name}`, `${path}?${selector(fields)}`));

const labels: readonly Step[] = [
  'a',
  '!a',
  'a=1,b!=2',
  'a in (1,2),b notin (3)',
  'a==1',
  'a>1',
  'a<x',
  '=1',
  'a in ()',
  'a,',
  '-a=1',
  `a=${'x'.repeat(64)}`,
].map((text) => ({
  ...get(`select labels ${text.slice(0, 30)}`, `${MAPS}?labelSelector=${encodeURIComponent(text)}`),
  wording: 'quotes its parser',
}));

export const TRIALS: readonly Step[] = [...trials, ...spaced, ...selections, ...labels];
