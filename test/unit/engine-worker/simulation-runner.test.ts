/** Disruption simulations in an engine worker. */

import { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import type { PersistentVolumeClaim, Pod, PodDisruptionBudget } from '#api/objects';
import { type Candidate, described, type Method, type MethodInput } from '#engine/disruption';
import type { PoolInput, StateNode } from '#engine/model';
import { multiNode, poolTotals, singleNode, swap } from '#engine/testing';
import type { SimulationInput } from '#planner';
import type { StateMessage } from '../../../src/engine-worker/protocol.ts';
import { localSimulationRunner, type SimulationRunner } from '../../../src/engine-worker/simulation-runner.ts';
import { WorkerSimulationRunner } from '../../../src/engine-worker/worker-simulation-runner.ts';
import { NOW_MS } from '../../support/cluster-objects.ts';
import { type Cluster, type ClusterShape, clusterOf } from '../../support/clusters.ts';
import { invalid } from '../../support/partial.ts';

const SHAPE: ClusterShape = {
  seed: 7,
  nodes: 12,
  podsPerNode: 6,
  fill: [0.4, 1],
  pools: [
    { name: 'plain', capacityTypes: ['on-demand'], budget: '100%' },
    { name: 'balanced', capacityTypes: ['spot'], consolidationPolicy: 'Balanced', budget: '100%' },
  ],
  workloads: 8,
  ruled: 0.5,
  offered: /^[cmr]5a?\./,
  bought: /^m5\.(x|2x)large$/,
};

const inputOf = ({ snapshot, pools }: Cluster): SimulationInput => ({
  snapshot,
  nodePools: [...pools.values()].map(({ nodePool }) => nodePool),
  solve: { preferencePolicy: 'Respect', minValuesPolicy: 'Strict', reservedMode: 'fallback', ignoreDraRequests: true },
});

function methodInputOn(
  simulations: SimulationRunner,
  { snapshot, pools }: Cluster,
  input: SimulationInput,
): MethodInput {
  const candidates = snapshot.nodes.flatMap((node): Candidate[] => {
    const candidate = described(node, pools);
    return candidate === undefined ? [] : [candidate];
  });
  const methodInput: MethodInput = {
    nowMs: NOW_MS,
    candidates,
    budgets: new Map([...pools.keys()].map((name) => [name, 5])),
    totals: poolTotals(snapshot.nodes, candidates, pools),
    pools,
    claims: new Map(),
    spotToSpot: true,
    consolidation: 'thorough',
    unseenPools: new Set(),
    simulate: (gone, options) =>
      simulations.simulate(
        input,
        gone.map(({ providerId }) => providerId),
        options,
      ),
    elapsedMs: () => 0,
    refresh: async () => methodInput,
  };
  return methodInput;
}

const never = new AbortController().signal;

function decide(simulations: SimulationRunner, cluster: Cluster, method: Method, signal = never) {
  const input = inputOf(cluster);
  return simulations.decide(input, method, methodInputOn(simulations, cluster, input), signal);
}

/** Returns the cluster without these nodes. All other objects are identical. */
const without = (cluster: Cluster, ...names: readonly string[]): Cluster => ({
  ...cluster,
  snapshot: { ...cluster.snapshot, nodes: cluster.snapshot.nodes.filter(({ name }) => !names.includes(name)) },
});

describe('a simulation in a worker', () => {
  const thread = new WorkerSimulationRunner();
  afterAll(() => thread.close());

  it.each([multiNode, singleNode, swap])('decides like a simulation in the main thread: $name', async (method) => {
    const cluster = clusterOf(SHAPE);
    const expected = await decide(localSimulationRunner(), cluster, method);
    expect(expected.commands).not.toEqual([]);
    const found = await decide(thread, cluster, method);
    expect(found).toEqual(expected);
    expect(found.commands[0]?.candidates[0]?.stateNode).toBe(
      cluster.snapshot.nodes.find(({ name }) => name === found.commands[0]?.candidates[0]?.name),
    );
  });

  it('follows changes of the cluster', async () => {
    const full = clusterOf(SHAPE);
    const steps = [
      full,
      without(full, 'node-00001', 'node-00004'),
      clusterOf({ ...SHAPE, seed: 8 }),
      without(full, 'node-00002'),
    ];
    for (const cluster of steps)
      expect(await decide(thread, cluster, multiNode)).toEqual(
        await decide(localSimulationRunner(), cluster, multiNode),
      );
  });

  it('receives long lists in parts, so that other work is not blocked for long', async () => {
    const sent = jest.spyOn(Worker.prototype, 'postMessage');
    const cluster = clusterOf({ ...SHAPE, offered: /./ });
    const types = Math.max(...[...cluster.pools.values()].map(({ instanceTypes }) => instanceTypes.length));
    expect(types).toBeGreaterThan(300);
    const found = await decide(thread, cluster, multiNode);
    const parts = sent.mock.calls.map(([message]) => message as StateMessage).filter(({ kind }) => kind === 'types');
    sent.mockRestore();
    expect(found).toEqual(await decide(localSimulationRunner(), cluster, multiNode));
    const sizes = parts.flatMap((part) => (part.kind === 'types' ? part.parts.length : []));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_100);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThanOrEqual(types);
  });

  it('returns its result, or undefined if a node is marked for deletion', async () => {
    const cluster = clusterOf(SHAPE);
    const input = inputOf(cluster);
    const ids = ['aws:///node-00000', 'aws:///node-00003'];
    const ask = (simulations: SimulationRunner) => simulations.simulate(input, ids, { sparesQuietNodes: true });
    expect(await ask(thread)).toEqual(await ask(localSimulationRunner()));

    const nodes = cluster.snapshot.nodes.map((node) =>
      node.providerId === ids[0] ? { ...node, markedForDeletion: true } : node,
    );
    const going = inputOf({ ...cluster, snapshot: { ...cluster.snapshot, nodes } });
    expect(await thread.simulate(going, ids, { sparesQuietNodes: true })).toBeUndefined();
  });

  it('respects annotations and PodDisruptionBudgets that keep pods on their nodes', async () => {
    const cluster = clusterOf(SHAPE);
    const [first, second, ...others] = cluster.snapshot.nodes;
    if (first === undefined || second === undefined) throw new Error('the cluster has too few nodes');
    const changed = (node: typeof first, change: (pod: Pod) => Pod) => ({ ...node, pods: node.pods.map(change) });
    const fixed = changed(first, (pod) => ({
      ...pod,
      metadata: { ...pod.metadata, annotations: { 'karpenter.sh/do-not-disrupt': '3h', note: 'of no interest' } },
    }));
    // a budget that blocks the eviction of healthy pods, and one unhealthy pod
    const sick = changed(second, (pod) => ({
      ...pod,
      metadata: { ...pod.metadata, labels: { app: 'sick' } },
      status: { ...pod.status, conditions: [{ type: 'Ready', status: 'False' }] },
    }));
    const budget: PodDisruptionBudget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'sick', namespace: 'default' },
      spec: {
        maxUnavailable: 0,
        selector: { matchLabels: { app: 'sick' } },
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
      },
    };
    const nodes = [fixed, sick, ...others];
    const input = inputOf({ ...cluster, snapshot: { ...cluster.snapshot, nodes, podDisruptionBudgets: [budget] } });
    for (const node of [fixed, sick]) {
      const ask = (simulations: SimulationRunner) =>
        simulations.simulate(input, [node.providerId], { sparesQuietNodes: false });
      const found = await ask(thread);
      expect(found).toEqual(await ask(localSimulationRunner()));
      const placed = [...(found?.claims ?? []), ...(found?.plan.placements ?? [])].flatMap(({ pods }) => pods);
      expect(placed.length).toBe(node === fixed ? 0 : node.pods.length - 1); // all except the daemon pod
    }
  });

  it('does not mix with concurrent requests', async () => {
    const clusters = [1, 2, 3].map((seed) => clusterOf({ ...SHAPE, seed }));
    const found = await Promise.all(clusters.map((cluster) => decide(thread, cluster, singleNode)));
    for (const [at, cluster] of clusters.entries())
      expect(found[at]).toEqual(await decide(localSimulationRunner(), cluster, singleNode));
  });

  it('supports more NodePools than the number of retained lists of instance types', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `pool-${at}`);
    const shared = clusterOf({ ...SHAPE, pools: names.map((name) => ({ name, capacityTypes: ['on-demand'] })) });
    const listed = [...shared.pools].map(([name, pool]) => [name, { ...pool, instanceTypes: [...pool.instanceTypes] }]);
    const pools: Cluster['pools'] = new Map(listed as [string, PoolInput][]);
    const cluster = { ...shared, pools, snapshot: { ...shared.snapshot, pools: [...pools.values()] } };
    const expected = await decide(localSimulationRunner(), cluster, singleNode);
    expect(expected.commands).not.toEqual([]);
    for (let round = 0; round < 2; round++) expect(await decide(thread, cluster, singleNode)).toEqual(expected);
  });

  it('returns the error of a failed request, and continues with the next request', async () => {
    const cluster = clusterOf(SHAPE);
    const broken = {
      ...cluster,
      snapshot: { ...cluster.snapshot, persistentVolumeClaims: [invalid<PersistentVolumeClaim>({})] },
    };
    await expect(decide(thread, broken, multiNode)).rejects.toThrow(/undefined/);
    const { failures = [], commands } = await decide(thread, broken, singleNode);
    expect(commands).toEqual([]);
    expect(failures.map(({ node }) => node).sort()).toEqual(cluster.snapshot.nodes.map(({ name }) => name).sort());
    for (const { error } of failures) expect(error).toMatch(/undefined/);
    expect((await decide(thread, cluster, multiNode)).commands).toHaveLength(1);
  });

  it('starts a new worker if an object could not be copied', async () => {
    const cluster = clusterOf(SHAPE);
    const [first, ...others] = cluster.snapshot.nodes;
    const odd = invalid<StateNode>({ ...first, labels: { odd: () => undefined } });
    const broken = { ...cluster, snapshot: { ...cluster.snapshot, nodes: [...others, odd] } };
    await expect(decide(thread, broken, multiNode)).rejects.toThrow(/could not be cloned/);
    expect(await decide(thread, cluster, multiNode)).toEqual(await decide(localSimulationRunner(), cluster, multiNode));
  });

  it('stops if the request is cancelled, and starts a new worker', async () => {
    const cluster = clusterOf({ ...SHAPE, nodes: 60 });
    const stop = new AbortController();
    const found = decide(thread, cluster, singleNode, stop.signal);
    stop.abort(new Error('called off'));
    await expect(found).rejects.toThrow('called off');
    await expect(decide(thread, cluster, singleNode, stop.signal)).rejects.toThrow('called off');
    expect((await decide(thread, clusterOf(SHAPE), multiNode)).commands).toHaveLength(1);
  });

  it('fails in flight when the runner is closed, and starts a new worker', async () => {
    const cluster = clusterOf(SHAPE);
    const found = decide(thread, cluster, singleNode);
    const failed = expect(found).rejects.toThrow('The disruption worker ended');
    await thread.close();
    await failed;
    expect((await decide(thread, cluster, multiNode)).commands).toHaveLength(1);
  });
});
