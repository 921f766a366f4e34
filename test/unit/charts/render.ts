/**
 * Renders the chart with `helm template` into a fixture, because tests cannot rely on helm. After a change of the
 * chart, run this file to renew the fixture. `HELM` is the path of the helm binary if it is not in `PATH`.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

const chart = new URL('../../../charts/karpenter/', import.meta.url);
const fixture = new URL('./fixtures/rendered.yaml', import.meta.url);

/** Settings that make the chart render every object and optional part. */
const VALUES = [
  'settings.clusterName=demo',
  'controller.image.repository=registry.example.com/karpenter',
  'settings.interruptionQueue=demo',
  'serviceAccount.annotations.eks\\.amazonaws\\.com/role-arn=arn:aws:iam::111122223333:role/karpenter',
  'additionalLabels.team=platform',
  'additionalAnnotations.note=rendered',
  'networkPolicy.enabled=true',
  'dashboards.enabled=true',
  'prometheusRule.enabled=true',
  'networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.team=monitoring',
  'priceBook.content.apiVersion=karpenter-ts/v1',
  'priceBook.content.kind=PriceBook',
  'priceBook.content.reservedInstances[0].instanceType=m5.large',
  'priceBook.content.reservedInstances[0].count=2',
  'settings.podDeletionCost=true',
  'settings.podNomination=true',
  'settings.podSurge=true',
  'settings.drainConditions=true',
  'controller.resources.requests.cpu=1',
  'controller.resources.limits.memory=1Gi',
];

/** API of a cluster with the Prometheus operator. */
const OPERATOR_API = ['--api-versions', 'monitoring.coreos.com/v1'];

/** Returns a digest of all files that affect the rendered chart, except the CRDs. */
export function chartDigest(): string {
  const [templates = [], dashboards = []] = ['templates', 'dashboards'].map((folder) =>
    readdirSync(new URL(`${folder}/`, chart), { recursive: true, encoding: 'utf8' })
      .filter((name) => extname(name) !== '')
      .sort()
      .map((name) => `${folder}/${name}`),
  );
  const hash = createHash('sha256').update(VALUES.join());
  for (const file of ['Chart.yaml', 'values.yaml', 'rules.yaml', ...templates, ...dashboards]) {
    hash.update(`${file}\n`).update(readFileSync(new URL(file, chart)));
  }
  return hash.digest('hex');
}

const digestLine = (): string => `# digest of the chart: ${chartDigest()}\n`;

/** Returns the rendered objects as YAML. `current` is false if the chart has changed since it was rendered. */
export function rendered(): { readonly yaml: string; readonly current: boolean } {
  const yaml = readFileSync(fixture, 'utf8');
  return { yaml, current: yaml.startsWith(digestLine()) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const set = VALUES.flatMap((value) => ['--set', value]);
  const args = ['template', 'karpenter', fileURLToPath(chart), '--namespace', 'kube-system', ...OPERATOR_API, ...set];
  writeFileSync(fixture, digestLine() + execFileSync(process.env.HELM ?? 'helm', args, { encoding: 'utf8' }));
}
