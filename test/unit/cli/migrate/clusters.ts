/** Clusters at each stage of a migration, in the form of a snapshot. */
import type { KubeObject } from '#api/objects';
import { ALPHA_KINDS } from '../../../../src/cli/migrate/checks/kinds.ts';
import type { Facts } from '../../../../src/cli/migrate/facts.ts';
import { factsOfManifests } from '../../../../src/cli/migrate/facts.ts';

export type Parts = readonly KubeObject[];

const make = (apiVersion: string, kind: string, name: string, more: object = {}, metadata: object = {}): KubeObject =>
  ({ apiVersion, kind, metadata: { name, ...metadata }, ...more }) as unknown as KubeObject;

export const info = (more: object = {}): KubeObject =>
  make('karpenter-ts/v1', 'SnapshotInfo', 'snapshot', {
    takenAt: '2026-06-03T10:00:00Z',
    version: '0',
    redacted: true,
    notServed: [],
    notRead: [],
    ...more,
  });

/** Deployment in the form that the chart of Karpenter installs. */
export const karpenter = (tag: string, namespace = 'kube-system', more: object = {}): KubeObject =>
  make(
    'apps/v1',
    'Deployment',
    'karpenter',
    {
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'karpenter' } },
        template: {
          metadata: { labels: { app: 'karpenter' } },
          spec: {
            containers: [
              {
                name: 'controller',
                image: `public.ecr.aws/karpenter/controller:${tag}@sha256:${'0'.repeat(64)}`,
                env: [
                  { name: 'CLUSTER_NAME', value: 'shop' },
                  { name: 'INTERRUPTION_QUEUE', value: 'shop' },
                ],
              },
            ],
          },
        },
        ...more,
      },
    },
    { namespace, labels: { 'app.kubernetes.io/name': 'karpenter' } },
  );

export const autoscaler = (
  replicas = 1,
  command: readonly string[] = [
    './cluster-autoscaler',
    '--cloud-provider=aws',
    '--expander=priority',
    '--nodes=1:10:shop-workers',
  ],
): KubeObject =>
  make(
    'apps/v1',
    'Deployment',
    'cluster-autoscaler',
    {
      spec: {
        replicas,
        template: {
          spec: {
            containers: [
              { name: 'cluster-autoscaler', image: 'registry.k8s.io/autoscaling/cluster-autoscaler:v1.30.0', command },
            ],
          },
        },
      },
    },
    { namespace: 'kube-system' },
  );

const HELM = {
  labels: { 'app.kubernetes.io/managed-by': 'Helm' },
  annotations: { 'meta.helm.sh/release-name': 'karpenter-crd', 'meta.helm.sh/release-namespace': 'kube-system' },
};

interface DefinitionParts {
  readonly versions: readonly string[];
  readonly stored: readonly string[];
  readonly isConverted?: boolean;
  readonly isOwned?: boolean;
}

const KINDS: Readonly<Record<string, string>> = {
  nodepools: 'NodePool',
  nodeclaims: 'NodeClaim',
  ec2nodeclasses: 'EC2NodeClass',
  nodeoverlays: 'NodeOverlay',
  ...Object.fromEntries(ALPHA_KINDS.map(([name, kind]) => [name.split('.')[0], kind])),
};

export function definition(
  name: string,
  { versions, stored, isConverted = false, isOwned = true }: DefinitionParts,
): KubeObject {
  const [plural = '', ...group] = name.split('.');
  return make(
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    name,
    {
      spec: {
        group: group.join('.'),
        names: { kind: KINDS[plural], plural },
        versions: versions.map((version, at) => ({ name: version, served: true, storage: at === 0 })),
        conversion: { strategy: isConverted ? 'Webhook' : 'None' },
      },
      status: { storedVersions: stored },
    },
    isOwned ? HELM : {},
  );
}

const CORE = ['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh', 'ec2nodeclasses.karpenter.k8s.aws'];
export const core = (parts: DefinitionParts): Parts => CORE.map((name) => definition(name, parts));
export const alphaDefinitions = (isOwned: boolean): Parts =>
  ALPHA_KINDS.map(([name]) =>
    definition(name, { versions: [name.startsWith('aws') ? 'v1alpha1' : 'v1alpha5'], stored: [], isOwned }),
  );

