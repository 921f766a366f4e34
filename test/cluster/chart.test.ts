/** The charts with real helm on a real API server: install, upgrade, uninstall, and every value once. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '#api/objects';
import { VERSION } from '#lib';
import { packageCharts } from '../../scripts/release/artifacts.ts';
import {
  applyText,
  CLUSTER_NAME,
  type Cluster,
  exampleText,
  NAMESPACE,
  ROOT,
  startCluster,
  VALUES,
  type Values,
} from './harness/cluster.ts';

const CRDS = [
  'capacitybuffers.autoscaling.x-k8s.io',
  'capacityquotas.autoscaling.x-k8s.io',
  'ec2nodeclasses.karpenter.k8s.aws',
  'nodeclaims.karpenter.sh',
  'nodeoverlays.karpenter.sh',
  'nodepolicies.karpenter-ts.sh',
  'nodepools.karpenter.sh',
];

/** Values that users of Karpenter 1.x set, in addition to the values of every installation. */
const MATRIX: readonly (readonly [string, Values])[] = [
  ['defaults', {}],
  [
    'values of earlier releases, which are ignored',
    { webhook: { enabled: true, port: 8443 }, logConfig: { enabled: true }, settings: { aws: { clusterName: 'old' } } },
  ],
  [
    'an IAM role for the service account, labels and annotations everywhere',
    {
      serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::111122223333:role/karpenter' } },
      additionalLabels: { team: 'platform' },
      additionalAnnotations: { note: 'ours: {yes}' },
      service: { annotations: { scrape: 'true' } },
      podLabels: { tier: 'system' },
      podAnnotations: { 'prometheus.io/scrape': 'true' },
    },
  ],
  [
    'another placement of the pods',
    {
      replicas: 1,
      hostNetwork: true,
      dnsPolicy: 'Default',
      dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
      priorityClassName: 'system-node-critical',
      nodeSelector: { 'kubernetes.io/os': 'linux', role: 'infra' },
      tolerations: [{ operator: 'Exists' }],
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname' } },
          ],
        },
      },
      topologySpreadConstraints: [
        { maxSkew: 2, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
      ],
      terminationGracePeriodSeconds: 20,
      // helm merges this with the default, which would be invalid.
      strategy: { type: 'Recreate', rollingUpdate: null },
    },
  ],
  [
    'other containers, volumes and security',
    {
      imagePullSecrets: [{ name: 'registry' }],
      podSecurityContext: null,
      extraVolumes: [{ name: 'more', emptyDir: {} }],
      initContainers: [{ name: 'init', image: 'busybox' }],
      controller: {
        containerName: 'karpenter',
        image: { repository: 'registry.example.com/karpenter', tag: 'mine', digest: '' },
        env: [{ name: 'GODEBUG', value: 'x' }],
        envFrom: [{ configMapRef: { name: 'extra', optional: true } }],
        securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
        extraVolumeMounts: [{ name: 'more', mountPath: '/more' }],
        sidecarContainer: [{ name: 'side', image: 'busybox' }],
        sidecarVolumeMounts: [{ name: 'more', mountPath: '/side' }],
        metrics: { port: 9090 },
        healthProbe: { port: 9091 },
      },
    },
  ],
  [
    'every setting',
    {
      logLevel: 'debug',
      logOutputPaths: ['stdout', '/tmp/log'],
      settings: {
        batchMaxDuration: '20s',
        batchIdleDuration: '2s',
        preferencePolicy: 'Ignore',
        minValuesPolicy: 'BestEffort',
        clusterCABundle: 'YQ==',
        clusterEndpoint: 'https://example.com',
        isolatedVPC: true,
        eksControlPlane: true,
        vmMemoryOverheadPercent: 0,
        interruptionQueue: 'queue',
        reservedENIs: '1',
        ignoreDRARequests: false,
        disableClusterStateObservability: true,
        disableDryRun: true,
        amiRefreshInterval: '5m',
        featureGates: { nodeRepair: true, spotToSpotConsolidation: true, nodeOverlay: true },
        awsFeatureGates: { nodeClassCEL: true },
      },
    },
  ],
  [
    'numbers and booleans as strings',
    {
      replicas: '3',
      revisionHistoryLimit: '5',
      controller: { metrics: { port: '9090' }, healthProbe: { port: '9091' } },
      settings: { isolatedVPC: 'true', reservedENIs: 1, vmMemoryOverheadPercent: '0.1', disableDryRun: 'true' },
    },
  ],
  [
    'template expressions',
    {
      global: { cluster: 'from-global', wait: '7s' },
      settings: {
        interruptionQueue: '{{ .Values.global.cluster }}-queue',
        batchIdleDuration: '{{ .Values.global.wait }}',
        clusterEndpoint: 'https://{{ .Release.Name }}.example.com',
        // Not evaluated.
        packing: 'compatible',
      },
    },
  ],
  [
    'null instead of defaults',
    {
      affinity: null,
      topologySpreadConstraints: null,
      tolerations: null,
      nodeSelector: null,
      strategy: null,
      podSecurityContext: null,
      priorityClassName: '',
      logOutputPaths: [],
      networkPolicy: null,
      controller: { securityContext: null, resources: null },
      settings: { featureGates: null, awsFeatureGates: null, packing: '', consolidation: '' },
    },
  ],
  [
    'names and additional permissions',
    {
      fullnameOverride: 'scaler',
      podDisruptionBudget: { name: 'scaler', maxUnavailable: '50%' },
      serviceAccount: { create: false, name: 'existing' },
      additionalClusterRoleRules: [{ apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'watch'] }],
      serviceMonitor: { enabled: true, additionalLabels: { a: 'b' }, sampleLimit: 0 },
    },
  ],
];

