import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  DAEMON_SET,
  DEVICE_CLASS,
  INITIALIZED_LABEL,
  INSTANCE_TYPE_LABEL,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  POD,
  type Pod,
  REGISTERED_LABEL,
  RESOURCE_CLAIM,
  RESOURCE_SLICE,
  TERMINATION_FINALIZER,
  UNREGISTERED_TAINT,
  VOLUME_ATTACHMENT,
} from '#api/objects';
import { placementRequests } from '#engine/testing';
import { takeSnapshot } from '#planner';
import { ClusterState } from '../../../src/state/cluster.ts';
import { handFed } from '../kube/fakes.ts';
import { type SettableClock, settableClock } from '../virtualclock.ts';

const ID = 'aws:///zone-a/i-1';
const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
const startup = { key: 'example.com/agent', effect: 'NoSchedule' as const };

let clock: SettableClock;
let stores: ReturnType<typeof handFed>;
let cluster: ClusterState;
let version = 0;

beforeEach(() => {
  clock = settableClock();
  stores = handFed();
  cluster = new ClusterState({
    informers: stores.informers,
    clock,
    manages: ({ group }) => group === nodeClassRef.group,
  });
  for (const kind of [NODE, NODE_CLAIM, NODE_POOL, POD, DAEMON_SET]) stores.store<KubeObject>(kind).replace([]);
});

const versioned = <T extends KubeObject>(object: T): T => {
  version += 1;
  return {
    ...object,
    metadata: { uid: `uid-${object.metadata.name}`, ...object.metadata, resourceVersion: String(version) },
  };
};

function putClaim(more: Partial<NodeClaim> = {}): NodeClaim {
  const claim = versioned<NodeClaim>({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name: 'claim-1', labels: { [NODEPOOL_LABEL]: 'default' } },
    spec: {
      nodeClassRef,
      requirements: [],
      taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }],
      startupTaints: [startup],
    },
    status: { providerID: ID, capacity: { cpu: '4', memory: '8Gi' }, allocatable: { cpu: '3900m', memory: '7Gi' } },
    ...more,
  });
  stores.store(NODE_CLAIM).put(claim);
  return claim;
}

function putNode(labels: Readonly<Record<string, string>> = {}, more: Partial<Node> = {}): Node {
  const node = versioned<Node>({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-1', labels: { [NODEPOOL_LABEL]: 'default', [INSTANCE_TYPE_LABEL]: 'm.xlarge', ...labels } },
    spec: {
      providerID: ID,
      taints: [
        { key: 'team', value: 'a', effect: 'NoSchedule' },
        startup,
        { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
        UNREGISTERED_TAINT,
      ],
    },
    status: { capacity: { cpu: '4' }, allocatable: { cpu: '3800m' } },
    ...more,
  });
  stores.store(NODE).put(node);
  return node;
}

function putPod(name: string, nodeName?: string, more: Partial<Pod['metadata']> = {}): Pod {
  const pod = versioned<Pod>({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...more },
    spec: { containers: [{ name: 'main' }], ...(nodeName === undefined ? {} : { nodeName }) },
  });
  stores.store(POD).put(pod);
  return pod;
}