export const node = (
  name: string,
  labels: object,
  more: {
    readonly taints?: readonly string[];
    readonly zone?: string;
    readonly annotations?: object;
    readonly ownerReferences?: readonly object[];
  } = {},
): KubeObject =>
  make(
    'v1',
    'Node',
    name,
    {
      spec: {
        providerID: `aws:///us-east-1a/i-${Buffer.from(name).toString('hex').padStart(17, '0').slice(-17)}`,
        taints: (more.taints ?? []).map((key) => ({ key, value: 'true', effect: 'NoSchedule' })),
      },
    },
    {
      labels: { 'topology.kubernetes.io/zone': more.zone ?? 'us-east-1a', ...labels },
      annotations: more.annotations ?? {},
      ...(more.ownerReferences && { ownerReferences: more.ownerReferences }),
    },
  );

export const managed = (name: string, group: string, zone?: string): KubeObject =>
  node(name, { 'eks.amazonaws.com/nodegroup': group }, zone === undefined ? {} : { zone });

export const provisioner = (name: string, taints: readonly string[] = []): KubeObject =>
  make('karpenter.sh/v1alpha5', 'Provisioner', name, {
    spec: { providerRef: { name }, taints: taints.map((key) => ({ key, effect: 'NoSchedule' })) },
  });
export const nodeTemplate = (name: string): KubeObject =>
  make('karpenter.k8s.aws/v1alpha1', 'AWSNodeTemplate', name, { spec: {} });
export const machine = (name: string): KubeObject => make('karpenter.sh/v1alpha5', 'Machine', name, { spec: {} });

const READY = [{ type: 'Ready', status: 'True', reason: 'Ready', lastTransitionTime: '2026-06-01T00:00:00Z' }];
const reference = (version: string): object =>
  version === 'v1'
    ? { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }
    : { apiVersion: `karpenter.k8s.aws/${version}`, kind: 'EC2NodeClass', name: 'default' };

export const pool = (
  version: string,
  more: { readonly annotations?: object; readonly nodeClassRef?: object; readonly conditions?: readonly object[] } = {},
): KubeObject =>
  make(
    `karpenter.sh/${version}`,
    'NodePool',
    'default',
    {
      spec: { template: { spec: { nodeClassRef: more.nodeClassRef ?? reference(version), requirements: [] } } },
      status: { conditions: more.conditions ?? READY },
    },
    { annotations: more.annotations ?? {} },
  );
export const nodeClass = (version: string, spec: object = {}): KubeObject =>
  make(`karpenter.k8s.aws/${version}`, 'EC2NodeClass', 'default', {
    spec: { role: 'KarpenterNodeRole-shop', amiFamily: 'AL2023', ...spec },
    status: { conditions: READY },
  });
export const claim = (version: string, name: string, isDrifted = false): KubeObject =>
  make(`karpenter.sh/${version}`, 'NodeClaim', name, {
    spec: { nodeClassRef: reference(version), requirements: [] },
    status: { conditions: [...READY, ...(isDrifted ? [{ type: 'Drifted', status: 'True', reason: 'AMIDrift' }] : [])] },
  });
export const pooled = (name: string): KubeObject => node(name, { 'karpenter.sh/nodepool': 'default' });

export const deployment = (
  name: string,
  template: { readonly annotations?: object; readonly spec?: object },
): KubeObject =>
  make(
    'apps/v1',
    'Deployment',
    name,
    {
      spec: {
        replicas: 1,
        selector: {},
        template: { metadata: { annotations: template.annotations ?? {} }, spec: { containers: [], ...template.spec } },
      },
    },
    { namespace: 'web' },
  );

export const webhook = (type: 'Mutating' | 'Validating', name: string): KubeObject =>
  make('admissionregistration.k8s.io/v1', `${type}WebhookConfiguration`, name, { webhooks: [] });

/** Nodes of a Provisioner. */
const alphaNodes = [
  node(
    'ip-10-1-35-97',
    { 'karpenter.sh/provisioner-name': 'default' },
    { ownerReferences: [{ apiVersion: 'karpenter.sh/v1alpha5', kind: 'Machine', name: 'default-b6hdr', uid: '1' }] },
  ),
  node('ip-10-1-35-98', { 'karpenter.sh/provisioner-name': 'default' }),
];
const hosts = [managed('ip-10-1-0-1', 'system'), managed('ip-10-1-1-1', 'system', 'us-east-1b')];
const OLD_WEB = deployment('web', {
  annotations: { 'karpenter.sh/do-not-evict': 'true' },
  spec: { nodeSelector: { 'karpenter.sh/provisioner-name': 'default' } },
});
export const GLOBAL_SETTINGS = make('v1', 'ConfigMap', 'karpenter-global-settings', {}, { namespace: 'karpenter' });