const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/karpenter-leader-election`;
const IMAGE = 'controller.image.repository=registry.example.com/karpenter';

interface PodLike {
  readonly spec: {
    readonly serviceAccountName: string;
    readonly volumes?: readonly {
      readonly name: string;
      readonly projected?: { readonly sources: readonly unknown[] };
    }[];
    readonly containers: readonly { readonly volumeMounts?: readonly unknown[] }[];
  };
}

describe('the chart', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ values: null });
  }, 180_000);
  afterAll(async () => {
    await cluster?.stop();
  }, 60_000);

  const exists = async (path: string): Promise<boolean> =>
    cluster.kube.raw('GET', path).then(
      () => true,
      () => false,
    );
  const crd = (name: string): string => `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
  // Uses another release name, so that the installed release is not affected.
  const rendered = async (values: Values): Promise<string> =>
    cluster.helm(
      'template',
      'trial',
      join(ROOT, 'charts/karpenter'),
      '--skip-crds',
      '--namespace',
      NAMESPACE,
      '--set',
      'settings.clusterName=test',
      '--set',
      IMAGE,
      '--values',
      await cluster.valuesFile(values),
    );

  it.each([
    [{}, ['karpenter-history', 'karpenter-spot-risk', 'karpenter-node-capacities'], '1'],
    [{ spotRisk: 0.5 }, ['karpenter-history', 'karpenter-spot-risk', 'karpenter-node-capacities'], '0.5'],
    [{ spotRisk: null }, ['karpenter-history', 'karpenter-spot-risk', 'karpenter-node-capacities'], undefined],
    [{ spotRisk: 0 }, ['karpenter-history', 'karpenter-node-capacities'], '0'],
    [{ spotRisk: '0.0' }, ['karpenter-history', 'karpenter-node-capacities'], '0.0'],
    [{ packing: 'compatible' }, ['karpenter-history', 'karpenter-node-capacities'], '1'],
    [{ costHistory: false }, ['karpenter-spot-risk', 'karpenter-node-capacities'], '1'],
    [{ costHistory: false, spotRisk: '0' }, ['karpenter-node-capacities'], '0'],
    [
      { costHistory: false, spotRisk: '0', enableDRA: true },
      ['karpenter-device-samples', 'karpenter-node-capacities'],
      '0',
    ],
  ])('allows with settings %j the documents %j, and sets a spot risk of %s', async (settings, names, weight) => {
    const yaml = await rendered({ settings });
    expect(/resourceNames: (\["karpenter-(?:history|spot|device|node).*)/.exec(yaml)?.[1] ?? '[]').toBe(
      JSON.stringify(names),
    );
    expect(yaml.includes('resources: ["configmaps"]')).toBe(names.length > 0);
    expect(/name: SPOT_RISK\n +value: "(.*)"/.exec(yaml)?.[1]).toBe(weight);
  });

  it.each([
    [{}, 'NodeClassCEL=false', 'true'],
    [{ enableDRA: true }, 'NodeClassCEL=false,DRANVIDIAGPU=true,DRAEFA=true', 'false'],
    [{ awsFeatureGates: { draEFA: true } }, 'NodeClassCEL=false,DRAEFA=true', 'false'],
    [{ awsFeatureGates: { draNVIDIAGPU: false } }, 'NodeClassCEL=false,DRANVIDIAGPU=false', 'true'],
  ])('sets the gates of DRA drivers, which permit resource claims: %p', async (settings, gates, ignores) => {
    const yaml = await rendered({ settings });
    expect(/name: AWS_FEATURE_GATES\n +value: "(.*)"/.exec(yaml)?.[1]).toBe(gates);
    expect(/name: IGNORE_DRA_REQUESTS\n +value: "(.*)"/.exec(yaml)?.[1]).toBe(ignores);
  });

  it('rejects invalid values with their path and the allowed values', async () => {
    await expect(rendered({ settings: { spotRisk: 'much' } })).rejects.toThrow("at '/settings/spotRisk'");
    await expect(rendered({ settings: { preferencePolicy: 'Sometimes' } })).rejects.toThrow(
      "at '/settings/preferencePolicy': value must be one of 'Priced', 'Respect', 'Ignore'",
    );
    await expect(rendered({ settings: { enableDRA: true, awsFeatureGates: { draEFA: true } } })).rejects.toThrow(
      'settings.enableDRA is mutually exclusive with settings.awsFeatureGates.draEFA: unset them',
    );
    await expect(rendered({ extraVolumes: { name: 'no list' } })).rejects.toThrow("at '/extraVolumes'");
    await expect(rendered({ replicas: 'two' })).rejects.toThrow("at '/replicas'");
    await expect(rendered({ controller: { metrics: { port: -1 } } })).rejects.toThrow("at '/controller/metrics/port'");
  }, 60_000);

  it('prints the next steps, and reports missing prerequisites and unknown values', async () => {
    const notes = await cluster.helm(
      'install',
      'trial',
      join(ROOT, 'charts/karpenter'),
      ...['--dry-run=server', '--skip-crds', '--namespace', NAMESPACE, '--set', 'settings.clusterName=test'],
      ...['--set', IMAGE, '--set', 'controller.image.tag=1.14.1,controller.resources=null'],
      ...['--set', 'global.a=b,podLabels.a=b,setings.a=b,settings.featureGates.spotToSpot=true'],
    );
    const said = notes.slice(notes.indexOf('NOTES:'));
    expect(said).toContain('does not serve NodePools');
    expect(said).toContain('settings.interruptionQueue is not set');
    expect(said).toContain('have no effect');
    expect(said).toContain(
      'The image is registry.example.com/karpenter:1.14.1. If you did not push this tag, your values',
    );
    expect(said).toContain('controller.resources is not set');
    expect(said).toContain('\n\n  setings\n  settings.featureGates.spotToSpot\n\n');
    expect(said).toContain('kubectl rollout status deployment/trial-karpenter -n kube-system');
  }, 60_000);

  it('refuses to install without the name of the cluster', async () => {
    await expect(cluster.install('karpenter', {}, '--skip-crds')).rejects.toThrow(
      'Chart cannot be installed without a valid settings.clusterName!',
    );
  }, 60_000);

  it('refuses to install without an image repository, and prints the required option', async () => {
    const values = { settings: { clusterName: CLUSTER_NAME } };
    await expect(cluster.install('karpenter', values, '--skip-crds')).rejects.toThrow(
      /controller\.image\.repository is not set.*--set controller\.image\.repository=/,
    );
  }, 60_000);

  it.each([
    ['public.ecr.aws/karpenter/controller', '1.14.1', `sha256:${'0'.repeat(64)}`],
    ['123456789012.dkr.ecr.us-east-1.amazonaws.com/ecr-public/karpenter/controller', '', ''],
  ])(
    'refuses the image %s of Karpenter, and prints the remedy',
    async (repository, tag, digest) => {
      const image = { repository, tag, digest };
      const values = { settings: { clusterName: CLUSTER_NAME }, controller: { image } };
      await expect(cluster.install('karpenter', values, '--skip-crds')).rejects.toThrow(
        /the image of Karpenter, which this chart cannot run.*karpenter convert values.*--set controller\.image\.repository=/,
      );
    },
    60_000,
  );

  it('is packaged for a release with its image', async () => {
    const { folder } = cluster.plane;
    const image = {
      repository: 'ghcr.io/acme/karpenter-ts/controller',
      tag: VERSION,
      digest: `sha256:${'a'.repeat(64)}`,
    };
    const [crds, main] = packageCharts(cluster.plane.binaries.helm, image, folder);
    const yaml = await cluster.helm(
      'template',
      'trial',
      join(folder, String(main)),
      '--set',
      'settings.clusterName=test',
    );
    expect(yaml).toContain(`image: ${image.repository}:${VERSION}@${image.digest}\n`);
    expect(await cluster.helm('template', 'trial', join(folder, String(crds)))).toContain(
      'name: nodepools.karpenter.sh',
    );
  }, 60_000);

  it('installs on a real cluster, and all pods become available', async () => {
    await cluster.install('karpenter-crd', { webhook: { enabled: true, serviceName: 'old' } });
    const notes = await cluster.install('karpenter', VALUES, '--skip-crds', '--wait', '--timeout', '60s');
    expect(notes).toContain('STATUS: deployed');
    expect(notes).toMatch(/NodePool/);
    for (const name of CRDS) expect(await exists(crd(name))).toBe(true);
    expect(await exists(LEASE)).toBe(true);
    const table = await cluster.kubectl('get', 'deployment', 'karpenter', '-n', NAMESPACE);
    expect(table).toMatch(/karpenter +2\/2 +2 +2/);
  }, 120_000);

  it('mounts the token of the service account into its pods only', async () => {
    const get = async (what: string, path: string): Promise<string> =>
      cluster.kubectl('get', what, '-n', NAMESPACE, '-o', `jsonpath={${path}}`);
    expect(await get('serviceaccount/karpenter', '.automountServiceAccountToken')).toBe('false');
    const labels = ['pods', '-l', 'app.kubernetes.io/name=karpenter', '-n', NAMESPACE];
    const { items } = JSON.parse(await cluster.kubectl('get', ...labels, '-o', 'json')) as {
      items: readonly PodLike[];
    };
    expect(items).toHaveLength(2);
    for (const { spec } of items) {
      expect(spec.serviceAccountName).toBe('karpenter');
      const token = spec.volumes?.find(({ name }) => name.startsWith('kube-api-access-'));
      expect(token?.projected?.sources).toContainEqual(
        expect.objectContaining({ serviceAccountToken: expect.objectContaining({ path: 'token' }) }),
      );
      expect(spec.containers[0]?.volumeMounts).toContainEqual({
        name: token?.name,
        mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
        readOnly: true,
      });
    }
  }, 60_000);

  it.each(MATRIX)(
    'renders the same objects as in the snapshot, which the server accepts, with %s',
    async (_, values) => {
      const text = await rendered(values);
      expect(text).toMatchSnapshot();
      const objects = parseAllDocuments(text).flatMap((document) => (document.toJS() as KubeObject | null) ?? []);
      expect(objects.length).toBeGreaterThan(8);
      // The server has no kinds of monitoring.coreos.com.
      await dryRun(objects.filter(({ kind }) => kind !== 'ServiceMonitor').map(withAccount));
    },
    60_000,
  );

  /** Pods need an existing service account, and this release is not installed. */
  const withAccount = (object: KubeObject & { readonly spec?: object }): KubeObject =>
    object.kind === 'Pod'
      ? ({ ...object, spec: { ...object.spec, serviceAccountName: 'default' } } as KubeObject)
      : object;

  const dryRun = async (items: readonly KubeObject[]): Promise<void> => {
    const file = await cluster.valuesFile({ apiVersion: 'v1', kind: 'List', items });
    const argv = ['apply', '--server-side', '--force-conflicts', '--dry-run=server'];
    // Strict, because a field that the server does not know is an error in the template.
    const accepted = await cluster.kubectl(...argv, '--validate=strict', '-f', file);
    expect(accepted.match(/ serverside-applied \(server dry run\)$/gm)).toHaveLength(items.length);
  };

  it('upgrades in place when values and CRDs change', async () => {
    const old = await cluster.kube.raw('GET', crd('nodepools.karpenter.sh'));
    await cluster.install('karpenter-crd', {
      additionalAnnotations: { 'argocd.argoproj.io/sync-options': 'Prune=false' },
    });
    await cluster.install(
      'karpenter',
      {
        ...VALUES,
        replicas: 1,
        logLevel: 'debug',
        settings: { ...(VALUES.settings as Values), batchIdleDuration: '3s' },
      },
      '--skip-crds',
      '--wait',
      '--timeout',
      '60s',
    );
    const now = (await cluster.kube.raw('GET', crd('nodepools.karpenter.sh'))) as KubeObject;
    expect(now.metadata.uid).toBe((old as KubeObject).metadata.uid);
    expect(now.metadata.annotations).toMatchObject({ 'argocd.argoproj.io/sync-options': 'Prune=false' });
    const env = await cluster.operatorEnv();
    expect(env).toMatchObject({ LOG_LEVEL: 'debug', BATCH_IDLE_DURATION: '3s' });
  }, 120_000);

  it("keeps CRDs and users' objects when the operator is uninstalled", async () => {
    await applyText(cluster, await exampleText('ec2nodeclass.yaml'), await exampleText('nodepool.yaml'));
    await cluster.helm('uninstall', 'karpenter', '--namespace', NAMESPACE, '--wait');
    expect(await exists('/apis/karpenter.sh/v1/nodepools/default')).toBe(true);
    expect(await exists('/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default')).toBe(true);
    const left = await cluster.kubectl(
      'get',
      'all,sa,pdb,role,rolebinding,clusterrole,clusterrolebinding,lease',
      '-A',
      '-l',
      'app.kubernetes.io/instance=karpenter',
      '--ignore-not-found',
      '-o',
      'name',
    );
    expect(left.split('\n').filter((line) => line !== '' && !line.startsWith('pod/'))).toEqual([]);
  }, 180_000);

  it('neither adopts nor deletes a Lease that another controller created', async () => {
    const [, name = ''] = /leases\/(.*)/.exec(LEASE) ?? [];
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace: NAMESPACE } };
    await cluster.kubectl('create', '-f', await cluster.valuesFile(lease));
    await cluster.install('karpenter', VALUES, '--skip-crds');
    expect(await cluster.helm('get', 'manifest', 'karpenter', '--namespace', NAMESPACE)).not.toContain('kind: Lease');
    await cluster.helm('uninstall', 'karpenter', '--namespace', NAMESPACE, '--wait');
    expect(await exists(LEASE)).toBe(true);
    await cluster.kubectl('delete', 'lease', name, '--namespace', NAMESPACE);
  }, 180_000);

  it('deletes the CRDs and their objects when the CRD chart is uninstalled', async () => {
    await cluster.helm('uninstall', 'karpenter-crd', '--namespace', NAMESPACE, '--wait');
    for (const name of CRDS) expect(await exists(crd(name))).toBe(false);
  }, 180_000);

  it('adopts CRDs of the main chart if they have the labels that helm requires', async () => {
    await cluster.install('karpenter', VALUES);
    for (const name of CRDS) expect(await exists(crd(name))).toBe(true);
    await expect(cluster.install('karpenter-crd', {})).rejects.toThrow('invalid ownership metadata');
    await cluster.kubectl('label', 'crd', ...CRDS, 'app.kubernetes.io/managed-by=Helm', '--overwrite');
    await cluster.kubectl(
      'annotate',
      'crd',
      ...CRDS,
      'meta.helm.sh/release-name=karpenter-crd',
      `meta.helm.sh/release-namespace=${NAMESPACE}`,
    );
    expect(await cluster.install('karpenter-crd', {})).toContain('STATUS: deployed');
  }, 180_000);
});
