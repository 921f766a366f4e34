import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CSI_NODE,
  DAEMON_SET,
  EVENT,
  getCondition,
  LEASE,
  NODE,
  type Node,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  type Pod,
  RESOURCE_CLAIM,
  RESOURCE_SLICE,
  type ResourceSlice,
  VOLUME_ATTACHMENT,
} from '#api/objects';
import { startNodeLifecycle } from '../../../../../src/local/kubernetes/controllers/node-lifecycle.ts';
import { type Kubelets, startKubelets } from '../../../../../src/local/kubernetes/kubelets/index.ts';
import { startCluster, type TestCluster, template } from '../../world-cluster.ts';
import { hardware, instance, instanceBoard } from './fixtures.ts';

const NAME = instance().privateDnsName;
const CLUSTER = 'test';

let cluster: TestCluster;
let kubelets: Kubelets;
let board: ReturnType<typeof instanceBoard>;

beforeEach(async () => {
  cluster = await startCluster();
  board = instanceBoard();
  await startNodeLifecycle(cluster.parts);
  kubelets = await startKubelets({
    parts: cluster.parts,
    instances: board,
    region: 'us-west-2',
    clusterName: CLUSTER,
    endpoint: cluster.server.url,
    kubeletVersion: 'v1.36.0',
    options: { bootMs: 1_000, readyMs: 1_000, devicePluginMs: 2_000, podStartMs: [500, 1_000] },
  });
});
afterEach(() => cluster.stop());

const userData = (name = CLUSTER, endpoint = cluster.server.url): string =>
  `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: ${name}, apiServerEndpoint: "${endpoint}"}
  kubelet:
    config:
      maxPods: 29
      registerWithTaints:
      - {key: karpenter.sh/unregistered, effect: NoExecute}
    flags:
    - --node-labels="karpenter.sh/nodepool=default"
`;

const boot = (more: Parameters<typeof board.set>[0] = {}): void => {
  board.set({ state: 'pending', userData: userData(), ...more });
  board.set({ state: 'running' });
};
const node = (): Promise<Node | undefined> => cluster.client.find(NODE, { name: NAME });
const isReady = (found: Node | undefined): boolean =>
  found?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
const untilReady = (): Promise<Node> =>
  cluster.until('the node to be Ready', async () => {
    const found = await node();
    return isReady(found) && found;
  });

async function runPod(spec: Partial<Pod['spec']> = {}): Promise<Pod> {
  const pod = await cluster.client.create(POD, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default' },
    spec: { ...template('web', { tolerations: [{ operator: 'Exists' }], ...spec }).spec, nodeName: NAME },
  });
  return pod;
}
const pod = (): Promise<Pod | undefined> => cluster.client.find(POD, { name: 'web', namespace: 'default' });
const untilPhase = (phase: string): Promise<Pod> =>
  cluster.until(`the pod to be ${phase}`, async () => {
    const found = await pod();
    return found?.status?.phase === phase && found;
  });

