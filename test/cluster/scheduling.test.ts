/** The local scheduler places pods as kube-scheduler does, so that the results of replays hold for real clusters. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type AllocationResult,
  DEVICE_CLASS,
  type Kind,
  type KubeObject,
  NAMESPACE,
  NODE,
  type Node,
  POD,
  type Pod,
  REPLICA_SET,
  REPLICATION_CONTROLLER,
  RESOURCE_CLAIM,
  RESOURCE_SLICE,
  type ResourceClaim,
  SERVICE,
  STATEFUL_SET,
} from '#api/objects';
import type { ObjectClient } from '#local/api-server';
import type { KubeApi } from '../support/kube-api.ts';
import { type ControlPlane, startControlPlane } from './harness/controlplane.ts';
import { Draws, NAMESPACES, nodeFrom, SOFT_TAINT, type Workload, workloadsFrom } from './scheduling/cases.ts';
import { CLASSES, type DevicePod, deviceNodes, devicePodFrom, slicesFrom } from './scheduling/device-cases.ts';
import {
  type Allocations,
  type Choice,
  type LocalScheduler,
  openLocalScheduler,
  RealScheduler,
} from './scheduling/schedulers.ts';

/** Decisions between several nodes that are not ties, over all clusters. */
const DECISIONS = 2_000;
const CLUSTERS = 4;
const LEAST_AGREEMENT = 0.98;
const SHOWN = 5;
/** Beyond this number of nodes, kube-scheduler rates a part of them, and which part depends on its threads. */
const NODES = 40;
/** Pods at which the oldest begin to leave. */
const MOST_PODS = 260;
/** Decisions between two changes of a node. */
const STEADY = 100;
/** The scheduler watches nodes and pods separately. */
const NODE_WATCH_MS = 500;

/** Pods with claims for each set of devices, and sets. */
const DEVICE_PODS = 60;
/** Pods with claims at which one of them ends. */
const MOST_DEVICE_PODS = 4;
const DEVICE_SETS = 4;

const KINDS: readonly Kind[] = [
  ...[DEVICE_CLASS, RESOURCE_SLICE, RESOURCE_CLAIM],
  NODE,
  NAMESPACE,
  SERVICE,
  REPLICA_SET,
  STATEFUL_SET,
  REPLICATION_CONTROLLER,
  POD,
];
const kindOf = ({ kind }: KubeObject): Kind => KINDS.find((one) => one.kind === kind) as Kind;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Decision {
  readonly pod: Pod;
  readonly real: string | undefined;
  readonly local: Choice;
}

const agrees = ({ real, local: { best } }: Decision): boolean =>
  real === undefined ? best.length === 0 : best.includes(real);
const isDecided = ({ local: { best, feasible } }: Decision): boolean => feasible > 1 && best.length === 1;

interface DeviceDecision {
  readonly claims: readonly ResourceClaim[];
  readonly real: { readonly node: string; readonly allocations: Allocations } | undefined;
  readonly local: Choice;
  /** Allocations of the local scheduler on the same node. */
  readonly allocations: Allocations | undefined;
}

/** The same cluster on a real control plane and in the local API server. */
class Pair {
  readonly #real: ObjectClient;
  readonly #scheduler: RealScheduler;
  readonly #local: LocalScheduler;

  constructor(real: ObjectClient, scheduler: RealScheduler) {
    this.#real = real;
    this.#scheduler = scheduler;
    this.#local = openLocalScheduler();
  }

