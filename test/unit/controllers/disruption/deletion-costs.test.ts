/** Deletion costs of pods on marked nodes. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  DELETION_COST_ANNOTATION,
  DELETION_COST_SINCE_ANNOTATION,
  EMPTYING_TAINT,
  NODE,
  NODE_CLAIM,
  POD,
  type Pod,
} from '#api/objects';
import { parseAwsSettings } from '#aws/settings';
import { ApiError } from '#kube/client';
import { runControllers } from '#kube/reconcilers';
import { remembering } from '#lib';
import { createMetrics } from '#observe/setup';
import type { DisruptionInput } from '#planner';
import { DeletionCosts } from '../../../../src/controllers/disruption/deletion-costs.ts';
import { Steering } from '../../../../src/controllers/disruption/steering.ts';
import { createOperator } from '../../../../src/controllers/operator.ts';
import { MemoryKube } from '../../../support/memory-kube.ts';
import { NOW, pod, pool, stateNode } from '../../engine/disruption/objects.ts';
import { recordingLog } from '../../kube/fakes.ts';
import { virtualClock } from '../../virtualclock.ts';
import { FakeCloud, instanceType } from '../fake-cloud.ts';
import { World } from '../harness.ts';
import { CLOSED, largePods, startWithNodes } from './disruption-world.ts';

const NODES = 1000;
const PODS = 20_000;
const ON = ['--steering=auto', '--pod-deletion-cost=true'];

/** Marks pods as ready when they are bound. */
class ReadyWorld extends World {
  override bindPods(): void {
    super.bindPods();
    const ready = [{ type: 'Ready', status: 'True' }];
    for (const { metadata, spec, status } of this.pods)
      if (spec.nodeName && status?.conditions?.length === 0)
        this.kube.patch(POD, metadata, { status: { conditions: ready } }, 'status');
  }
}

let world: World;
beforeEach(() => {
  world = new ReadyWorld();
});
afterEach(() => world.kill());

const costOf = ({ metadata }: Pod): string | undefined => metadata.annotations?.[DELETION_COST_ANNOTATION];
const hasMark = ({ metadata }: Pod): boolean => metadata.annotations?.[DELETION_COST_SINCE_ANNOTATION] !== undefined;
const podsWithCost = (): readonly Pod[] => world.pods.filter((each) => costOf(each) !== undefined || hasMark(each));
const podWrites = (): number => world.kube.writes.filter((operation) => operation === 'patch pods').length;
/** Returns true for a write of the operator. The test binds pods with writes of its own. */
const isOfOperator = (operation: string, name: string): boolean =>
  operation === 'patch pods' && Boolean(world.kube.get(POD, { name, namespace: 'default' }).spec.nodeName);
const markedNode = (): string | undefined =>
  world.nodes.find(({ spec }) => spec?.taints?.some(({ key }) => key === EMPTYING_TAINT.key))?.metadata.name;

/** Starts three nodes with one pod of a ReplicaSet each, of which one can become empty. */
async function withOneIdleNode(flags: readonly string[] = ON): Promise<void> {
  await startWithNodes(world, { count: 3, disruption: CLOSED, small: 3, flags });
  world.removePods(...largePods(world));
  world.pending(2, '5', 'keep');
}