describe('a pod of a state node', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true };
  const template = (cpu: string) => ({ containers: [{ name: 'main', resources: { requests: { cpu } } }] });
  const joined = (): void => {
    putClaim();
    putNode({ [REGISTERED_LABEL]: 'true' });
  };
  const successorsOf = () => cluster.nodes().flatMap(({ pods }) => pods.map((pod) => placementRequests(pod).cpu));

  it('has the requests of its template after a resize, once the template is known', () => {
    joined();
    putPod('a', 'node-1', { ownerReferences: [owner], generation: 2 });
    putPod('b', 'node-1', { ownerReferences: [owner], generation: 1 });
    expect(successorsOf()).toEqual([undefined, undefined]);
    const before = cluster.revision;
    cluster.templates.put('web', template('2'));
    expect(successorsOf()).toEqual([2000, undefined]);
    expect(cluster.revision).toBeGreaterThan(before);
    const known = cluster.revision;
    cluster.templates.put('web', template('2'));
    expect(cluster.revision).toBe(known);
  });

  it('needs a template only while it is a bound, resized pod of a known kind of controller', () => {
    joined();
    const needed: string[] = [];
    cluster.templates.bind((uid) => needed.push(uid));
    putPod('pending', undefined, { ownerReferences: [owner], generation: 2 });
    putPod('own', 'node-1', { generation: 2 });
    putPod('other', 'node-1', { ownerReferences: [{ ...owner, apiVersion: 'x/v1', kind: 'Clone' }], generation: 2 });
    putPod('created', 'node-1', { ownerReferences: [owner], generation: 1 });
    putPod('sized', 'node-1', {
      ownerReferences: [owner],
      generation: 2,
      annotations: { vpaObservedContainers: 'main' },
    });
    expect(needed).toEqual([]);
    const a = putPod('a', 'node-1', { ownerReferences: [owner], generation: 2 });
    const b = putPod('b', 'node-1', { ownerReferences: [owner], generation: 2 });
    expect(needed).toEqual(['web']);
    expect(cluster.templates.owner('web')).toMatchObject({ namespace: 'default', name: 'web' });
    stores.store(POD).remove(a);
    expect(cluster.templates.owner('web')).toBeDefined();
    stores.store(POD).remove(b);
    expect(cluster.templates.owner('web')).toBeUndefined();
  });
});

