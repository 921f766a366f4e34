/** Manifests for Argo CD, Flux and Terraform: their values, versions and health checks. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { evaluate } from '@marcbachmann/cel-js';
import { parse } from 'yaml';
import type { KubeObject } from '#api/objects';
import { VERSION } from '#lib';
import { documentsOf, gitOpsText, RECORDED, recordedObject } from '../../support/gitops.ts';
import { convertText } from '../cli/convert/convert-text.ts';

type Tree = { readonly [key: string]: unknown };
const text = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

describe('a release of the charts', () => {
  it.each(['argocd/applications.yaml', 'flux/karpenter.yaml'])('has values that the chart knows, in %s', (file) => {
    expect(convertText(gitOpsText(file)).notes).toEqual([]);
    const unknown = gitOpsText(file).replace('clusterName:', 'clustrName:');
    expect(convertText(unknown).notes.join('\n')).toContain('did you mean clusterName?');
  });

  it.each([
    'argocd/applications.yaml',
    'flux/karpenter.yaml',
    'terraform/main.tf',
  ])('has the current version, in %s', (file) => {
    const versions = [...gitOpsText(file).matchAll(/(?:targetRevision: |\bversion:? *=? *"?)(\d+\.\d+\.\d+)/g)].map(
      ([, version]) => version,
    );
    expect(versions).toEqual([VERSION, VERSION]);
  });

  it('sets values of the chart with Terraform', () => {
    const [, body = ''] = /yamlencode\(\{([\s\S]*?)\}\)\]/.exec(gitOpsText('terraform/main.tf')) ?? [];
    const yaml = body
      .replaceAll(' = {', ':')
      .replace(/^ *\}$/gm, '')
      .replace(/ += /g, ': ')
      .replace(/^ {4}/gm, '');
    const values = parse(text('charts/karpenter/values.yaml')) as Tree;
    const missing = (given: Tree, known: unknown, path: string): readonly string[] =>
      Object.entries(given).flatMap(([key, value]) => {
        const own = (known as Tree | undefined)?.[key];
        if (own === undefined) return [`${path}${key}`];
        return typeof value === 'object' && value !== null ? missing(value as Tree, own, `${path}${key}.`) : [];
      });
    const given = parse(yaml) as Tree;
    expect(Object.keys(given)).toEqual(['settings', 'serviceAccount', 'controller']);
    expect(missing(given, values, '')).toEqual([]);
  });

  it('leaves custom resources to karpenter-crd, which is first', () => {
    const [crd, operator, nodes] = documentsOf(gitOpsText('argocd/applications.yaml'));
    const waves = [crd, operator, nodes].map((each) =>
      Number(each?.metadata.annotations?.['argocd.argoproj.io/sync-wave']),
    );
    expect(waves).toEqual([-2, -1, 0]);
    expect(operator).toMatchObject({ spec: { source: { chart: 'karpenter', helm: { skipCrds: true } } } });
    const releases = documentsOf(gitOpsText('flux/karpenter.yaml')).filter(({ kind }) => kind === 'HelmRelease');
    expect(releases).toMatchObject([
      { metadata: { name: 'karpenter-crd' } },
      { spec: { dependsOn: [{ name: 'karpenter-crd' }], install: { crds: 'Skip' }, upgrade: { crds: 'Skip' } } },
    ]);
  });
});

describe('a health check of Flux', () => {
  interface Check {
    readonly kind: string;
    readonly current: string;
    readonly failed: string;
  }
  const [, nodes] = documentsOf<{ readonly spec: { readonly healthCheckExprs: readonly Check[] } }>(
    gitOpsText('flux/kustomizations.yaml'),
  );
  const checks = nodes?.spec.healthCheckExprs ?? [];

  it('exists for NodePools and EC2NodeClasses', () => {
    expect(checks.map(({ kind }) => kind)).toEqual(['NodePool', 'EC2NodeClass']);
  });

  const applied = RECORDED.filter(([name]) => !name.startsWith('NodeClaim'));
  it.each(applied)('sees that %s is %s', (name, health) => {
    const object = recordedObject(name) as KubeObject & { readonly status?: { readonly conditions?: readonly Tree[] } };
    const check = checks.find(({ kind }) => kind === object.kind);
    const context = { status: { conditions: object.status?.conditions ?? [] } };
    const [current, failed] = [check?.current ?? '', check?.failed ?? ''].map((rule) => evaluate(rule, context));
    expect([current, failed]).toEqual([health === 'Healthy', health === 'Degraded']);
  });
});
