/** Fields of older versions in objects of v1: every valid old object with the new apiVersion becomes a valid v1 object. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { convertText, convertTexts, rejections } from './convert-text.ts';
import { nodeClaim, nodeClass, nodePool } from './old-objects.ts';

const MIXED = readFileSync(join(import.meta.dirname, '../fixtures/reports/mixed.yaml'), 'utf8');

const pool = (spec: object): string =>
  stringify({ apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'p' }, spec });
const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'x' };
const template = (more: object = {}): object => ({ spec: { nodeClassRef, requirements: [], ...more } });

describe('an object of v1 with fields of older versions', () => {
  it('gets the fields of v1, with a note', () => {
    const { objects, notes, errors } = convertText(MIXED);
    expect(errors).toEqual([]);
    expect(objects).toMatchObject([
      {
        spec: {
          template: { spec: { expireAfter: '720h' } },
          disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' },
        },
      },
      { spec: { kubelet: { evictionHard: { 'memory.available': '10Gi' } } } },
    ]);
    expect(objects.flatMap(rejections)).toEqual([]);
    expect(notes.join('\n')).toContain('v1 ignores or rejects spec.disruption.expireAfter, spec.template.spec.kubelet');
  });

  it('becomes a NodePool if it has the fields of a Provisioner', () => {
    const { objects } = convertText(
      pool({
        requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
        providerRef: { name: 'x' },
        ttlSecondsAfterEmpty: 30,
        limits: { resources: { cpu: 10 } },
      }),
    );
    expect(objects).toMatchObject([
      {
        spec: {
          template: { spec: { nodeClassRef, requirements: [{ key: 'kubernetes.io/arch' }] } },
          disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' },
          limits: { cpu: 10 },
        },
      },
    ]);
    expect(objects.flatMap(rejections)).toEqual([]);
  });

  it('keeps the field of v1 if both are set, and reports the other', () => {
    const { objects, notes } = convertText(
      pool({ template: template({ expireAfter: '20h' }), disruption: { expireAfter: '10h', consolidateAfter: '1m' } }),
    );
    expect(objects).toMatchObject([{ spec: { template: { spec: { expireAfter: '20h' } } } }]);
    expect(notes.join('\n')).toMatch(/lost: .*spec\.disruption\.expireAfter: .* is also set, and takes precedence/);
  });

  it('reports fields of no version', () => {
    const { text, notes } = convertText(pool({ template: template(), ttlSeconds: 3 }));
    expect(notes.join('\n')).toContain('lost: in.yaml, document 1, NodePool p: spec.ttlSeconds: is not a field of v1');
    expect(text).not.toMatch(/^ +ttlSeconds:/m);
  });

  it('gets an alias for its images, and selector terms', () => {
    const { objects } = convertText(
      stringify({
        apiVersion: 'karpenter.k8s.aws/v1',
        kind: 'EC2NodeClass',
        metadata: { name: 'x' },
        spec: {
          amiFamily: 'AL2023',
          subnetSelector: { a: 'b' },
          securityGroupSelectorTerms: [{ id: 'sg-1' }],
          role: 'r',
        },
      }),
    );
    expect(objects).toMatchObject([
      { spec: { amiSelectorTerms: [{ alias: 'al2023@latest' }], subnetSelectorTerms: [{ tags: { a: 'b' } }] } },
    ]);
    expect(objects.flatMap(rejections)).toEqual([]);
  });

  it('is an error if v1 rejects it for another reason', () => {
    const { errors, texts } = convertText(pool({ template: template(), weight: 1000 }));
    expect(errors).toEqual([expect.stringMatching(/NodePool p: v1 rejects this value: spec\.weight/)]);
    expect(texts[0]).toContain('weight: 1000');
  });

  it('is unchanged without such fields', () => {
    const valid = pool({ template: template(), limits: { cpu: 10 } });
    expect(convertText(valid)).toMatchObject({ text: valid, notes: [], errors: [] });
  });

  it.each(['karpenter.sh/v1', 'karpenter.sh/v1beta1'])('is found by its kind if %s has no such kind', (apiVersion) => {
    const { objects, notes } = convertText(
      stringify({ apiVersion, kind: 'Provisioner', metadata: { name: 'p' }, spec: { providerRef: { name: 'x' } } }),
    );
    expect(objects).toMatchObject([{ apiVersion: 'karpenter.sh/v1', kind: 'NodePool' }]);
    expect(notes.join('\n')).toContain(`Provisioner is a kind of karpenter.sh/v1alpha5, not of ${apiVersion}`);
  });

  it('becomes valid, whatever v1beta1 accepted', () => {
    const objects = fc.array(fc.oneof(nodePool, nodeClaim, nodeClass), { minLength: 1, maxLength: 3 });
    const property = fc.property(objects as fc.Arbitrary<readonly { apiVersion: string }[]>, (old) => {
      const relabelled = old.map((object) => ({ ...object, apiVersion: object.apiVersion.replace('v1beta1', 'v1') }));
      const text = relabelled.map((object) => `---\n${stringify(object, { compat: 'yaml-1.1' })}`).join('');
      const first = convertTexts({ 'in.yaml': text });
      expect(first.errors).toEqual([]);
      expect(first.objects.flatMap(rejections)).toEqual([]);
      const again = convertTexts({ 'in.yaml': first.text });
      expect(again.texts).toEqual(first.texts);
      expect(again.notes).toEqual([]);
    });
    fc.assert(property, { numRuns: 40, seed: 20_261_129 });
  });
});
