/** kubectl commands for both servers, about the objects of objects.yaml. */

/** Kinds for which `kubectl get` must print the same columns on both servers. */
export const TABLED: readonly string[] = [
  ...['nodes', 'pods', 'services', 'configmaps', 'secrets', 'persistentvolumes', 'persistentvolumeclaims'],
  ...['deployments', 'replicasets', 'statefulsets', 'daemonsets', 'jobs', 'storageclasses', 'csinodes'],
  ...[
    'volumeattachments',
    'leases',
    'deviceclasses',
    'resourceclaims',
    'events',
    'nodepools',
    'ec2nodeclasses',
    'nodeclaims',
  ],
  ...['nodeoverlays', 'nodepolicies', 'capacitybuffers'],
];

/** Kinds of which all objects are printed. */
export const KINDS: readonly string[] = [
  ...TABLED,
  ...['endpoints', 'endpointslices', 'replicationcontrollers', 'podtemplates', 'resourcequotas', 'limitranges'],
  ...['controllerrevisions', 'cronjobs', 'csidrivers', 'networkpolicies', 'ingresses', 'horizontalpodautoscalers'],
  ...['roles', 'rolebindings', 'validatingwebhookconfigurations'],
];

/** Kinds of which a server has additional objects. */
export const TABLED_NAMES: readonly string[] = [
  ...['namespaces/show', 'serviceaccounts/sa', 'priorityclasses/high', 'crd/nodepools.karpenter.sh'],
];
export const NAMED: readonly string[] = [...TABLED_NAMES, 'clusterroles/show', 'clusterrolebindings/show'];

const IN = ['-n', 'show'];

/** Further commands, each with one form of output. */
export const SHOWS: readonly (readonly string[])[] = [
  ['get', 'pods,services,deployments,replicasets,statefulsets,daemonsets,jobs', ...IN],
  ['get', 'karpenter'],
  ['get', 'events.events.k8s.io', ...IN],
  ['get', 'services', '-n', 'addressed', '-o', 'wide'],
  ['get', 'services', '-n', 'addressed', '-o', 'yaml'],
  ['describe', 'services', '-n', 'addressed', '--show-events=false'],
  ['get', 'nodes', '-L', 'karpenter.sh/nodepool,topology.kubernetes.io/zone'],
  ['get', 'pods', ...IN, '--sort-by=.metadata.name', '--no-headers'],
  ['get', 'pods', '-A', '-o', 'custom-columns=N:.metadata.name,P:.status.phase'],
  ['get', 'pods', ...IN, '--field-selector', 'status.phase=Running', '-o', 'jsonpath={.items[*].metadata.name}'],
  ['get', 'pods', ...IN, '-l', 'app in (web)', '--chunk-size=1'],
  ['get', 'pods', ...IN, '--field-selector', 'spec.colour=red'],
  ['get', 'nodepools', 'missing'],
  ['get', 'nonsense'],
  ['explain', 'nodepools'],
  ['explain', 'nodepools.spec.template.spec.requirements'],
  ['explain', 'nodepools.nonsense'],
  ['explain', 'ec2nodeclasses.spec.amiSelectorTerms'],
  ['api-resources', '--api-group=karpenter.sh'],
  ['rollout', 'status', 'deployment/web', ...IN, '--watch=false'],
  ['diff', '-f', 'missing.yaml'],
  ['auth', 'can-i', 'create', 'nodepools'],
  ['scale', 'nodepool/default', '--replicas=2'],
  ['scale', 'deployment/web', ...IN, '--replicas=-1'],
  ['scale', 'deployment/web', ...IN, '--replicas=4', '--current-replicas=9'],
  ['label', 'pods', 'p1', ...IN, 'app=other'],
  ['annotate', 'nodepools', 'default', 'a=b', '--dry-run=server', '-o', 'yaml'],
  ['taint', 'nodes', 'n1', 'a=b:NoSchedule', '--dry-run=server'],
  ['create', 'namespace', 'Bad_Name'],
  ['create', 'deployment', 'made', '--image=nginx', ...IN, '--dry-run=server', '-o', 'yaml'],
  ['create', 'quota', 'made', '--hard=pods=3', ...IN, '--dry-run=server', '-o', 'yaml'],
  ['create', 'configmap', 'made', '--from-literal=a=b', ...IN, '--dry-run=server', '-o', 'yaml'],
  [
    'run',
    'made',
    '--image=nginx',
    '--dry-run=server',
    '-o',
    'name',
    '--overrides={"spec":{"serviceAccountName":"sa"}}',
  ],
];