describe('a kubelet', () => {
  it('registers its instance with the configuration in the user data, and becomes Ready', async () => {
    boot();
    const registered = await cluster.until('the node', node);
    expect(registered.spec).toMatchObject({ providerID: 'aws:///us-west-2a/i-1' });
    expect(registered.spec?.taints?.map(({ key }) => key)).toEqual(
      expect.arrayContaining(['karpenter.sh/unregistered', 'node.kubernetes.io/not-ready']),
    );
    expect(registered.metadata.labels).toMatchObject({
      'karpenter.sh/nodepool': 'default',
      'kubernetes.io/hostname': NAME,
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/os': 'linux',
      'node.kubernetes.io/instance-type': 'm5.large',
      'topology.kubernetes.io/zone': 'us-west-2a',
      'topology.kubernetes.io/region': 'us-west-2',
      'topology.k8s.aws/zone-id': 'usw2-az1',
    });
    expect(isReady(registered)).toBe(false);
    await untilReady();
    const taints = await cluster.until('the taint to go', async () => {
      const keys = (await node())?.spec?.taints?.map(({ key }) => key);
      return !keys?.includes('node.kubernetes.io/not-ready') && keys;
    });
    expect(taints).toEqual(['karpenter.sh/unregistered']);
    expect((await node())?.status?.allocatable).toMatchObject({ cpu: '1930m', pods: '29' });
    const [csiNode] = await cluster.list(CSI_NODE);
    expect(csiNode?.spec.drivers?.[0]).toMatchObject({ name: 'ebs.csi.aws.com', nodeID: 'i-1' });
  });

  it('renews its lease', async () => {
    boot();
    await untilReady();
    const renewed = async () =>
      (await cluster.list(LEASE)).find(({ metadata }) => metadata.name === NAME)?.spec?.renewTime;
    const first = await renewed();
    await cluster.until('a renewal', async () => (await renewed()) !== first);
  });

  it('publishes accelerators after a while', async () => {
    boot({ hardware: { ...hardware(), GpuInfo: { Gpus: [{ Manufacturer: 'NVIDIA', Count: 1 }] } } });
    expect((await untilReady()).status?.capacity).not.toHaveProperty('nvidia.com/gpu');
    await cluster.until('the GPU', async () => (await node())?.status?.allocatable?.['nvidia.com/gpu'] === '1');
  });

  it('publishes its Elastic Fabric Adapters after a while, and huge pages from the start', async () => {
    const script = '#!/bin/bash\nsysctl -w vm.nr_hugepages=10\n';
    const parts = [
      ['application/node.eks.aws', userData()],
      ['text/x-shellscript', script],
    ];
    const body = parts.map(([type, text]) => `--b\nContent-Type: ${type}\n\n${text}\n`).join('');
    const mime = `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n${body}--b--\n`;
    boot({ userData: mime, interfaces: [{ type: 'efa' }, { type: 'efa-only' }] });
    expect((await untilReady()).status?.allocatable).toMatchObject({ 'hugepages-2Mi': '20Mi' });
    await cluster.until('the EFA', async () => (await node())?.status?.allocatable?.['vpc.amazonaws.com/efa'] === '2');
  });

  it.each([
    ['nothing', [], 27],
    ['--volume-attach-limit', ['node', '--volume-attach-limit=12'], 12],
    ['--reserved-volume-attachments', ['node', '--reserved-volume-attachments=3'], 25],
  ])('publishes the volume limit of the EBS CSI driver with the flags %s', async (_, args, count) => {
    const labels = { app: 'ebs-csi-node' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'ebs-plugin', image: 'ebs', args }] } };
    await cluster.client.create(DAEMON_SET, {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'ebs-csi-node', namespace: 'kube-system' },
      spec: { selector: { matchLabels: labels }, template },
    });
    boot({ hardware: { ...hardware(), EbsInfo: { MaximumEbsAttachments: 28 } } });
    await untilReady();
    const found = await cluster.until('the CSINode', () => cluster.client.find(CSI_NODE, { name: NAME }));
    expect(found.spec.drivers?.[0]?.allocatable?.count).toBe(count);
  });

  it.each([
    ['another cluster', () => ({ userData: userData('other') }), /for cluster other/],
    ['another endpoint', () => ({ userData: userData(CLUSTER, 'https://else') }), /for endpoint https:\/\/else/],
    ['nonsense', () => ({ userData: 'MIME-Version: 1.0\n\n' }), /boundary/],
  ])('does not join with user data for %s', async (_, more, message) => {
    boot(more());
    await cluster.until('the complaint', async () => cluster.messages.some((one) => message.test(one)));
    expect(await node()).toBeUndefined();
  });

  it('never joins if the instance is configured not to', async () => {
    boot({ joins: false });
    await cluster.parts.clock.sleep(5_000);
    expect(await node()).toBeUndefined();
  });

  it('does not join if the instance terminates during its boot', async () => {
    boot();
    board.set({ state: 'shutting-down' });
    await cluster.parts.clock.sleep(5_000);
    expect(await node()).toBeUndefined();
  });

  it('waits until the node of an earlier instance with its address is deleted', async () => {
    await cluster.node(NAME);
    boot();
    await cluster.parts.clock.sleep(4_000);
    expect((await node())?.spec?.providerID).toBeUndefined();
    await cluster.client.delete(NODE, { name: NAME });
    await cluster.until('the new node', async () => (await node())?.spec?.providerID === 'aws:///us-west-2a/i-1');
  });
});

