/** PodGroups in manifests. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { runCommandLine } from '../../../../src/cli/command-line.ts';

const EXAMPLES = join(import.meta.dirname, '../../../../examples');
const INPUT = ['nodepool.yaml', 'ec2nodeclass.yaml'].flatMap((file) => ['-f', join(EXAMPLES, file)]);

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pod-groups-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const podNamed = (name: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: default, labels: { scheduling.x-k8s.io/pod-group: train } }
spec: { containers: [{ name: main, resources: { requests: { cpu: "1" } } }] }
`;

const groupIn = (version: string): string => `
apiVersion: scheduling.x-k8s.io/${version}
kind: PodGroup
metadata: { name: train, namespace: default }
spec: { minMember: 3 }
`;

async function simulate(...documents: readonly string[]): Promise<string> {
  const path = join(folder, 'pods.yaml');
  writeFileSync(path, documents.join('---'));
  const outputs = [process.stdout, process.stderr].map((stream) => jest.spyOn(stream, 'write').mockReturnValue(true));
  try {
    await runCommandLine(['simulate', '-f', path, ...INPUT]);
    return outputs.flatMap(({ mock }) => mock.calls.map(([text]) => String(text))).join('');
  } finally {
    for (const output of outputs) output.mockRestore();
    process.exitCode = undefined;
  }
}

const REFUSAL = /gang train needs 3 pods together, but only 2 wait or run/;

describe('a PodGroup', () => {
  it('keeps pods from being placed until its minimum exists', async () => {
    const output = await simulate(groupIn('v1alpha1'), podNamed('a'), podNamed('b'));
    expect(output).toMatch(REFUSAL);
    expect(output).toMatch(/PodGroup.*feature gate/);
    expect(await simulate(groupIn('v1alpha1'), ...['a', 'b', 'c'].map(podNamed))).not.toMatch(/gang train needs/);
  });

  it('is ignored in a version that is unknown, with a note', async () => {
    const output = await simulate(groupIn('v9'), podNamed('a'), podNamed('b'));
    expect(output).not.toMatch(REFUSAL);
    expect(output).toMatch(/PodGroup.*is ignored/);
  });
});
