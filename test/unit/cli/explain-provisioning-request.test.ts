/** ProvisioningRequests in manifests. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { OUTPUTS } from '../../../scripts/reference/outputs/catalogue.ts';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { strictly } from '../scripts/strictly.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples');
const POOL = ['-f', join(EXAMPLES, 'nodepool.yaml'), '-f', join(EXAMPLES, 'ec2nodeclass.yaml')];
const REQUEST = join(EXAMPLES, 'batch/provisioning-request.yaml');
const NOW = ['--now', '2026-06-03T10:30:00Z'];

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'requests-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const fileWith = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const requestOf = (parts: {
  readonly version?: string;
  readonly className?: string;
  readonly more?: string;
}): string => `
apiVersion: autoscaling.x-k8s.io/${parts.version ?? 'v1'}
kind: ProvisioningRequest
metadata: { name: own, namespace: default, creationTimestamp: "2026-06-03T10:00:00Z" }
spec:
  provisioningClassName: ${parts.className ?? 'best-effort-atomic-scale-up.autoscaling.x-k8s.io'}
  podSets: [{ podTemplateRef: { name: own }, count: 2 }]
${parts.more ?? ''}
---
apiVersion: v1
kind: PodTemplate
metadata: { name: own, namespace: default }
template: { spec: { containers: [{ name: main, resources: { requests: { cpu: "1" } } }] } }
`;

async function run(...args: readonly string[]) {
  const outputs = [process.stdout, process.stderr].map((stream) => jest.spyOn(stream, 'write').mockReturnValue(true));
  try {
    await runCommandLine([...args, ...POOL, ...NOW]);
    const [output = '', errors = ''] = outputs.map(({ mock }) => mock.calls.map(([text]) => String(text)).join(''));
    return { output, errors };
  } finally {
    for (const output of outputs) output.mockRestore();
    process.exitCode = undefined;
  }
}

async function explained(name: string, file: string): Promise<Record<string, unknown>> {
  const { output, errors } = await run('explain', 'provisioningrequest', name, '-f', file, '-o', 'json');
  expect(errors).not.toMatch(/^error/m);
  const found = JSON.parse(output) as Record<string, unknown>;
  const schema = OUTPUTS.find((each) => each.name === 'explain-provisioningrequest')?.schema;
  expect(strictly(schema, found)).toEqual([]);
  return found;
}

describe('explain provisioningrequest', () => {
  it('shows the nodes that a request gets', async () => {
    expect(await explained('train', REQUEST)).toMatchObject({
      request: 'default/train',
      phase: 'open',
      pods: 8,
      room: { existing: 0, joining: 0, new: 8, refused: 0 },
      text: 'nodes are launched for 8 pods; 0 pods have room on existing or joining nodes',
    });
  });

  it('reads the version v1beta1, and shows why a check finds no room', async () => {
    const text = requestOf({ version: 'v1beta1', className: 'check-capacity.autoscaling.x-k8s.io' });
    expect(await explained('own', fileWith('beta.yaml', text))).toMatchObject({
      room: { existing: 0, joining: 0, new: 0, refused: 2 },
      text: expect.stringMatching(
        /^Capacity is not found: gang own needs 2 pods together, room for 0: .*launches no nodes/,
      ),
    });
  });

  it.each([
    ['another class', { className: 'queued.example.com' }, 'ignored', /is left to other products$/],
    [
      'the end of its booking',
      {
        more: 'status: { conditions: [{ type: BookingExpired, status: "True", reason: CapacityBookingConsumed, message: used, lastTransitionTime: "2026-06-03T10:20:00Z" }] }',
      },
      'ended',
      /^used$/,
    ],
    [
      'a booking',
      {
        more: 'status: { conditions: [{ type: Provisioned, status: "True", reason: CapacityIsFound, message: found, lastTransitionTime: "2026-06-03T10:25:00Z" }] }',
      },
      'booked',
      /^the capacity is held$/,
    ],
  ])('shows the phase of a request with %s', async (name, parts, phase, text) => {
    const found = await explained('own', fileWith(`${name}.yaml`, requestOf(parts)));
    expect([found.phase, found.text]).toEqual([phase, expect.stringMatching(text)]);
    if (phase === 'booked') expect(found.next).toBe('2026-06-03T10:35:00Z');
  });

  it('names a missing PodTemplate', async () => {
    const [request = ''] = requestOf({}).split('---');
    expect((await explained('own', fileWith('no-template.yaml', request))).text).toBe(
      'PodTemplate "default/own" not found',
    );
  });
});

describe('simulate', () => {
  it('launches nodes for requests, and none for the pods that use them', async () => {
    const pod = `
---
apiVersion: v1
kind: Pod
metadata: { name: user, namespace: default, annotations: { autoscaling.x-k8s.io/consume-provisioning-request: own } }
spec: { containers: [{ name: main, resources: { requests: { cpu: "1" } } }] }
status: { phase: Pending, conditions: [{ type: PodScheduled, status: "False", reason: Unschedulable }] }
`;
    const file = fileWith('with-pod.yaml', `${requestOf({})}${pod}`);
    const { output } = await run('simulate', '-f', file, '-o', 'json', '--feature-gates', 'ProvisioningRequest=true');
    const { nodeClaims, waiting } = JSON.parse(output);
    expect(nodeClaims.flatMap(({ pods }: { pods: string[] }) => pods)).toEqual(['default/own-0-0', 'default/own-0-1']);
    expect(waiting).toEqual({
      'default/user': 'no nodes are launched for the pod, because ProvisioningRequest own provides its capacity',
    });
  });

  it('ignores requests if the feature gate is closed', async () => {
    const { output } = await run(
      'simulate',
      '-f',
      REQUEST,
      '-o',
      'json',
      '--feature-gates',
      'ProvisioningRequest=false',
    );
    expect(JSON.parse(output).nodeClaims).toEqual([]);
  });
});
