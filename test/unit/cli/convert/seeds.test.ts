/** Manifests of published walk-throughs. Each is converted to the result of its author, if the author published it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { EC2NodeClass, NodePool } from '#api/objects';
import { convertText, rejections } from './convert-text.ts';

const fixture = (name: string): string => readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8');

const converted = (name: string) => {
  const { objects, errors, text, notes } = convertText(fixture(name), { role: 'node-karpenter-dev' });
  expect(errors).toEqual([]);
  for (const object of objects) expect(rejections(object)).toEqual([]);
  const pool = objects.find(({ kind }) => kind === 'NodePool') as NodePool;
  const nodeClass = objects.find(({ kind }) => kind === 'EC2NodeClass') as EC2NodeClass;
  return { pool, nodeClass, text, notes };
};

const withKeys = (pool: NodePool, keys: readonly string[]) =>
  pool.spec.template.spec.requirements.filter(({ key }) => keys.includes(key));

describe('the migration with Flux', () => {
  const [alpha, beta] = [converted('flux/alpha.yaml'), converted('flux/beta.yaml')];

  it('converts the Provisioner to the NodePool of the author', () => {
    expect(alpha.pool.spec.template.metadata).toEqual(beta.pool.spec.template.metadata);
    expect(alpha.pool.spec.template.spec.nodeClassRef).toEqual(beta.pool.spec.template.spec.nodeClassRef);
    expect(alpha.pool.spec.template.spec.expireAfter).toBe('1440h');
    expect(beta.pool.spec.template.spec.expireAfter).toBe('1440h');
    expect(alpha.pool.spec.limits).toEqual(beta.pool.spec.limits);
    expect(withKeys(alpha.pool, ['karpenter.sh/capacity-type'])).toEqual(
      withKeys(beta.pool, ['karpenter.sh/capacity-type']),
    );
    expect(alpha.pool.spec.template.spec.taints).toBeUndefined();
    expect(alpha.text).toContain('expireAfter: 1440h # 60 days ttl');
  });

  it('converts to the EC2NodeClass of the author, except for tags and monitoring', () => {
    const { tags: _, ...ofAlpha } = alpha.nodeClass.spec;
    const { tags: __, detailedMonitoring, ...ofBeta } = beta.nodeClass.spec;
    expect(ofAlpha).toEqual(ofBeta);
    expect(detailedMonitoring).toBe(true);
    expect(ofAlpha.kubelet).toEqual({ clusterDNS: ['10.150.0.10'], maxPods: 58 });
  });
});

describe('the upgrade with Terraform', () => {
  const [alpha, beta] = [converted('terraform/alpha.yaml'), converted('terraform/beta.yaml')];

  it('converts to the NodePool of the author, including on-demand capacity', () => {
    const keys = beta.pool.spec.template.spec.requirements.map(({ key }) => key);
    expect(withKeys(alpha.pool, keys)).toEqual(beta.pool.spec.template.spec.requirements);
    expect(alpha.pool.spec.disruption).toEqual(beta.pool.spec.disruption);
    expect(alpha.pool.spec.limits).toEqual(beta.pool.spec.limits);
    expect(alpha.pool.spec.template.metadata).toEqual(beta.pool.spec.template.metadata);
  });

  it('keeps Terraform expressions unchanged', () => {
    const { role: _, ...ofAlpha } = alpha.nodeClass.spec;
    const { role, ...ofBeta } = beta.nodeClass.spec;
    expect(ofAlpha).toEqual(ofBeta);
    expect(role).toMatch(/^\$\{module\.eks\.eks_managed_node_groups\[/);
    expect(alpha.text).toMatch(/karpenter\.sh\/discovery: \$\{local\.env_name\}$/m);
  });

  it('keeps the newer object if both exist', () => {
    const { objects, notes } = convertText(`${fixture('terraform/alpha.yaml')}---\n${fixture('terraform/beta.yaml')}`);
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'EC2NodeClass default',
      'NodePool default',
    ]);
    expect(notes.filter((note) => note.includes('the converted object already exists'))).toHaveLength(2);
  });
});

it('leaves v1 manifests of kOps unchanged byte by byte', () => {
  const text = fixture('kops/v1.yaml');
  const result = convertText(text);
  expect(result.text).toBe(text);
  expect(result.notes).toEqual([]);
  for (const object of result.objects) expect(rejections(object)).toEqual([]);
});

it('gives the HelmRelease of Flux the current values, and leaves its other parts unchanged', () => {
  const { objects, notes } = convertText(fixture('flux/release.yaml'));
  const { values, chart } = (objects[0] as unknown as { spec: { values: object; chart: object } }).spec;
  expect(values).toMatchObject({
    settings: { clusterName: 'dev', interruptionQueue: 'karpenter-spot-interruption-dev' },
  });
  expect(values).not.toHaveProperty('settings.aws');
  expect(chart).toMatchObject({ spec: { chart: 'karpenter', version: 'v0.31.1' } });
  expect(notes.some((note) => note.includes('defaultInstanceProfile'))).toBe(true);
});
