/** Effects that failed writes and lagging caches must not have on controllers of NodeClaims and Nodes. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  DO_NOT_DISRUPT_ANNOTATION,
  type Kind,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  POD,
  type Taint,
  UNREGISTERED_TAINT,
} from '#api/objects';
import { ApiError } from '#kube/client';
import { conditionOf, World } from './harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

describe('a group of nodes that terminate together', () => {
  it.each<{ what: string; kind: Kind<KubeObject> }>([
    { what: 'claims', kind: NODE_CLAIM },
    { what: 'Nodes', kind: NODE },
  ])('uses none of the retries that all nodes share because their $what are deleted', async ({ kind }) => {
    world.nodePool();
    world.start();
    world.deploy('web', 12, '7');
    await world.pass(20);
    expect(world.nodes).toHaveLength(12);

    const before = world.lines.length;
    world.kube.delete(NODE_POOL, { name: 'default' });
    world.deploy('web', 0);
    for (const { metadata } of world.kube.all(kind)) world.kube.delete(kind, metadata);
    await world.pass(20);
    expect([world.claims, world.nodes]).toEqual([[], []]);
    const requeued = world.lines.slice(before).filter(({ message }) => message === 'requeued');
    expect(requeued.map(({ fields }) => fields.controller)).toEqual([]);
    expect(world.errors()).toEqual([]);
  });
});

describe('a pod that was evicted', () => {
  /** Ends pods with a delay, as kubelets do. */
  function endPods(): void {
    for (const { metadata } of world.pods) {
      const endedMs = Date.parse(metadata.deletionTimestamp ?? '') + 8_000;
      if (world.clock.now() >= endedMs) world.kube.patch(POD, metadata, { metadata: { finalizers: [] } });
    }
  }

  it('is neither evicted nor counted again while the cache contains its old state', async () => {
    world = new World(2_500);
    const { spec } = world.nodePool('template');
    world.kube.delete(NODE_POOL, { name: 'template' });
    const template = { spec: { ...spec.template.spec, terminationGracePeriod: '60s' } };
    world.nodePool('default', { template, disruption: { consolidateAfter: 'Never' } });
    world.start();
    const [held, critical] = world.pending(3);
    await world.pass(40);
    expect(world.nodes).toHaveLength(1);
    expect(world.pods.map(({ spec }) => spec.nodeName)).toEqual(Array(3).fill(world.nodes[0]?.metadata.name));

    for (const { metadata } of world.pods) {
      world.kube.patch(POD, metadata, { metadata: { finalizers: ['example.com/kubelet'] } });
    }
    world.kube.patch(POD, held?.metadata ?? { name: '' }, {
      metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } },
      spec: { terminationGracePeriodSeconds: 30 },
    });
    world.kube.patch(POD, critical?.metadata ?? { name: '' }, {
      spec: { priorityClassName: 'system-cluster-critical' },
    });
    world.kube.delete(NODE_POOL, { name: 'default' });
    for (const { metadata } of world.claims) world.kube.delete(NODE_CLAIM, metadata);
    for (let second = 0; second < 120; second += 1) {
      await world.pass(1);
      endPods();
    }
    expect([world.claims, world.nodes, world.pods]).toEqual([[], [], []]);
    const text = await world.metrics.text();
    expect(text).toMatch(/pods_drained_total\{reason="Forceful Termination"\} 3\n/);
    expect(text).toMatch(/pods_eviction_requests_total\{code="200"\} 2\n/);
    expect(world.kube.writes.filter((write) => write === 'delete pods')).toHaveLength(3);
    expect(world.eventReasons().filter((reason) => reason === 'Disrupted')).toHaveLength(1);
  });
});

describe('a joining Node', () => {
  it.each([
    { how: 'normally', taints: [UNREGISTERED_TAINT] },
    { how: 'without the registration taint', taints: [] },
  ])('is not schedulable before its startup taint is removed if it registers $how', async ({ taints }) => {
    const agent: Taint = { key: 'example.com/agent', effect: 'NoSchedule' };
    const { spec } = world.nodePool('template');
    world.kube.delete(NODE_POOL, { name: 'template' });
    const template = { spec: { ...spec.template.spec, startupTaints: [agent] } };
    world.nodePool('default', { template });
    world.joining = false;
    world.start();
    world.pending(1);
    await world.pass(5);
    for (const [providerID, { created }] of world.cloud.instances) {
      world.join(providerID, created, { spec: { providerID, taints } });
    }
    await world.pass(10);
    expect(conditionOf(world.claims[0], 'Registered')).toBe('True/Registered');
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('Unknown/StartupTaintsExist');
    expect(world.nodes.map(({ spec }) => spec?.taints)).toEqual([[agent]]);

    world.kube.patch(NODE, world.nodes[0]?.metadata ?? { name: '' }, { spec: { taints: [] } });
    await world.pass(10);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
    expect(world.claims).toHaveLength(1);
  });
});

describe('registration health of a NodePool', () => {
  const pool = () => world.kube.get(NODE_POOL, { name: 'default' }).metadata.uid ?? '';

  /** Makes the first writes of a kind fail. */
  function failing(operation: string, times: number, error: ApiError): () => number {
    let failed = 0;
    world.kube.beforeWrite = (at) => {
      if (at !== operation || failed === times) return;
      failed += 1;
      throw error;
    };
    return () => failed;
  }

  async function launched(): Promise<void> {
    world.joining = false;
    world.nodePool();
    world.start();
    world.pending(1);
    await world.pass(5);
    expect(conditionOf(world.claims[0], 'Launched')).toBe('True/Launched');
  }

  it('counts a failure once if the deletion of the claim is retried', async () => {
    await launched();
    world.leaveUntried(...world.pods);
    await world.clock.advance(14 * 60_000);
    const failed = failing('delete nodeclaims', 3, new ApiError(500, 'InternalError', 'etcdserver: request timed out'));
    await world.pass(120);
    expect([failed(), world.claims]).toEqual([3, []]);
    expect(world.cluster.registrationHealth.status(pool())).toBe('healthy');
    const conditions = world.kube.get(NODE_POOL, { name: 'default' }).status?.conditions ?? [];
    expect(conditions.find(({ type }) => type === 'NodeRegistrationHealthy')?.status).toBe('Unknown');
  });

  it('counts a success once if the write of the claim conflicts', async () => {
    await launched();
    const health = world.cluster.registrationHealth;
    for (const claim of ['a', 'b']) health.record(pool(), false, claim);
    const failed = failing('patch-status nodeclaims', 4, new ApiError(409, 'Conflict', 'modified'));
    world.joinInstances();
    await world.pass(60);
    expect([failed(), conditionOf(world.claims[0], 'Registered')]).toEqual([4, 'True/Registered']);
    expect(health.status(pool())).toBe('unhealthy');
  });
});
