/** A cluster with a secret in every place where a user, a kubelet or AWS can write one. */
import type { KubeObject } from '#api/objects';

export const SECRET = 'hunter2-do-not-leak';

const metadata = (name: string, more: object = {}) => ({
  name,
  uid: `uid-${name}`,
  resourceVersion: '7',
  labels: { app: name },
  annotations: { 'example.com/token': SECRET, 'kubectl.kubernetes.io/last-applied-configuration': SECRET },
  managedFields: [{ manager: SECRET, operation: 'Update' }],
  ...more,
});

const container = {
  name: 'main',
  image: `registry.example.com/${SECRET}:1`,
  command: ['sh', '-c', SECRET],
  args: [`--password=${SECRET}`],
  workingDir: `/${SECRET}`,
  env: [
    { name: 'TOKEN', value: SECRET },
    { name: SECRET, valueFrom: { secretKeyRef: { name: SECRET, key: SECRET } } },
  ],
  envFrom: [{ secretRef: { name: SECRET } }],
  livenessProbe: { httpGet: { path: '/', httpHeaders: [{ name: 'Authorization', value: SECRET }] } },
  readinessProbe: { exec: { command: [SECRET] } },
  startupProbe: { exec: { command: [SECRET] } },
  lifecycle: { preStop: { exec: { command: [SECRET] } } },
  volumeMounts: [{ name: 'v', mountPath: `/${SECRET}` }],
  resources: { requests: { cpu: '100m', memory: '64Mi' } },
};

export const podSpec = {
  serviceAccountName: SECRET,
  hostname: SECRET,
  subdomain: SECRET,
  hostAliases: [{ ip: '10.0.0.1', hostnames: [SECRET] }],
  imagePullSecrets: [{ name: SECRET }],
  securityContext: { seLinuxOptions: { user: SECRET } },
  containers: [container],
  initContainers: [{ ...container, name: 'init' }],
  ephemeralContainers: [{ ...container, name: 'debug' }],
  volumes: [
    { name: 'token', projected: { sources: [{ serviceAccountToken: { path: SECRET, audience: SECRET } }] } },
    { name: 'config', configMap: { name: SECRET, items: [{ key: SECRET, path: SECRET }] } },
    { name: 'secret', secret: { secretName: SECRET } },
    { name: 'host', hostPath: { path: `/${SECRET}` } },
    { name: 'nfs', nfs: { server: SECRET, path: '/' } },
    { name: 'inline', csi: { driver: 'secrets-store.csi.k8s.io', volumeAttributes: { key: SECRET } } },
    {
      name: 'scratch',
      ephemeral: {
        volumeClaimTemplate: {
          metadata: { annotations: { token: SECRET } },
          spec: {
            accessModes: ['ReadWriteOnce'],
            resources: { requests: { storage: '1Gi' } },
            dataSource: { name: SECRET },
          },
        },
      },
    },
  ],
};

const podStatus = {
  phase: 'Pending',
  message: SECRET,
  reason: 'Unschedulable',
  podIP: '10.1.2.3',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: SECRET }],
  containerStatuses: [
    {
      name: 'main',
      ready: false,
      image: SECRET,
      state: { terminated: { message: SECRET } },
      lastState: { waiting: { message: SECRET } },
    },
  ],
};

const template = { metadata: { labels: { app: 'web' }, annotations: { token: SECRET } }, spec: podSpec };

const builtIn = (apiVersion: string, kind: string, more: object, meta: object = {}): KubeObject =>
  ({ apiVersion, kind, metadata: metadata(`the-${kind.toLowerCase()}`, meta), ...more }) as unknown as KubeObject;

const NAMESPACED = { namespace: 'default' };
const workload = (kind: string, apiVersion = 'apps/v1'): KubeObject =>
  builtIn(
    apiVersion,
    kind,
    {
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: kind } },
        template,
        volumeClaimTemplates: [{ spec: { volumeName: SECRET } }],
      },
      status: { note: SECRET },
    },
    NAMESPACED,
  );