describe('a pod on a kubelet', () => {
  it('runs after the node is Ready', async () => {
    boot();
    await cluster.until('the node', node);
    await runPod();
    const running = await untilPhase('Running');
    expect(isReady(await node())).toBe(true);
    expect(running.status).toMatchObject({ podIP: expect.stringMatching(/^100\.64\./), startTime: expect.any(String) });
    expect(running.status?.containerStatuses).toMatchObject([{ name: 'main', ready: true }]);
    const trueOnes = running.status?.conditions?.filter(({ status }) => status === 'True').map(({ type }) => type);
    expect(trueOnes).toEqual(expect.arrayContaining(['PodScheduled', 'Initialized', 'ContainersReady', 'Ready']));
    const reasons = async () => (await cluster.list(EVENT)).map(({ reason }) => reason);
    await cluster.until('the events', async () => (await reasons()).includes('Started'));
    expect(await reasons()).toContain('NodeReady');
  });

  it('terminates gracefully when it is deleted', async () => {
    boot();
    await untilReady();
    await runPod({ terminationGracePeriodSeconds: 60 });
    await untilPhase('Running');
    await cluster.client.delete(POD, { name: 'web', namespace: 'default' });
    expect((await pod())?.metadata.deletionTimestamp).toBeDefined();
    await cluster.until('the pod to go', async () => (await pod()) === undefined);
  });

  it('is ready after its probes have succeeded, per container', async () => {
    boot();
    await untilReady();
    const [main] = template('web').spec.containers;
    const slow = {
      ...main,
      name: 'slow',
      readinessProbe: { initialDelaySeconds: 20, periodSeconds: 5, successThreshold: 3 },
    };
    await runPod({ containers: [{ ...main, name: 'main' }, slow] });
    const early = await untilPhase('Running');
    expect(early.status?.containerStatuses).toMatchObject([{ ready: true }, { ready: false }]);
    expect(getCondition(early, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [slow]',
    });
    const ready = await cluster.until('the pod to be ready', async () => {
      const found = await pod();
      return found && getCondition(found, 'Ready')?.status === 'True' && found;
    });
    const time = (found: Pod, type: string): number => Date.parse(getCondition(found, type)?.lastTransitionTime ?? '');
    expect(time(ready, 'Ready') - time(early, 'PodReadyToStartContainers')).toBeGreaterThanOrEqual(29_000);
    expect(ready.status?.containerStatuses).toMatchObject([{ ready: true }, { ready: true }]);
  });

  it.each(['readinessProbe', 'startupProbe'])('never becomes ready if its %s can only fail', async (probe) => {
    boot();
    await untilReady();
    const [main] = template('web').spec.containers;
    const failing = { ...main, name: 'main', [probe]: { exec: { command: ['sh', '-c', 'exit 1'] } } };
    await runPod({ containers: [failing] });
    await untilPhase('Running');
    await cluster.parts.clock.sleep(60_000, new AbortController().signal);
    expect(getCondition((await pod()) as Pod, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
    });
  });

  it.each([
    ['of any kind, without a probe', undefined],
    ['exec', { exec: { command: ['cat', '/tmp/healthy'] } }],
    ['httpGet', { httpGet: { path: '/healthz', port: 8080 } }],
    ['tcpSocket', { tcpSocket: { port: 5432 } }],
    ['grpc', { grpc: { port: 9090 } }],
  ])('is not ready while an annotation lets its probes fail: %s', async (_, readinessProbe) => {
    boot();
    await untilReady();
    const [main] = template('web').spec.containers;
    await runPod({ containers: [{ ...main, name: 'main', ...(readinessProbe && { readinessProbe }) }] });
    const untilIs = (status: string): Promise<Pod> =>
      cluster.until(`a pod with Ready=${status}`, async () => {
        const found = await pod();
        return found && getCondition(found, 'Ready')?.status === status && found;
      });
    await untilIs('True');
    const annotate = (ready: string | null): Promise<unknown> =>
      cluster.client.patch(
        POD,
        { name: 'web', namespace: 'default' },
        { metadata: { annotations: { 'local.karpenter-ts.sh/ready': ready } } },
      );
    await annotate('false');
    const failing = await untilIs('False');
    expect(failing.status?.containerStatuses).toMatchObject([{ ready: false }]);
    expect(getCondition(failing, 'ContainersReady')?.reason).toBe('ContainersNotReady');
    await annotate(null);
    expect((await untilIs('True')).status?.containerStatuses).toMatchObject([{ ready: true }]);
  });

  it.each([
    ['a sleep', { sleep: { seconds: 30 } }, 60, 30],
    ['a command', { exec: { command: ['/bin/sh', '-c', 'sleep 30 && nginx -s quit'] } }, 60, 30],
    ['a hook that exceeds the grace period', { sleep: { seconds: 90 } }, 20, 20],
  ])('runs its preStop hook before it terminates: %s', async (_, preStop, terminationGracePeriodSeconds, seconds) => {
    boot();
    await untilReady();
    const [main] = template('web').spec.containers;
    const containers = [{ ...main, name: 'main', lifecycle: { preStop } }];
    await runPod({ containers, terminationGracePeriodSeconds });
    await untilPhase('Running');
    const { clock } = cluster.parts;
    const startedAt = clock.now();
    await cluster.client.delete(POD, { name: 'web', namespace: 'default' });
    await cluster.until('the pod to go', async () => (await pod()) === undefined);
    expect((clock.now() - startedAt) / 1000).toBeGreaterThanOrEqual(seconds - 1);
  });

  it('completes if its restart policy allows it', async () => {
    boot();
    await untilReady();
    await runPod({ restartPolicy: 'Never' });
    await untilPhase('Running');
    expect((await untilPhase('Succeeded')).status?.containerStatuses).toMatchObject([
      { state: { terminated: { exitCode: 0 } } },
    ]);
  });

  it('fails immediately if the instance is shut down', async () => {
    boot();
    await untilReady();
    await runPod({ terminationGracePeriodSeconds: 3600 });
    await untilPhase('Running');
    board.set({ state: 'shutting-down' });
    expect((await untilPhase('Failed')).status).toMatchObject({ reason: 'Terminated' });
    expect(isReady(await node())).toBe(false);
    board.set({ state: 'terminated' });
    await cluster.until('the node to go', async () => (await node()) === undefined);
  });

  it('has its volumes attached and detached', async () => {
    const metadata = { name: 'data', namespace: 'default' };
    await cluster.client.create(PERSISTENT_VOLUME, {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'v' },
      spec: {
        ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] },
        csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-9' },
      },
    });
    await cluster.client.create(PERSISTENT_VOLUME_CLAIM, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata,
      spec: { volumeName: 'v', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    boot();
    await untilReady();
    await runPod({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] });
    const attachment = await cluster.until('the attachment', async () => (await cluster.list(VOLUME_ATTACHMENT))[0]);
    expect(attachment.spec).toMatchObject({ nodeName: NAME, source: { persistentVolumeName: 'v' } });
    await untilPhase('Running');
    await cluster.client.delete(POD, { name: 'web', namespace: 'default' });
    await cluster.until('the detachment', async () => (await cluster.list(VOLUME_ATTACHMENT)).length === 0);
  });
});

