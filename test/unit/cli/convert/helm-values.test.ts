import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Compile } from 'typebox/schema';
import { parse, parseDocument, type YAMLMap } from 'yaml';
import { DROPPED_VALUES, MOVED_VALUES } from '../../../../src/cli/convert/helm-value-rules.ts';
import { convertValues } from '../../../../src/cli/convert/helm-values.ts';
import { Notes, noteText } from '../../../../src/cli/convert/notes.ts';
import { runConvert } from './run-convert.ts';

const SCHEMA = new URL('../../../../charts/karpenter/values.schema.json', import.meta.url);
const chart = Compile(JSON.parse(readFileSync(SCHEMA, 'utf8')));

/** Converts values, validates the result against the chart, and converts it again. */
function converted(text: string) {
  const document = parseDocument(text);
  const notes = new Notes();
  const values = document.contents as unknown as YAMLMap;
  const isChanged = convertValues(values, notes.on('values.yaml', values));
  const result = String(document);
  const again = parseDocument(result);
  const map = again.contents as unknown as YAMLMap;
  expect(convertValues(map, new Notes().on('values.yaml', map))).toBe(false);
  expect(String(again)).toBe(result);
  expect(chart.Errors(parse(result))[1]).toEqual([]);
  return { result, isChanged, value: parse(result) as unknown, notes: notes.all.map(noteText) };
}

/** `{a: {b: value}}` of `a.b`. */
const nested = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight((inner: unknown, name) => ({ [name]: inner }), value);
const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce((inner: unknown, name) => (inner as Record<string, unknown> | undefined)?.[name], value);

/** Returns a value that the chart accepts at the path. */
const fitting = (path: readonly string[]): unknown => {
  const name = path.at(-1) ?? '';
  if (/Paths$/.test(name)) return ['stdout'];
  if (name === 'tolerations') return [{ key: 'a', operator: 'Exists' }];
  if (name === 'nodeSelector' || name === 'affinity') return { a: 'b' };
  return name === 'controller' || name === 'global' || name === 'logLevel' ? 'debug' : 'text';
};

describe('a value that the chart does not know', () => {
  it('gets no suggestion with the opposite meaning', () => {
    const report = new URL('../fixtures/reports/values-minavailable.yaml', import.meta.url);
    const { notes } = converted(readFileSync(report, 'utf8'));
    expect(notes).toContainEqual(
      'lost: values.yaml: podDisruptionBudget.minAvailable: the chart does not use this value',
    );
  });
});

