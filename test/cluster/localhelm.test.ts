/** Real helm with both charts on the local API server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CONFIG_MAP, DEPLOYMENT } from '#api/objects';
import { startWorld, type World } from '#local/world';
import { type Shell, startShell } from './harness/shell.ts';

const VALUES = '--set settings.clusterName=local --set controller.image.repository=registry.example.com/karpenter';
const FLAGS = `--namespace kube-system ${VALUES} --skip-crds --wait --timeout 120s`;

describe('helm on the local API server', () => {
  let folder: string;
  let world: World;
  let shell: Shell;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'karpenter-helm-'));
    // For the chart's two replicas, which require different zones.
    world = await startWorld({ systemNodes: 2, timeScale: 10 });
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, world.kube.kubeconfig());
    shell = await startShell(folder, kubeconfig);
  }, 120_000);
  afterAll(async () => {
    await world?.stop();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  /** Returns the UIDs of the CRDs, which change if a CRD is recreated. */
  const definitions = async (): Promise<readonly string[]> =>
    (await shell("kubectl get crd -o jsonpath='{.items[*].metadata.uid}'")).split(' ');

  const containers = async (): Promise<unknown> => {
    const found = await world.kube.client.find(DEPLOYMENT, { name: 'karpenter', namespace: 'kube-system' });
    return (found?.spec as { template: { spec: { containers: unknown } } }).template.spec.containers;
  };

  const DOCUMENTS = ['karpenter-history', 'karpenter-spot-risk', 'karpenter-node-capacities'].map((name) => ({
    name,
    namespace: 'kube-system',
  }));
  const KEPT = DOCUMENTS.map(({ name }) => ({ 'document.json.gz': Buffer.from(name).toString('base64') }));

  const keep = async (): Promise<void> => {
    for (const [at, { name }] of DOCUMENTS.entries()) {
      const patch = JSON.stringify({ binaryData: KEPT[at] });
      await shell(`kubectl patch configmap ${name} -n kube-system --type merge -p '${patch}'`);
    }
  };
  const kept = async (): Promise<readonly unknown[]> =>
    Promise.all(DOCUMENTS.map(async (ref) => (await world.kube.client.find(CONFIG_MAP, ref))?.binaryData));

  it('installs the CRDs over the existing ones of the local world', async () => {
    const before = await definitions();
    expect(before).toHaveLength(8);
    expect(await shell('helm upgrade --install karpenter-crd charts/karpenter-crd --namespace kube-system')).toContain(
      'STATUS: deployed',
    );
    expect(await definitions()).toEqual(before);
  }, 120_000);

  it('installs the operator beside a ConfigMap that an earlier operator created, and its pods become ready', async () => {
    await shell('kubectl create configmap karpenter-spot-risk -n kube-system');
    await shell('kubectl label configmap karpenter-spot-risk -n kube-system karpenter.sh/document=karpenter-spot-risk');
    expect(await shell(`helm upgrade --install karpenter charts/karpenter ${FLAGS}`)).toContain('STATUS: deployed');
    expect(await shell('helm list --all-namespaces --short')).toBe('karpenter\nkarpenter-crd\n');
    expect(await shell('kubectl rollout status deployment/karpenter -n kube-system --timeout 120s')).toContain(
      'successfully rolled out',
    );
  }, 180_000);

  it('upgrades the operator, and rolls it back, without a change to its data', async () => {
    await keep();
    await shell(`helm upgrade karpenter charts/karpenter ${FLAGS} --set logLevel=debug --set replicas=1`);
    expect(JSON.stringify(await containers())).toContain('{"name":"LOG_LEVEL","value":"debug"}');
    await shell('helm rollback karpenter 1 --namespace kube-system --wait --timeout 120s');
    expect(JSON.stringify(await containers())).toContain('{"name":"LOG_LEVEL","value":"info"}');
    const history = await shell('helm history karpenter --namespace kube-system --output json');
    expect((JSON.parse(history) as { status: string }[]).map(({ status }) => status)).toEqual([
      'superseded',
      'superseded',
      'deployed',
    ]);
    expect(await kept()).toEqual(KEPT);
  }, 180_000);

  it('tests the manifests of a dry run on the server', async () => {
    const shown = await shell(`helm upgrade karpenter charts/karpenter ${FLAGS} --dry-run=server`);
    expect(shown).toContain('kind: Deployment');
  }, 120_000);

  it('uninstalls both charts with their objects', async () => {
    await shell('helm uninstall karpenter karpenter-crd --namespace kube-system --wait');
    const left = 'kubectl get crd,deploy,svc,sa,pdb,roles,rolebindings,clusterroles,clusterrolebindings -A -o name';
    expect((await shell(left)).split('\n').filter((line) => line.includes('karpenter'))).toEqual([]);
    expect(await shell('kubectl get secrets -A -l owner=helm -o name')).toBe('');
    expect(await kept()).toEqual(KEPT);
  }, 120_000);

  it('installs the operator again with the data that was kept', async () => {
    expect(await shell(`helm install karpenter charts/karpenter ${FLAGS}`)).toContain('STATUS: deployed');
    expect(await kept()).toEqual(KEPT);
  }, 120_000);
});