describe('a kubelet that hangs', () => {
  it('lets its node become Unknown, and recovers', async () => {
    boot();
    await untilReady();
    kubelets.hang(NAME);
    await cluster.until('the node to be Unknown', async () =>
      (await node())?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'Unknown'),
    );
    kubelets.resume('i-1');
    await untilReady();
  });

  it('has its pods marked as not ready, and corrects that when it recovers', async () => {
    boot();
    await untilReady();
    await runPod();
    const running = await untilPhase('Running');
    const ready = (found: Pod | undefined) => found?.status?.conditions?.find(({ type }) => type === 'Ready');
    // The reason from the creation of the container was removed.
    expect(ready(running)).not.toHaveProperty('reason');
    kubelets.hang(NAME);
    await cluster.until('the pod to be unready', async () => ready(await pod())?.reason === 'NodeNotReady');
    kubelets.resume(NAME);
    await cluster.until('the pod to be ready again', async () => ready(await pod())?.status === 'True');
    expect((await pod())?.status?.phase).toBe('Running');
  });

  it('must exist', () => {
    expect(() => kubelets.hang('nobody')).toThrow(/nobody/);
  });
});

describe('a pod that stands for a DRA driver', () => {
  const DRIVER = 'local.karpenter-ts.sh/dra-driver';
  const POOLS = 'local.karpenter-ts.sh/dra-pools';
  const GPUS = { Gpus: [{ Manufacturer: 'NVIDIA', Name: 'L4', Count: 4 }] };

  const slices = (): Promise<readonly ResourceSlice[]> => cluster.list(RESOURCE_SLICE);
  const slicesThat = (what: string, holds: (all: readonly ResourceSlice[]) => boolean) =>
    cluster.until(what, async () => {
      const all = await slices();
      return holds(all) && all;
    });
  const annotate = (annotations: Record<string, string>): Promise<Pod> =>
    cluster.client.patch(POD, { name: 'web', namespace: 'default' }, { metadata: { annotations } });

  it('lets its node publish the devices of the machine instead of the device plugin', async () => {
    boot({ type: 'g6.12xlarge', hardware: { ...hardware(), GpuInfo: GPUS } });
    await runPod();
    await annotate({ [DRIVER]: 'gpu.nvidia.com' });
    const [slice] = await slicesThat('a slice', ({ length }) => length === 1);
    const found = await untilReady();
    expect(slice?.metadata.ownerReferences).toMatchObject([{ kind: 'Node', uid: found.metadata.uid }]);
    expect(slice?.spec).toMatchObject({
      driver: 'gpu.nvidia.com',
      nodeName: NAME,
      pool: { name: NAME, generation: 1, resourceSliceCount: 1 },
    });
    const devices = slice?.spec.devices ?? [];
    const valuesOf = (name: string) => new Set(devices.map(({ attributes }) => attributes?.[name]?.string));
    expect(devices.map(({ name }) => name)).toEqual(['gpu-0', 'gpu-1', 'gpu-2', 'gpu-3']);
    expect(valuesOf('productName')).toEqual(new Set(['NVIDIA L4']));
    expect(valuesOf('uuid').size).toBe(4);
    await cluster.parts.clock.sleep(5_000);
    expect((await node())?.status?.allocatable ?? {}).not.toHaveProperty('nvidia.com/gpu');
  });

  it('publishes the pools of its annotation, each change as a new generation, and nothing after its end', async () => {
    boot();
    await runPod();
    await annotate({ [DRIVER]: 'x.example.com', [POOLS]: '[{name: $(NODE_NAME)-a, devices: [{name: a}]}]' });
    const [first] = await slicesThat('a slice', ({ length }) => length === 1);
    expect(first?.spec.pool).toEqual({ name: `${NAME}-a`, generation: 1, resourceSliceCount: 1 });
    await annotate({ [POOLS]: '[{devices: [{name: a}, {name: b}], resourceSliceCount: 2}]' });
    const [second] = await slicesThat(
      'one other slice',
      (all) => all.length === 1 && all[0]?.spec.pool.generation === 2,
    );
    expect(second?.spec).toMatchObject({
      pool: { name: NAME, resourceSliceCount: 2 },
      devices: [{ name: 'a' }, { name: 'b' }],
    });
    await annotate({ [POOLS]: '{devices: 1}' });
    const event = await cluster.until('the event', async () =>
      (await cluster.list(EVENT)).find(({ reason }) => reason === 'InvalidDevices'),
    );
    expect(event.message).toContain(`annotation ${POOLS} of pod web must be a list of pools`);
    expect(await slices()).toHaveLength(1);
    await cluster.client.delete(POD, { name: 'web', namespace: 'default' });
    await slicesThat('no slice', ({ length }) => length === 0);
  });
});

