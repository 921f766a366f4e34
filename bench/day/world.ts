/**
 * The world of a simulated day: a local API server, a local AWS, and minimal replacements of kubelets and
 * kube-scheduler, which allow thousands of nodes at many times real time. Nodes join 30 s after their instance runs and
 * take the oldest pods that fit. There are no heartbeats.
 */

import {
  EC2_NODE_CLASS,
  NODE,
  NODE_OVERLAY,
  NODE_POOL,
  type NodeOverlay,
  POD,
  type Pod,
  REPLICA_SET,
} from '#api/objects';
import { customResourceDefinitions } from '#api/schema';
import { withBoundedConcurrency } from '#lib';
import type { LocalInstance } from '#local/aws';
import { createClusterObjects } from '#local/cluster';
import { decodeUserData } from '#local/machines';
import {
  addTimes,
  kubeletResources,
  type LocalApiServer,
  type LocalAws,
  NOT_READY,
  nodeConditions,
  nodeObject,
  startApiServer,
  startAws,
} from '#local/testing';
import { nodeClassOf } from '../../test/support/awsobjects.ts';
import { connect, isAnyConflict, isGone, type KubeApi } from '../../test/support/kube-api.ts';
import { type LeadingClock, pacedClock } from '../../test/support/paced-clock.ts';

const CLUSTER = 'day';
const BOOT_MS = 30_000;
const MEMORY_OVERHEAD = 0.075;
const NAMESPACE = 'default';
/** Interval between two searches for nodes with room for pending pods. */
const FILL_MS = 10_000;
const DISRUPTED = 'karpenter.sh/disrupted';
/** Concurrent requests to the API server. */
const AT_ONCE = 50;

/** CPU requests of pods: most of a node, or almost none. */
const WHOLE_NODE_CPU = 3;
const SMALL_CPU = 0.02;

export interface DayWorld {
  readonly clock: LeadingClock;
  readonly aws: LocalAws;
  readonly kube: KubeApi;
  /** Returns the number of nodes in Ready NodePools. */
  nodes(): number;
  /** Creates pending pods that need one node each. */
  wait(count: number): Promise<readonly string[]>;
  /** Creates running pods, distributed evenly over the existing nodes. */
  run(count: number): Promise<void>;
  end(pods: readonly string[]): Promise<void>;
  /** Adds NodePools besides `default`, each with a separate NodeClass and separate instance types. */
  addPools(count: number): Promise<void>;
  /** Changes some prices by an overlay. */
  reprice(step: number): Promise<void>;
  env(): Record<string, string>;
  kubeconfig(): string;
  stop(): Promise<void>;
}

export async function startDay(factor: number): Promise<DayWorld> {
  const clock = pacedClock(factor);
  const server = await startApiServer({ clock, host: '127.0.0.1' });
  for (const crd of customResourceDefinitions()) server.install(crd);
  const aws = await startAws({ clock, clusterName: CLUSTER, clusterEndpoint: server.url });
  const kube = connect(server.url);
  await createClusterObjects(kube);
  await kube.create(EC2_NODE_CLASS, nodeClassOf(CLUSTER));
  await kube.create(NODE_POOL, nodePool('default'));
  const { metadata } = await kube.create(REPLICA_SET, OWNER);
  return new World({ clock, server, aws, kube, owner: metadata.uid ?? '' });
}

/** Four CPUs, on-demand or spot. Only empty nodes are consolidated, so that the cluster keeps its size. */
const nodePool = (name: string): never =>
  ({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name },
          requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'] },
            { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 'm', 'r'] },
            { key: 'karpenter.k8s.aws/instance-cpu', operator: 'In', values: ['4'] },
          ],
          expireAfter: 'Never',
        },
      },
      disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '2m' },
      ...(name === 'default' ? {} : { weight: 1 }),
    },
  }) as never;

const isWaiting = ({ spec, metadata }: Pod): boolean => !spec.nodeName && metadata.deletionTimestamp === undefined;

interface Parts {
  readonly clock: LeadingClock;
  readonly server: LocalApiServer;
  readonly aws: LocalAws;
  readonly kube: KubeApi;
  /** UID of the owner of pods. */
  readonly owner: string;
}

class World implements DayWorld {
  readonly clock: LeadingClock;
  readonly aws: LocalAws;
  readonly kube: KubeApi;
  readonly #server: LocalApiServer;
  readonly #nodes = new Map<string, string>();
  /** CPU requests of the desired pods by name. */
  readonly #wanted = new Map<string, number>();
  /** Names of pending pods, oldest first. */
  readonly #waiting = new Set<string>();
  /** Nodes by name of their pods. */
  readonly #boundTo = new Map<string, string>();
  readonly #owner: string;
  readonly #life = new AbortController();
  #pods = 0;

