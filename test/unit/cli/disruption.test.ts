import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { NodePool } from '#api/objects';
import { DISRUPTION } from '../../../scripts/reference/outputs/purchases.ts';
import { blockersAmong } from '../../../src/cli/blockers.ts';
import { readCaseOptions, sceneOptions, simulateDisruption } from '../../../src/cli/disruption.ts';
import { explainCommand, explainNodes } from '../../../src/cli/explain.ts';
import { parseManifests } from '../../../src/cli/objects/read.ts';
import { type DisruptionAnswer, disruptionText } from '../../../src/cli/render/commands.ts';
import { verdictsText, verdictText } from '../../../src/cli/render/verdicts.ts';
import { type TypesFor, typesFor, typesNoting } from '../../../src/cli/scenario.ts';
import { simulateCommand } from '../../../src/cli/simulate.ts';
import { strictly } from '../scripts/strictly.ts';
import { at80, tooWide } from './at80.ts';

const NOW = Date.parse('2026-06-03T10:30:00Z');
const POOL = (consolidateAfter: string): string => `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidateAfter: ${consolidateAfter}, budgets: [{nodes: 100%}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
`;
const NODE = `
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: claim-a, creationTimestamp: 2026-06-03T08:30:00Z}
spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, requirements: []}
status:
  providerID: aws:///us-west-2a/i-1
  conditions:
    - {type: Initialized, status: "True", lastTransitionTime: 2026-06-03T08:30:30Z}
    - {type: Consolidatable, status: "True", lastTransitionTime: 2026-06-03T08:30:30Z}
---
apiVersion: v1
kind: Node
metadata:
  name: node-a
  labels:
    karpenter.sh/nodepool: default
    karpenter.sh/registered: "true"
    karpenter.sh/initialized: "true"
    karpenter.sh/capacity-type: on-demand
    node.kubernetes.io/instance-type: m7g.2xlarge
    topology.kubernetes.io/zone: us-west-2a
spec: {providerID: aws:///us-west-2a/i-1}
status:
  capacity: {cpu: "8", memory: 32Gi, pods: "58"}
  allocatable: {cpu: 7910m, memory: 29Gi, pods: "58"}
  conditions: [{type: Ready, status: "True"}]
`;

/** Node with four GPUs, of which pods use the first. */
const gpuNode = (name: string, pods: readonly string[]): string =>
  [
    NODE.replaceAll('node-a', name)
      .replaceAll('claim-a', `claim-${name}`)
      .replaceAll('i-1', `i-${name}`)
      .replace('m7g.2xlarge', 'g6.12xlarge')
      .replaceAll('cpu: "8"', 'cpu: "48"'),
    `
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: ${name}, ownerReferences: [{apiVersion: v1, kind: Node, name: ${name}, uid: ${name}}]}
spec:
  driver: gpu.nvidia.com
  nodeName: ${name}
  pool: {name: ${name}, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}, {name: gpu-2}, {name: gpu-3}]
`,
    ...pods.map(
      (pod, at) => `
apiVersion: v1
kind: Pod
metadata: {name: ${pod}, uid: ${pod}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}
spec:
  nodeName: ${name}
  resourceClaims: [{name: gpu, resourceClaimName: ${pod}}]
  containers: [{name: main, resources: {requests: {cpu: "1", memory: 2Gi}}}]
status: {phase: Running}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: ${pod}, namespace: default}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
status:
  allocation:
    devices: {results: [{request: gpu, driver: gpu.nvidia.com, pool: ${name}, device: gpu-${at}}]}
    nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [${name}]}]}]}
  reservedFor: [{resource: pods, name: ${pod}, uid: ${pod}}]
`,
    ),
  ].join('---');
const GPU_CLASS = `
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com'"}}]}
`;