const status = (kind: string, name: string, to: object): readonly string[] => [
  ...['patch', kind, name, ...IN, '--subresource=status', '--type=merge', '-p'],
  JSON.stringify({ status: to }),
];

const LONG_AGO = '2026-01-01T00:00:00Z';
const condition = (type: string, value = 'True', reason = type): object => ({
  type,
  status: value,
  reason,
  message: '',
  lastTransitionTime: LONG_AGO,
});

/** Changes of the objects, as controllers and kubelets write them. */
export const CHANGES: readonly (readonly string[])[] = [
  status('pod', 'p1', {
    phase: 'Running',
    podIP: '10.0.0.9',
    podIPs: [{ ip: '10.0.0.9' }],
    hostIP: '10.0.0.1',
    startTime: LONG_AGO,
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'PodScheduled', status: 'True' },
    ],
    containerStatuses: [
      {
        name: 'main',
        ready: true,
        restartCount: 2,
        image: 'nginx:1',
        imageID: 'x',
        containerID: 'c://1',
        started: true,
        state: { running: { startedAt: LONG_AGO } },
        lastState: { terminated: { exitCode: 1, reason: 'Error', finishedAt: LONG_AGO } },
      },
    ],
  }),
  status('pod', 'p2', {
    phase: 'Pending',
    conditions: [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes are available' },
    ],
  }),
  status('deployment', 'web', {
    observedGeneration: 1,
    replicas: 3,
    updatedReplicas: 2,
    readyReplicas: 1,
    availableReplicas: 1,
    unavailableReplicas: 2,
    conditions: [{ type: 'Available', status: 'False', reason: 'MinimumReplicasUnavailable', message: 'too few' }],
  }),
  status('replicaset', 'web-1', { observedGeneration: 1, replicas: 2, readyReplicas: 1 }),
  status('statefulset', 'sts', { observedGeneration: 1, replicas: 1, readyReplicas: 1 }),
  status('daemonset', 'ds', {
    observedGeneration: 1,
    desiredNumberScheduled: 3,
    currentNumberScheduled: 2,
    numberMisscheduled: 0,
    numberReady: 1,
    updatedNumberScheduled: 2,
    numberAvailable: 1,
  }),
  status('persistentvolumeclaim', 'pvc', {
    phase: 'Bound',
    capacity: { storage: '10Gi' },
    accessModes: ['ReadWriteOnce'],
  }),
  status('persistentvolume', 'pv1', { phase: 'Bound' }),
  status('job', 'job', { active: 0, succeeded: 0, conditions: [{ type: 'Suspended', status: 'True' }] }),
  status('resourcequota', 'rq', {
    hard: { pods: '100', 'limits.cpu': '100' },
    used: { pods: '3', 'limits.cpu': '1' },
  }),
  status('ingress', 'ing', { loadBalancer: { ingress: [{ hostname: 'lb.example.com' }] } }),
  status('nodepool', 'default', {
    nodes: 2,
    resources: { cpu: '8', memory: '16Gi' },
    conditions: [condition('Ready'), condition('NodeClassReady')],
  }),
  status('nodeclaim', 'default-abc', {
    nodeName: 'n1',
    providerID: 'aws:///us-west-2a/i-1',
    imageID: 'ami-1',
    capacity: { cpu: '4' },
    conditions: [condition('Ready', 'False', 'NotInitialized'), condition('Launched')],
  }),
  status('ec2nodeclass', 'default', {
    subnets: [{ id: 'subnet-1', zone: 'us-west-2a', zoneID: 'usw2-az1' }],
    conditions: [condition('Ready')],
  }),
];