describe('a state node', () => {
  it('has the volumes that are attached to its Node', () => {
    putNode();
    const attachment = versioned({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: 'csi-1' },
      spec: { nodeName: 'node-1', attacher: 'ebs.csi.aws.com', source: { persistentVolumeName: 'pv-1' } },
    });
    expect(cluster.nodes()[0]).not.toHaveProperty('attachedVolumes');
    stores.store(VOLUME_ATTACHMENT).put(attachment);
    expect(cluster.nodes()[0]?.attachedVolumes).toEqual([{ driver: 'ebs.csi.aws.com', volume: 'pv-1' }]);
    stores.store(VOLUME_ATTACHMENT).remove(attachment);
    expect(cluster.nodes()[0]).not.toHaveProperty('attachedVolumes');
  });

  it('exists from the launch of its NodeClaim, with the capacity and labels that the NodeClaim promises', () => {
    putClaim();
    expect(cluster.nodes()).toMatchObject([
      {
        name: 'claim-1',
        providerId: ID,
        registered: false,
        initialized: false,
        labels: { [NODEPOOL_LABEL]: 'default' },
        taints: [{ key: 'team' }],
        capacity: { cpu: 4000, nodes: 1 },
        allocatable: { cpu: 3900 },
      },
    ]);
  });

  it('combines the Node with the promises of its NodeClaim until it is initialized', () => {
    putClaim();
    putNode({ [REGISTERED_LABEL]: 'true' });
    const [node] = cluster.nodes();
    expect(node).toMatchObject({ name: 'node-1', registered: true, initialized: false });
    expect(node?.allocatable).toEqual({ cpu: 3800, memory: 7 * 1024 ** 3 });
    expect(node?.taints.map(({ key }) => key)).toEqual(['team']);
  });

  it('has exactly its own taints and capacity after it is initialized', () => {
    putClaim();
    putNode({ [REGISTERED_LABEL]: 'true', [INITIALIZED_LABEL]: 'true' });
    const [node] = cluster.nodes();
    expect(node).toMatchObject({ registered: true, initialized: true, allocatable: { cpu: 3800 } });
    expect(node?.allocatable).not.toHaveProperty('memory');
    expect(node?.taints).toHaveLength(4);
  });

  it('lists the pods that are bound to it', () => {
    putClaim();
    putNode();
    expect(cluster.nodes()[0]?.pods).toEqual([]);
    const pod = putPod('a', 'node-1');
    putPod('b');
    expect(cluster.nodes()[0]?.pods.map(({ metadata }) => metadata.name)).toEqual(['a']);
    stores.store(POD).remove(pod);
    expect(cluster.nodeByProviderId(ID)?.pods).toEqual([]);
  });

  it('exists until both its Node and its NodeClaim are deleted', () => {
    const claim = putClaim();
    const node = putNode();
    stores.store(NODE).remove(node);
    expect(cluster.nodes()).toMatchObject([{ name: 'claim-1' }]);
    stores.store(NODE_CLAIM).remove(claim);
    expect(cluster.nodes()).toEqual([]);
  });

  it.each([
    { node: { providerID: '', labels: {} }, known: true },
    { node: { providerID: '', labels: { [NODEPOOL_LABEL]: 'default' } }, known: false },
    { node: { providerID: 'x', labels: { [NODEPOOL_LABEL]: 'default' } }, known: false },
    { node: { providerID: 'x', labels: { [NODEPOOL_LABEL]: 'default', [INITIALIZED_LABEL]: 'true' } }, known: true },
  ])('exists for an unmanaged Node with $node: $known', ({ node: { providerID, labels }, known }) => {
    const node = versioned<Node>({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'other', labels: labels as Readonly<Record<string, string>> },
      spec: { providerID },
    });
    stores.store(NODE).put(node);
    expect(cluster.nodes()).toHaveLength(known ? 1 : 0);
    expect(cluster.nodeByName('other') !== undefined).toBe(known);
  });

  it('has the Node that its NodeClaim names if another Node has the same provider ID', () => {
    const labels = { [NODEPOOL_LABEL]: 'default', [INSTANCE_TYPE_LABEL]: 'm.xlarge', [REGISTERED_LABEL]: 'true' };
    putNode({}, { metadata: { name: 'twin', labels } });
    const claim = putClaim();
    putClaim({ status: { ...claim.status, nodeName: 'node-1' } });
    putNode({ [REGISTERED_LABEL]: 'true' });
    putPod('kept', 'node-1');
    expect(cluster.nodes()).toMatchObject([{ name: 'node-1', pods: [{ metadata: { name: 'kept' } }] }]);
  });

  it('ignores NodeClaims on NodeClasses of other providers', () => {
    putClaim({ spec: { nodeClassRef: { ...nodeClassRef, group: 'other.example.com' }, requirements: [] } });
    expect(cluster.nodes()).toEqual([]);
    expect(cluster.synced()).toBe(true);
  });

  it('is marked for deletion by this process, by the deletion of its NodeClaim, or by the end of its instance', () => {
    const isMarked = (): boolean | undefined => cluster.nodes()[0]?.markedForDeletion;
    const claim = putClaim();
    putNode();
    expect(isMarked()).toBe(false);
    cluster.markForDeletion(ID);
    expect(isMarked()).toBe(true);
    cluster.unmarkForDeletion(ID);
    expect(isMarked()).toBe(false);
    putClaim({ status: { ...claim.status, conditions: [{ type: 'InstanceTerminating', status: 'True' }] } });
    expect(isMarked()).toBe(true);
    putClaim();
    putNode(
      {},
      {
        metadata: { name: 'node-1', labels: { [INSTANCE_TYPE_LABEL]: 'm' }, deletionTimestamp: '2026-01-01T00:00:00Z' },
      },
    );
    expect(isMarked()).toBe(false);
    putClaim({ metadata: { ...claim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    expect(isMarked()).toBe(true);
  });

  it('records until when it is nominated for pods', () => {
    putClaim();
    cluster.nominate(ID, 20_000);
    putNode();
    expect(cluster.nodes()[0]?.nominatedUntilMs).toBe(clock.now() + 20_000);
  });

  it.each([-3_600_000, 3_600_000])('keeps the remaining nomination time if the clock is set by %d ms', async (ms) => {
    putClaim();
    cluster.nominate(ID, 20_000);
    expect(cluster.nodes()).toHaveLength(1);
    await clock.advance(5_000);
    clock.put(ms);
    expect(cluster.nodes()[0]?.nominatedUntilMs).toBe(clock.now() + 15_000);
    expect(cluster.nodeByProviderId(ID)?.nominatedUntilMs).toBe(clock.now() + 15_000);
  });
});

describe('synced', () => {
  it('is false until every store is complete', () => {
    const fresh = handFed();
    const other = new ClusterState({ informers: fresh.informers, clock, manages: () => true });
    expect(other.synced()).toBe(false);
    for (const kind of [NODE, NODE_CLAIM, NODE_POOL, POD, DAEMON_SET]) fresh.store<KubeObject>(kind).replace([]);
    expect(other.synced()).toBe(true);
  });

  it('is false while a NodeClaim waits for its instance', () => {
    putClaim({ status: {} });
    expect(cluster.synced()).toBe(false);
    putClaim();
    expect(cluster.synced()).toBe(true);
  });

  it.each([
    { when: 'exists', ending: false, finalizers: ['example.com/other'], synced: false },
    {
      when: 'is being deleted and may still be launching',
      ending: true,
      finalizers: [TERMINATION_FINALIZER],
      synced: false,
    },
    {
      when: 'is being deleted and waits for a finalizer of another component',
      ending: true,
      finalizers: ['example.com/other'],
      synced: true,
    },
  ])('is $synced while a NodeClaim without an instance $when', ({ ending, finalizers, synced }) => {
    const deletion = ending ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
    putClaim({ metadata: { name: 'claim-1', finalizers, ...deletion }, status: {} });
    expect(cluster.synced()).toBe(synced);
  });

  it('counts a NodeClaim from its creation, before the informers show it', async () => {
    const claim = versioned<NodeClaim>({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: 'claim-2' },
      spec: { nodeClassRef, requirements: [] },
    });
    cluster.track(claim);
    expect(cluster.synced()).toBe(false);
    expect(cluster.claim('claim-2')).toBe(claim);
    await clock.advance(15_000);
    expect(cluster.trackedLongerThan(15_000)).toEqual(['claim-2']);
    cluster.untrack('claim-2');
    expect(cluster.synced()).toBe(true);
  });

  it('does not wait for a tracked NodeClaim that has been deleted', () => {
    const claim = putClaim({ status: {} });
    stores.store(NODE_CLAIM).remove(claim);
    expect(cluster.synced()).toBe(true);
    const late = putClaim();
    cluster.track(late);
    expect(cluster.trackedLongerThan(0)).toEqual([]);
  });
});

