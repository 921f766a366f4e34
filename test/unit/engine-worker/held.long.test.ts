/** Memory per node in an engine worker. In a cluster with thousands of nodes this is most of the worker's heap. */
import { expect, it } from '@jest/globals';
import { type Kind, type KubeObject, NODE, NODE_CLAIM, POD } from '#api/objects';
import type { StateNode } from '#engine/model';
import { placeOf } from '#engine/testing';
import { trimmedObject } from '#kube/client';
import { ClusterState } from '#state';
import { claimAt, nodeAt, podAt } from '../../../bench/largecluster.ts';
import { ReceivedLists, SentLists } from '../../../src/engine-worker/copied-lists.ts';
import { numberedNode } from '../../../src/engine-worker/trimmed.ts';
import { keptOnce, keptPart } from '../../../src/engine-worker/worker-state.ts';
import { heapUsed } from '../../support/heap.ts';
import { partial } from '../../support/partial.ts';
import { handFed } from '../kube/fakes.ts';
import { virtualClock } from '../virtualclock.ts';

const SIZE = { nodes: 1_000, pods: 10_000 };

/** Labels in the number that EC2 nodes have. */
const LABELS = Object.fromEntries(
  Array.from({ length: 20 }, (_, at) => [`karpenter.k8s.aws/instance-property-${at}`, `value-${at}`]),
);

/** Returns the object in the form in which informers keep it. */
const asReceived = <T extends KubeObject>(kind: Kind<T>, object: object): T =>
  trimmedObject(kind, JSON.parse(JSON.stringify(object)) as T);

function nodesOf(): readonly StateNode[] {
  const { informers, store } = handFed();
  const cluster = new ClusterState({ informers, clock: virtualClock(), manages: () => true });
  for (let index = 0; index < SIZE.nodes; index++) {
    const node = nodeAt(index) as unknown as KubeObject;
    const metadata = { ...node.metadata, labels: { ...node.metadata.labels, ...LABELS } };
    store(NODE).put(asReceived(NODE, { ...node, metadata }));
    store(NODE_CLAIM).put(asReceived(NODE_CLAIM, claimAt(index)));
  }
  for (let index = 0; index < SIZE.pods; index++) store(POD).put(partial(podAt(index, SIZE)));
  return cluster.nodes();
}

it('needs less than 25 kB per node in a worker', async () => {
  const items = nodesOf();
  const held = new ReceivedLists(keptOnce, keptPart);
  const sent = new SentLists((message) => held.receive(structuredClone(message)));
  const before = heapUsed();
  await sent.send({ name: 'nodes', items, weightOf: ({ pods }) => pods.length, formOf: numberedNode });
  for (const node of held.items('nodes')) placeOf(node as StateNode);
  const bytes = (heapUsed() - before) / SIZE.nodes;
  expect(held.items('nodes')).toHaveLength(SIZE.nodes);
  expect(bytes).toBeLessThan(25_000);
});

it('releases a replaced object in a worker before the next request', async () => {
  const held = new ReceivedLists();
  const sent = new SentLists((message) => held.receive(structuredClone(message)));
  const replaced = async (): Promise<WeakRef<object>> => {
    const item = { name: 'replaced' };
    await sent.send({ name: 'nodes', items: [item] });
    return new WeakRef(item);
  };
  const reference = await replaced();
  await new Promise((resolve) => setImmediate(resolve));
  heapUsed();
  expect(reference.deref()).toBeUndefined();
  await sent.send({ name: 'nodes', items: [] });
  expect(held.items('nodes')).toEqual([]);
});