describe('a deletion cost', () => {
  it('is lowered for a pod on a marked node', async () => {
    await withOneIdleNode();
    expect(podsWithCost()).toEqual([]);
    await world.pass(240);
    expect(podsWithCost()).toMatchObject([
      {
        metadata: {
          annotations: {
            [DELETION_COST_ANNOTATION]: '-1',
            [DELETION_COST_SINCE_ANNOTATION]: expect.stringMatching(/^20.*Z$/),
          },
        },
        spec: { nodeName: markedNode() },
      },
    ]);
    expect(await world.metrics.text()).toMatch(/karpenter_voluntary_disruption_emptying_pods 1/);
  });

  it('is not written while the cluster is steady', async () => {
    await withOneIdleNode();
    await world.pass(240);
    const before = podWrites();
    await world.pass(1200);
    expect(podWrites()).toBe(before);
  });

  it('is removed when the node is released', async () => {
    await withOneIdleNode();
    await world.pass(240);
    world.pending(1, '6', 'more');
    await world.pass(300);
    expect(markedNode()).toBeUndefined();
    expect(podsWithCost()).toEqual([]);
  });

  it.each([
    ['the setting is off', ['--steering=auto']],
    ['steering is off', ['--steering=false', '--pod-deletion-cost=true']],
  ])('is removed if an earlier process wrote it and %s, unless a user set it', async (_, flags) => {
    await withOneIdleNode(flags);
    const [own, changed, users] = world.pods.filter(({ metadata }) => metadata.labels?.app === 'small');
    const set = (target: Pod | undefined, annotations: Readonly<Record<string, string>>) =>
      world.kube.patch(POD, target?.metadata ?? { name: '' }, { metadata: { annotations } });
    const since = '2020-01-01T00:00:00Z';
    set(own, { team: 'web', [DELETION_COST_ANNOTATION]: '-1', [DELETION_COST_SINCE_ANNOTATION]: since });
    set(changed, { [DELETION_COST_ANNOTATION]: '7', [DELETION_COST_SINCE_ANNOTATION]: 'soon' });
    set(users, { [DELETION_COST_ANNOTATION]: '-1' });
    await world.pass(60);
    const annotations = [own, changed, users].map(
      (target) => world.kube.get(POD, target?.metadata ?? { name: '' }).metadata.annotations,
    );
    expect(annotations).toEqual([
      { team: 'web' },
      { [DELETION_COST_ANNOTATION]: '7' },
      { [DELETION_COST_ANNOTATION]: '-1' },
    ]);
  });

  it('does not replace a cost that a user sets at the same time', async () => {
    await withOneIdleNode();
    world.kube.beforeWrite = (operation, name) => {
      if (!isOfOperator(operation, name)) return;
      world.kube.beforeWrite = () => undefined;
      world.kube.patch(
        POD,
        { name, namespace: 'default' },
        { metadata: { annotations: { [DELETION_COST_ANNOTATION]: '9' } } },
      );
    };
    await world.pass(400);
    expect(podsWithCost().map(costOf)).toEqual(['9']);
    expect(podsWithCost().some(hasMark)).toBe(false);
    expect(world.errors()).toEqual([]);
  });

  it('is not delayed by pods that refuse writes, which are tried at growing intervals', async () => {
    await withOneIdleNode(['--steering=false', '--pod-deletion-cost=true']);
    const since = '2020-01-01T00:00:00Z';
    const annotations = { [DELETION_COST_ANNOTATION]: '-1', [DELETION_COST_SINCE_ANNOTATION]: since };
    const [refused] = world.pods;
    for (const { metadata } of world.pods) world.kube.patch(POD, metadata, { metadata: { annotations } });
    const attempts: number[] = [];
    world.kube.beforeWrite = (operation, name) => {
      if (operation !== 'patch pods' || name !== refused?.metadata.name) return;
      attempts.push(world.clock.now());
      throw new ApiError(422, 'Invalid', 'denied by a webhook');
    };
    await world.pass(60);
    expect(podsWithCost().map(({ metadata }) => metadata.name)).toEqual([refused?.metadata.name]);
    await world.pass(60 * 60);
    const minutes = attempts.slice(1).map((at, index) => (at - (attempts[index] ?? 0)) / 60_000);
    // up to a tenth more, and up to one plan later
    const limits = [5, 10, 20].map((least) => ({ least, most: least * 1.1 + 1 }));
    expect(minutes).toHaveLength(limits.length);
    for (const [index, { least, most }] of limits.entries()) {
      expect(minutes[index]).toBeGreaterThanOrEqual(least);
      expect(minutes[index]).toBeLessThanOrEqual(most);
    }
  });

  it('is tried again every five minutes without the right to patch pods', async () => {
    await withOneIdleNode();
    let attempts = 0;
    world.kube.beforeWrite = (operation, name) => {
      if (!isOfOperator(operation, name)) return;
      attempts += 1;
      throw new ApiError(403, 'Forbidden', 'pods is forbidden');
    };
    await world.pass(720);
    expect(attempts).toBeGreaterThan(1);
    expect(attempts).toBeLessThanOrEqual(3);
    expect(world.errors()).toContain('failed changing the deletion cost of pods: ApiError: pods is forbidden');
  });
});

