/** Objects of a large cluster as an API server returns them, with all fields of kubelets and controllers. */
import type { NodeClaim, NodePool } from '#api/objects';

export interface ClusterSize {
  readonly nodes: number;
  readonly pods: number;
}

type Json = Record<string, unknown>;

const CREATED = '2026-06-01T00:00:00Z';
const ZONES = ['test-zone-1', 'test-zone-2', 'test-zone-3'];
const WORKLOADS = 500;
/** 16 CPU and 32 GiB. */
const TYPE = 'fake-it-15';

const digits = (index: number): string => String(index).padStart(6, '0');
const nodeName = (index: number): string => `ip-10-${index >> 8}-${index & 255}.us-west-2.compute.internal`;
const providerId = (index: number): string => `aws:///test-zone-1/i-${String(index).padStart(17, '0')}`;

/** Managed fields of the API server. */
const managedFields = (manager: string, fields: readonly string[]): Json => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  time: CREATED,
  fieldsType: 'FieldsV1',
  fieldsV1: Object.fromEntries(fields.map((field) => [`f:${field}`, { '.': {}, 'f:value': {}, 'f:status': {} }])),
});

const condition = (type: string, status = 'True'): Json => ({
  type,
  status,
  lastProbeTime: null,
  lastTransitionTime: CREATED,
  reason: 'KubeletReady',
  message: 'kubelet is posting ready status',
});

export const NODE_POOL: NodePool = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default', uid: 'nodepool-default', generation: 1, resourceVersion: '1' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.test.sh', kind: 'TestNodeClass', name: 'default' },
        requirements: [],
        expireAfter: 'Never',
      },
    },
  },
  status: {
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: CREATED, reason: 'Ready', message: '' }],
  },
};

const labelsOf = (index: number): Readonly<Record<string, string>> => ({
  'beta.kubernetes.io/arch': 'amd64',
  'beta.kubernetes.io/os': 'linux',
  'karpenter.sh/capacity-type': 'spot',
  'karpenter.sh/initialized': 'true',
  'karpenter.sh/nodepool': 'default',
  'karpenter.sh/registered': 'true',
  'kubernetes.io/arch': 'amd64',
  'kubernetes.io/hostname': nodeName(index),
  'kubernetes.io/os': 'linux',
  'node.kubernetes.io/instance-type': TYPE,
  'topology.kubernetes.io/region': 'us-west-2',
  'topology.kubernetes.io/zone': ZONES[index % ZONES.length] ?? '',
});

const capacity = { cpu: '16', memory: '33554432Ki', pods: '160' };
const allocatable = { cpu: '15900m', memory: '33544192Ki', pods: '160' };

export const nodeAt = (index: number): Json => ({
  metadata: {
    name: nodeName(index),
    uid: `node-${digits(index)}`,
    resourceVersion: String(index + 1),
    creationTimestamp: CREATED,
    labels: labelsOf(index),
    annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
    managedFields: [managedFields('kubelet', ['metadata', 'status', 'conditions', 'images'])],
  },
  spec: { providerID: providerId(index) },
  status: {
    capacity,
    allocatable,
    conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => condition(type)),
    addresses: [{ type: 'InternalIP', address: `10.0.${index >> 8}.${index & 255}` }],
    nodeInfo: { kubeletVersion: 'v1.36.0', kernelVersion: '6.12', osImage: 'Amazon Linux', architecture: 'amd64' },
    images: Array.from({ length: 20 }, (_, image) => ({
      names: [`registry/image-${image}@sha256:${'0123456789abcdef'.repeat(4)}`, `registry/image-${image}:1.${image}`],
      sizeBytes: 100_000_000,
    })),
  },
});

export const claimAt = (index: number): NodeClaim => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: {
    name: `default-${digits(index)}`,
    uid: `claim-${digits(index)}`,
    resourceVersion: String(index + 1),
    creationTimestamp: CREATED,
    labels: labelsOf(index),
  },
  spec: {
    nodeClassRef: { group: 'karpenter.test.sh', kind: 'TestNodeClass', name: 'default' },
    requirements: [
      { key: 'karpenter.sh/nodepool', operator: 'In', values: ['default'] },
      {
        key: 'node.kubernetes.io/instance-type',
        operator: 'In',
        values: Array.from({ length: 60 }, (_, at) => `fake-it-${at}`),
      },
    ],
    resources: { requests: { cpu: '10', memory: '20Gi', pods: '10' } },
    expireAfter: 'Never',
  },
  status: {
    providerID: providerId(index),
    nodeName: nodeName(index),
    capacity,
    allocatable,
    conditions: ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: CREATED,
      reason: type,
      message: '',
    })),
  },
});

