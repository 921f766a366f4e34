/**
 * Prints the heap in bytes that the caches of a cluster need. Each node has a NodeClaim.
 *
 *   node --expose-gc heap-of-cluster.ts NODES BOUND-PODS PENDING-PODS
 */
import { type Kind, type KubeObject, NODE, NODE_CLAIM, POD, type Pod } from '#api/objects';
import { podKey } from '#engine/model';
import { type Informers, ObjectStore, trimmedObject } from '#kube/client';
import { realClock } from '#lib/clock';
import { silent } from '#observe/logger';
import { ClusterState } from '#state';
import { claimAt, nodeAt, podAt } from '../../bench/largecluster.ts';

const UNSCHEDULABLE = {
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/0 nodes are available' }],
};
const clock = realClock();
const stores = new Map<string, ObjectStore<KubeObject>>();

function storeOf(kind: Kind): ObjectStore<KubeObject> {
  const store = stores.get(kind.plural) ?? new ObjectStore<KubeObject>(kind, silent);
  stores.set(kind.plural, store);
  return store;
}

const informers = {
  store: (kind: Kind, indexes = {}) => {
    storeOf(kind).addIndexes(indexes);
    return storeOf(kind);
  },
  synced: async () => undefined,
  watches: () => [],
  distrust: () => undefined,
} as unknown as Informers;
const cluster = new ClusterState({ informers, clock, manages: () => true });

/** Stores an object as a reflector does, from the text of a response. */
function put(kind: Kind, object: object): KubeObject {
  const parsed = { apiVersion: 'v1', kind: kind.kind, ...JSON.parse(JSON.stringify(object)) };
  const stored = trimmedObject(kind, parsed as KubeObject);
  storeOf(kind).put(stored);
  return stored;
}

function fill(from: number, [nodes = 0, bound = 0, pending = 0]: readonly number[]): void {
  for (let at = from; at < from + nodes; at++) {
    put(NODE, nodeAt(at));
    put(NODE_CLAIM, claimAt(at));
  }
  for (let at = from; at < from + bound; at++) put(POD, podAt(at, { nodes: Math.max(1, nodes), pods: bound }));
  for (let at = from + bound; at < from + bound + pending; at++) {
    const { spec, ...pod } = podAt(at, { nodes: 1, pods: 1 }) as { readonly spec: Pod['spec'] };
    const { nodeName: _, ...unbound } = spec;
    const key = podKey(put(POD, { ...pod, spec: unbound, status: UNSCHEDULABLE }) as Pod);
    cluster.podTimings.acknowledge(key, clock.now());
    cluster.podTimings.placed(key, true, clock.now());
  }
  cluster.nodes();
}

function heapUsed(): number {
  for (let collection = 0; collection < 2; collection++) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

// texts and shapes that all objects share are part of the base
fill(1_000_000, [50, 500, 500]);
const before = heapUsed();
fill(0, process.argv.slice(2).map(Number));
process.stdout.write(String(heapUsed() - before));
