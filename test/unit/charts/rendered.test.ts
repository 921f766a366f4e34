import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { readPriceBook } from '#api/price-book';
import { customResourceDefinitions } from '#api/schema';
import { parseAwsSettings } from '#aws/settings';
import { DOCUMENT_LABEL } from '#kube/testing';
import { steadyClock } from '#lib/clock';
import { startApiServer } from '#local/testing';
import { dashboards, RULES_FILE } from '../../support/queries.ts';
import { rendered } from './render.ts';

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
  };
  readonly rules?: readonly { readonly apiGroups: string[]; readonly resources: string[]; readonly verbs: string[] }[];
}

interface PodSpec {
  readonly serviceAccountName: string;
  readonly containers: readonly {
    readonly image: string;
    readonly securityContext: unknown;
    readonly env: readonly unknown[];
  }[];
}

interface DeploymentManifest extends Manifest {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly env: readonly { readonly name: string; readonly value?: string }[];
          readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
        }[];
        readonly volumes?: readonly unknown[];
      };
    };
  };
}

const manifests = parseAllDocuments(rendered().yaml).map((document): Manifest => document.toJS());
const find = (kind: string, name: string): Manifest => {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (!found) throw new Error(`The chart renders no ${kind} ${name}`);
  return found;
};

describe('the rendered chart', () => {
  it('is up to date with the chart (if not, run test/unit/charts/render.ts)', () => {
    expect(rendered().current).toBe(true);
  });

  it('is accepted by an API server without changes', async () => {
    const server = await startApiServer({ clock: steadyClock(), host: '127.0.0.1' });
    try {
      // the Prometheus operator owns this CRD
      const known = manifests.filter(({ kind }) => kind !== 'PrometheusRule');
      for (const object of [...customResourceDefinitions(), ...known]) {
        expect(() => server.objects.create(object, { fieldValidation: 'Strict' })).not.toThrow();
      }
    } finally {
      await server.close();
    }
  });

  it('contains each object once, with the labels of the release', () => {
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? '-'} ${metadata.name}`).sort();
    expect(names).toEqual([
      'ClusterRole - karpenter',
      'ClusterRole - karpenter-admin',
      'ClusterRole - karpenter-core',
      'ClusterRoleBinding - karpenter',
      'ClusterRoleBinding - karpenter-core',
      'ConfigMap kube-system karpenter-dashboard-aws-calls',
      'ConfigMap kube-system karpenter-dashboard-cost',
      'ConfigMap kube-system karpenter-dashboard-disruption',
      'ConfigMap kube-system karpenter-dashboard-overview',
      'ConfigMap kube-system karpenter-history',
      'ConfigMap kube-system karpenter-node-capacities',
      'ConfigMap kube-system karpenter-price-book',
      'ConfigMap kube-system karpenter-spot-risk',
      'Deployment kube-system karpenter',
      'Lease kube-system karpenter-leader-election',
      'NetworkPolicy kube-system karpenter',
      'Pod kube-system karpenter-doctor',
      'PodDisruptionBudget kube-system karpenter',
      'PrometheusRule kube-system karpenter',
      'Role kube-system karpenter',
      'Role kube-system karpenter-dns',
      'RoleBinding kube-system karpenter',
      'RoleBinding kube-system karpenter-dns',
      'Service kube-system karpenter',
      'ServiceAccount kube-system karpenter',
    ]);
    for (const { metadata } of manifests) {
      expect(metadata.labels).toMatchObject({ 'app.kubernetes.io/instance': 'karpenter', team: 'platform' });
    }
  });

  it('contains a Lease without content, which helm therefore never changes', () => {
    expect(find('Lease', 'karpenter-leader-election')).not.toHaveProperty('spec');
    expect(find('Deployment', 'karpenter')).toHaveProperty('spec');
  });

  it('tests the release with the image, the account and the security context of the operator', () => {
    const pod = find('Pod', 'karpenter-doctor') as Manifest & { readonly spec: PodSpec };
    const { template } = (
      find('Deployment', 'karpenter') as Manifest & { readonly spec: { readonly template: { readonly spec: PodSpec } } }
    ).spec;
    expect(pod.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'test', note: 'rendered' });
    expect(pod.spec.serviceAccountName).toBe(template.spec.serviceAccountName);
    const [doctor, controller] = [pod, template].map(({ spec }) => spec.containers[0]);
    for (const field of ['image', 'securityContext'] as const) expect(doctor?.[field]).toEqual(controller?.[field]);
    expect(doctor?.env).toEqual(expect.arrayContaining([{ name: 'CLUSTER_NAME', value: 'demo' }]));
    // The Service and the PodDisruptionBudget must not select the pod.
    expect(pod.metadata.labels).not.toMatchObject({ 'app.kubernetes.io/name': 'karpenter' });
  });

  it('contains the dashboards and rules unchanged, including templates of alerts', () => {
    for (const { file, ...dashboard } of dashboards()) {
      const { metadata, data } = find('ConfigMap', `karpenter-dashboard-${file.replace('.json', '')}`) as Manifest & {
        readonly data: Readonly<Record<string, string>>;
      };
      expect(metadata.labels).toMatchObject({ grafana_dashboard: '1' });
      expect(JSON.parse(data[`karpenter-${file}`] ?? '')).toEqual(dashboard);
    }
    const { spec } = find('PrometheusRule', 'karpenter') as Manifest & { readonly spec: unknown };
    expect(spec).toEqual(parse(readFileSync(RULES_FILE, 'utf8')));
  });

  it('creates the ConfigMaps that the operator fills, without data, and grants write access to these ConfigMaps only', () => {
    const names = ['karpenter-history', 'karpenter-spot-risk', 'karpenter-node-capacities'];
    for (const name of names) {
      const { metadata, ...rest } = find('ConfigMap', name);
      expect(Object.keys(rest)).toEqual(['apiVersion', 'kind']);
      expect(metadata.labels).toMatchObject({ [DOCUMENT_LABEL]: name });
      expect(metadata.annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep', note: 'rendered' });
    }
    const rules = manifests
      .flatMap(({ rules: all = [] }) => all)
      .filter((rule) => rule.resources?.includes('configmaps'));
    expect(rules).toEqual([
      { apiGroups: [''], resources: ['configmaps'], resourceNames: names, verbs: ['get', 'update'] },
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['karpenter-pause'], verbs: ['get'] },
    ]);
  });

  it('mounts the price book at the path that the controller reads', () => {
    const book = find('ConfigMap', 'karpenter-price-book') as Manifest & { readonly data: Record<string, string> };
    const [[key, content]] = Object.entries(book.data) as [[string, string]];
    const { book: read, problems } = readPriceBook(content, key);
    expect([read.reservedInstances, problems]).toEqual([[{ instanceType: 'm5.large', count: 2 }], []]);
    const { spec } = (find('Deployment', 'karpenter') as DeploymentManifest).spec.template;
    const [controller] = spec.containers;
    const path = controller?.env.find(({ name }) => name === 'PRICE_BOOK')?.value;
    expect(controller?.volumeMounts?.map(({ name, mountPath }) => [name, `${mountPath}/${key}`])).toEqual([
      ['price-book', path],
    ]);
    expect(spec.volumes).toEqual([{ name: 'price-book', configMap: { name: book.metadata.name } }]);
  });

  it('sets only environment variables that the controller can parse', () => {
    const deployment = find('Deployment', 'karpenter') as DeploymentManifest;
    const env = deployment.spec.template.spec.containers[0]?.env ?? [];
    const values = Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
    expect(env.slice(0, 3).map(({ name }) => name)).toEqual([
      'KUBERNETES_MIN_VERSION',
      'KARPENTER_SERVICE',
      'LOG_LEVEL',
    ]);
    expect(parseAwsSettings([], { ...values, CPU_REQUESTS: '1000', MEMORY_LIMIT: '1073741824' })).toMatchObject({
      clusterName: 'demo',
      interruptionQueue: 'demo',
      batchIdleMs: 1000,
      batchMaxMs: 10_000,
      podDeletionCost: true,
      podNomination: true,
      podSurge: true,
      drainConditions: true,
    });
  });

  it.each([
    ['karpenter.sh', 'nodeclaims', ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']],
    ['karpenter.sh', 'nodepools', ['get', 'list', 'patch', 'update', 'watch']],
    ['', 'pods/eviction', ['create']],
    // patch only with settings.podDeletionCost
    ['', 'pods', ['delete', 'get', 'list', 'patch', 'watch']],
    // only with settings.podNomination
    ['', 'pods/status', ['patch']],
    // only with settings.drainConditions
    ['', 'nodes/status', ['patch']],
    // patch only with settings.podSurge
    ['apps', 'deployments', ['get', 'list', 'patch', 'watch']],
    ['', 'nodes', ['delete', 'get', 'list', 'patch', 'update', 'watch']],
    ['policy', 'poddisruptionbudgets', ['get', 'list', 'watch']],
  ])('allows the controller to use %s %s: %p', (group, resource, verbs) => {
    const rules = find('ClusterRole', 'karpenter-core').rules ?? [];
    const allowed = rules
      .filter((rule) => rule.apiGroups.includes(group) && rule.resources.includes(resource))
      .flatMap((rule) => rule.verbs);
    expect([...new Set(allowed)].sort()).toEqual(verbs);
  });
});