describe('consolidationState', () => {
  const changedBy = (change: () => void): boolean => {
    const before = cluster.consolidationState();
    change();
    return cluster.consolidationState() !== before;
  };

  it('changes with nodes, marks, bindings and deletions', () => {
    expect(changedBy(() => putClaim())).toBe(true);
    expect(changedBy(() => putNode())).toBe(false);
    expect(changedBy(() => putNode({ [REGISTERED_LABEL]: 'true', [INITIALIZED_LABEL]: 'true' }))).toBe(true);
    expect(changedBy(() => putPod('a'))).toBe(false);
    expect(changedBy(() => putPod('a', 'node-1'))).toBe(true);
    expect(changedBy(() => putPod('a', 'node-1', { labels: { app: 'x' } }))).toBe(false);
    expect(changedBy(() => cluster.markForDeletion(ID))).toBe(true);
    expect(changedBy(() => stores.store(POD).remove(putPod('a', 'node-1')))).toBe(true);
    expect(changedBy(() => cluster.nominate(ID, 1))).toBe(false);
  });

  it('changes with the generation and readiness of NodePools, but not with the rest of their status', () => {
    const put = (generation: number, ready: 'True' | 'False' | 'Unknown' = 'True', nodes = 1): void =>
      stores.store(NODE_POOL).put(
        versioned({
          apiVersion: 'karpenter.sh/v1',
          kind: 'NodePool',
          metadata: { name: 'default', generation },
          spec: { template: { spec: { nodeClassRef, requirements: [] } } },
          status: { nodes, conditions: [{ type: 'Ready', status: ready }] },
        }),
      );
    expect(changedBy(() => put(1))).toBe(true);
    expect(changedBy(() => put(1, 'True', 2))).toBe(false);
    expect(changedBy(() => put(2))).toBe(true);
    expect(changedBy(() => put(2, 'Unknown'))).toBe(true);
    expect(changedBy(() => put(2, 'False'))).toBe(false);
    expect(changedBy(() => put(2, 'True'))).toBe(true);
  });

  it.each([
    0, -3_600_000,
  ])('changes after five minutes without another cause, even if the clock is set by %d ms', async (ms) => {
    const before = cluster.consolidationState();
    clock.put(ms);
    await clock.advance(299_000);
    expect(cluster.consolidationState()).toBe(before);
    await clock.advance(1000);
    expect(cluster.consolidationState()).not.toBe(before);
  });
});

