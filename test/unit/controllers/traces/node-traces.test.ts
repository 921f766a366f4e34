/** Spans of launched and terminated nodes, on a clock that tests advance. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE_CLAIM, NODE_POOL, type NodeClaim } from '#api/objects';
import { InsufficientCapacity } from '#cloud';
import { createMetrics } from '#observe/setup';
import { NodeTraces } from '../../../../src/controllers/traces/node-traces.ts';
import { partial } from '../../../support/partial.ts';
import { World } from '../harness.ts';
import { RecordingTracer } from './recording-tracer.ts';

let world: World;
let tracer: RecordingTracer;
beforeEach(() => {
  world = new World();
  tracer = new RecordingTracer();
  world.tracer = tracer;
});
afterEach(() => world.kill());

const outcomes = (name: string): readonly unknown[] =>
  tracer.named(name).map(({ attributes }) => attributes['karpenter.outcome']);

describe('the trace of a NodeClaim', () => {
  it('has each step as a child in sequence, and ends when its pods are bound', async () => {
    world.nodePool();
    world.start();
    await world.pass(2);
    const pendingMs = world.clock.now();
    world.pending(3);
    await world.pass(20);
    const root = tracer.one('provision node');
    expect(root).toMatchObject({ parent: undefined, failure: undefined });
    expect(root.attributes).toMatchObject({
      'karpenter.nodepool.name': 'default',
      'karpenter.nodeclaim.name': world.claims[0]?.metadata.name,
      'host.type': 'm.xlarge',
      'karpenter.capacity_type': 'spot',
      'k8s.node.name': world.nodes[0]?.metadata.name,
      'karpenter.pods': 3,
      'karpenter.outcome': 'ready',
    });
    expect(root.startMs - pendingMs).toBeLessThan(100);
    const [window, solve, creation, launch, registration, initialization] = [
      'batch window',
      'solve',
      'create NodeClaim',
      'launch',
      'registration',
      'initialization',
    ].map((name) => tracer.one(name, root));
    expect((window?.endMs ?? 0) - (window?.startMs ?? 0)).toBeGreaterThanOrEqual(1_000);
    expect(solve?.attributes).toMatchObject({ 'karpenter.pods': 3, 'karpenter.nodeclaims': 1 });
    const steps = [window, solve, creation, launch, registration, initialization];
    for (const [at, step] of steps.entries())
      expect(step?.startMs).toBeGreaterThanOrEqual(steps[at - 1]?.endMs ?? root.startMs);
    expect(initialization?.startMs).toBe(registration?.endMs);
    expect(tracer.named('pod', root)).toHaveLength(3);
    expect(outcomes('pod')).toEqual(['bound', 'bound', 'bound']);
    expect(tracer.open).toEqual([]);
  });

  it('has the request to the cloud provider below the launch', async () => {
    world.nodePool();
    world.cloud.beforeCreate = ({ metadata }) => {
      const nowMs = world.clock.now();
      world.traces?.step(metadata.uid ?? '', { name: 'EC2.CreateFleet', fromMs: nowMs, toMs: nowMs + 5 });
    };
    world.start();
    world.pending(1);
    await world.pass(20);
    expect(tracer.one('EC2.CreateFleet', tracer.one('launch'))).toMatchObject({ failure: undefined });
  });

  it('fails with the error of the cloud provider, and its pods are in the next trace', async () => {
    let refused = 0;
    world.cloud.beforeCreate = () => {
      refused += 1;
      if (refused === 1) throw new InsufficientCapacity('no m.large in zone-a');
    };
    world.nodePool();
    world.start();
    world.pending(1);
    await world.pass(30);
    const [first, second] = tracer.named('provision node');
    expect(first?.failure).toContain('no m.large in zone-a');
    expect(first?.attributes['karpenter.outcome']).toBe('NodeClaim deleted');
    expect(second?.attributes['karpenter.outcome']).toBe('ready');
    expect(outcomes('pod')).toEqual(['NodeClaim deleted', 'bound']);
    // The wait of a pod includes both attempts.
    const [before, after] = tracer.named('pod');
    expect(after?.startMs).toBe(before?.startMs);
    expect(tracer.open).toEqual([]);
  });

  it('has one launch span per attempt', async () => {
    let tries = 0;
    world.cloud.beforeCreate = () => {
      tries += 1;
      if (tries < 3) throw new Error('the network is down');
    };
    world.nodePool();
    world.start();
    world.pending(1);
    await world.pass(60);
    expect(tracer.named('launch').map(({ failure }) => failure)).toEqual([
      'the network is down',
      'the network is down',
      undefined,
    ]);
    expect(tracer.one('provision node')).toMatchObject({ failure: undefined });
  });

  it('reports the outcome of pods that are deleted or never bound', async () => {
    world.nodePool();
    world.start();
    const [gone] = world.pending(2);
    world.joining = false;
    await world.pass(10);
    if (gone) world.removePods(gone);
    // A pod that fits nowhere anymore.
    world.bindPods = () => {};
    world.joining = true;
    await world.pass(30);
    expect(outcomes('pod')).toEqual(['deleted', undefined]);
    expect(tracer.open).toEqual(['provision node', 'pod']);
    await world.pass(6 * 60);
    expect(outcomes('pod')).toEqual(['deleted', 'not waited for']);
    expect(tracer.one('provision node')).toMatchObject({ failure: undefined });
    expect(tracer.open).toEqual([]);
  });

  it('is sent incomplete when the operator stops', async () => {
    world.joining = false;
    world.nodePool();
    world.start();
    world.pending(1);
    await world.pass(10);
    expect(tracer.open).toEqual(['provision node', 'pod', 'registration']);
    world.traces?.stop();
    expect(tracer.open).toEqual([]);
    expect(tracer.one('provision node')).toMatchObject({
      failure: undefined,
      attributes: { 'karpenter.outcome': 'operator stopped' },
    });
  });

  it('has spans of 200 pods of a solve, distributed evenly, and reports the number of omitted pods', async () => {
    world.nodePool();
    world.start();
    world.pending(250, '100m');
    await world.pass(30);
    const roots = tracer.named('provision node');
    expect(roots.length).toBeGreaterThan(2);
    const pods = roots.map((root) => tracer.named('pod', root).length);
    expect(Math.max(...pods) - Math.min(...pods)).toBeLessThanOrEqual(20);
    expect(tracer.named('pod')).toHaveLength(200);
    const without = roots.map(({ attributes }) => Number(attributes['karpenter.pods.without_span']));
    expect(without.reduce((sum, count) => sum + count, 0)).toBe(50);
    expect(await world.metrics.text()).toContain('karpenter_traces_spans_total{result="over_limit"} 50');
    expect(tracer.open).toEqual([]);
  });

  it('ends after a thousand later traces are open', () => {
    const traces = new NodeTraces({ tracer, clock: world.clock, metrics: createMetrics() });
    for (let at = 0; at <= 1_000; at += 1) {
      const claim = partial<NodeClaim>({ metadata: { name: `c-${at}`, uid: `uid-${at}` } });
      const fromMs = world.clock.now();
      traces.created({
        ...{ claim, nodePool: 'default', reason: 'static', fromMs, toMs: fromMs, podCount: 0, traced: [] },
        decision: undefined,
      });
    }
    expect(tracer.open).toHaveLength(1_000);
    expect(outcomes('provision node').filter(Boolean)).toEqual(['not waited for']);
  });
});

describe('the trace of a terminating node', () => {
  async function bought(): Promise<void> {
    world.nodePool('default', { disruption: { consolidateAfter: 'Never' } });
    world.start();
    world.deploy('web', 1);
    await world.pass(20);
  }

  it('is separate without a command', async () => {
    await bought();
    const [claim] = world.claims;
    if (claim) world.kube.delete(NODE_CLAIM, claim.metadata);
    await world.pass(40);
    const root = tracer.one('terminate node');
    expect(root.parent).toBeUndefined();
    expect(root.attributes).toMatchObject({ 'host.type': 'm.large', 'karpenter.outcome': 'terminated' });
    const [drain, detach, terminate] = ['drain', 'detach volumes', 'terminate instance'].map((name) =>
      tracer.one(name, root),
    );
    expect(drain?.startMs).toBe(root.startMs);
    expect(detach?.startMs).toBe(drain?.endMs);
    expect(terminate?.startMs).toBe(detach?.endMs);
    // The cloud provider takes ten seconds.
    expect((terminate?.endMs ?? 0) - (terminate?.startMs ?? 0)).toBeGreaterThanOrEqual(10_000);
    expect(terminate?.endMs).toBe(root.endMs);
  });

  it('belongs to its command, like the replacements', async () => {
    world.nodePool();
    world.start();
    world.deploy('web', 1);
    await world.pass(45);
    const metadata = { labels: { 'example.com/generation': '2' } };
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { template: { metadata } } });
    await world.pass(110);
    const [root] = tracer.named('disrupt nodes');
    expect(root?.attributes).toMatchObject({
      'karpenter.reason': 'Drifted',
      'karpenter.decision': 'replace',
      'karpenter.candidates': 1,
      'karpenter.replacements': 1,
      'karpenter.outcome': 'carried out',
    });
    const replacement = tracer.one('provision node', root);
    expect(replacement.attributes).toMatchObject({ 'karpenter.reason': 'drifted' });
    const termination = tracer.one('terminate node', root);
    expect(tracer.one('replacements', root).endMs).toBeLessThanOrEqual(termination.startMs);
    expect(termination.endMs).toBe(root?.endMs);
    expect(tracer.open).toEqual([]);
  });

  it('reports the rollback of its command', async () => {
    world.nodePool();
    world.start();
    world.deploy('web', 1);
    await world.pass(45);
    world.joining = false;
    const metadata = { labels: { 'example.com/generation': '2' } };
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { template: { metadata } } });
    await world.pass(11 * 60);
    const [root] = tracer.named('disrupt nodes');
    expect(root?.failure).toBe('command reached timeout');
    expect(tracer.one('replacements', root).failure).toBe('command reached timeout');
    expect(tracer.named('terminate node', root)).toEqual([]);
  });
});