it('starts a pod only after its claim is allocated and reserved for it', async () => {
  boot();
  await untilReady();
  const metadata = { name: 'mine', namespace: 'default' };
  await cluster.client.create(RESOURCE_CLAIM, {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata,
    spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu' } }] } },
  });
  const { uid = '' } = (await runPod({ resourceClaims: [{ name: 'gpu', resourceClaimName: 'mine' }] })).metadata;
  await cluster.parts.clock.sleep(10_000);
  expect((await pod())?.status?.phase).toBe('Pending');
  const allocation = { devices: { results: [{ request: 'gpu', driver: 'd', pool: 'p', device: 'x' }] } };
  const status = { allocation, reservedFor: [{ resource: 'pods', name: 'web', uid }] };
  await cluster.client.patch(RESOURCE_CLAIM, metadata, { status }, { subresource: 'status' });
  await untilPhase('Running');
});

describe('a resize of a running pod', () => {
  const sized = (cpu: string, name = 'app') => ({
    containers: [{ name, image: 'x', resources: { requests: { cpu } } }],
  });
  const path = (name: string) => `${cluster.server.url}/api/v1/namespaces/default/pods/${name}/resize`;
  const resize = async (cpu: string, name = 'web'): Promise<void> => {
    const answer = await fetch(path(name), {
      method: 'PATCH',
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
      body: JSON.stringify({ spec: sized(cpu) }),
    });
    expect(answer.status).toBe(200);
  };
  const statusOf = ({ status }: Pod) => {
    const { allocatedResources, resources } = status?.containerStatuses?.[0] ?? {};
    const conditions = (status?.conditions ?? []).filter(({ type }) => type.startsWith('PodResize'));
    return {
      allocated: allocatedResources?.cpu,
      inEffect: resources?.requests?.cpu,
      conditions: conditions.map(({ type, reason = '' }) => [type, reason].join(' ').trim()),
    };
  };
  const untilStatus = (what: string, wanted: ReturnType<typeof statusOf>): Promise<unknown> =>
    cluster.until(`the pod to have ${what}`, async () => {
      const found = await pod();
      return found !== undefined && JSON.stringify(statusOf(found)) === JSON.stringify(wanted);
    });

  beforeEach(async () => {
    boot({ hardware: hardware({ vcpus: 4, memoryMib: 16_384 }) });
    await untilReady();
    await runPod(sized('1'));
    await untilPhase('Running');
    await untilStatus('its resources', { allocated: '1', inEffect: '1', conditions: [] });
  });

  it('is allocated, and then takes effect', async () => {
    await resize('2');
    await untilStatus('an effective resize', { allocated: '2', inEffect: '2', conditions: [] });
  });

  it('is in progress while the annotation of the pod holds it', async () => {
    const held = (value: string | null) =>
      cluster.client.patch(
        POD,
        { name: 'web', namespace: 'default' },
        {
          metadata: { annotations: { 'local.karpenter-ts.sh/resize': value } },
        },
      );
    await held('false');
    await resize('500m');
    await untilStatus('a resize in progress', {
      allocated: '500m',
      inEffect: '1',
      conditions: ['PodResizeInProgress'],
    });
    await held(null);
    await untilStatus('an effective resize', { allocated: '500m', inEffect: '500m', conditions: [] });
  });

  it('is infeasible if the node is too small, until the pod requests less', async () => {
    await resize('100');
    await untilStatus('an infeasible resize', {
      allocated: '1',
      inEffect: '1',
      conditions: ['PodResizePending Infeasible'],
    });
    expect(getCondition((await pod()) as Pod, 'PodResizePending')?.message).toMatch(
      /^Node didn't have enough capacity: cpu, requested: 100000, capacity: 3\d{3}$/,
    );
    await resize('1');
    await untilStatus('no resize', { allocated: '1', inEffect: '1', conditions: [] });
  });

  it('is deferred until another pod leaves the node', async () => {
    const other = {
      ...(await pod()),
      metadata: { name: 'other', namespace: 'default' },
      status: undefined,
    } as unknown as Pod;
    const created = await cluster.client.create(POD, { ...other, spec: { ...other.spec, nodeName: NAME } });
    await cluster.until('the other pod to run', async () => {
      const found = await cluster.client.find(POD, created.metadata);
      return found?.status?.phase === 'Running';
    });
    await resize('3');
    await untilStatus('a deferred resize', {
      allocated: '1',
      inEffect: '1',
      conditions: ['PodResizePending Deferred'],
    });
    await cluster.client.delete(POD, created.metadata, { gracePeriodSeconds: 0 });
    await untilStatus('an effective resize', { allocated: '3', inEffect: '3', conditions: [] });
  });
});
