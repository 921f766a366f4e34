import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { customResourceDefinitions } from '#api/schema';
import { KARPENTER_IMAGE } from '#cli/testing';
import { VERSION } from '#lib';
import { memoryBudget } from '#process/testing';

const root = new URL('../../../charts/', import.meta.url);
const text = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const yaml = (path: string): Record<string, unknown> => parse(text(path));
const templates = readdirSync(new URL('karpenter/templates/', root), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.includes('.'))
  .map((file) => text(`karpenter/templates/${file}`));

type Tree = { readonly [key: string]: unknown };
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);
const at = (tree: unknown, path: string): unknown =>
  path.split('.').reduce((part: unknown, key) => (isTree(part) ? part[key] : undefined), tree);

describe('a chart', () => {
  it.each([
    'karpenter',
    'karpenter-crd',
  ])('has the version of the product, and names the compatible version of Karpenter: %s', (name) => {
    const { version } = yaml('../package.json');
    expect(VERSION).toBe(version);
    expect(yaml(`${name}/Chart.yaml`)).toMatchObject({
      apiVersion: 'v2',
      name,
      type: 'application',
      version,
      appVersion: version,
      annotations: { 'compatible-with-karpenter': '1.14.1' },
    });
  });

  it.each([
    'karpenter',
    'karpenter-crd',
  ])('has links to the repository, an existing icon, maintainers and its custom resources for Artifact Hub: %s', (name) => {
    const { repository } = yaml('../package.json') as { readonly repository: string };
    const chart = yaml(`${name}/Chart.yaml`) as { readonly icon: string; readonly annotations: Record<string, string> };
    expect(chart).toMatchObject({ home: repository, sources: [`${repository}/tree/main/charts/${name}`] });
    expect(chart).toMatchObject({ maintainers: [{ url: repository }] });
    expect(text(`../${chart.icon.split('/main/')[1]}`)).toContain('<svg');
    const crds = parse(chart.annotations['artifacthub.io/crds'] ?? '') as readonly { readonly kind: string }[];
    expect(crds.map(({ kind }) => kind)).toEqual(customResourceDefinitions().map(({ spec }) => spec.names.kind));
  });

  it('has no default image repository, because another publisher could own it, and uses the version as the tag', () => {
    expect(at(yaml('karpenter/values.yaml'), 'controller.image')).toEqual({ repository: '', tag: '', digest: '' });
    for (const page of ['../README.md', '../docs/install.md'])
      expect(text(page)).toContain(` -t "$IMAGE:${VERSION}" .`);
    expect(text('../README.md')).toContain(`karpenter-ts-${VERSION}.tgz`);
  });

  it('accepts values of earlier releases, because karpenter-crd has no schema', () => {
    expect(readdirSync(new URL('karpenter-crd/', root))).not.toContain('values.schema.json');
  });
});

describe('the values schema of charts/karpenter', () => {
  const schema = JSON.parse(text('karpenter/values.schema.json')) as Tree;
  const values = yaml('karpenter/values.yaml');

  const objects = (tree: unknown): Tree[] => {
    if (Array.isArray(tree)) return tree.flatMap(objects);
    return isTree(tree) ? [tree, ...Object.values(tree).flatMap(objects)] : [];
  };

  it('accepts unknown values', () => {
    const strict = objects(schema).filter(
      ({ additionalProperties, required, propertyNames, patternProperties }) =>
        additionalProperties === false || required || propertyNames || patternProperties,
    );
    expect(strict).toEqual([]);
  });

  it('contains exactly the values that the chart declares', () => {
    const declared = (tree: Tree, path: string): string[] =>
      Object.entries(tree).flatMap(([key, value]) =>
        isTree(value) && isTree(at(schema, `properties.${`${path}${key}`.replaceAll('.', '.properties.')}.properties`))
          ? declared(value, `${path}${key}.`)
          : [`${path}${key}`],
      );
    const known = (tree: Tree, path: string): string[] =>
      Object.entries(tree).flatMap(([key, value]) =>
        isTree(value) && isTree(value.properties) ? known(value.properties, `${path}${key}.`) : [`${path}${key}`],
      );
    expect(known(schema.properties as Tree, '').sort()).toEqual(declared(values, '').sort());
  });
});

