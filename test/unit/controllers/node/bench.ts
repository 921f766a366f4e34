/**
 * Node controllers with stores that act like an API server, and configurable responses of the cloud and the Eviction
 * API.
 */
import {
  type Condition,
  EC2_NODE_CLASS,
  EC2_NODECLASS_LABEL,
  type Kind,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  POD,
  type Pod,
  TERMINATION_FINALIZER,
  TERMINATION_TIMESTAMP_ANNOTATION,
} from '#api/objects';
import { NODE_CLASS_KIND } from '#aws/node-classes';
import { parseAwsSettings } from '#aws/settings';
import { type CloudProvider, NodeClaimNotFound } from '#cloud';
import { ApiError, type Informers, type KubeClient, type Ref } from '#kube/client';
import { type Controller, type EventNote, runControllers } from '#kube/reconcilers';
import type { DeleteOptions, PatchOptions, WatchAge } from '#kube/testing';
import { createMetrics } from '#observe/setup';
import { ClusterState } from '#state';
import type { Deps } from '../../../../src/controllers/deps.ts';
import { nodeControllers } from '../../../../src/controllers/index.ts';
import { MemoryKube } from '../../../support/memory-kube.ts';
import { recordingLog } from '../../kube/fakes.ts';
import { settableClock } from '../../virtualclock.ts';