describe('poolTotals', () => {
  it('sums the nodes of a pool, without nodes marked for deletion', () => {
    putClaim();
    putNode({ [REGISTERED_LABEL]: 'true', [INITIALIZED_LABEL]: 'true' });
    expect(cluster.poolTotals('default')).toEqual({ cpu: 4000, nodes: 1 });
    expect(cluster.poolTotals('other')).toEqual({});
    cluster.markForDeletion(ID);
    expect(cluster.poolTotals('default')).toEqual({});
  });

  it('is computed again only if the capacity of nodes changed', () => {
    const ready = { [REGISTERED_LABEL]: 'true', [INITIALIZED_LABEL]: 'true' };
    putClaim();
    putNode(ready);
    const totals = cluster.poolTotals('default');
    putPod('web', 'node-1');
    expect(cluster.nodes()[0]?.pods).toHaveLength(1);
    expect(cluster.poolTotals('default')).toBe(totals);
    putNode(ready, { status: { capacity: { cpu: '8' } } });
    expect(cluster.poolTotals('default')).toMatchObject({ cpu: 8000, nodes: 1 });
    cluster.poolTotals('another');
    putNode({ ...ready, [NODEPOOL_LABEL]: 'another' });
    expect([cluster.poolTotals('default'), cluster.poolTotals('another').cpu]).toEqual([{}, 4000]);
  });
});