/** Seed: 0.31 with Machines, installed with Terraform. */
export const ALPHA: Parts = [
  karpenter('v0.31.3', 'karpenter'),
  ...alphaDefinitions(false),
  provisioner('default'),
  nodeTemplate('default'),
  machine('default-b6hdr'),
  ...alphaNodes,
  ...hosts,
  OLD_WEB,
  GLOBAL_SETTINGS,
  webhook('Mutating', 'defaulting.webhook.karpenter.k8s.aws'),
  webhook('Validating', 'validation.webhook.karpenter.sh'),
];

/** 0.32 in the middle of a migration: NodePools exist, the Provisioner is tainted, and there is one node of each. */
export const BOTH: Parts = [
  karpenter('v0.32.9', 'karpenter'),
  ...alphaDefinitions(true),
  ...core({ versions: ['v1beta1'], stored: ['v1beta1'] }),
  provisioner('default', ['karpenter.sh/legacy']),
  nodeTemplate('default'),
  machine('default-b6hdr'),
  pool('v1beta1'),
  nodeClass('v1beta1'),
  claim('v1beta1', 'default-x'),
  alphaNodes[0] as KubeObject,
  pooled('ip-10-1-40-1'),
  ...hosts,
  GLOBAL_SETTINGS,
];

/** 0.37 before its last patch, with beta fields on pods. */
export const BETA: Parts = [
  karpenter('0.37.0'),
  ...core({ versions: ['v1beta1'], stored: ['v1beta1'] }),
  pool('v1beta1'),
  nodeClass('v1beta1'),
  claim('v1beta1', 'default-x', true),
  pooled('ip-10-1-40-1'),
  ...hosts,
  deployment('api', { spec: { tolerations: [{ key: 'karpenter.sh/disruption', operator: 'Exists' }] } }),
];

/** 1.0, with objects that are stored as v1beta1 and converted. */
export const CONVERSION: Parts = [
  karpenter('1.0.8'),
  ...core({ versions: ['v1', 'v1beta1'], stored: ['v1beta1', 'v1'], isConverted: true }),
  pool('v1', { annotations: { 'compatibility.karpenter.sh/v1beta1-kubelet-conversion': '{"maxPods":20}' } }),
  nodeClass('v1', {
    amiFamily: 'Custom',
    userData: 'kubelet --register-with-taints=karpenter.sh/unregistered:NoExecute',
  }),
  claim('v1', 'default-x'),
  pooled('ip-10-1-40-1'),
  ...hosts,
];

/** 1.14, after the migration. */
export const V1: Parts = [
  karpenter('1.14.1'),
  ...core({ versions: ['v1'], stored: ['v1'] }),
  pool('v1'),
  nodeClass('v1'),
  claim('v1', 'default-x'),
  pooled('ip-10-1-40-1'),
  ...hosts,
  deployment('api', {}),
];

/** cluster-autoscaler with a managed group and a self-managed group, without Karpenter. */
export const AUTOSCALED: Parts = [
  autoscaler(),
  ...hosts,
  node('ip-10-1-9-1', {}),
  deployment('api', { annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' } }),
];

/** Only managed node groups. */
export const MANAGED: Parts = [
  managed('ip-10-1-0-1', 'system'),
  managed('ip-10-1-2-1', 'workers'),
  managed('ip-10-1-2-2', 'workers', 'us-east-1b'),
  deployment('api', {}),
];

/** Returns the facts of a snapshot of the cluster. */
export const factsOf = (parts: Parts, more: object = {}): Facts =>
  factsOfManifests([...parts, info(more)].map((object) => ({ object, where: 'fixture' })));

/** Returns the facts of a live cluster, without unknown parts. */
export const liveFactsOf = (parts: Parts): Facts => ({
  ...factsOf(parts),
  source: 'cluster',
  notAsked: () => undefined,
});

export const CLUSTERS: Readonly<Record<string, Parts>> = {
  'alpha 0.31': ALPHA,
  'alpha and beta, 0.32': BOTH,
  'beta 0.37': BETA,
  'v1 with conversion, 1.0': CONVERSION,
  'v1 alone, 1.14': V1,
  'cluster-autoscaler': AUTOSCALED,
  'managed node groups': MANAGED,
};