/** `build` returns the controllers to run. The default is the node controllers. */
export function bench(argv: readonly string[] = [], build: (deps: Deps) => readonly Controller[] = nodeControllers) {
  const clock = settableClock();
  const kube = new MemoryKube(clock, 0);
  const informers: Informers = { ...kube.informers(), watches: () => world.watches };
  const { log, lines } = recordingLog();
  const metrics = createMetrics();
  const events: EventNote[] = [];
  const calls: string[] = [];
  const writes: string[] = [];
  const lists: string[] = [];
  const refuseAs = (operation: string): void => {
    const error = world.failure(operation);
    if (error) throw error;
  };
  const time = (offsetMs = 0): string => new Date(clock.now() + offsetMs).toISOString();

  const patch = <T extends KubeObject>(kind: Kind<T>, ref: Ref, change: unknown, options?: PatchOptions): T => {
    const resource = options?.type === 'strategic' ? `${kind.kind} conditions` : kind.kind;
    refuseAs(`patch ${resource}`);
    writes.push(resource);
    return kube.patch(kind, ref, change, options?.subresource, options?.type);
  };
  const remove = <T extends KubeObject>(
    kind: Kind<T>,
    ref: Ref,
    { uid, gracePeriodSeconds }: DeleteOptions = {},
  ): void => {
    refuseAs(`delete ${kind.kind}`);
    const unseen = world.unseen.get(ref.name);
    const found = kind.kind === 'Pod' && unseen !== undefined ? (unseen as unknown as T) : kube.get(kind, ref);
    if (uid !== found.metadata.uid) throw new ApiError(409, 'Conflict', 'the UID does not match');
    calls.push(`delete ${kind.kind} ${ref.name}${gracePeriodSeconds === undefined ? '' : ` ${gracePeriodSeconds}s`}`);
    kube.put(kind, {
      ...found,
      metadata: { ...found.metadata, deletionTimestamp: time((gracePeriodSeconds ?? 0) * 1_000) },
    });
  };

  const world = {
    clock,
    lines,
    events,
    calls,
    metrics,
    time,
    put: <T extends KubeObject>(kind: Kind<T>, object: T): T => kube.put(kind, object),
    remove: <T extends KubeObject>(kind: Kind<T>, { metadata }: T): void => kube.remove(kind, metadata),
    /** Number of patches to objects of a kind since the start. */
    writesTo: (kind: string): number => writes.filter((each) => each === kind).length,
    /** Returns the error of the Eviction API for a pod, or undefined if the eviction succeeds. */
    refuse: (_: Pod): ApiError | undefined => undefined,
    /**
     * Returns the error of an operation such as `patch Node`, `delete Pod` or `terminate`, or undefined if it succeeds.
     */
    failure: (_: string): Error | undefined => undefined,
    /** State of the instance, and the number of terminate calls until it is gone. */
    instance: { exists: true, stubborn: 0 },
    /** Objects whose state in the API server differs from the cache, by name. */
    unseen: new Map<string, Pod>(),
    unseenNode: undefined as Node | undefined,
    /** Ages of the watches. */
    watches: [] as readonly WatchAge[],
    /** Number of lists of pods since the start. */
    lists: () => lists.length,
    pods: () => kube.all(POD),
    node: (name: string) => kube.find(NODE, { name }),
    claim: (name: string) => kube.find(NODE_CLAIM, { name }),
    /** Removes a pod as its kubelet does. */
    gone: (name: string) => kube.remove(POD, { namespace: 'default', name }),
    evictions: () => calls.filter((call) => call.startsWith('evict')).map((call) => call.slice('evict '.length)),
    reasons: () => [...new Set(events.map(({ reason }) => reason))],
    condition: (name: string, type: string) => {
      const found = kube.find(NODE_CLAIM, { name })?.status?.conditions?.find((condition) => condition.type === type);
      return found && `${found.status}/${found.reason}`;
    },
  };

  const gone = (): never => {
    throw new NodeClaimNotFound('the instance is gone');
  };
  const cloud = {
    name: 'fake',
    nodeClassKinds: [NODE_CLASS_KIND],
    repairPolicies: [{ conditionType: 'Ready', conditionStatus: 'False', tolerationMs: 1_800_000 }],
    get: async (id: string) => {
      calls.push(`get ${id}`);
      refuseAs('get');
      if (!world.instance.exists) gone();
    },
    delete: async ({ metadata }: NodeClaim) => {
      calls.push(`terminate ${metadata.name}`);
      refuseAs('terminate');
      if (world.instance.stubborn <= 0) gone();
      world.instance.stubborn -= 1;
    },
    reboot: async ({ metadata }: NodeClaim) => {
      calls.push(`reboot ${metadata.name}`);
      refuseAs('reboot');
    },
  } as unknown as CloudProvider;
  const client = {
    find: async (kind: Kind<KubeObject>, ref: Ref) =>
      (kind.kind === 'Node' ? world.unseenNode : world.unseen.get(ref.name)) ?? kube.find(kind, ref),
    list: async (kind: Kind<KubeObject>) => {
      lists.push(kind.kind);
      refuseAs(`list ${kind.kind}`);
      return { metadata: {}, items: [...kube.all(kind), ...world.unseen.values()] };
    },
    listAll: async (kind: Kind<KubeObject>) => {
      refuseAs(`list ${kind.kind}`);
      const unseen = kind.kind === 'Node' && world.unseenNode !== undefined ? [world.unseenNode] : [];
      return [...kube.all(kind), ...unseen];
    },
    patch: async (kind: Kind<KubeObject>, ref: Ref, change: unknown, options?: PatchOptions) =>
      patch(kind, ref, change, options),
    delete: async (kind: Kind<KubeObject>, ref: Ref, options?: DeleteOptions) => remove(kind, ref, options),
    evict: async (pod: Pod, options?: DeleteOptions) => {
      calls.push(`evict ${pod.metadata.name}`);
      const present = world.unseen.get(pod.metadata.name) ?? kube.find(POD, pod.metadata);
      const refusal =
        options?.uid === present?.metadata.uid ? world.refuse(pod) : new ApiError(409, 'Conflict', 'another UID');
      if (refusal) throw refusal;
      calls.pop();
      calls.push(`evicted ${pod.metadata.name}`);
      const graceMs = (pod.spec.terminationGracePeriodSeconds ?? 30) * 1_000;
      const leavingPod = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: time(graceMs) } };
      if (world.unseen.has(pod.metadata.name)) world.unseen.set(pod.metadata.name, leavingPod);
      else kube.put(POD, leavingPod);
    },
  } as unknown as KubeClient;

  const deps: Deps = {
    client,
    informers,
    cluster: new ClusterState({ informers, clock, manages: ({ group }) => group === EC2_NODE_CLASS.group }),
    cloud,
    events: { publish: (...notes) => events.push(...notes) },
    clock,
    log,
    metrics,
    settings: parseAwsSettings(['--cluster-name=test', ...argv], {}),
  };
  const stop = new AbortController();
  runControllers({ controllers: build(deps), informers, clock, log, metrics, signal: stop.signal });
  return { ...world, world, cluster: deps.cluster };
}

