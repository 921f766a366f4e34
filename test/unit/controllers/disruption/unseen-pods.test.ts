/** Commands for nodes with pods or budgets that the cache does not show, because a watch is silent. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE, NODE_POOL, POD, POD_DISRUPTION_BUDGET, type Pod } from '#api/objects';
import { ApiError } from '#kube/client';
import { conditionOf, World } from '../harness.ts';
import { CLOSED, largePods, startWithNodes } from './disruption-world.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const MINUTE = 60;

/** Starts with nodes that have no pods. Disruption is blocked until `release`. */
async function withEmptyNodes(count: number): Promise<void> {
  await startWithNodes(world, { count, disruption: CLOSED, small: 0 });
  world.removePods(...world.pods);
  await world.pass(10);
}

const release = (): unknown =>
  world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes: '100%' }] } } });
const close = (): unknown =>
  world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes: '0' }] } } });
const changeTemplate = (): unknown =>
  world.kube.patch(
    NODE_POOL,
    { name: 'default' },
    { spec: { template: { metadata: { labels: { 'example.com/generation': '2' } } } } },
  );

/** Binds a pod to a node while the watch of pods is silent. */
function bindUnseen(node: string, metadata: Partial<Pod['metadata']> = {}): Pod {
  world.kube.silent.add(POD.plural);
  const [pod] = world.pending(1, '1', 'late');
  if (pod === undefined) throw new Error('expected a pod');
  world.kube.patch(POD, pod.metadata, { metadata, spec: { nodeName: node }, status: { conditions: [] } });
  return world.kube.patch(POD, pod.metadata, { status: { phase: 'Running', conditions: [] } }, 'status');
}

const deletions = (): number => world.kube.writes.filter((write) => write === 'delete nodeclaims').length;
const blocked = (): readonly string[] =>
  world.events
    .filter(({ reason, message }) => reason === 'DisruptionBlocked' && message.startsWith('Command abandoned'))
    .map(({ message }) => message);
const nodeNames = (): readonly string[] => world.nodes.map(({ metadata }) => metadata.name);

describe('a command for a node with a pod that the cache does not show', () => {
  it.each([
    { what: 'a protected pod', annotations: { 'karpenter.sh/do-not-disrupt': 'true' }, text: /do-not-disrupt/ },
    { what: 'a pod without protection', annotations: {}, text: /bound after the decision/ },
  ])('is abandoned with an event if the pod is $what', async ({ annotations, text }) => {
    await withEmptyNodes(1);
    const [node = ''] = nodeNames();
    const pod = bindUnseen(node, { annotations });
    release();
    await world.pass(5 * MINUTE);
    expect(deletions()).toBe(0);
    expect(nodeNames()).toEqual([node]);
    expect(world.kube.find(POD, pod.metadata)?.metadata.deletionTimestamp).toBeUndefined();
    expect(blocked()[0]).toMatch(text);
    expect(blocked()[0]).toContain(`Pod=default/${pod.metadata.name}`);

    close();
    world.kube.silent.clear();
    world.kube.patch(POD, pod.metadata, { metadata: { labels: { seen: 'true' } } });
    await world.pass(30);
    expect(world.disruptedNodes()).toEqual([]);
    expect(conditionOf(world.claims[0], 'DisruptionReason')).toBeUndefined();
    expect(world.cluster.nodes().map(({ markedForDeletion }) => markedForDeletion)).toEqual([false]);
  });

  it('still deletes the other empty nodes', async () => {
    await withEmptyNodes(3);
    const [, node = ''] = nodeNames();
    bindUnseen(node);
    release();
    await world.pass(MINUTE);
    expect(nodeNames()).toEqual([node]);
    expect(blocked()).not.toEqual([]);
  });

  it('keeps a drifted node after its replacement is ready', async () => {
    await startWithNodes(world, { count: 1, disruption: CLOSED, small: 0 });
    const [node = ''] = nodeNames();
    changeTemplate();
    await world.pass(10);
    world.joining = false;
    release();
    await world.pass(20);
    expect(world.claims).toHaveLength(2);
    bindUnseen(node, { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } });
    world.joining = true;
    await world.pass(30);
    expect(deletions()).toBe(0);
    expect(blocked()[0]).toMatch(/do-not-disrupt/);
    expect(world.disruptedNodes()).toEqual([]);
    const told = world.lines.find(({ message }) => message === 'abandoned disruption command, its nodes have changed');
    expect(told?.fields.reason).toContain(`node "${node}": pod has "karpenter.sh/do-not-disrupt" annotation`);
    expect(world.errors()).toEqual([]);
  });
});

describe('a command for a node with a budget that the cache does not show', () => {
  it('is abandoned if the budget blocks the pods of the node', async () => {
    await startWithNodes(world, { count: 1, disruption: CLOSED, small: 0 });
    const [node = ''] = nodeNames();
    changeTemplate();
    await world.pass(10);
    world.kube.silent.add(POD_DISRUPTION_BUDGET.plural);
    world.kube.create(POD_DISRUPTION_BUDGET, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'large', namespace: 'default' },
      spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'large' } } },
      status: { disruptionsAllowed: 0 },
    });
    release();
    await world.pass(40);
    const kept = world.nodes.find(({ metadata }) => metadata.name === node);
    expect(kept?.metadata.deletionTimestamp).toBeUndefined();
    expect(largePods(world)).toHaveLength(1);
    expect(blocked()[0]).toContain('PodDisruptionBudget=[default/large]');
  });
});

describe('a command whose pods cannot be read', () => {
  it('is retried, and then carried out', async () => {
    await withEmptyNodes(1);
    world.kube.beforeRead = (operation) => {
      if (operation === 'list pods') throw new ApiError(503, 'ServiceUnavailable', 'try again');
    };
    release();
    await world.pass(40);
    expect(world.disruptedNodes()).toHaveLength(1);
    expect(deletions()).toBe(0);
    world.kube.beforeRead = () => undefined;
    await world.pass(40);
    expect(world.nodes).toEqual([]);
  });

  it('is rolled back after a minute, and its nodes are used again', async () => {
    await withEmptyNodes(1);
    world.kube.beforeRead = (operation) => {
      if (operation === 'list pods') throw new ApiError(503, 'ServiceUnavailable', 'try again');
    };
    release();
    await world.pass(100);
    expect(deletions()).toBe(0);
    expect(world.disruptedNodes()).toEqual([]);
    expect(world.errors()).toEqual([
      'failed terminating nodes while executing a disruption command: Unrecoverable: the pods of its nodes cannot be read: try again',
    ]);
  });
});

describe('a removal of an empty node', () => {
  it('lists its pods once for the command and once at the end of its drain, and no budgets', async () => {
    await withEmptyNodes(2);
    world.kube.reads.length = 0;
    release();
    await world.pass(MINUTE);
    expect(world.kube.all(NODE)).toEqual([]);
    expect(world.kube.reads.filter((read) => read === 'list pods')).toHaveLength(4);
    expect(world.kube.reads).not.toContain('list poddisruptionbudgets');
  });
});