describe('takeSnapshot', () => {
  const daemonSet = (affinity?: Pod['spec']['affinity']) =>
    stores.store(DAEMON_SET).put(
      versioned({
        apiVersion: 'apps/v1',
        kind: 'DaemonSet',
        metadata: { name: 'agent', namespace: 'kube-system' },
        spec: {
          template: {
            metadata: { labels: { app: 'agent' } },
            spec: {
              containers: [{ name: 'main', resources: { limits: { cpu: '100m' } } }],
              ...(affinity === undefined ? {} : { affinity }),
            },
          },
        },
      }),
    );
  it('contains dynamic resources unless they are ignored, and names the kinds that cannot be read', () => {
    const parts = { nowMs: clock.now(), pools: [], nodes: [], overdue: [], pendingPods: [] };
    expect(takeSnapshot(cluster, parts)).not.toHaveProperty('resourceClaims');
    const open = new ClusterState({ informers: stores.informers, clock, manages: () => true, devices: true });
    const named = (kind: string) =>
      versioned({ apiVersion: 'resource.k8s.io/v1', kind, metadata: { name: 'd' }, spec: {} });
    stores.store(DEVICE_CLASS).put(named('DeviceClass'));
    const before = open.revision;
    stores.store(RESOURCE_CLAIM).put(named('ResourceClaim'));
    expect(open.revision).toBeGreaterThan(before);
    expect(takeSnapshot(open, parts)).toMatchObject({
      resourceClaims: [{ metadata: { name: 'd' } }],
      resourceSlices: [],
      deviceClasses: [{ metadata: { name: 'd' } }],
      deviceTaintRules: [],
      resourceClaimTemplates: [],
      // no list has completed
      missingDeviceKinds: ['resourceclaims', 'resourceslices', 'deviceclasses'],
    });
    const reservedFor = ['live', 'ended', 'gone', 'replaced'].map((name) => ({
      resource: 'pods',
      name,
      uid: `uid-${name}`,
    }));
    const pods = [
      ...['live', 'ended'].map((name) => ({
        name,
        phase: name === 'live' ? 'Running' : 'Succeeded',
        uid: `uid-${name}`,
      })),
      { name: 'replaced', phase: 'Running', uid: 'uid-other' },
    ];
    for (const { name, phase, uid } of pods)
      stores.store(POD).put(
        versioned<Pod>({
          ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, uid, namespace: 'default' } },
          ...{ spec: { containers: [] }, status: { phase: phase as 'Running' } },
        }),
      );
    const reserved = {
      ...named('ResourceClaim'),
      metadata: { name: 'e', namespace: 'default' },
      status: { reservedFor },
    };
    stores.store(RESOURCE_CLAIM).put(versioned(reserved));
    expect(takeSnapshot(open, parts).vanishedConsumers).toEqual(['uid-ended', 'uid-gone', 'uid-replaced']);
    for (const kind of [RESOURCE_CLAIM, RESOURCE_SLICE, DEVICE_CLASS]) stores.store<KubeObject>(kind).replace([]);
    expect(takeSnapshot(open, parts)).not.toHaveProperty('missingDeviceKinds');
  });

  const daemonPods = (): readonly Pod[] =>
    takeSnapshot(cluster, { nowMs: clock.now(), pools: [], nodes: cluster.nodes(), overdue: [], pendingPods: [] })
      .daemonPods;
  const pinned = (term: NonNullable<NonNullable<Pod['spec']['affinity']>['nodeAffinity']>): Pod =>
    versioned<Pod>({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'agent-x',
        namespace: 'kube-system',
        creationTimestamp: '2026-01-01T00:00:00Z',
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'uid-agent' }],
      },
      spec: { nodeName: 'node-1', containers: [{ name: 'main' }], affinity: { nodeAffinity: term } },
    });

  it('creates a daemon pod from the template, with limits as requests, if there is no live daemon pod', () => {
    daemonSet();
    const [pod] = daemonPods();
    expect(pod?.spec.containers[0]?.resources?.requests).toEqual({ cpu: '100m' });
    expect(pod?.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'DaemonSet', uid: 'uid-agent' });
  });

  it('uses the newest live pod, without its affinity to its own node', () => {
    daemonSet();
    const pin = {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: ['node-1'] }] }],
    };
    stores.store(POD).put(pinned({ requiredDuringSchedulingIgnoredDuringExecution: pin }));
    const [pod] = daemonPods();
    expect(pod?.metadata.name).toBe('agent-x');
    expect(pod?.spec.nodeName).toBeUndefined();
    expect(pod?.spec.affinity?.nodeAffinity).toEqual({});
  });

  it('returns the identical daemon pod until the pod changes', () => {
    daemonSet();
    const [template] = daemonPods();
    expect(daemonPods()[0]).toBe(template);
    stores.store(POD).put(pinned({}));
    const [live] = daemonPods();
    putPod('other', 'node-1');
    expect(live).not.toBe(template);
    expect(daemonPods()[0]).toBe(live);
    stores.store(POD).put(pinned({}));
    expect(daemonPods()[0]).not.toBe(live);
  });

  it('has the requests of its template, although its newest pod was resized', () => {
    daemonSet();
    const live = pinned({});
    const containers = [{ name: 'main', resources: { requests: { cpu: '4' } } }];
    const status = { containerStatuses: [{ name: 'main', resources: { requests: { cpu: '5' } } }] };
    const resized = {
      ...live,
      metadata: { ...live.metadata, generation: 2 },
      spec: { ...live.spec, containers },
      status,
    };
    stores.store(POD).put(resized);
    expect(daemonPods().map(placementRequests)).toEqual([{ cpu: 100, pods: 1 }]);
  });

  it("replaces the affinity to the pod's node by the node affinity of the template", () => {
    const own = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'gpu', operator: 'Exists' as const }] }] };
    daemonSet({ nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: own } });
    const pin = {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: ['n'] }] }],
    };
    stores.store(POD).put(pinned({ requiredDuringSchedulingIgnoredDuringExecution: pin }));
    expect(daemonPods()[0]?.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution).toEqual(own);
  });
});
