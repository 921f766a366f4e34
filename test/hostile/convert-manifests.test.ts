/**
 * Invalid files for `karpenter convert`, and objects that do not match their kind. Each error must contain a place,
 * and no stack trace.
 */
import { describe, expect, it } from '@jest/globals';
import { convertFiles, InputError, parseFile } from '#cli/testing';
import { withinCpuTime } from '../support/cpu-time.ts';

/** Limit of CPU time, far more than any input needs. */
const LONGEST_MS = 60_000;

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const multiplied = [...'abcdefghi']
  .map(
    (name, at, all) =>
      `${name}: &${name} [${Array.from({ length: 9 }, () => (at === 0 ? 'x' : `*${all[at - 1]}`)).join(',')}]\n`,
  )
  .join('');

const NO_TEXTS: Readonly<Record<string, readonly [string, RegExp]>> = {
  'aliases that multiply': [multiplied, /grows too large through its aliases/],
  'an anchor that holds itself': ['a: &a {b: *a}\n', /contains itself through an alias/],
  'an unknown anchor': ['a: *nobody\n', /Unresolved alias|without an anchor/],
  'deep flow': [`a: ${nested(2000)}`, /deep|not valid YAML/],
  'a deep JSON': [`{"a":${nested(5000)}}`, /deep/],
  'quotes without end': ['a: "b\n', /line \d+: not valid YAML/],
  'a template of Helm': ['kind: A\n{{- if .x }}\na: b\n{{- end }}\n', /line \d+: not valid YAML: .*render it/],
};

const KINDS = [
  ['karpenter.sh/v1alpha5', 'Provisioner'],
  ['karpenter.k8s.aws/v1alpha1', 'AWSNodeTemplate'],
  ['karpenter.sh/v1beta1', 'NodePool'],
  ['karpenter.sh/v1beta1', 'NodeClaim'],
  ['karpenter.k8s.aws/v1beta1', 'EC2NodeClass'],
  ['karpenter.sh/v1', 'NodePool'],
  ['v1', 'Pod'],
  ['apps/v1', 'Deployment'],
  ['v1', 'ConfigMap'],
  ['helm.toolkit.fluxcd.io/v2', 'HelmRelease'],
  ['argoproj.io/v1alpha1', 'Application'],
  ['kustomize.config.k8s.io/v1beta1', 'Kustomization'],
  ['v1', 'List'],
] as const;
const ODD = ['null', '7', '"x"', '[]', '[null]', '{}', '[[1]]', '{a: {b: [1]}}', 'true'];
const FIELDS = [
  'spec: ODD',
  'metadata: ODD',
  'items: ODD',
  'patches: ODD',
  'data: ODD',
  ...[
    'template',
    'provider',
    'providerRef',
    'requirements',
    'limits',
    'consolidation',
    'kubeletConfiguration',
    'labels',
  ].map((field) => `spec: {${field}: ODD}`),
  ...['subnetSelector', 'amiSelector', 'amiFamily', 'blockDeviceMappings', 'tags', 'metadataOptions', 'role'].map(
    (field) =>
      `spec: {subnetSelector: {a: b}, securityGroupSelector: {a: b}, ${field}: ODD}`.replace(
        /subnetSelector: \{a: b\}, (.*subnetSelector)/,
        '$1',
      ),
  ),
  ...['metadata', 'spec', 'spec: {tolerations', 'spec: {affinity', 'spec: {kubelet', 'spec: {nodeClassRef'].map(
    (field) => `spec: {template: {${field}: ODD}}${'}'.repeat((field.match(/\{/g) ?? []).length)}`,
  ),
  'spec: {disruption: ODD, template: {spec: {nodeClassRef: {name: c}}}}',
  'metadata: {name: a, annotations: {compatibility.karpenter.sh/v1beta1-kubelet-conversion: ODD}}',
];

describe('an invalid manifest', () => {
  it.each(Object.entries(NO_TEXTS))('is rejected with its place: %s', (_, [text, message]) => {
    const parsed = (): unknown => withinCpuTime(LONGEST_MS, () => parseFile(text, 'in.yaml'));
    expect(parsed).toThrow(InputError);
    expect(parsed).toThrow(message);
    expect(parsed).toThrow(/^in\.yaml/);
  });
});

describe('an object that does not match its kind', () => {
  it.each(
    KINDS,
  )('is converted, ignored, or rejected with its name: %s %s with values of any type', (apiVersion, kind) => {
    for (const field of FIELDS)
      for (const odd of ODD) {
        const base = { metadata: 'metadata: {name: a}\n' };
        const text = `apiVersion: ${apiVersion}\nkind: ${kind}\n${field.startsWith('metadata') ? '' : base.metadata}${field.replace('ODD', odd)}\n`;
        const { errors } = convertFiles([parseFile(text, 'in.yaml')], {});
        for (const { message } of errors) expect(message).toMatch(/^in\.yaml, document 1/);
      }
  });

  it('is converted in bounded time if there are many', () => {
    const one =
      '- {apiVersion: karpenter.sh/v1beta1, kind: NodePool, metadata: {name: N}, spec: {template: {spec: {nodeClassRef: {name: c}, requirements: []}}}}\n';
    const items = Array.from({ length: 500 }, (_, at) => one.replace('name: N', `name: n${at}`)).join('');
    const list = `apiVersion: v1\nkind: List\nitems:\n${items}`;
    const { errors } = withinCpuTime(LONGEST_MS, () => convertFiles([parseFile(list, 'in.yaml')], {}));
    expect(errors).toEqual([]);
  });
});