export const PROVIDER_ID = 'aws:///zone-a/i-1';

export const claimOf = (name: string, more: Partial<NodeClaim['metadata']> = {}): NodeClaim =>
  ({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name,
      uid: `uid-${name}`,
      generation: 1,
      labels: { [NODEPOOL_LABEL]: 'default' },
      finalizers: [TERMINATION_FINALIZER],
      creationTimestamp: '2025-12-31T00:00:00Z',
      ...more,
    },
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      requirements: [],
      expireAfter: '720h',
    },
    status: { providerID: PROVIDER_ID, nodeName: 'node' },
  }) as NodeClaim;

export const nodeOf = (name: string, more: Partial<Node['metadata']> = {}, ready: 'True' | 'False' = 'True'): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    uid: `uid-${name}`,
    labels: { [NODEPOOL_LABEL]: 'default', [EC2_NODECLASS_LABEL]: 'default' },
    finalizers: [TERMINATION_FINALIZER],
    creationTimestamp: '2025-12-31T00:00:00Z',
    ...more,
  },
  spec: { providerID: PROVIDER_ID },
  status: { conditions: [{ type: 'Ready', status: ready, lastTransitionTime: '2025-12-31T23:00:00Z' }] },
});

export const podOf = (name: string, spec: Partial<Pod['spec']> = {}, metadata: Partial<Pod['metadata']> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid: `uid-${name}`, ...metadata },
  spec: { nodeName: 'node', containers: [], terminationGracePeriodSeconds: 30, ...spec },
  status: { phase: 'Running' },
});

export const daemonOf = (name: string, spec: Partial<Pod['spec']> = {}): Pod =>
  podOf(name, spec, { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' }] });

export const condition = (type: string, more: Partial<Condition> = {}): Condition => ({
  type,
  status: 'True',
  reason: type,
  message: '',
  observedGeneration: 1,
  lastTransitionTime: '2025-12-31T00:00:00Z',
  ...more,
});
/** Claim of a running node. */
export const settledClaim = (name: string, status: Partial<NonNullable<NodeClaim['status']>> = {}): NodeClaim => {
  const claim = claimOf(name);
  const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => condition(type));
  return { ...claim, status: { ...claim.status, conditions, ...status } };
};

export type Bench = ReturnType<typeof bench>;

/** Texts of the errors in the log. */
export const errors = (b: Bench): readonly string[] =>
  b.lines.filter(({ level }) => level === 'error').map(({ fields }) => String(fields.error));
/** Returns the number of calls of an operation. */
export const count = (b: Bench, wanted: string): number => b.calls.filter((call) => call === wanted).length;

/** Makes an operation fail a number of times. */
export function failing(b: Bench, operation: string, error: Error, times = 1): void {
  let left = times;
  b.world.failure = (at) => {
    if (at !== operation || left === 0) return undefined;
    left -= 1;
    return error;
  };
}

/** Deletes the node and its claim, with the termination deadline of the claim. */
export function leaving(b: Bench, deadline?: string, ready: 'True' | 'False' = 'True'): void {
  const annotations = deadline === undefined ? {} : { [TERMINATION_TIMESTAMP_ANNOTATION]: deadline };
  b.put(NODE_CLAIM, claimOf('claim', { deletionTimestamp: b.time(), annotations }));
  b.put(NODE, nodeOf('node', { deletionTimestamp: b.time() }, ready));
}
