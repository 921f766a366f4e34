import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { customResourceDefinitions } from '../../../src/api/crds.ts';
import { structuralSchema } from '../../../src/api/schema/structural.ts';

const read = (path: string): unknown[] =>
  parseAllDocuments(readFileSync(new URL(path, import.meta.url), 'utf8')).map((document): unknown => document.toJS());

const faultsOf = (object: unknown): unknown => {
  const { kind } = object as { kind: string };
  const version = customResourceDefinitions().find((crd) => crd.spec.names.kind === kind)?.spec.versions[0];
  if (!version) throw new Error(`No CRD declares kind ${kind}`);
  const schema = structuralSchema(version.schema.openAPIV3Schema, version.subresources.scale);
  const { object: kept, unknown } = schema.prune(object);
  return { unknown, causes: schema.validate(schema.applyDefaults(kept)) };
};

describe('a published manifest', () => {
  it.each([
    ['a kOps cluster', './fixtures/kops.yaml'],
    ['the EKS guide, once for each alternative', './fixtures/eks-guide.yaml'],
    ['the NodePool of this project', '../../../examples/nodepool.yaml'],
    ['the EC2NodeClass of this project', '../../../examples/ec2nodeclass.yaml'],
  ])('is accepted without a warning: %s', (_what, path) => {
    const objects = read(path);
    expect(objects.length).toBeGreaterThan(0);
    for (const object of objects) expect(faultsOf(object)).toEqual({ unknown: [], causes: [] });
  });
});
