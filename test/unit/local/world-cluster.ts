/** A local API server with parts of the control plane, on an accelerated clock. */
import {
  type Kind,
  type KubeObject,
  NODE,
  type Node,
  POD,
  type Pod,
  type QuantityList,
  type Taint,
} from '#api/objects';
import { cachesInProcess, connectInProcess } from '../../../src/local/in-process.ts';
import { type LocalApiServer, startApiServer } from '../../../src/local/kubernetes/apiserver/server.ts';
import type { Parts } from '../../../src/local/parts.ts';
import { connect, type KubeApi } from '../../support/kube-api.ts';
import { pacedClock } from '../../support/paced-clock.ts';

export interface TestCluster {
  readonly parts: Parts;
  readonly client: KubeApi;
  readonly server: LocalApiServer;
  readonly messages: string[];
  list<T extends KubeObject>(kind: Kind<T>): Promise<readonly T[]>;
  pods(): Promise<readonly Pod[]>;
  /** Creates a node and waits until the caches of the parts contain it. */
  node(name: string, node?: NodeOptions): Promise<Node>;
  /** Changes a node and waits until the caches of the parts contain the change. */
  patchNode(name: string, patch: object): Promise<Node>;
  /** Waits until the result is truthy. Fails after twenty seconds of running time. */
  until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T>;
  stop(): Promise<void>;
}

export interface NodeOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly allocatable?: QuantityList;
  readonly ready?: boolean;
  /** If false, keeps the taint that the server adds to new nodes. */
  readonly schedulable?: boolean;
}

export async function startCluster(timeScale = 50): Promise<TestCluster> {
  const clock = pacedClock(timeScale);
  const server = await startApiServer({ clock });
  const client = connect(server.url);
  const life = new AbortController();
  const messages: string[] = [];
  const parts: Parts = {
    client: connectInProcess(server),
    caches: cachesInProcess(server),
    clock,
    signal: life.signal,
    log: (message) => messages.push(message),
  };
  const list: TestCluster['list'] = async (kind) => (await client.list(kind)).items;
  const nodes = parts.caches.of(NODE);
  const seen = async (node: Node): Promise<Node> => {
    const { resourceVersion } = node.metadata;
    await cluster.until(`the parts to see node ${node.metadata.name}`, async () => {
      const known = nodes.get(node.metadata)?.metadata.resourceVersion;
      return Number(known) >= Number(resourceVersion);
    });
    return node;
  };
  const patchNode: TestCluster['patchNode'] = async (name, patch) => seen(await client.patch(NODE, { name }, patch));
  const cluster: TestCluster = {
    parts,
    client,
    server,
    messages,
    list,
    pods: () => list(POD),
    node: async (name, { labels = {}, taints = [], allocatable = {}, ready = true, schedulable = ready } = {}) => {
      const room = { cpu: '4', memory: '8Gi', pods: '20', 'ephemeral-storage': '20Gi', ...allocatable };
      const node = await client.create(NODE, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
        spec: { taints },
        status: {
          capacity: room,
          allocatable: room,
          conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
        },
      });
      // The controller that removes the taint of Ready nodes does not run in all tests.
      return schedulable ? patchNode(name, { spec: { taints: taints.length > 0 ? taints : null } }) : seen(node);
    },
    patchNode,
    async until(what, look) {
      const startedMs = clock.calmMs();
      for (;;) {
        const answer = await look();
        if (answer) return answer;
        if (clock.calmMs() - startedMs > 20_000)
          throw new Error(`Waited in vain for ${what}. Log: ${messages.join('; ')}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async stop() {
      life.abort();
      client.close();
      await server.close();
      clock.stop();
    },
  };
  return cluster;
}

/** A pod template with small requests. */
export const template = (app: string, spec: Partial<Pod['spec']> = {}, cpu = '100m') => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu } } }], ...spec },
});

/** Marks a pod as running and ready, like its kubelet. */
export async function markReady(client: KubeApi, pod: Pod): Promise<void> {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2020-01-01T00:00:00Z' }];
  const patch = { status: { phase: 'Running', conditions } };
  await client.patch(POD, pod.metadata, patch, { subresource: 'status', type: 'strategic' });
}