describe('the set of values of an older chart', () => {
  it.each(
    MOVED_VALUES.map(({ from, to }) => [from.join('.'), to.join('.'), from, to] as const),
  )('changes %s to %s', (name, place, from, to) => {
    const value = fitting(from);
    const { value: result, notes } = converted(JSON.stringify(nested(from, value)));
    expect(valueAt(result, to)).toEqual(value);
    expect(valueAt(result, from)).toBeUndefined();
    expect(notes).toContainEqual(expect.stringContaining(`changed: values.yaml: ${name}: ${name} is now ${place}`));
  });

  it.each(DROPPED_VALUES.map(({ path }) => [path.join('.'), path] as const))('loses %s', (name, path) => {
    const { value, notes } = converted(JSON.stringify(nested(path, true)));
    expect(valueAt(value, path)).toBeUndefined();
    expect(notes).toContainEqual(expect.stringMatching(/^lost: values\.yaml: \S+: \S+ is removed: \w/));
    expect(notes.join('\n')).toContain(`${name} is removed`);
  });

  it('keeps its comments, order and template expressions', () => {
    const { result } = converted(`# of the platform team
serviceAccount:
  annotations:
    eks.amazonaws.com/role-arn: \${module.karpenter.irsa_arn}
settings:
  # what AWS is told
  aws:
    # as in Terraform
    clusterName: \${module.eks.cluster_name} # one per stage
    clusterEndpoint: \${module.eks.cluster_endpoint}
    defaultInstanceProfile: \${module.karpenter.instance_profile_name}
    interruptionQueueName: \${module.karpenter.queue_name}
  batchIdleDuration: 2s
replicas: 3
topologySpreadConstraints: []
controller: {metrics: {port: 8000}}
`);
    expect(result).toMatchInlineSnapshot(`
"# of the platform team
serviceAccount:
  annotations:
    eks.amazonaws.com/role-arn: \${module.karpenter.irsa_arn}
# lost: settings.aws.defaultInstanceProfile is removed: set it in each EC2NodeClass: spec.role (name
# of the role, not of the profile) or spec.instanceProfile
settings:
  # what AWS is told
  # as in Terraform
  # changed: settings.aws.clusterName is now settings.clusterName
  clusterName: \${module.eks.cluster_name} # one per stage
  # changed: settings.aws.clusterEndpoint is now settings.clusterEndpoint
  clusterEndpoint: \${module.eks.cluster_endpoint}
  # changed: settings.aws.interruptionQueueName is now settings.interruptionQueue
  interruptionQueue: \${module.karpenter.queue_name}
  batchIdleDuration: 2s
replicas: 3
topologySpreadConstraints: []
controller: { metrics: { port: 8000 } }
"
`);
  });

  it('is converted if seeds of migrations have names that never worked', () => {
    const terraform = converted(
      'settings: {clusterName: a, interruptionQueueName: q, featureGates: {drift: true}}\ncontroller: {nodeSelector: {role: system}}',
    );
    expect(terraform.value).toEqual({
      settings: { clusterName: 'a', interruptionQueue: 'q' },
      nodeSelector: { role: 'system' },
    });
    expect(terraform.notes.join('\n')).toMatch(/interruptionQueueName.*the chart has never read this name/);
    expect(terraform.notes.join('\n')).toMatch(/controller\.nodeSelector.*it had no effect at this path/);
    const flux = converted(
      'settings: {aws: {clusterName: dev, enablePodENI: true, interruptionQueue: q}}\nlogLevel: debug',
    );
    expect(flux.value).toEqual({ settings: { clusterName: 'dev', interruptionQueue: 'q' }, logLevel: 'debug' });
  });

  it('reports changed defaults once', () => {
    const { notes } = converted('webhook: {enabled: true}');
    expect(notes.filter((text) => /8080|zones/.test(text))).toHaveLength(2);
    expect(converted('settings: {clusterName: a}').notes).toEqual([]);
    expect(
      converted('webhook: {}\ncontroller: {metrics: {port: 8000}}\ntopologySpreadConstraints: []').notes.join(),
    ).not.toMatch(/8080|zones/);
  });

  it('keeps an existing value under the current name', () => {
    const { value, notes } = converted('settings: {clusterName: new, aws: {clusterName: old}}');
    expect(value).toEqual({ settings: { clusterName: 'new' } });
    expect(notes.join('\n')).toContain('settings.aws.clusterName is removed, because settings.clusterName is also set');
  });

  it.each([
    ['an image of Karpenter', '{repository: public.ecr.aws/karpenter/controller, tag: v0.31.1}', undefined],
    ['a mirror of it', '{repository: 123456789012.dkr.ecr.us-east-1.amazonaws.com/karpenter/controller}', undefined],
    ['its tag alone', '{tag: v0.32.1, digest: "sha256:0"}', undefined],
    [
      'an image of one’s own',
      '{repository: registry.example.com/karpenter-ts}',
      { repository: 'registry.example.com/karpenter-ts' },
    ],
  ])('converts %s correctly', (_, image, kept) => {
    const { value } = converted(`settings: {clusterName: a}\ncontroller: {image: ${image}}`);
    expect(valueAt(value, ['controller', 'image'])).toEqual(kept);
  });

  it.each([
    ['warn', 'error'],
    ['info', 'info'],
  ])('logs at level %s as %s', (level, today) => {
    expect(converted(`logConfig: {logLevel: {controller: ${level}}}`).value).toEqual({ logLevel: today });
  });

  it('reports unknown and invalid values, and keeps them', () => {
    const document = parseDocument(
      'tolerationz: []\nsettings: {preferencePolicy: respect, extra: 1}\ncontroller: text\nglobal: {a: 1}',
    );
    const notes = new Notes();
    expect(convertValues(document.contents as unknown as YAMLMap, notes.on('v.yaml'))).toBe(false);
    expect(notes.all.map(noteText)).toEqual([
      'lost: v.yaml: tolerationz: the chart does not use this value; did you mean tolerations?',
      'lost: v.yaml: settings.preferencePolicy: the chart rejects "respect"; it must be one of Priced, Respect, Ignore',
      'lost: v.yaml: settings.extra: the chart does not use this value',
      'lost: v.yaml: controller: the chart needs a map here, not "text"; the value is unchanged',
    ]);
  });

  it('is found below the name of the chart in values of a chart that includes it', () => {
    const document = parseDocument('karpenter: {settings: {aws: {clusterName: a}}}\nother: 1');
    const notes = new Notes();
    expect(convertValues(document.contents as unknown as YAMLMap, notes.on('v.yaml'))).toBe(true);
    expect(document.toJS()).toEqual({ karpenter: { settings: { clusterName: 'a' } }, other: 1 });
    expect(notes.all[0]?.field).toBe('karpenter.settings.aws.clusterName');
  });
});

describe('karpenter convert values', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'convert-values-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };

  it('prints, shows as a diff, or writes in place', async () => {
    const path = write('values.yaml', 'settings:\n  aws:\n    clusterName: dev\nlogLevel: debug\n');
    const { output, errors, code } = await runConvert('values', '-f', path);
    expect(parse(output)).toEqual({ settings: { clusterName: 'dev' }, logLevel: 'debug' });
    expect(errors).toContain(`changed: ${path}, document 1: settings.aws.clusterName: settings.aws.clusterName is`);
    expect(code).toBe(0);
    expect((await runConvert('values', '-f', path, '--diff')).output).toContain('-  aws:\n-    clusterName: dev\n');
    await runConvert('values', '-f', path, '--in-place');
    expect(readFileSync(path, 'utf8')).toBe(output);
    expect((await runConvert('values', '-f', path, '--diff')).output).toBe('');
  });

  it.each([
    ['a list', '- a\n', 'expected chart values'],
    ['an object', 'apiVersion: v1\nkind: ConfigMap\n', 'is a Kubernetes object and not a file of chart values'],
    ['no YAML', 'a: [\n', 'not valid YAML'],
  ])('rejects %s with the name of its file', async (_, text, message) => {
    const path = write('wrong.yaml', text);
    const { errors, code } = await runConvert('values', '-f', path);
    expect(code).toBe(1);
    expect(errors).toContain(path);
    expect(errors).toContain(message);
    expect(errors).not.toMatch(/^\s+at /m);
  });
});
