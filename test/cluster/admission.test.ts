/** Compares how a real API server and the local one evaluate ValidatingAdmissionPolicies. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BothServers, type Kubectl, startBothServers } from './harness/kubectl.ts';
import { eventually } from './harness/processes.ts';

const config = (name: string, ...labels: readonly string[]): readonly (readonly string[])[] => [
  ['create', 'configmap', name, '-n', 'strict', '--from-literal=a=b', ...labels],
];
const labelled = (name: string, label: string): readonly (readonly string[])[] => [
  ...config(name),
  ['label', 'configmap', name, '-n', 'strict', `${label}=true`],
  ['delete', 'configmap', name, '-n', 'strict'],
];
const deployment = (...argv: readonly string[]): readonly string[] => [
  'create',
  'deployment',
  '--image=nginx',
  ...argv,
];
const status = (replicas: number): readonly string[] => [
  ...['patch', 'deployment', 'web', '-n', 'loose', '--subresource=status', '--type=merge'],
  ...['-p', JSON.stringify({ status: { replicas } })],
];
/** A create of a labelled ConfigMap, so that its label matches. */
const create = (label: string): readonly string[] => ['create', '-f', `LABEL-${label}`];

const CASES: readonly (readonly (readonly string[])[])[] = [
  [deployment('-n', 'strict', 'web', '--replicas=9')],
  [
    deployment('-n', 'strict', 'web', '--replicas=4'),
    ['patch', 'deployment', 'web', '-n', 'strict', '-p', '{"spec":{"replicas":6}}'],
    ['patch', 'deployment', 'web', '-n', 'strict', '-p', '{"spec":{"replicas":2}}'],
    ['label', 'deployment', 'web', '-n', 'strict', 'exempt=1'],
    ['patch', 'deployment', 'web', '-n', 'strict', '-p', '{"spec":{"replicas":2}}'],
    ['scale', 'deployment', 'web', '-n', 'strict', '--replicas=1'],
  ],
  [
    deployment('-n', 'loose', 'web', '--replicas=9'),
    ['patch', 'deployment', 'web', '-n', 'loose', '-p', '{"spec":{"replicas":3}}'],
    status(3),
    status(12),
  ],
  labelled('held', 'kept'),
  labelled('free', 'kept'),
  [create('broken')],
  [create('ignored')],
];

describe('a ValidatingAdmissionPolicy on the local API server and on a real one', () => {
  let both: BothServers | undefined;
  let folder: string;
  let real: Kubectl;
  let ours: Kubectl;
  beforeAll(async () => {
    both = await startBothServers();
    ({ folder, real, ours } = both);
    for (const name of ['broken', 'ignored']) {
      const object = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace: 'strict', labels: { [name]: 'true' } },
      };
      await writeFile(join(folder, `LABEL-${name}`), JSON.stringify(object));
    }
    const policies = join(import.meta.dirname, 'parity/admission.yaml');
    expect(await ours('apply', '-f', policies)).toEqual(await real('apply', '-f', policies));
    // A real server reads policies from a watch; that of this object is the last one.
    const probe = ['create', '--dry-run=server', '-f', join(folder, 'LABEL-broken')];
    await eventually('the policies', async () => ((await real(...probe)).code === 0 ? undefined : true), 60_000);
  }, 180_000);
  afterAll(() => both?.stop(), 60_000);

  it.each(CASES.map((steps) => [steps.map((argv) => argv.join(' ')).join('; '), steps] as const))(
    '%s',
    async (_, steps) => {
      for (const step of steps) {
        const argv = step.map((part) => (part.startsWith('LABEL-') ? join(folder, part) : part));
        expect(await ours(...argv)).toEqual(await real(...argv));
      }
    },
    60_000,
  );
});
