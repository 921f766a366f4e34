/**
 * `karpenter snapshot` and `migrate status` on a real API server: CRDs of several versions, real permissions, and the
 * commands of `migrate status` with real kubectl.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#api/objects';
import { type Item, parseManifests, READ_KINDS, type SnapshotInfo, type Status } from '#cli/testing';
import { type ControlPlane, startControlPlane } from './harness/controlplane.ts';
import { kubeconfigText } from './harness/kubeconfig.ts';
import { eventually } from './harness/processes.ts';
import { type Shell, startShell } from './harness/shell.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const ANY = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function definition(kind: string, group: string, versions: readonly string[], stored = versions[0]): KubeObject {
  const plural = `${kind.toLowerCase()}${kind.endsWith('s') ? 'es' : 's'}`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: versions.map((name) => ({
        name,
        served: true,
        storage: name === stored,
        schema: { openAPIV3Schema: ANY },
      })),
    },
  } as KubeObject;
}

/** Permissions that `karpenter snapshot --help` names, without some of them. */
const rules = (without: readonly string[] = []) => [
  ...READ_KINDS.flatMap(({ versions: [{ group, plural }] }) =>
    without.includes(plural) ? [] : [{ apiGroups: [group], resources: [plural], verbs: ['list'] }],
  ),
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get'] },
  {
    apiGroups: ['admissionregistration.k8s.io'],
    resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
    verbs: ['list'],
  },
];

describe('a cluster with objects of the beta and alpha APIs on a real API server', () => {
  let plane: ControlPlane;
  let shell: Shell;
  const create = (path: string, object: object) => plane.client.raw('POST', path, object);

  beforeAll(async () => {
    plane = await startControlPlane({ controllers: false });
    shell = await startShell(plane.folder, plane.kubeconfig, { AWS_EC2_METADATA_DISABLED: 'true' });
    await create(CRDS, definition('Provisioner', 'karpenter.sh', ['v1alpha5']));
    await create(CRDS, definition('NodePool', 'karpenter.sh', ['v1beta1']));
    for (const kind of ['NodeClaim', 'EC2NodeClass'])
      await create(CRDS, definition(kind, kind === 'NodeClaim' ? 'karpenter.sh' : 'karpenter.k8s.aws', ['v1']));
    const pool = { kind: 'NodePool', metadata: { name: 'default' }, spec: { template: { spec: {} } } };
    await eventually(
      'NodePools to be served',
      () => create('/apis/karpenter.sh/v1beta1/nodepools', { apiVersion: 'karpenter.sh/v1beta1', ...pool }),
      60_000,
    );
    const path = `${CRDS}/nodepools.karpenter.sh`;
    const { metadata } = (await plane.client.raw('GET', path)) as KubeObject;
    const both = definition('NodePool', 'karpenter.sh', ['v1', 'v1beta1']);
    await plane.client.raw('PUT', path, { ...both, metadata });
    const webhook = 'validation.webhook.karpenter.sh';
    await create('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: webhook },
    });
    await eventually('v1 to be served', () => plane.client.raw('GET', '/apis/karpenter.sh/v1/nodepools'), 60_000);
  }, 180_000);
  afterAll(async () => {
    await plane?.stop();
  }, 60_000);

  /** Returns a kubeconfig of a user with these permissions. */
  async function somebody(name: string, allowed: readonly object[]): Promise<string> {
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    await create('/api/v1/namespaces/default/serviceaccounts', {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name },
    });
    const metadata = { name };
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    await create(`${rbac}/clusterroles`, { apiVersion, kind: 'ClusterRole', metadata, rules: allowed });
    await create(`${rbac}/clusterrolebindings`, {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
    });
    const { status } = (await create(`/api/v1/namespaces/default/serviceaccounts/${name}/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3_600 },
    })) as { readonly status: { readonly token: string } };
    const file = join(plane.folder, `kubeconfig-${name}`);
    const { url, certificateAuthority } = plane;
    await writeFile(file, kubeconfigText({ url, certificateAuthority, token: status.token }));
    return file;
  }

  const snapshot = async (kubeconfig: string): Promise<readonly KubeObject[]> => {
    const text = await shell(`node bin/karpenter.js snapshot --kubeconfig ${kubeconfig}`);
    return parseManifests(text, 'snapshot').map(({ object }) => object);
  };
  const infoIn = (objects: readonly KubeObject[]) => objects.at(-1) as SnapshotInfo;

  /** Exit code 2 means that some steps are unfinished. */
  const items = async (): Promise<readonly Item[]> =>
    (JSON.parse(await shell('node bin/karpenter.js migrate status -o json || [ $? = 2 ]')) as Status).items;

  it('requires exactly the permissions in the help of the snapshot', async () => {
    const objects = await snapshot(await somebody('reader', rules()));
    expect(infoIn(objects)).toMatchObject({
      notRead: [],
      notServed: [
        'AWSNodeTemplate',
        'NodeOverlay',
        'NodePolicy',
        'Machine',
        'DeviceTaintRule',
        'CapacityBuffer',
        'CapacityQuota',
        'ProvisioningRequest',
      ],
      kubernetesVersion: expect.stringMatching(/^v1\./),
    });
    expect(objects.map(({ kind, apiVersion }) => `${apiVersion} ${kind}`)).toContain('karpenter.sh/v1 NodePool');
  });

  it('is read without forbidden kinds, which the snapshot names', async () => {
    const info = infoIn(await snapshot(await somebody('half', rules(['poddisruptionbudgets', 'nodes']))));
    expect(info.notRead.map(({ kind }) => kind)).toEqual(['Node', 'PodDisruptionBudget']);
    expect(info.notRead[0]?.why).toMatch(/^nodes is forbidden: User "system:serviceaccount:default:half" cannot list/);
  });

  it('is migrated by the commands that migrate status prints', async () => {
    const subjects = [
      'ownership of CRDs',
      'CRD nodepools.karpenter.sh',
      'webhook validation.webhook.karpenter.sh',
      'CRD provisioners.karpenter.sh',
    ];
    const before = (await items()).filter(({ subject }) => subjects.includes(subject));
    expect(before).toHaveLength(subjects.length);
    for (const { state, next } of before) {
      expect(state).toBe('todo');
      await shell(next ?? '');
    }
    const after = (await items()).filter(({ subject }) => subjects.includes(subject));
    const states = after.map(({ subject, state }) => `${subject}: ${state}`).sort();
    expect(states).toEqual(['CRD nodepools.karpenter.sh: ok', 'ownership of CRDs: ok']);
    expect(await shell("kubectl get crd nodepools.karpenter.sh -o jsonpath='{.status.storedVersions}'")).toBe('["v1"]');
    expect(await shell('kubectl get nodepools -o name')).toBe('nodepool.karpenter.sh/default\n');
  });
});
