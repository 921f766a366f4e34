/**
 * Upgrades from the charts of an earlier release with real helm on a real control plane. The earlier charts are stored
 * as packages: without CapacityBuffers and static NodePools, and with fewer settings.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { VERSION } from '#lib';
import { applyText, type Cluster, exampleText, startCluster, until } from './harness/cluster.ts';
import { type Shell, startShell } from './harness/shell.ts';

const OLD = '1.12.0';
const FIXTURES = join(import.meta.dirname, 'fixtures');
const VALUES =
  '--set controller.image.repository=registry.example.com/karpenter --set settings.clusterName=test --set settings.interruptionQueue=test --set replicas=1 --set podLabels.team=platform';
const FLAGS = '--namespace kube-system --wait --timeout 120s';
const POOL = '/apis/karpenter.sh/v1/nodepools/default';

interface Kept {
  readonly metadata: { readonly uid: string; readonly generation?: number; readonly labels?: Record<string, string> };
  readonly spec: unknown;
}

describe('an upgrade from an earlier release', () => {
  let cluster: Cluster;
  let shell: Shell;
  const before = new Map<string, Kept>();
  const read = async (path: string): Promise<Kept> => (await cluster.kube.raw('GET', path)) as Kept;
  const definition = (name: string): string => `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
  const DEPLOYMENT = '/apis/apps/v1/namespaces/kube-system/deployments/karpenter';
  const SURVIVORS = [
    POOL,
    '/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default',
    definition('nodepools.karpenter.sh'),
    DEPLOYMENT,
    '/api/v1/namespaces/kube-system/serviceaccounts/karpenter',
  ];

  beforeAll(async () => {
    cluster = await startCluster({ values: null });
    shell = await startShell(cluster.plane.folder, cluster.plane.kubeconfig);
    await shell(`helm install karpenter-crd ${FIXTURES}/karpenter-crd-${OLD}.tgz ${FLAGS}`);
    await shell(`helm install karpenter ${FIXTURES}/karpenter-${OLD}.tgz --skip-crds ${VALUES} ${FLAGS}`);
    await applyText(cluster, await exampleText('ec2nodeclass.yaml'), await exampleText('nodepool.yaml'));
    for (const path of SURVIVORS) before.set(path, await read(path));
  }, 240_000);
  afterAll(async () => {
    await cluster?.stop();
  }, 60_000);

  it('starts without static NodePools and buffers', async () => {
    await expect(read(definition('capacitybuffers.autoscaling.x-k8s.io'))).rejects.toThrow('not found');
    await expect(read(`${POOL}/scale`)).rejects.toThrow('not found');
    expect(before.get(DEPLOYMENT)?.metadata.labels).toMatchObject({ 'helm.sh/chart': `karpenter-${OLD}` });
  });

  it('updates the definitions, and keeps existing objects', async () => {
    await shell(`helm upgrade karpenter-crd charts/karpenter-crd ${FLAGS}`);
    await read(definition('capacitybuffers.autoscaling.x-k8s.io'));
    // The scale of a NodePool without replicas returns an error, which shows that the subresource exists.
    await until(cluster, 'the new definition to be served', () =>
      read(`${POOL}/scale`).then(
        () => false,
        (error) => String(error).includes('".spec.replicas" does not exist'),
      ),
    );
    expect(await read(POOL)).toEqual(before.get(POOL));
    const text = await shell('kubectl get crd nodepools.karpenter.sh -o yaml');
    expect(text).toContain('specReplicasPath: .spec.replicas');
    expect(text).toContain('storedVersions:\n  - v1');
  }, 180_000);

  it('rolls out the operator with the previous values', async () => {
    // Values of the previous release do not contain defaults that were added later.
    await shell(`helm upgrade karpenter charts/karpenter --skip-crds --reuse-values ${FLAGS}`);
    const { metadata, spec } = await read(DEPLOYMENT);
    expect(metadata.labels).toMatchObject({
      'helm.sh/chart': `karpenter-${VERSION}`,
      'app.kubernetes.io/version': VERSION,
    });
    expect(spec).toMatchObject({ replicas: 1, template: { metadata: { labels: { team: 'platform' } } } });
    expect(JSON.stringify(spec)).toContain('CapacityBuffer=true');
  }, 180_000);

  it('uses the new defaults if values are set again', async () => {
    await shell(`helm upgrade karpenter charts/karpenter --skip-crds ${VALUES} ${FLAGS}`);
    const text = JSON.stringify(await read(DEPLOYMENT));
    expect(text).toContain('{"name":"PACKING","value":"cheapest"}');
    expect(text).toContain(`registry.example.com/karpenter:${VERSION}`);
  }, 180_000);

  it('allows static NodePools, which the earlier release did not support', async () => {
    const spec = { ...(before.get(POOL)?.spec as object), replicas: 2, limits: { nodes: '3' }, weight: undefined };
    const pool = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'static' }, spec };
    await cluster.kube.raw('POST', '/apis/karpenter.sh/v1/nodepools', pool);
    expect(await shell('kubectl scale nodepool/static --replicas=3')).toContain('scaled');
  }, 60_000);

  it('can be rolled back without a recreated object', async () => {
    await shell(`helm rollback karpenter 1 ${FLAGS}`);
    expect((await read(DEPLOYMENT)).metadata.labels).toMatchObject({ 'helm.sh/chart': `karpenter-${OLD}` });
    for (const path of SURVIVORS) expect((await read(path)).metadata.uid).toBe(before.get(path)?.metadata.uid);
    expect((await read(POOL)).spec).toEqual(before.get(POOL)?.spec);
  }, 180_000);
});