  async inBoth(act: (client: ObjectClient) => Promise<unknown>): Promise<void> {
    await act(this.#real);
    await act(this.#local.client);
  }

  /** Lets both decide, and binds the pod where kube-scheduler put it, so that differences do not add up. */
  async decide(pod: Pod): Promise<Decision> {
    const { client } = this.#local;
    const local = this.#local.choose(await client.create(POD, pod));
    const real = await this.#scheduler.place(pod);
    if (real === undefined) await this.inBoth((each) => each.delete(POD, pod.metadata, { gracePeriodSeconds: 0 }));
    else
      await client.post(POD, pod.metadata, 'binding', {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: pod.metadata,
        target: { apiVersion: 'v1', kind: 'Node', name: real },
      });
    return { pod, real, local };
  }

  /** Lets both decide about a pod with claims, and copies the allocations of kube-scheduler. */
  async decideDevices({ pod, claims }: DevicePod): Promise<DeviceDecision> {
    const { client } = this.#local;
    const created = await client.create(POD, pod);
    const local = this.#local.choose(created);
    const node = await this.#scheduler.place(pod);
    if (node === undefined) return { claims, real: undefined, local, allocations: undefined };
    const allocations = local.fits.includes(node) ? this.#local.allocate(created, node) : undefined;
    const real: Record<string, AllocationResult | undefined> = {};
    for (const { metadata } of claims) {
      const status = (await this.#real.find(RESOURCE_CLAIM, metadata))?.status;
      real[metadata.name] = status?.allocation;
      await client.patch(RESOURCE_CLAIM, metadata, { status }, { subresource: 'status' });
    }
    await client.post(POD, pod.metadata, 'binding', {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: pod.metadata,
      target: { apiVersion: 'v1', kind: 'Node', name: node },
    });
    return { claims, real: { node, allocations: real }, local, allocations };
  }

  /** Deletes a pod with its claims, like the claim controller. */
  async end({ pod, claims }: DevicePod): Promise<void> {
    await this.inBoth(async (client) => {
      await client.delete(POD, pod.metadata, { gracePeriodSeconds: 0 });
      for (const { metadata } of claims) {
        const free = { status: { allocation: null, reservedFor: null } };
        await client.patch<ResourceClaim>(RESOURCE_CLAIM, metadata, free, { subresource: 'status' });
        await client.patch<ResourceClaim>(RESOURCE_CLAIM, metadata, { metadata: { finalizers: null } });
        await client.delete(RESOURCE_CLAIM, metadata);
      }
    });
  }
}

/** Returns the allocations without values that differ from run to run. */
const normal = (allocations: Allocations): unknown =>
  JSON.parse(JSON.stringify(allocations), (key, value: unknown) =>
    ['shareID', 'allocationTimestamp'].includes(key) ? undefined : value,
  );

function hasSameDevices({ real, local, allocations }: DeviceDecision): boolean {
  if (real === undefined || allocations === undefined) return real === undefined && local.feasible === 0;
  return isDeepStrictEqual(normal(real.allocations), normal(allocations));
}

const setTaints = (node: Node, taints: Node['spec']) => (client: ObjectClient) =>
  client.patch(NODE, node.metadata, { spec: taints });

async function fill(
  pair: Pair,
  draws: Draws,
  seed: number,
): Promise<{ nodes: readonly Node[]; workloads: readonly Workload[] }> {
  const nodes = Array.from({ length: NODES }, (_, index) => nodeFrom(draws, index));
  const workloads = workloadsFrom(draws, `app-${seed}`);
  for (const object of [...nodes, ...workloads.flatMap(({ objects }) => objects)])
    await pair.inBoth((client) => client.create(kindOf(object), object));
  // The API server taints new nodes as not ready.
  for (const node of nodes) await pair.inBoth(setTaints(node, { taints: node.spec?.taints ?? [] }));
  await sleep(NODE_WATCH_MS);
  return { nodes, workloads };
}

/** Forbids the events of kube-scheduler, which would be a fourth of all writes. */
async function forbidEvents(client: KubeApi): Promise<void> {
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:kube-scheduler';
  const { rules, ...role } = (await client.raw('GET', path)) as {
    readonly rules: readonly { readonly resources?: readonly string[] }[];
  };
  await client.raw('PUT', path, { ...role, rules: rules.filter(({ resources }) => !resources?.includes('events')) });
}

/** Places pods of random workloads; pods leave at random, and nodes get and lose a soft taint. */
async function live(pair: Pair, seed: number, count: number): Promise<readonly Decision[]> {
  const draws = new Draws(seed);
  const { nodes, workloads } = await fill(pair, draws, seed);
  const running: Pod[] = [];
  const decisions: Decision[] = [];
  while (decisions.filter(isDecided).length < count) {
    if (decisions.length % STEADY === STEADY - 1) {
      const [node, taints] = [draws.one(nodes), draws.isWithin(0.5) ? [SOFT_TAINT] : []];
      await pair.inBoth(setTaints(node, { taints }));
      await sleep(NODE_WATCH_MS);
    }
    const pod = draws.one(workloads).pod(`pod-${seed}-${decisions.length}`);
    const decision = await pair.decide(pod);
    decisions.push(decision);
    if (decision.real !== undefined) running.push(pod);
    const isFull = decision.real === undefined || running.length > MOST_PODS;
    for (let left = isFull ? 1 + draws.below(8) : 0; left > 0 && running.length > 0; left -= 1) {
      const [gone] = running.splice(draws.below(running.length), 1);
      if (gone) await pair.inBoth((client) => client.delete(POD, gone.metadata, { gracePeriodSeconds: 0 }));
    }
  }
  for (const { metadata } of running)
    await pair.inBoth((client) => client.delete(POD, metadata, { gracePeriodSeconds: 0 }));
  for (const { metadata } of nodes) await pair.inBoth((client) => client.delete(NODE, metadata));
  await sleep(NODE_WATCH_MS);
  return decisions;
}

/** Places pods with claims. Pods end if no device is left for the next one. */
async function allocateDevices(pair: Pair, seed: number): Promise<readonly DeviceDecision[]> {
  const draws = new Draws(seed);
  const nodes = deviceNodes();
  const objects = [...nodes, ...CLASSES, ...slicesFrom(draws, nodes)];
  for (const object of objects) await pair.inBoth((client) => client.create(kindOf(object), object));
  for (const node of nodes) await pair.inBoth(setTaints(node, { taints: [] }));
  await sleep(NODE_WATCH_MS);
  const decisions: DeviceDecision[] = [];
  const running: DevicePod[] = [];
  for (let index = 0; index < DEVICE_PODS; index += 1) {
    const one = devicePodFrom(draws, `device-pod-${seed}-${index}`);
    for (const claim of one.claims) await pair.inBoth((client) => client.create(RESOURCE_CLAIM, claim));
    const decision = await pair.decideDevices(one);
    decisions.push(decision);
    if (decision.real === undefined) await pair.end(one);
    else running.push(one);
    if (running.length > MOST_DEVICE_PODS || (running.length > 0 && decision.real === undefined))
      for (const gone of running.splice(draws.below(running.length), 1)) await pair.end(gone);
  }
  for (const one of running) await pair.end(one);
  for (const object of objects) await pair.inBoth((client) => client.delete(kindOf(object), object.metadata));
  await sleep(NODE_WATCH_MS);
  return decisions;
}

describe('the local scheduler beside kube-scheduler', () => {
  let plane: ControlPlane;
  const end = new AbortController();

  beforeAll(async () => {
    plane = await startControlPlane({ controllers: 'scheduler' });
    await forbidEvents(plane.client);
  }, 180_000);
  afterAll(async () => {
    end.abort();
    await plane?.stop();
  }, 60_000);

  it(`chooses the same node in at least ${LEAST_AGREEMENT * 100} % of ${DECISIONS} decisions`, async () => {
    const scheduler = new RealScheduler(plane.client, end.signal);
    const other = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACES[1], labels: { team: 'x' } } };
    await plane.client.create(NAMESPACE, other);
    const decisions: Decision[] = [];
    for (let seed = 1; seed <= CLUSTERS; seed += 1) {
      const pair = new Pair(plane.client, scheduler);
      await pair.inBoth(
        async (client) => (await client.find(NAMESPACE, other.metadata)) ?? client.create(NAMESPACE, other),
      );
      decisions.push(...(await live(pair, seed, DECISIONS / CLUSTERS)));
    }
    const decided = decisions.filter(isDecided);
    const rest = decisions.filter((one) => !isDecided(one));
    expect(decided.length).toBeGreaterThanOrEqual(DECISIONS);
    for (const group of [decided, rest]) {
      const different = group.filter((one) => !agrees(one));
      const isTooMuch = different.length > (1 - LEAST_AGREEMENT) * group.length;
      // a failure shows some of them
      expect(isTooMuch ? different.slice(0, SHOWN) : []).toEqual([]);
    }
  }, 1_800_000);

  it('allocates the same devices for claims, also devices that several nodes reach', async () => {
    const scheduler = new RealScheduler(plane.client, end.signal);
    const decisions: DeviceDecision[] = [];
    for (let seed = 1; seed <= DEVICE_SETS; seed += 1)
      decisions.push(...(await allocateDevices(new Pair(plane.client, scheduler), seed)));
    const different = decisions.filter((one) => !hasSameDevices(one));
    // kube-scheduler may not have observed the end of a claim
    const isTooMuch = different.length > (1 - LEAST_AGREEMENT) * decisions.length;
    expect(isTooMuch ? different.slice(0, SHOWN) : []).toEqual([]);
    const placed = decisions.filter(({ real }) => real !== undefined);
    const wide = placed.filter(({ real }) => JSON.stringify(real).includes('matchExpressions'));
    for (const group of [placed, decisions.filter(({ real }) => real === undefined), wide])
      expect(group.length).toBeGreaterThan(DEVICE_PODS / 4);
  }, 600_000);
});