describe('a value of charts/karpenter', () => {
  const values = yaml('karpenter/values.yaml');

  it('has a type and a meaning in the README', () => {
    const rows = text('karpenter/README.md').match(/^\| `.*$/gm) ?? [];
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter((row) => !/^\| `[\w.]+` \| [^|]*\w[^|]* \| .* \| \S.*\. \|$/.test(row))).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['imagePullPolicy', 'IfNotPresent'],
    ['serviceAccount.create', true],
    ['replicas', 2],
    ['revisionHistoryLimit', 10],
    ['strategy', { rollingUpdate: { maxUnavailable: 1 } }],
    ['podDisruptionBudget', { name: 'karpenter', maxUnavailable: 1 }],
    ['priorityClassName', 'system-cluster-critical'],
    ['terminationGracePeriodSeconds', null],
    ['serviceMonitor.sampleLimit', null],
    ['nodeSelector', { 'kubernetes.io/os': 'linux' }],
    ['controller.metrics.port', 8080],
    ['controller.healthProbe.port', 8081],
    ['logOutputPaths', ['stdout']],
    ['settings.batchMaxDuration', '10s'],
    ['settings.batchIdleDuration', '1s'],
    ['settings.vmMemoryOverheadPercent', 0.075],
    ['settings.reservedENIs', '0'],
    ['settings.ignoreDRARequests', true],
    ['settings.packing', 'cheapest'],
    ['settings.consolidation', 'thorough'],
    ['settings.podDeletionCost', false],
    ['settings.podNomination', false],
    ['settings.podSurge', false],
    ['settings.drainConditions', false],
    ['settings.scheduledEvents', 'drift'],
    ['settings.metrics', 'budget'],
    ['dashboards.enabled', false],
    ['prometheusRule.enabled', false],
    ['settings.featureGates.reservedCapacity', true],
    ['settings.featureGates.nodeRepair', false],
    ['settings.awsFeatureGates.nodeClassCEL', false],
  ])('sets %s to %p', (path, value) => {
    expect(at(values, path)).toEqual(value);
  });

  it('reserves resources that the heaps of all threads fit into', () => {
    const { requests, limits } = at(values, 'controller.resources') as {
      readonly requests: Tree;
      readonly limits: Tree;
    };
    // Without a memory request, a lower limit in values of the user stays valid.
    expect(requests).toEqual({ cpu: '250m' });
    expect(limits).toEqual({ memory: '1Gi' });
    const [, percentage = ''] = /"--max-old-space-size-percentage=(\d+)"/.exec(text('../Dockerfile')) ?? [];
    const budget = memoryBudget(2 ** 30, (2 ** 30 * Number(percentage)) / 100);
    expect(budget.excessMb).toBe(0);
    // 132 MB is the heap of the main thread with 5,000 nodes in docs/scale.md.
    expect(budget.mainMb).toBeGreaterThan(132);
  });

  it('is used by a template', () => {
    const leaves = (tree: Tree, path: string): string[] =>
      Object.entries(tree).flatMap(([key, value]) =>
        isTree(value) && Object.keys(value).length > 0 && !opaque.includes(`${path}${key}`)
          ? leaves(value, `${path}${key}.`)
          : [`${path}${key}`],
      );
    const all = templates.join('\n');
    const unused = leaves(values, '').filter((path) => !all.includes(path.split('.').at(-1) ?? path));
    expect(unused).toEqual([]);
  });

  /** Values that templates render as a whole, without the names of their fields. */
  const opaque = [
    'controller.resources',
    'strategy',
    'podSecurityContext',
    'nodeSelector',
    'affinity',
    'dashboards.labels',
  ];
});

describe('a template of charts/karpenter', () => {
  it('rejects the images that `karpenter convert values` removes', () => {
    const pattern = `regexMatch \`${KARPENTER_IMAGE.source.replaceAll('\\/', '/')}\``;
    expect(templates.join('\n')).toContain(pattern);
  });

  it('uses only values that values.yaml declares', () => {
    const values = yaml('karpenter/values.yaml');
    const asked = templates.flatMap((template) =>
      [...template.matchAll(/\.Values\.([A-Za-z.]+)/g)].map(([, path = '']) => path.replace(/\.$/, '')),
    );
    const undeclared = asked.filter((path) => at(values, path) === undefined);
    expect([...new Set(undeclared)]).toEqual([]);
  });

  it('binds the roles that are not aggregated', () => {
    const all = templates.join('\n---\n');
    expect(all.match(/^kind: (Cluster)?Role$/gm)).toHaveLength(5);
    expect(all.match(/^kind: (Cluster)?RoleBinding$/gm)).toHaveLength(4);
  });
});
