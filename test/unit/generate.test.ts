import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { CAPACITY_BUFFER, EC2_NODE_CLASS, NODE_CLAIM, NODE_OVERLAY, NODE_POLICY, NODE_POOL } from '#api/objects';
import { customResourceDefinitions, DECLARATIONS } from '#api/schema';
import { generatedFiles, staleFiles } from '../../generate.ts';

const files = generatedFiles();

describe('a generated file', () => {
  it('is current in the repository', () => {
    expect(staleFiles()).toEqual([]);
  });

  it('contains each declared CRD, and leaves out of the chart of the operator CRDs that a value installs', () => {
    for (const [at, crd] of customResourceDefinitions().entries()) {
      const { chartValue } = DECLARATIONS[at] ?? {};
      const file = `${crd.spec.group}_${crd.spec.names.plural}.yaml`;
      expect(parse(files.get(`crds/${file}`) ?? '')).toEqual(crd);
      const copy = chartValue === undefined ? files.get(`crds/${file}`) : undefined;
      expect(files.get(`charts/karpenter/crds/${file}`)).toBe(copy);
    }
  });

  it('adds nothing but annotations to the templates of the CRD chart', () => {
    const templates = [...files].filter(([path]) => path.startsWith('charts/karpenter-crd/templates/'));
    expect(templates).toHaveLength(8);
    for (const [path, template] of templates) {
      const plain = template
        .split('\n')
        .filter((line) => !line.includes('{{') && line !== '  annotations:')
        .join('\n');
      expect(plain).toBe(files.get(path.replace('charts/karpenter-crd/templates', 'crds')));
      expect(template.match(/\{\{/g)).toHaveLength(path.includes('provisioningrequests') ? 5 : 3);
    }
  });
});

describe('the page of questions', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/questions.md'), 'utf8');

  it('has twelve questions, each with the output of a command', () => {
    const sections = page.split(/^## /m).slice(1);
    expect(sections).toHaveLength(12);
    for (const section of sections) expect(section).toMatch(/^.*\?\n\n.*\n\n```console\n\$ karpenter [^\n]+\n[^`$]/);
  });

  it('contains no error, no temporary file and no address of the scene', () => {
    expect(page).not.toMatch(/^karpenter \w+: |\/tmp\/|127\.0\.0\.1:(?!8080)|undefined|NaN/m);
  });
});

describe('staleFiles', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'generated-'));
    for (const [path, text] of files) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it('lists files that differ, are missing or are obsolete', () => {
    expect(staleFiles(root)).toEqual([]);
    writeFileSync(join(root, 'crds/karpenter.sh_nodepools.yaml'), 'other');
    rmSync(join(root, 'docs/reference/nodeclaim.md'));
    writeFileSync(join(root, 'crds/old.yaml'), '');
    expect(staleFiles(root)).toEqual([
      'crds/karpenter.sh_nodepools.yaml',
      'crds/old.yaml',
      'docs/reference/nodeclaim.md',
    ]);
  });
});

describe('customResourceDefinitions', () => {
  it.each([
    NODE_POOL,
    NODE_CLAIM,
    NODE_OVERLAY,
    NODE_POLICY,
    EC2_NODE_CLASS,
    CAPACITY_BUFFER,
  ])('agrees with where clients look for $kind', (kind) => {
    const spec = customResourceDefinitions().find((crd) => crd.spec.names.kind === kind.kind)?.spec;
    expect({
      group: spec?.group,
      version: spec?.versions[0]?.name,
      kind: spec?.names.kind,
      plural: spec?.names.plural,
      namespaced: spec?.scope === 'Namespaced',
    }).toEqual(kind);
  });

  const names = (kind: string) => customResourceDefinitions().find((crd) => crd.spec.names.kind === kind)?.spec;

  it.each([
    ['NodePool', 'nodepools.karpenter.sh', 'v1', 'Cluster', undefined],
    ['NodeClaim', 'nodeclaims.karpenter.sh', 'v1', 'Cluster', undefined],
    ['NodeOverlay', 'nodeoverlays.karpenter.sh', 'v1alpha1', 'Cluster', ['overlays']],
    ['NodePolicy', 'nodepolicies.karpenter-ts.sh', 'v1alpha1', 'Cluster', undefined],
    ['EC2NodeClass', 'ec2nodeclasses.karpenter.k8s.aws', 'v1', 'Cluster', ['ec2nc', 'ec2ncs']],
    ['CapacityBuffer', 'capacitybuffers.autoscaling.x-k8s.io', 'v1beta1', 'Namespaced', ['cb']],
  ])('serves %s as kubectl users know it', (kind, name, version, scope, shortNames) => {
    const spec = names(kind);
    expect(`${spec?.names.plural}.${spec?.group}`).toBe(name);
    expect(spec?.versions.map((each) => each.name)).toEqual([version]);
    expect(spec?.scope).toBe(scope);
    expect(spec?.names.shortNames).toEqual(shortNames);
    expect(spec?.versions[0]?.subresources.status).toEqual({});
  });

  it('scales NodePools by their replicas', () => {
    expect(names('NodePool')?.versions[0]?.subresources.scale).toEqual({
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.nodes',
    });
  });
});