const parameters = [{ opaque: { driver: 'gpu.nvidia.com', parameters: { key: SECRET } } }];
const claimSpec = {
  devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu', note: SECRET } }], config: parameters },
};
const devices: readonly KubeObject[] = [
  builtIn('resource.k8s.io/v1', 'DeviceClass', { spec: { selectors: [], config: parameters } }),
  builtIn('resource.k8s.io/v1', 'DeviceTaintRule', {
    spec: { taint: { key: 'k', effect: 'None' } },
    status: { conditions: [{ message: SECRET }] },
  }),
  builtIn('resource.k8s.io/v1', 'ResourceSlice', {
    spec: {
      driver: 'gpu.nvidia.com',
      pool: { name: 'n', generation: 1, resourceSliceCount: 1 },
      devices: [{ name: 'gpu-0', attributes: { uuid: { string: SECRET }, 'dra.net/mac': { string: SECRET } } }],
    },
  }),
  builtIn('resource.k8s.io/v1', 'ResourceClaimTemplate', { spec: { spec: claimSpec } }, NAMESPACED),
  builtIn(
    'resource.k8s.io/v1',
    'ResourceClaim',
    {
      spec: claimSpec,
      status: { allocation: { devices: { config: parameters } }, devices: [{ data: { key: SECRET } }] },
    },
    NAMESPACED,
  ),
  {
    ...builtIn('v1', 'ConfigMap', {
      data: {
        'gpu.yaml': `# ${SECRET}\ndriver: gpu.example.com\ntoken: ${SECRET}\npools: [{name: p, devices: [{name: a, note: ${SECRET}}]}]`,
        'bad.yaml': `${SECRET}: [`,
      },
      binaryData: { key: SECRET },
    }),
    metadata: metadata('the-devices', {
      namespace: 'kube-system',
      labels: { 'karpenter.sh/device-templates': 'true' },
    }),
  },
];

const storage: readonly KubeObject[] = [
  builtIn('storage.k8s.io/v1', 'StorageClass', {
    provisioner: 'ebs.csi.aws.com',
    parameters: { key: SECRET },
    mountOptions: [SECRET],
  }),
  builtIn('v1', 'PersistentVolume', {
    spec: {
      csi: {
        driver: 'ebs.csi.aws.com',
        volumeHandle: 'vol-1',
        volumeAttributes: { key: SECRET },
        nodePublishSecretRef: { name: SECRET },
      },
      hostPath: { path: SECRET },
      mountOptions: [SECRET],
    },
    status: { phase: 'Bound', message: SECRET },
  }),
  builtIn(
    'v1',
    'PersistentVolumeClaim',
    {
      spec: { volumeName: 'x', dataSource: { name: SECRET } },
      status: { phase: 'Bound', conditions: [{ message: SECRET }] },
    },
    NAMESPACED,
  ),
  builtIn('storage.k8s.io/v1', 'CSINode', {
    spec: { drivers: [{ name: 'ebs.csi.aws.com', nodeID: 'i-1', topologyKeys: [SECRET] }] },
  }),
  builtIn('storage.k8s.io/v1', 'VolumeAttachment', {
    spec: {
      attacher: 'ebs.csi.aws.com',
      nodeName: 'n',
      source: { persistentVolumeName: 'x', inlineVolumeSpec: { secret: SECRET } },
    },
    status: { attached: true, attachmentMetadata: { devicePath: SECRET }, attachError: { message: SECRET } },
  }),
];

const nodeClassSpec = {
  role: 'nodes',
  amiSelectorTerms: [{ alias: 'al2023@latest' }],
  subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'test' } }],
  securityGroupSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'test' } }],
  userData: `#!/bin/sh\necho ${SECRET}\n`,
  kubelet: {
    maxPods: 58,
    evictionHard: { 'memory.available': '5%', nested: { token: SECRET } },
    staticPodURL: `https://user:${SECRET}@example.com/`,
    staticPodURLHeader: { Authorization: [`Bearer ${SECRET}`] },
    tracing: { endpoint: `https://${SECRET}@example.com/`, samplingRatePerMillion: 1 },
    featureGates: { Some: true },
    fieldOfTomorrow: { password: SECRET },
  },
  fieldOfTomorrow: { password: SECRET },
};

const olderKubelet = { maxPods: 58, staticPodURLHeader: { Authorization: [SECRET] }, fieldOfTomorrow: SECRET };