/**
 * A pod of one of many Deployments. Every third workload spreads over zones, and every tenth has host anti-affinity.
 */
export function podAt(index: number, { nodes }: ClusterSize): Json {
  const workload = index % WORKLOADS;
  const app = `app-${workload}`;
  const name = `${app}-7d9c5b8f6c-${digits(index)}`;
  const matchLabels = { app };
  const spread = { maxSkew: 5, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' };
  const apart = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels } };
  return {
    metadata: {
      name,
      generateName: `${app}-7d9c5b8f6c-`,
      namespace: `team-${workload % 20}`,
      uid: `pod-${digits(index)}`,
      resourceVersion: String(index + 1),
      creationTimestamp: CREATED,
      labels: { app, 'pod-template-hash': '7d9c5b8f6c', team: `team-${workload % 20}` },
      annotations: { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '8080' },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `${app}-7d9c5b8f6c`,
          uid: `rs-${workload}`,
          controller: true,
        },
      ],
      managedFields: [
        managedFields('kube-controller-manager', [
          'metadata',
          'labels',
          'ownerReferences',
          'spec',
          'containers',
          'env',
        ]),
        managedFields('kubelet', ['status', 'conditions', 'containerStatuses', 'podIP', 'startTime', 'phase']),
      ],
    },
    spec: {
      nodeName: nodeName(index % nodes),
      serviceAccountName: 'default',
      schedulerName: 'default-scheduler',
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      priority: 0,
      tolerations: ['not-ready', 'unreachable'].map((state) => ({
        key: `node.kubernetes.io/${state}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      })),
      ...(workload % 3 === 0 ? { topologySpreadConstraints: [{ ...spread, labelSelector: { matchLabels } }] } : {}),
      ...(workload % 10 === 0
        ? { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } } }
        : {}),
      containers: [
        {
          name: 'app',
          image: `registry.example.com/team-${workload % 20}/${app}:1.2.3`,
          env: Array.from({ length: 8 }, (_, at) => ({ name: `SETTING_${at}`, value: `value-of-setting-${at}` })),
          resources: { requests: { cpu: '1', memory: '2Gi' }, limits: { memory: '2Gi' } },
          ports: [{ containerPort: 8080, protocol: 'TCP' }],
          volumeMounts: [{ name: 'kube-api-access', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }],
          livenessProbe: { httpGet: { path: '/healthz', port: 8080, scheme: 'HTTP' }, periodSeconds: 10 },
          terminationMessagePath: '/dev/termination-log',
          imagePullPolicy: 'IfNotPresent',
        },
      ],
      volumes: [
        {
          name: 'kube-api-access',
          projected: {
            sources: [{ serviceAccountToken: { expirationSeconds: 3607, path: 'token' } }],
            defaultMode: 420,
          },
        },
      ],
    },
    status: {
      phase: 'Running',
      startTime: CREATED,
      podIP: `10.1.${(index >> 8) & 255}.${index & 255}`,
      qosClass: 'Burstable',
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => condition(type)),
      containerStatuses: [
        {
          name: 'app',
          ready: true,
          restartCount: 0,
          image: `registry.example.com/${app}:1.2.3`,
          imageID: `registry.example.com/${app}@sha256:${'0123456789abcdef'.repeat(4)}`,
          containerID: `containerd://${'0123456789abcdef'.repeat(4)}`,
          state: { running: { startedAt: CREATED } },
        },
      ],
    },
  };
}

/** A pod that fits no node. */
export const pendingPod = (index: number): Json => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `late-${index}`,
    namespace: 'team-0',
    uid: `late-${index}`,
    creationTimestamp: CREATED,
    labels: { app: 'late' },
  },
  spec: { containers: [{ name: 'app', resources: { requests: { cpu: '20', memory: '20Gi' } } }] },
  status: {
    phase: 'Pending',
    conditions: [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', lastTransitionTime: CREATED, message: '' },
    ],
  },
});