  constructor({ clock, server, aws, kube, owner }: Parts) {
    this.clock = clock;
    this.#server = server;
    this.aws = aws;
    this.kube = kube;
    this.#owner = owner;
    for (const work of [this.#replacePods(), this.#fillNodes()])
      void work.catch((error) => this.#life.signal.aborted || report(error));
    aws.instances.subscribe((instance) => {
      if (instance.state === 'running') clock.after(BOOT_MS, () => void this.#join(instance).catch(report));
      else if (instance.state === 'terminated') void this.#leave(instance).catch(report);
    });
  }

  nodes(): number {
    return this.#nodes.size;
  }

  async wait(count: number): Promise<readonly string[]> {
    const names = Array.from({ length: count }, () => `pod-${this.#pods++}`);
    await withBoundedConcurrency(names, AT_ONCE, (name) => this.#create(name, WHOLE_NODE_CPU));
    return names;
  }

  async run(count: number): Promise<void> {
    const nodes = [...this.#nodes.keys()];
    const names = Array.from({ length: count }, () => `pod-${this.#pods++}`);
    const nodeOf = new Map(names.map((name, at) => [name, nodes[at % nodes.length]]));
    await withBoundedConcurrency(names, AT_ONCE, (name) => this.#create(name, SMALL_CPU, nodeOf.get(name)));
  }

  async end(pods: readonly string[]): Promise<void> {
    for (const name of pods) {
      this.#wanted.delete(name);
      this.#waiting.delete(name);
      await this.#remove(name);
    }
  }

  async #remove(name: string): Promise<void> {
    this.#boundTo.delete(name);
    if ((await this.kube.find(POD, { name, namespace: NAMESPACE })) === undefined) return;
    await this.kube.delete(POD, { name, namespace: NAMESPACE }, { gracePeriodSeconds: 0 });
  }

  async #create(name: string, cpu: number, nodeName?: string): Promise<void> {
    this.#wanted.set(name, cpu);
    const pod = podOf(name, cpu, this.#owner);
    if (nodeName === undefined) this.#waiting.add(name);
    else this.#boundTo.set(name, nodeName);
    const bound = nodeName === undefined ? pod : { ...pod, spec: { ...pod.spec, nodeName } };
    await this.kube.create(POD, bound).catch((error: unknown) => {
      // The creator and the replacement loop may both find the pod missing.
      if (!isAnyConflict(error)) throw error;
    });
    const status = nodeName === undefined ? UNSCHEDULABLE : RUNNING;
    await this.kube.patch(POD, { name, namespace: NAMESPACE }, { status }, { subresource: 'status' });
  }

  /** Recreates evicted pods like their ReplicaSet. A busy machine may lose a watch, but no pod. */
  async #replacePods(): Promise<void> {
    const { signal } = this.#life;
    while (!signal.aborted) {
      try {
        const { items, metadata } = await this.kube.list(POD);
        const present = new Set(items.map(({ metadata: { name } }) => name));
        for (const name of [...this.#wanted.keys()]) if (!present.has(name)) await this.#replace(name);
        for await (const event of this.kube.watch(POD, metadata.resourceVersion ?? '', signal))
          if (event.type === 'DELETED') await this.#replace(event.object.metadata.name);
      } catch (error) {
        if (!signal.aborted) report(error);
      }
    }
  }

  async #replace(name: string): Promise<void> {
    const cpu = this.#wanted.get(name);
    if (cpu !== undefined)
      await this.#create(name, cpu, cpu === SMALL_CPU ? await this.#openNode(() => true) : undefined);
  }

  /** Returns a node with room, in round-robin order. */
  async #openNode(isFit: (name: string) => boolean): Promise<string | undefined> {
    for (const [name, id] of [...this.#nodes]) {
      if (!isFit(name)) continue;
      const node = await this.kube.find(NODE, { name });
      if (node === undefined || node.spec?.taints?.some(({ key }) => key === DISRUPTED)) continue;
      // Moves the node to the end, so that pods are distributed.
      if (this.#nodes.delete(name)) this.#nodes.set(name, id);
      return name;
    }
    return undefined;
  }

  /** Binds pending pods to nodes with free room, because the operator expects that and launches no nodes for them. */
  async #fillNodes(): Promise<void> {
    const { signal } = this.#life;
    for (; !signal.aborted; await this.clock.sleep(FILL_MS, signal)) {
      for (const pod of [...this.#waiting]) {
        const taken = new Set(
          [...this.#boundTo].flatMap(([name, node]) => (this.#wanted.get(name) === WHOLE_NODE_CPU ? [node] : [])),
        );
        const node = await this.#openNode((name) => !taken.has(name));
        if (node === undefined) break;
        if (this.#waiting.has(pod)) await this.#bind(pod, node);
      }
    }
  }

  async addPools(count: number): Promise<void> {
    for (let at = 1; at <= count; at++) {
      const name = `pool-${at}`;
      const kubelet = { maxPods: 20 + at, systemReserved: { memory: `${100 + at}Mi` } };
      const nodeClass = nodeClassOf(CLUSTER, { kubelet });
      await this.kube.create(EC2_NODE_CLASS, { ...nodeClass, metadata: { name } });
      await this.kube.create(NODE_POOL, nodePool(name));
    }
  }

  async reprice(step: number): Promise<void> {
    const name = 'discount';
    const families = [`c${5 + (step % 3)}i`, `m${5 + (step % 3)}i`, 'r5'];
    const spec: NodeOverlay['spec'] = {
      requirements: [{ key: 'karpenter.k8s.aws/instance-family', operator: 'In', values: families }],
      priceAdjustment: `-${10 + (step % 7)}%`,
    };
    const found = await this.kube.find(NODE_OVERLAY, { name });
    if (found !== undefined) await this.kube.patch(NODE_OVERLAY, { name }, { spec });
    else
      await this.kube.create(NODE_OVERLAY, {
        apiVersion: 'karpenter.sh/v1alpha1',
        kind: 'NodeOverlay',
        metadata: { name },
        spec,
      });
  }

  /** Registers a Ready node for an instance and binds the oldest pending pods to it. */
  async #join(instance: LocalInstance): Promise<void> {
    if (instance.state !== 'running') return;
    const config = decodeUserData(instance.userData);
    const resources = kubeletResources(instance, config, { memoryOverhead: MEMORY_OVERHEAD });
    const now = this.clock.now();
    const { region } = this.aws;
    const node = nodeObject({ instance, config, resources, region, kubeletVersion: 'v1.34.0', now });
    const { name } = node.metadata;
    await this.kube.create(NODE, node);
    // First of all, because a node that is empty for a moment is deleted.
    const [pod] = this.#waiting;
    if (pod !== undefined) await this.#bind(pod, name);
    const conditions = addTimes(nodeConditions(true, ''), now);
    await this.kube.patch(NODE, { name }, { status: { ...node.status, conditions } }, { subresource: 'status' });
    await this.#untaint(name);
    this.#nodes.set(name, instance.id);
  }

  /** Removes the taint like the node lifecycle controller for a Ready node, and retries after a conflict. */
  async #untaint(name: string): Promise<void> {
    const node = await this.kube.find(NODE, { name });
    if (node === undefined) return;
    const taints = (node.spec?.taints ?? []).filter(({ key }) => key !== NOT_READY.key);
    try {
      await this.kube.update(NODE, { ...node, spec: { ...node.spec, taints } });
    } catch (error) {
      if (!isAnyConflict(error)) throw error;
      await this.#untaint(name);
    }
  }

  async #bind(name: string, node: string): Promise<void> {
    this.#waiting.delete(name);
    const ref = { name, namespace: NAMESPACE };
    const pod = await this.kube.find(POD, ref);
    if (pod === undefined || !isWaiting(pod)) return;
    this.#boundTo.set(name, node);
    const target = { apiVersion: 'v1', kind: 'Node', name: node };
    await this.kube.post(POD, ref, 'binding', { apiVersion: 'v1', kind: 'Binding', metadata: ref, target });
    await this.kube.patch(POD, ref, { status: RUNNING }, { subresource: 'status' });
  }

  async #leave({ id, privateDnsName: name }: LocalInstance): Promise<void> {
    if (this.#nodes.get(name) !== id) return;
    this.#nodes.delete(name);
    const pods = [...this.#boundTo].filter(([, node]) => node === name).map(([pod]) => pod);
    for (const pod of pods) await this.#remove(pod);
    if ((await this.kube.find(NODE, { name })) !== undefined) await this.kube.delete(NODE, { name });
  }

  env(): Record<string, string> {
    return {
      ...this.aws.env(),
      CLUSTER_NAME: CLUSTER,
      CLUSTER_ENDPOINT: this.#server.url,
      INTERRUPTION_QUEUE: this.aws.queue.name,
      SYSTEM_NAMESPACE: 'kube-system',
    };
  }

  kubeconfig(): string {
    return this.#server.kubeconfig();
  }

  async stop(): Promise<void> {
    this.#life.abort();
    await this.aws.close();
    this.kube.close();
    await this.#server.close();
    this.clock.stop();
  }
}

/** Objects that were deleted meanwhile need no change. */
const report = (error: unknown): void => {
  if (!isGone(error)) process.stderr.write(`day: ${String(error)}\n`);
};

const UNSCHEDULABLE = {
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
};
const RUNNING = {
  phase: 'Running',
  conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({ type, status: 'True' })),
};

const podOf = (name: string, cpu: number, owner: string): Pod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: NAMESPACE,
      labels: { app: 'app' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'app', uid: owner, controller: true }],
    },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        { name: 'main', image: 'pause', resources: { requests: { cpu: `${cpu * 1000}m`, memory: '64Mi' } } },
      ],
    },
  }) as unknown as Pod;

const OWNER = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'app', namespace: NAMESPACE },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'app' } },
    template: {
      metadata: { labels: { app: 'app' } },
      spec: { containers: [{ name: 'main', image: 'pause' }] },
    },
  },
} as never;