const poolTemplate = {
  metadata: { labels: { tier: 'front' }, annotations: { token: SECRET, 'karpenter.sh/do-not-disrupt': 'true' } },
  spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, requirements: [] },
};

const condition = (message: string) => ({
  type: 'Ready',
  status: 'False',
  reason: 'x',
  message,
  lastTransitionTime: '2026-06-01T00:00:00Z',
});

const custom: readonly KubeObject[] = [
  builtIn('karpenter.k8s.aws/v1', 'EC2NodeClass', {
    spec: nodeClassSpec,
    status: { conditions: [condition(`spec.userData is not what Bottlerocket understands: ${SECRET} is no TOML`)] },
  }),
  builtIn('karpenter.sh/v1', 'NodePool', { spec: { template: poolTemplate } }),
  builtIn('karpenter.sh/v1', 'NodeClaim', { spec: poolTemplate.spec, status: { conditions: [condition(SECRET)] } }),
  builtIn('karpenter.sh/v1alpha5', 'Provisioner', {
    spec: {
      annotations: { token: SECRET },
      provider: { userData: SECRET, fieldOfTomorrow: SECRET },
      kubeletConfiguration: olderKubelet,
    },
  }),
  builtIn('karpenter.k8s.aws/v1alpha1', 'AWSNodeTemplate', { spec: { userData: SECRET, fieldOfTomorrow: SECRET } }),
  builtIn('karpenter.sh/v1alpha5', 'Machine', {
    spec: { kubelet: olderKubelet },
    status: { conditions: [condition(SECRET)] },
  }),
  builtIn('karpenter.sh/v1beta1', 'NodePool', {
    spec: { template: { ...poolTemplate, spec: { ...poolTemplate.spec, kubelet: olderKubelet } } },
  }),
];

export const planted = (): readonly KubeObject[] => [
  ...['Deployment', 'StatefulSet', 'ReplicaSet', 'DaemonSet'].map((kind) => workload(kind)),
  workload('Job', 'batch/v1'),
  builtIn('v1', 'Pod', { spec: podSpec, status: podStatus }, NAMESPACED),
  builtIn('v1', 'PodTemplate', { template }, NAMESPACED),
  builtIn('v1', 'Node', {
    spec: { providerID: 'aws:///us-west-2a/i-1', configSource: { configMap: { name: SECRET } } },
    status: {
      capacity: { cpu: '2' },
      addresses: [{ type: 'Hostname', address: SECRET }],
      images: [{ names: [SECRET] }],
      nodeInfo: { kubeletVersion: 'v1.33.1', machineID: SECRET },
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: SECRET }],
      volumesAttached: [{ name: SECRET, devicePath: SECRET }],
    },
  }),
  builtIn('v1', 'Namespace', {
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active', conditions: [{ message: SECRET }] },
  }),
  builtIn('scheduling.k8s.io/v1', 'PriorityClass', { value: 1, description: SECRET }),
  builtIn(
    'policy/v1',
    'PodDisruptionBudget',
    { spec: { maxUnavailable: 1 }, status: { disruptionsAllowed: 1, conditions: [{ message: SECRET }] } },
    NAMESPACED,
  ),
  builtIn(
    'v1',
    'Service',
    { spec: { selector: { app: 'x' }, externalName: SECRET, loadBalancerIP: SECRET } },
    NAMESPACED,
  ),
  builtIn('v1', 'ReplicationController', { spec: { replicas: 0, selector: { app: 'x' }, template } }, NAMESPACED),
  builtIn(
    'v1',
    'Event',
    {
      involvedObject: { kind: 'Node', name: 'n', fieldPath: SECRET },
      reason: 'DisruptionBlocked',
      message: SECRET,
      type: 'Normal',
      source: { component: 'karpenter', host: SECRET },
    },
    NAMESPACED,
  ),
  ...storage,
  ...devices,
  ...custom,
  builtIn('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
    spec: {
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: { caBundle: SECRET, url: SECRET, service: { name: 'k', namespace: 'k' } } },
      },
      versions: [{ name: 'v1', schema: { description: SECRET } }],
    },
    status: { storedVersions: ['v1'] },
  }),
  builtIn('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', {
    webhooks: [{ clientConfig: { caBundle: SECRET } }],
  }),
];
