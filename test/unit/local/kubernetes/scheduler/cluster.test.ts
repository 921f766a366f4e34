/** The scheduler's view of the cluster, which is updated incrementally. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  apiVersionOf,
  type Kind,
  type KubeObject,
  NAMESPACE,
  NODE,
  POD,
  type Pod,
  type PodSpec,
  REPLICA_SET,
  REPLICATION_CONTROLLER,
  SERVICE,
  STATEFUL_SET,
  type StringMap,
} from '#api/objects';
import { realClock } from '#lib/clock';
import { randomStream } from '../../../../../src/local/aws/random.ts';
import type { ObjectClient } from '../../../../../src/local/client.ts';
import { cachesInProcess, connectInProcess } from '../../../../../src/local/in-process.ts';
import { openApi } from '../../../../../src/local/kubernetes/apiserver/api.ts';
import { Cluster } from '../../../../../src/local/kubernetes/scheduler/cluster.ts';
import { DomainCounts, type Place } from '../../../../../src/local/kubernetes/scheduler/domain-counts.ts';
import { domainsOf } from '../../../../../src/local/kubernetes/scheduler/filters.ts';
import { Refusals } from '../../../../../src/local/kubernetes/scheduler/refusals.ts';
import type { ClusterView, NodeView } from '../../../../../src/local/kubernetes/scheduler/view.ts';
import { podWith } from './fixtures.ts';

let client: ObjectClient;
let cluster: Cluster;

beforeEach(() => {
  const api = openApi({ clock: realClock() });
  client = connectInProcess(api);
  cluster = new Cluster(cachesInProcess(api));
});

const addNode = (name: string) => client.create(NODE, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
const addPod = (name: string, spec: Partial<PodSpec>, labels: StringMap = {}) =>
  client.create(POD, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels },
    spec: { containers: [{ name: 'main', image: 'x', resources: { requests: { cpu: '500m' } } }], ...spec },
  });
const APART: Partial<PodSpec> = {
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: {} }],
    },
  },
};

const podAt = (name: string) => ({ name, namespace: 'default' });

describe('the cluster that the scheduler sees', () => {
  it('counts pods by domain like a full count', async () => {
    const draws = randomStream(7);
    const one = <T>(choices: readonly T[]): T => choices[Math.floor(draws.next() * choices.length)] as T;
    const names = Array.from({ length: 12 }, (_, index) => `${index}`);
    const labels = { app: 'web' };
    const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' } as const;
    const constraints = [
      { ...constraint, labelSelector: { matchLabels: labels } },
      { ...constraint, topologyKey: 'rack', labelSelector: { matchLabels: { app: 'store' } } },
    ];
    const asked = podWith({ labels });
    const compare = (): void => {
      const { nodes, repelling, withAffinity, ...rest } = cluster as ClusterView;
      const domainCounts = new DomainCounts(new Map(nodes.map((node) => [node.name, node as NodeView & Place])));
      const anew: ClusterView = { ...rest, nodes, repelling, withAffinity, domainCounts };
      for (const each of constraints)
        for (const keys of [[each.topologyKey], ['zone', 'rack']])
          expect(domainsOf(each, keys, asked, cluster)).toEqual(domainsOf(each, keys, asked, anew));
    };
    for (let step = 0; step < 600; step += 1) {
      const [name, nodeName] = [one(names), one(names)];
      const nodeLabels = { ...(draws.next() < 0.8 && { zone: one(['a', 'b', 'c']) }), rack: one(['1', '2']) };
      const change = one([
        () => client.create(NODE, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: nodeLabels } }),
        () => client.patch(NODE, { name }, { metadata: { labels: { zone: null, ...nodeLabels } } }),
        () => client.delete(NODE, { name }),
        () => addPod(name, { nodeName }, { app: one(['web', 'store']) }),
        () => client.patch(POD, podAt(name), { metadata: { labels: { app: one(['web', 'store']) } } }),
        () => client.delete(POD, podAt(name), { gracePeriodSeconds: one([0, 30]) }),
      ]);
      await change().catch(() => undefined);
      // Some counts are read rarely.
      if (draws.next() < 0.5) compare();
    }
    compare();
  });

  it('returns the nodes of pods with anti-affinity', async () => {
    await addNode('a');
    await addNode('b');
    await addPod('other', { nodeName: 'a' });
    expect(cluster.repelling).toEqual([]);
    await addPod('apart', { nodeName: 'b', ...APART });
    expect(cluster.repelling.map(({ name }) => name)).toEqual(['b']);
    await client.patch(POD, { name: 'apart', namespace: 'default' }, { metadata: { labels: { x: 'y' } } });
    await client.delete(POD, { name: 'apart', namespace: 'default' }, { gracePeriodSeconds: 0 });
    expect(cluster.repelling).toEqual([]);
  });

  it('knows on which nodes pods with affinity of any kind are', async () => {
    await addNode('a');
    await addNode('b');
    const term = { weight: 1, podAffinityTerm: { topologyKey: 'zone', labelSelector: {} } };
    const affinity = { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [term] } };
    await addPod('other', { nodeName: 'a', affinity: { nodeAffinity: {} } });
    await addPod('near', { nodeName: 'b', affinity });
    expect(cluster.withAffinity.map(({ name }) => name)).toEqual(['b']);
    await client.delete(POD, podAt('near'), { gracePeriodSeconds: 0 });
    expect(cluster.withAffinity).toEqual([]);
  });

  it('counts requests for scores, as small ones for containers without requests', async () => {
    await addNode('a');
    await addPod('one', { nodeName: 'a', containers: [{ name: 'main', image: 'x' }] });
    await addPod('two', { nodeName: 'a' });
    expect(cluster.nodes[0]?.scored).toEqual({ cpu: 600, memory: 400 * 2 ** 20, pods: 2 });
    await client.delete(POD, podAt('one'), { gracePeriodSeconds: 0 });
    expect(cluster.nodes[0]?.scored).toEqual({ cpu: 500, memory: 200 * 2 ** 20, pods: 1 });
  });

  it('orders nodes by zone in turn', async () => {
    const zoned = (name: string, zone: string) => ({ name, labels: { 'topology.kubernetes.io/zone': zone } });
    for (const metadata of [zoned('a', 'z1'), zoned('b', 'z1'), zoned('c', 'z2')])
      await client.create(NODE, { apiVersion: 'v1', kind: 'Node', metadata });
    expect(cluster.nodes.map(({ name }) => name)).toEqual(['a', 'c', 'b']);
    await client.patch(NODE, { name: 'b' }, { metadata: zoned('b', 'z3') });
    await client.delete(NODE, { name: 'c' });
    expect(cluster.nodes.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('counts each pod once after any changes', async () => {
    await addNode('a');
    await addPod('one', { nodeName: 'a' });
    await addPod('two', { nodeName: 'a' });
    await client.patch(
      POD,
      { name: 'one', namespace: 'default' },
      { status: { phase: 'Running' } },
      { subresource: 'status' },
    );
    expect(cluster.nodes[0]?.requested).toEqual({ cpu: 1000, pods: 2 });
    await client.patch(
      POD,
      { name: 'one', namespace: 'default' },
      { status: { phase: 'Failed' } },
      { subresource: 'status' },
    );
    expect(cluster.nodes[0]?.requested).toEqual({ cpu: 500, pods: 1 });
  });

  it.each([
    ['a node', () => addNode('b')],
    ['a pod on a node', () => addPod('one', { nodeName: 'a' })],
    [
      'the labels of a namespace',
      () => client.patch(NAMESPACE, { name: 'default' }, { metadata: { labels: { x: 'y' } } }),
    ],
  ])('has a new version after a change of %s', async (_, change) => {
    await addNode('a');
    const before = cluster.version;
    await change();
    expect(cluster.version).not.toBe(before);
  });
});

describe('the default selector of a pod', () => {
  const labels = { app: 'web', tier: 'front' };
  const owned = (apiVersion: string, kind: string): Pod => {
    const pod = podWith({ labels });
    const ownerReferences = [{ apiVersion, kind, name: 'web', uid: 'x', controller: true }];
    return { ...pod, metadata: { ...pod.metadata, ownerReferences } };
  };
  const add = <T extends KubeObject>(kind: Kind<T>, spec: object): Promise<T> =>
    client.create(kind, {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: { name: 'web', namespace: 'default' },
      spec,
    } as unknown as T);
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'x' }] } };

  it('is that of its ReplicaSet, StatefulSet or ReplicationController', async () => {
    await add(REPLICA_SET, { selector: { matchLabels: { app: 'web' } }, template });
    await add(STATEFUL_SET, { selector: { matchLabels: { tier: 'front' } }, template });
    await add(REPLICATION_CONTROLLER, { selector: labels, template });
    expect(cluster.defaultSelector(owned('apps/v1', 'ReplicaSet'))).toEqual({ matchLabels: { app: 'web' } });
    expect(cluster.defaultSelector(owned('apps/v1', 'StatefulSet'))).toEqual({ matchLabels: { tier: 'front' } });
    expect(cluster.defaultSelector(owned('v1', 'ReplicationController'))).toEqual({ matchLabels: labels });
    expect(cluster.defaultSelector(owned('batch/v1', 'Job'))).toBeUndefined();
  });

  it('combines its Services and its controller', async () => {
    await add(REPLICA_SET, { selector: { matchLabels: { app: 'web' } }, template });
    await add(SERVICE, { selector: { tier: 'front' }, ports: [{ port: 80 }] });
    expect(cluster.defaultSelector(owned('apps/v1', 'ReplicaSet'))).toEqual({ matchLabels: labels });
    expect(cluster.defaultSelector(podWith({ labels }))).toEqual({ matchLabels: { tier: 'front' } });
    expect(cluster.defaultSelector(podWith({ labels: { app: 'web' } }))).toBeUndefined();
    expect(cluster.defaultSelector(podWith({ labels, namespace: 'other' }))).toBeUndefined();
  });
});

describe('the cache of rejected pods', () => {
  const refusal = { message: '0/1 nodes are available: 1 Insufficient cpu.' };

  it('applies to equal pods until the cluster changes', () => {
    const view = { version: 1 };
    const refusals = new Refusals(view);
    refusals.put(podWith({ name: 'one', requests: { cpu: '9' } }), refusal);
    expect(refusals.of(podWith({ name: 'two', requests: { cpu: '9' } }))).toBe(refusal);
    expect(refusals.of(podWith({ name: 'less', requests: { cpu: '1' } }))).toBeUndefined();
    expect(refusals.of(podWith({ labels: { a: 'b' }, requests: { cpu: '9' } }))).toBeUndefined();
    expect(refusals.of(podWith({ namespace: 'x', requests: { cpu: '9' } }))).toBeUndefined();
    view.version = 2;
    expect(refusals.of(podWith({ requests: { cpu: '9' } }))).toBeUndefined();
  });

  it('excludes pods with volumes or inter-pod rules', () => {
    const refusals = new Refusals({ version: 1 });
    for (const pod of [podWith({ volumes: [{ name: 'data', ephemeral: {} }] }), podWith({ affinity: {} })]) {
      refusals.put(pod, refusal);
      expect(refusals.of(pod)).toBeUndefined();
    }
  });
});
