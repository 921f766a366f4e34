/** Every valid object of the alpha and beta APIs is converted to a valid v1 object that does not change again. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { convertTexts, rejections } from './convert-text.ts';
import { nodeClaim, nodeClass, nodePool, nodeTemplate, provisioner } from './old-objects.ts';

/** RANDOM_RUNS=5000 RANDOM_SEED=7 runs more and other cases. */
const RUNS = { numRuns: Number(process.env.RANDOM_RUNS ?? 50), seed: Number(process.env.RANDOM_SEED ?? 20_261_122) };

const TYPES = new Set(['karpenter.sh/v1 NodePool', 'karpenter.sh/v1 NodeClaim', 'karpenter.k8s.aws/v1 EC2NodeClass']);

const documents = (objects: readonly unknown[]): string =>
  objects.map((object) => `---\n${stringify(object, { compat: 'yaml-1.1' })}`).join('');

const alpha = fc.array(fc.oneof(provisioner, nodeTemplate), { minLength: 1, maxLength: 4 });
const beta = fc.array(fc.oneof(nodePool, nodeClaim, nodeClass), { minLength: 1, maxLength: 4 });
const forms = fc.constantFrom('documents', 'List', 'JSON');

function inForm(objects: readonly unknown[], form: string): Readonly<Record<string, string>> {
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  if (form === 'JSON') return { 'in.json': JSON.stringify(list, null, 2) };
  return { 'in.yaml': form === 'List' ? stringify(list, { compat: 'yaml-1.1' }) : documents(objects) };
}

describe.each([
  ['alpha', alpha],
  ['beta', beta],
  ['mixed', fc.tuple(alpha, beta).map(([old, newer]) => [...old, ...newer])],
] as const)('a list of random valid objects of the %s API', (_, arbitrary) => {
  it('is accepted by the v1 CRDs once it is converted, and does not change again', () => {
    const property = fc.property(arbitrary as fc.Arbitrary<readonly unknown[]>, forms, (objects, form) => {
      const files = inForm(objects, form);
      const first = convertTexts(files);
      expect(first.errors).toEqual([]);
      expect(first.objects.length).toBeGreaterThan(0);
      for (const object of first.objects) {
        expect(TYPES).toContain(`${object.apiVersion} ${object.kind}`);
        expect(rejections(object)).toEqual([]);
      }
      const [name = ''] = Object.keys(files);
      const again = convertTexts({ [name]: first.text });
      expect(again.texts).toEqual(first.texts);
      expect(again.notes).toEqual([]);
    });
    fc.assert(property, RUNS);
  });
});
