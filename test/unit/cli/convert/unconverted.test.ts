/** Values and old names that are not converted are reported with their place, and stay unchanged. */
import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { convertText } from './convert-text.ts';

const source = (helm: object): object => ({ chart: 'karpenter', targetRevision: '0.37.0', helm });
const application = (spec: object, kind = 'Application'): string =>
  stringify({ apiVersion: 'argoproj.io/v1alpha1', kind, metadata: { name: 'karpenter' }, spec });

describe('a release of the chart', () => {
  it('reports parameters and files of an Application, which are unchanged', () => {
    const text = application({
      source: source({
        parameters: [{ name: 'settings.aws.clusterName', value: 'a' }],
        valueFiles: ['values.yaml'],
        values: 'replicas: 2',
      }),
    });
    const { notes, objects } = convertText(text);
    expect(notes).toEqual([
      expect.stringMatching(/^lost: .*Application karpenter: spec\.source\.helm\.values: contains values as text/),
      expect.stringMatching(
        /^lost: .*spec\.source\.helm\.parameters: contains values as parameters, which are unchanged/,
      ),
      expect.stringMatching(/^lost: .*spec\.source\.helm\.valueFiles: names files with values/),
    ]);
    expect(objects).toMatchObject([{ spec: { source: { helm: { values: 'replicas: 2' } } } }]);
  });

  it('converts the values of an ApplicationSet, and keeps its templates', () => {
    const values = { settings: { aws: { clusterName: '{{.name}}' } } };
    const template = { spec: { sources: [{ ref: 'values' }, source({ valuesObject: values })] } };
    const { objects, notes } = convertText(application({ generators: [{ clusters: {} }], template }, 'ApplicationSet'));
    expect(objects).toMatchObject([
      {
        spec: {
          template: { spec: { sources: [{}, { helm: { valuesObject: { settings: { clusterName: '{{.name}}' } } } }] } },
        },
      },
    ]);
    expect(notes.join('\n')).toContain('spec.template.spec.sources[1].helm.valuesObject.settings.aws.clusterName');
  });

  it.each([
    [
      'HelmChartProxy',
      'addons.cluster.x-k8s.io/v1alpha1',
      { chartName: 'karpenter', valuesTemplate: 'a: 1' },
      'spec.valuesTemplate',
    ],
    [
      'HelmChart',
      'helm.cattle.io/v1',
      { chart: 'oci://public.ecr.aws/karpenter/karpenter', valuesContent: 'a: 1' },
      'spec.valuesContent',
    ],
    [
      'Release',
      'helm.crossplane.io/v1beta1',
      { forProvider: { chart: { name: 'karpenter' }, values: { a: 1 } } },
      'spec.forProvider.values',
    ],
  ])('reports the values of a %s, and only for this chart', (kind, apiVersion, spec, field) => {
    const text = stringify({ apiVersion, kind, metadata: { name: 'k' }, spec });
    const { notes, texts } = convertText(text);
    expect(notes).toEqual([
      `lost: in.yaml, document 1, ${kind} k: ${field}: contains values, which are unchanged; convert them with karpenter convert values -f FILE`,
    ]);
    expect(texts[0]).toContain(stringify(spec).split('\n')[0]);
    expect(convertText(text.replaceAll('karpenter', 'nginx')).notes).toEqual([]);
  });
});

describe('an old name in a field that is not converted', () => {
  it('is reported in a Kyverno policy', () => {
    const { notes, text } = convertText(
      stringify({
        apiVersion: 'kyverno.io/v1',
        kind: 'ClusterPolicy',
        metadata: { name: 'protect' },
        spec: {
          rules: [
            {
              name: 'add',
              mutate: {
                patchStrategicMerge: { metadata: { annotations: { '+(karpenter.sh/do-not-evict)': 'true' } } },
              },
            },
            { name: 'kinds', match: { any: [{ resources: { kinds: ['karpenter.sh/v1beta1/NodePool'] } }] } },
          ],
        },
      }),
    );
    expect(notes).toEqual([
      'lost: in.yaml, document 1, ClusterPolicy protect: spec.rules[0].mutate.patchStrategicMerge.metadata.annotations["+(karpenter.sh/do-not-evict)"]: is unchanged, but contains old names; karpenter.sh/do-not-evict: is now karpenter.sh/do-not-disrupt',
      expect.stringContaining('karpenter.sh/v1beta1: is now karpenter.sh/v1'),
    ]);
    expect(text).toContain('+(karpenter.sh/do-not-evict)');
    const patch = '- {op: remove, path: /metadata/annotations/karpenter.sh~1do-not-evict}';
    const mutation = { apiVersion: 'kyverno.io/v1', kind: 'Policy', metadata: { name: 'p' }, spec: { patch } };
    expect(convertText(stringify(mutation)).notes).toEqual([
      expect.stringContaining('karpenter.sh/do-not-evict: is now'),
    ]);
  });

  it('is reported in custom resources and in text, once for each field', () => {
    const template = { metadata: { annotations: { 'karpenter.sh/do-not-evict': 'true' } } };
    const spark = { apiVersion: 'sparkoperator.k8s.io/v1beta2', kind: 'SparkApplication', metadata: { name: 's' } };
    const { notes } = convertText(
      stringify({ ...spark, spec: { driver: { annotations: template.metadata.annotations } } }),
    );
    expect(notes).toEqual([
      expect.stringContaining('spec.driver.annotations["karpenter.sh/do-not-evict"]: is unchanged'),
    ]);
    const script =
      'kubectl annotate pod p karpenter.sh/do-not-evict=true\nkubectl get node -l karpenter.sh/provisioner-name';
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' }, data: { 'run.sh': script } };
    expect(convertText(stringify(map)).notes).toEqual([
      expect.stringMatching(
        /data\["run\.sh"\]: .*do-not-disrupt; karpenter\.sh\/provisioner-name: is now karpenter\.sh\/nodepool$/,
      ),
    ]);
  });

  it('is not reported where it was converted, nor in other names', () => {
    const annotations = { 'karpenter.sh/do-not-evict': 'true' };
    const workload = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd' },
      spec: { template: { metadata: { annotations } } },
    };
    expect(convertText(stringify(workload)).notes).toEqual([expect.stringMatching(/^changed: /)]);
    const other = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'm' },
      data: { a: 'x.karpenter.sh/do-not-evict-never karpenter.sh/v1beta10' },
    };
    expect(convertText(stringify(other)).notes).toEqual([]);
  });

  it('is reported at most 20 times for an object', () => {
    const data = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`k${index}`, 'karpenter.sh/do-not-evict']),
    );
    expect(
      convertText(stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' }, data })).notes,
    ).toHaveLength(20);
  });
});
