import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { runConvert } from './run-convert.ts';

const deployment = (annotations: string): string => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    metadata:
      annotations:
        ${annotations}
    spec:
      containers: []
`;

describe('a pod that cluster-autoscaler must not move', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'convert-safe-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const convert = (text: string) => {
    const path = join(folder, 'web.yaml');
    writeFileSync(path, text);
    return runConvert('-f', path);
  };

  it('keeps an equivalent Karpenter annotation beside that of cluster-autoscaler', async () => {
    const { output, errors } = await convert(
      deployment('cluster-autoscaler.kubernetes.io/safe-to-evict: "false" # a queue'),
    );
    expect(parse(output).spec.template.metadata.annotations).toEqual({
      'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
      'karpenter.sh/do-not-disrupt': 'true',
    });
    expect(output).toContain('# a queue');
    expect(errors).toMatch(
      /^changed: .*safe-to-evict.*karpenter\.sh\/do-not-disrupt: "true" is the equivalent in Karpenter/,
    );
    const again = await convert(output);
    expect(again).toMatchObject({ output, errors: '' });
  });

  it.each([
    ['say that they may go', 'cluster-autoscaler.kubernetes.io/safe-to-evict: "true"'],
    ['say nothing', 'a: b'],
    ['are kept already', 'karpenter.sh/do-not-disrupt: "true"'],
  ])('stays unchanged if it %s', async (_, annotations) => {
    const text = deployment(annotations);
    expect((await convert(text)).output).toBe(text);
  });
});