describe('disruption on the command line', () => {
  let folder: string;
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'disruption-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const flagsFor = (...filename: readonly string[]) => ({ filename, nowMs: NOW, output: 'table' as const });
  const builtIn: TypesFor = (manifests, nowMs) => typesFor({}, manifests, nowMs);

  it('counts the failed pods of a Job in the price of its next eviction', async () => {
    const pod = (name: string, rest: string): string => `
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: job, uid: job, controller: true}]}
${rest}`;
    const running = pod(
      'running',
      `spec: {nodeName: node-a, containers: [{name: main, resources: {requests: {cpu: "6"}}}]}
status: {phase: Running, startTime: 2026-06-03T08:31:00Z}`,
    );
    const failed = Array.from({ length: 6 }, (_, at) =>
      pod(`failed-${at}`, 'spec: {nodeName: node-a, containers: [{name: main}]}\nstatus: {phase: Failed}'),
    );
    const pool = write('pool.yaml', POOL('0s'));
    const costs = async (text: string): Promise<string> => {
      const flags = flagsFor(pool, write('node.yaml', NODE + text));
      const { nodes } = await blockersAmong(flags.filename, { types: builtIn, nowMs: NOW });
      const { verdicts } = await explainNodes(flags, builtIn);
      expect(verdicts[0]?.code).not.toBe('not-initialized');
      return JSON.stringify([nodes, verdicts]);
    };
    expect(await costs(running)).not.toMatch(/ended Jobs|"endedJobsUsd":0\.0*[1-9]/);
    expect(await costs([running, ...failed].join(''))).toMatch(/ended Jobs|"endedJobsUsd":0\.0*[1-9]/);
  });

  it('explains the repair of an unhealthy node with the feature gate', async () => {
    const sick = NODE.replace(
      '[{type: Ready, status: "True"}]',
      '[{type: Ready, status: "False", reason: KubeletNotReady, lastTransitionTime: 2026-06-03T10:20:00Z}]',
    );
    const flags = flagsFor(write('pool.yaml', POOL('0s')), write('node.yaml', sick));
    const { verdicts } = await explainNodes({ ...flags, featureGates: 'NodeRepair=true' }, builtIn);
    expect(verdicts.map((verdict) => verdictText(verdict, 0))).toEqual([
      expect.stringMatching(
        /repair +replaced from 2026-06-03T10:50:00Z, because Ready=False \(KubeletNotReady\)\s+since/,
      ),
    ]);
    const without = await explainNodes(flags, builtIn);
    expect(without.verdicts[0]).not.toHaveProperty('repair');
  });

  it('deletes an empty node', async () => {
    const filename = [write('pool.yaml', POOL('0s')), write('node.yaml', NODE)];
    const options = { ...sceneOptions(flagsFor(...filename), builtIn), everyMethod: false };
    const { disruption } = await simulateDisruption(options);
    expect(disruption.first).toMatchObject({
      method: 'emptiness',
      commands: [{ decision: 'delete', candidates: ['node-a'], replacements: [] }],
    });
    expect(disruption.first?.commands[0]?.savings).toBeGreaterThan(0);
    expect(disruptionText(disruption)).toMatch(
      /^emptiness\nDECISION +NODES .*\ndelete +node-a .*\n\nemptiness comes first: 1 command, \$0.\d+\/h saved\n$/,
    );

    const { verdicts } = await explainNodes(flagsFor(...filename), builtIn);
    expect(verdicts).toMatchObject([{ node: 'node-a', nodeClaim: 'claim-a', code: 'chosen' }]);
    expect(verdictsText(verdicts, 0)).toMatch(/^NODE +NODEPOOL +VERDICT .*\nnode-a +default +chosen/);
  });

  it('keeps a node while provisioning plans a pending pod on it', async () => {
    const pod = (cpu: string) => `
apiVersion: v1
kind: Pod
metadata: {name: waits, namespace: default, uid: waits, resourceVersion: "7"}
spec: {containers: [{name: main, resources: {requests: {cpu: "${cpu}"}}}]}
`;
    const verdictsWith = async (cpu: string) => {
      const files = [write('pool.yaml', POOL('0s')), write('node.yaml', NODE), write('waits.yaml', pod(cpu))];
      return (await explainNodes(flagsFor(...files), builtIn)).verdicts;
    };
    expect(await verdictsWith('2')).toMatchObject([{ node: 'node-a', code: 'nominated' }]);
    expect(await verdictsWith('40')).toMatchObject([{ node: 'node-a', code: 'chosen' }]);
  });

  it('shows the end state after all commands, not only after the first', async () => {
    const nodes = ['a', 'b', 'c'].map((name) =>
      NODE.replaceAll('node-a', `node-${name}`).replaceAll('claim-a', `claim-${name}`).replaceAll('i-1', `i-${name}`),
    );
    const web = `
---
apiVersion: v1
kind: Pod
metadata: {name: web, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}
spec: {nodeName: node-a, containers: [{name: main, resources: {requests: {cpu: "1", memory: 2Gi}}}]}
status: {phase: Running}
`;
    const pool = POOL('0s').replace('nodes: 100%', 'nodes: "1"');
    const filename = [write('pool.yaml', pool), write('nodes.yaml', nodes.join('')), write('web.yaml', web)];
    const options = { ...sceneOptions(flagsFor(...filename), builtIn), everyMethod: false, untilEnd: true };
    const { disruption } = await simulateDisruption(options);
    const { first, end } = disruption;
    expect(first?.commands).toMatchObject([{ decision: 'delete', candidates: ['node-b'] }]);
    expect(end?.steps).toMatchObject([
      { method: 'emptiness', decision: 'delete', candidates: ['node-b'], replacements: 0 },
      { method: 'emptiness', decision: 'delete', candidates: ['node-c'], replacements: 0 },
      { method: 'single-node-consolidation', decision: 'replace', candidates: ['node-a'], replacements: 1 },
    ]);
    expect(end).toMatchObject({ before: { nodes: 3 }, after: { nodes: 1 }, complete: true });
    const saved = end?.steps.reduce((sum, { savings }) => sum + savings, 0) ?? 0;
    expect((end?.before.billedPrice ?? 0) - (end?.after.billedPrice ?? 0)).toBeCloseTo(saved, 5);
    expect(end?.steps[0]?.savings).toBeCloseTo((end?.before.billedPrice ?? 0) / 3, 5);
    const text = at80(() => disruptionText(disruption));
    expect(text).toMatchSnapshot();
    expect(tooWide(text)).toEqual([]);
    expect(strictly(DISRUPTION, disruption)).toEqual([]);
  });

  it('does not merge pods that were resized down if their successors would not fit on the node', async () => {
    const nodes = ['a', 'b'].map((name) =>
      NODE.replaceAll('node-a', `node-${name}`)
        .replaceAll('claim-a', `claim-${name}`)
        .replaceAll('i-1', `i-${name}`)
        .replaceAll('m7g.2xlarge', 'm7g.xlarge')
        .replaceAll('cpu: "8"', 'cpu: "4"')
        .replaceAll('7910m', '3920m'),
    );
    const resized = (name: string) => `
---
apiVersion: v1
kind: Pod
metadata:
  name: web-${name}
  labels: {pod-template-hash: abc}
  generation: 2
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-abc, uid: web, controller: true}]
spec: {nodeName: node-${name}, containers: [{name: main, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}
status: {phase: Running}
`;
    const deployment = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, uid: deployment, resourceVersion: "1"}
spec:
  replicas: 2
  selector: {matchLabels: {pod-template-hash: abc}}
  template: {spec: {containers: [{name: main, resources: {requests: {cpu: 3600m, memory: 1Gi}}}]}}
`;
    const decisionsWith = async (...more: readonly string[]) => {
      const pool = POOL('0s').replace(
        'operator: In, values: [on-demand]}',
        'operator: In, values: [on-demand]}, {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7g]}, {key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ["3"]}',
      );
      const pods = ['a', 'b'].map(resized);
      const filename = [write('pool.yaml', pool), write('resized.yaml', [...nodes, ...pods, ...more].join(''))];
      const options = { ...sceneOptions(flagsFor(...filename), builtIn), everyMethod: false };
      const { first } = (await simulateDisruption(options)).disruption;
      return (first?.commands ?? []).map(({ decision }) => decision);
    };
    expect(await decisionsWith()).toEqual(['delete']);
    expect(await decisionsWith(deployment)).not.toContain('delete');
  });

  it('shows the benefit and the price of each move, and whether the operator makes it', async () => {
    const run = async (startTime: string, price: { readonly evictionPrice?: number } = {}) => {
      const web = `
---
apiVersion: v1
kind: Pod
metadata: {name: web, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}
spec: {nodeName: node-a, containers: [{name: main, resources: {requests: {cpu: "1", memory: 2Gi}}}]}
status:
  phase: Running
  startTime: ${startTime}
`;
      const filename = [write('pool.yaml', POOL('0s')), write('node.yaml', NODE), write('web.yaml', web)];
      const flags = { ...flagsFor(...filename), ...price };
      const options = { ...sceneOptions(flags, builtIn), everyMethod: false };
      const { verdicts } = await explainNodes(flags, builtIn);
      const { disruption } = await simulateDisruption(options);
      expect(strictly(DISRUPTION, disruption)).toEqual([]);
      const [verdict] = verdicts;
      return { text: disruptionText(disruption), explained: verdict ? verdictText(verdict, 0) : '' };
    };
    const calculation = (minutes: number, evictions = '\\d{4}'): string =>
      `saves \\$0\\.\\d{4}/h with planning figures \\(\\$0\\.\\d{4}/h on the bill\\) for an expected ${minutes} min = \\$0\\.\\d{4};\\s+` +
      `moving 1 pod costs \\$0\\.\\d{4}\\s+\\(evictions \\$0\\.${evictions}, start \\$0\\.\\d{4}\\)`;
    const old = await run('2026-06-03T08:30:00Z');
    expect(old.text).toMatch(new RegExp(`^  ${calculation(180)}$`, 'm'));
    expect(old.explained).toMatch(new RegExp(`^  worth +${calculation(180)}`, 'm'));
    const dear = await run('2026-06-03T08:30:00Z', { evictionPrice: 7 });
    expect(dear.text).toMatch(/\(evictions \$7\.\d{4}, start .*;\s+the operator waits until this pays$/m);
    expect(dear.explained).toContain('evictions $7.');
    const young = await run('2026-06-03T10:29:00Z', { evictionPrice: 0.3 });
    expect(young.text).toMatch(
      new RegExp(`${calculation(61, '3\\d{3}')};\\s+the operator waits until this pays$`, 'm'),
    );
  });

  it('counts devices until the end state', async () => {
    const types = '{key: node.kubernetes.io/instance-type, operator: In, values: [g6.xlarge, g6.12xlarge]}';
    const pool = POOL('0s').replace('requirements: [', `requirements: [${types}, `);
    const text = `${pool}${gpuNode('full', ['a', 'b', 'c'])}${gpuNode('one', ['d'])}${gpuNode('two', ['e'])}${GPU_CLASS}`;
    const file = write('devices.yaml', text);
    const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    const simulated = async (...args: readonly string[]): Promise<string> => {
      written.mockClear();
      const now = ['--now', '2026-06-03T10:30:00Z'];
      await simulateCommand().parseAsync(['--disruption', '-f', file, ...now, ...args], { from: 'user' });
      return written.mock.calls.map(([part]) => String(part)).join('');
    };
    try {
      expect(await simulated()).toMatch(/^no node would be disrupted/);
      const { end } = JSON.parse(await simulated('--dra', '-o', 'json')) as DisruptionAnswer;
      // one pod takes the last device of the full node, so that no device is free for the pod on the replacement
      expect(end?.steps).toMatchObject([{ decision: 'replace', candidates: ['one', 'two'], replacements: 1 }]);
      expect(end).toMatchObject({ before: { nodes: 3 }, after: { nodes: 2 }, complete: true });
      expect(await simulated('--dra')).toMatch(
        /^end state of this command: 3 nodes for \$\S+ before, 2 nodes for \$\S+ after, \$\S+ saved$/m,
      );
    } finally {
      written.mockRestore();
      noted.mockRestore();
    }
  });

  it('reports the reason that keeps a node', async () => {
    const filename = [write('never.yaml', POOL('Never')), write('node.yaml', NODE)];
    const options = { ...sceneOptions(flagsFor(...filename), builtIn), everyMethod: false };
    expect(disruptionText((await simulateDisruption(options)).disruption)).toMatch(
      /^no node would be disrupted; karpenter explain node /,
    );

    const { verdicts } = await explainNodes(flagsFor(...filename), builtIn);
    const [verdict] = verdicts;
    expect(verdict?.code).toBe('consolidation-disabled');
    const text = verdict === undefined ? '' : verdictText(verdict, 0);
    expect(text).toMatch(/because +NodePool "default" has consolidation disabled/);
    expect(text).toMatch(/^drift +not-drifted /m);
  });

  it.each([
    { mode: undefined, last: 'swap-consolidation' },
    { mode: 'thorough' as const, last: 'swap-consolidation' },
    { mode: 'compatible' as const, last: 'single-node-consolidation' },
  ])('considers more moves than Karpenter by default: $mode', async ({ mode, last }) => {
    const filename = [write('pool.yaml', POOL('0s')), write('node.yaml', NODE)];
    const flags = { ...flagsFor(...filename), ...(mode && { consolidation: mode }) };
    const options = { ...sceneOptions(flags, builtIn), everyMethod: true };
    expect((await simulateDisruption(options)).disruption.methods?.at(-1)?.method).toBe(last);
  });

  it('lists the candidates of methods without commands', async () => {
    const filename = [write('pool.yaml', POOL('0s')), write('node.yaml', NODE)];
    const options = { ...sceneOptions(flagsFor(...filename), builtIn), everyMethod: true };
    const text = disruptionText((await simulateDisruption(options)).disruption);
    expect(text).toMatch(/^emptiness \(1 candidate; allowed by budgets: default 1\)$/m);
    expect(text).toMatch(/^drift: no command \(0 candidates; allowed by budgets: default 1\)$/m);
  });

  it('simulates changed objects', async () => {
    const filename = [write('pool.yaml', POOL('0s')), write('node.yaml', NODE)];
    const whatIf = [write('closed.yaml', POOL('0s').replace('100%', '"0"'))];
    const { verdicts } = await explainNodes({ ...flagsFor(...filename), whatIf }, builtIn);
    expect(verdicts).toMatchObject([{ code: 'budget' }]);
  });

  it('reports that invalid budgets prevent the disruption of a NodePool', async () => {
    const unread = POOL('0s').replace('{nodes: 100%}', '{nodes: "1", schedule: "/10 * * * *", duration: 1h}');
    const filename = [write('unread.yaml', unread), write('node.yaml', NODE)];
    const { disruption, notes } = await simulateDisruption({
      ...sceneOptions(flagsFor(...filename), builtIn),
      everyMethod: false,
    });
    expect(disruption.first).toBeNull();
    expect(notes).toEqual([
      'invalid disruption budgets in nodepool default, invalid cron schedule "/10 * * * *", expected a minute within 0-59, not "/10"; none of its nodes can be disrupted until this is corrected',
    ]);
  });

  it('replaces drifted nodes of static NodePools only if the operator does', async () => {
    const drifted = NODE.replace('{type: Consolidatable,', '{type: Drifted,');
    const filename = [
      write('static.yaml', POOL('0s').replace('spec:\n', 'spec:\n  replicas: 1\n')),
      write('drifted.yaml', drifted),
    ];
    const asked = async (featureGates?: string) => {
      const flags = { ...flagsFor(...filename), ...(featureGates && { featureGates }) };
      const options = { ...sceneOptions(flags, builtIn), everyMethod: false };
      const { disruption, notes } = await simulateDisruption(options);
      const { verdicts } = await explainNodes(flags, builtIn);
      return { first: disruption.first?.method, verdict: verdicts[0]?.code, notes };
    };
    expect(await asked()).toEqual({ first: 'static-drift', verdict: 'chosen', notes: [] });
    expect(await asked('StaticCapacity=false')).toEqual({
      first: undefined,
      verdict: 'static-pool',
      notes: [expect.stringMatching(/^NodePool default: spec.replicas has no effect, because the feature gate/)],
    });
  });

  it('requests the verdicts of an operator', async () => {
    const verdict = {
      node: 'node-a.internal',
      nodeClaim: 'claim-a',
      nodePool: 'default',
      code: 'pdb',
      text: 'pdb prevents',
      methods: [],
    };
    const server = createServer((request, response) => {
      response.statusCode = request.url === '/debug/verdicts' ? 200 : 404;
      response.end(JSON.stringify([verdict]));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      for (const name of ['node-a.internal', 'node-a', 'claim-a']) {
        await explainCommand().parseAsync(['node', name, '--server', url, '-o', 'json'], { from: 'user' });
        expect(written.mock.calls).toEqual([[`${JSON.stringify(verdict)}\n`]]);
        written.mockClear();
      }
      const unknown = explainCommand().parseAsync(['node', 'node-b', '--server', url], { from: 'user' });
      await expect(unknown).rejects.toThrow(
        `node "node-b" not found by the operator at ${url}; existing names: node-a.internal`,
      );
    } finally {
      written.mockRestore();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('requests the instance types of an operator', async () => {
    const server = createServer((request, response) => {
      response.statusCode = request.url === '/debug/instancetypes' ? 200 : 404;
      response.end(
        '{"instanceTypes":[],"nodePools":{"default":[{"name":"t","requirements":[],"capacity":{},"offerings":[]}]}}',
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const instanceTypes = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const [pool] = parseManifests(POOL('0s'), 'pool.yaml').map(({ object }) => object as NodePool);
      const types = await typesFor({ instanceTypes }, [], NOW);
      expect(pool && types(pool).map(({ name }) => name)).toEqual(['t']);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('uses the region of the dump, and names the source of the prices', async () => {
    const elsewhere = (text: string): string => text.replaceAll('us-west-2', 'eu-central-1');
    const filename = [write('pool.yaml', POOL('0s')), write('eu.yaml', elsewhere(NODE))];
    const { types, notes } = typesNoting({ filename });
    const { disruption } = await simulateDisruption({
      ...sceneOptions(flagsFor(...filename), types),
      everyMethod: false,
    });
    expect(disruption.first?.commands[0]?.savings).toBeGreaterThan(0);
    expect(notes).toContainEqual(expect.stringMatching(/^prices are from us-west-2 .* for prices of eu-central-1, /));
  });

  it('reports that no usable Node exists, with the errors of existing Nodes', async () => {
    const anonymous = NODE.slice(NODE.indexOf('apiVersion: v1')).replace(/^spec: .*$/m, 'spec: {}');
    const options = { ...sceneOptions(flagsFor(write('anonymous.yaml', anonymous)), builtIn), everyMethod: false };
    expect((await simulateDisruption(options)).notes).toEqual([
      expect.stringMatching(/ Node node-a: .* no spec.providerID; /),
      'the manifests contain no Node',
    ]);
  });

  it('reports that a dump has no nodes', async () => {
    const filename = write('none.yaml', '');
    const asked = explainCommand().parseAsync(['node', 'node-a', '-f', filename], { from: 'user' });
    await expect(asked).rejects.toThrow(`node "node-a" not found in ${filename}; none exist`);
  });

  it.each([
    ['not JSON', '{', /options.json: not valid JSON/],
    ['a time that is none', '{"now":"noon"}', /now: "noon" is not a valid time/],
    ['a gate that is neither on nor off', '{"featureGates":{"X":"yes"}}', /featureGates.X: must be true or false/],
    ['an unknown policy', '{"preferencePolicy":"Maybe"}', /preferencePolicy: must be one of Priced, Respect, Ignore/],
  ])('rejects options with %s', (_, text, message) => {
    expect(() => readCaseOptions(write('options.json', text))).toThrow(message);
  });

  it('reports options without an effect', () => {
    const options = write('typo.json', '{"featuregates":{"A":true}}');
    const written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      sceneOptions({ ...flagsFor(), options }, builtIn);
      expect(written.mock.calls).toEqual([[expect.stringContaining('typo.json: featuregates: unknown option')]]);
    } finally {
      written.mockRestore();
    }
  });

  it('reports unknown feature gates', () => {
    const written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      const options = write('gates.json', '{"featureGates":{"StaticCapacty":true}}');
      sceneOptions({ ...flagsFor(), options, featureGates: 'SpotToSpot=true,NodeRepair=true' }, builtIn);
      expect(written.mock.calls.map(([text]) => text)).toEqual([
        expect.stringMatching(/--feature-gates: .*"SpotToSpot" .*did you mean SpotToSpotConsolidation\?/),
        expect.stringMatching(/gates\.json: .*"StaticCapacty" .*did you mean StaticCapacity\?/),
      ]);
    } finally {
      written.mockRestore();
    }
  });

  it('prefers the command line to the options file', () => {
    const text =
      '{"now":"2026-01-01T00:00:00Z","preferencePolicy":"Ignore","featureGates":{"NodeRepair":true,"StaticCapacity":true}}';
    const options = write('options.json', text);
    const fromFile = sceneOptions({ filename: [], options, output: 'json' }, builtIn);
    expect(fromFile).toMatchObject({
      nowMs: Date.UTC(2026, 0, 1),
      preferencePolicy: 'Ignore',
      minValuesPolicy: 'Strict',
      featureGates: { NodeRepair: true, StaticCapacity: true },
    });
    const flags = {
      ...flagsFor(),
      options,
      preferencePolicy: 'Respect',
      featureGates: 'NodeRepair=false,NodeOverlay=true',
    } as const;
    expect(sceneOptions(flags, builtIn)).toMatchObject({
      nowMs: NOW,
      preferencePolicy: 'Respect',
      featureGates: { NodeRepair: false, StaticCapacity: true, NodeOverlay: true },
    });
    expect(() => sceneOptions({ ...flags, featureGates: 'A' }, builtIn)).toThrow('pair "A" in --feature-gates');
  });
});