describe('the operator in a cluster of 1,000 nodes and 20,000 pods', () => {
  const clock = virtualClock(NOW);
  const kube = new MemoryKube(clock, 0);
  const stop = new AbortController();
  const writes: { readonly operation: string; readonly second: number }[] = [];
  let emptiable: readonly string[] = [];
  afterEach(() => stop.abort());

  function fill(): void {
    for (let index = 0; index < NODES; index += 1) {
      const { node, nodeClaim } = stateNode(`node-${index}`);
      if (node) kube.create(NODE, node);
      if (nodeClaim) kube.create(NODE_CLAIM, nodeClaim);
    }
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' as const }] } as const;
    for (let index = 0; index < PODS; index += 1) {
      const uid = `set-${index % 200}`;
      const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: uid, uid, controller: true }];
      const spec = { containers: [{ name: 'main' }], nodeName: `node-${index % NODES}` };
      kube.create(POD, pod(`pod-${index}`, { metadata: { ownerReferences }, spec, status }));
    }
  }

  function start(): void {
    const { signal } = stop;
    const { log } = recordingLog();
    const informers = kube.informers(signal);
    const metrics = createMetrics();
    const settings = parseAwsSettings(['--cluster-name=test', ...ON], {});
    const { deps } = createOperator({
      ...{ client: kube.client(signal), informers, clock, log, metrics, settings },
      provider: { provider: new FakeCloud(clock) },
      events: { publish: () => undefined },
    });
    const { cluster } = deps;
    const pools = new Map([['default', { nodePool: pool(), instanceTypes: [instanceType('m.large', 2, 0.1)] }]]);
    const snapshotOf = remembering(
      (_: readonly string[]) => ({ nodes: cluster.nodes(), pools }) as unknown as DisruptionInput,
    );
    const steering = new Steering(deps, {
      snapshots: { current: async () => snapshotOf(emptiable) },
      simulations: { emptiable: async () => emptiable },
    });
    kube.writes.length = 0;
    kube.beforeWrite = (operation) => {
      writes.push({ operation, second: Math.floor((clock.now() - NOW) / 1000) });
    };
    runControllers({ controllers: [steering, new DeletionCosts(deps)], informers, clock, log, metrics, signal });
  }

  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) await clock.advance(1000);
  }

  /** Returns the largest number of writes in any span of this many seconds. */
  function mostIn(operation: string, seconds: number): number {
    const times = writes.filter((write) => write.operation === operation).map(({ second }) => second);
    return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + seconds).length));
  }

  const marked = (): number =>
    kube.all(NODE).filter(({ spec }) => spec?.taints?.some(({ key }) => key === EMPTYING_TAINT.key)).length;

  it('changes the marks of at most one node and two pods in a second', async () => {
    fill();
    start();
    emptiable = Array.from({ length: 90 }, (_, index) => `aws:///node-${index}`);
    await pass(330);
    expect([marked(), kube.all(POD).filter(hasMark).length]).toEqual([90, 500]);
    const before = writes.length;
    await pass(60);
    expect(writes).toHaveLength(before);
    emptiable = [];
    await pass(420);
    expect([marked(), kube.all(POD).filter(hasMark).length]).toEqual([0, 0]);
    expect(mostIn('patch pods', 1)).toBe(2);
    expect(mostIn('patch nodes', 30)).toBe(30);
  });
});
