/** Costs of nodes and their allocation to workloads, to a billionth of a USD. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, type Pod, ZONE_LABEL } from '#api/objects';
import { CostAccount, IDLE, type NodePrice } from '../../../../src/engine/cost/account.ts';
import type { CostGroup, CostReport, CostSums } from '../../../../src/engine/cost/report.ts';
import type { Resources, StateNode } from '../../../../src/engine/model.ts';
import { daemon, type PodParts, pod } from '../build.ts';
import { NOW, stateNode } from '../disruption/objects.ts';

const GIB = 2 ** 30;

const node = (
  name: string,
  pods: readonly Pod[],
  {
    allocatable = { cpu: 4_000, memory: 16 * GIB },
    labels = {},
  }: { allocatable?: Resources; labels?: StateNode['labels'] } = {},
): StateNode => {
  const state = stateNode(name, { pods });
  return { ...state, allocatable, labels: { ...state.labels, ...labels } };
};

const bound = (name: string, parts: PodParts): Pod => pod(name, { nodeName: 'n', ...parts });

const owned = (each: Pod, kind: string, name: string): Pod => ({
  ...each,
  metadata: { ...each.metadata, ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid: name, controller: true }] },
});

function accountOf(...nodes: readonly (readonly [StateNode, NodePrice | undefined])[]): CostReport {
  const account = new CostAccount();
  for (const [state, price] of nodes) account.add(state, price);
  return account.report(NOW);
}

const named = (groups: readonly CostGroup[], name: string): CostGroup | undefined =>
  groups.find((group) => group.name === name);

describe('a node', () => {
  it('is paid for by the requests of its pods except those of DaemonSets, and the rest is idle', () => {
    // 4 vCPU and 16 GiB are worth 0.126444 and 0.067792: CPU is 65.1 % of the price
    const pods = [
      bound('web', { cpu: '1', memory: '4Gi', namespace: 'shop' }),
      daemon('agent', { nodeName: 'n', cpu: '400m', memory: '1600Mi', namespace: 'system' }),
      { ...bound('done', { cpu: '1' }), status: { phase: 'Succeeded' } } as Pod,
    ];
    const { total, groups, price } = accountOf([node('n', pods), { usdPerHour: 0.2 }]);
    const cpu = 0.126444 / 0.194236;
    const agent = cpu * 0.1 + (1 - cpu) * (1600 / 1024 / 16);
    expect(total).toMatchObject({ nodes: 1, pods: 2, usdPerHour: 0.2, listUsdPerHour: 0.2 });
    expect(total.workloadsUsdPerHour).toBeCloseTo(0.05, 9);
    expect(total.daemonSetsUsdPerHour).toBeCloseTo(0.2 * agent, 9);
    expect(total.idleUsdPerHour).toBeCloseTo(0.15 - 0.2 * agent, 9);
    expect(price).toMatchObject({ instancesUsdPerHour: 0.2, coveredUsdPerHour: 0 });
    expect(groups.namespace.map(({ name }) => name)).toEqual([IDLE, 'shop', 'system']);
    expect(named(groups.namespace, IDLE)?.usdPerHour).toBe(total.idleUsdPerHour);
    expect(named(groups.workload, 'system/DaemonSet/agent')).toMatchObject({ pods: 1, workloadsUsdPerHour: 0 });
  });

  it('costs its instance, volumes and address, minus the part that commitments cover, without planning figures', () => {
    const extras = { feeUsdPerHour: 0.01, volumesUsdPerHour: 0.002, publicIpv4UsdPerHour: 0.005 };
    const state = node('n', []);
    const report = accountOf(
      [state, { usdPerHour: 0.15, listUsdPerHour: 0.2, surplusUsdPerHour: 0.006, extras, coveredUsdPerHour: 0.1 }],
      [state, { usdPerHour: 0.15, extras, coveredUsdPerHour: 9 }],
    );
    expect(report.price).toEqual({
      instancesUsdPerHour: 0.3,
      volumesUsdPerHour: 0.004,
      publicIpv4UsdPerHour: 0.01,
      coveredUsdPerHour: 0.25,
    });
    expect(report.planning).toEqual({ surplusCreditsUsdPerHour: 0.006, feesUsdPerHour: 0.02 });
    expect(report.total).toMatchObject({ nodes: 2, usdPerHour: 0.064, listUsdPerHour: 0.364, idleUsdPerHour: 0.064 });
  });

  it('reports its surplus credits beside its cost, which its pods share in the same way', () => {
    const pods = [bound('web', { cpu: '2', memory: '8Gi' }), bound('db', { cpu: '1', memory: '4Gi' })];
    const { total, groups, nodes } = accountOf(
      [node('burstable', pods), { usdPerHour: 0.1, surplusUsdPerHour: 0.02 }],
      [node('plain', [], { labels: { [NODEPOOL_LABEL]: 'other' } }), { usdPerHour: 0.1 }],
    );
    const credits = (rows: readonly CostGroup[]) =>
      Object.fromEntries(rows.map(({ name, surplusCreditsUsdPerHour }) => [name, surplusCreditsUsdPerHour]));
    expect(total).toMatchObject({ usdPerHour: 0.2, surplusCreditsUsdPerHour: 0.02 });
    expect(credits(groups.nodePool)).toEqual({ default: 0.02, other: 0 });
    expect(credits(groups.workload)).toEqual({ 'default/Pod/web': 0.01, 'default/Pod/db': 0.005, [IDLE]: 0.005 });
    const ofNodes = nodes.map(({ node: name, surplusCreditsUsdPerHour }) => [name, surplusCreditsUsdPerHour]);
    expect(Object.fromEntries(ofNodes)).toEqual({ burstable: 0.02, plain: 0 });
  });

  it('is mainly paid for by the pods that use its accelerators', () => {
    const allocatable = { cpu: 4_000, memory: 16 * GIB, 'nvidia.com/gpu': 1 };
    const pods = [
      bound('train', { requests: { cpu: '100m', 'nvidia.com/gpu': '1' }, namespace: 'ml' }),
      bound('web', { cpu: '3', memory: '12Gi', namespace: 'shop' }),
    ];
    const { groups } = accountOf([node('n', pods, { allocatable }), { usdPerHour: 1 }]);
    const gpu = 0.95 / (0.95 + 0.194236);
    expect(named(groups.namespace, 'ml')?.usdPerHour).toBeGreaterThan(gpu);
    expect(named(groups.namespace, 'shop')?.usdPerHour).toBeCloseTo(0.75 * (1 - gpu), 6);
  });

  it('counts Neuron devices and their cores once', () => {
    const allocatable = { cpu: 4_000, memory: 16 * GIB, 'aws.amazon.com/neuron': 1, 'aws.amazon.com/neuroncore': 2 };
    const core = bound('infer', { requests: { 'aws.amazon.com/neuroncore': '1' } });
    const { total } = accountOf([node('n', [core], { allocatable }), { usdPerHour: 1 }]);
    expect(total.workloadsUsdPerHour).toBeCloseTo((0.5 * 0.95) / (0.95 + 0.194236), 9);
  });

  it('is entirely idle without pods, even if its capacity is unknown', () => {
    const { total } = accountOf([node('n', [], { allocatable: {} }), { usdPerHour: 0.5 }]);
    expect(total).toMatchObject({ usdPerHour: 0.5, idleUsdPerHour: 0.5 });
  });

  it('is entirely allocated if pods request more than its capacity', () => {
    const pods = [bound('a', { cpu: '6', memory: '24Gi' }), bound('b', { cpu: '2', memory: '8Gi' })];
    const { total, groups } = accountOf([node('n', pods), { usdPerHour: 1 }]);
    expect(total.idleUsdPerHour).toBe(0);
    expect(named(groups.workload, 'default/Pod/a')?.usdPerHour).toBe(0.75);
  });

  it('is accounted for even if the requests of a pod cannot be parsed', () => {
    const broken = bound('odd', { cpu: 'many' });
    const { total } = accountOf([node('n', [broken, bound('a', { cpu: '4' })]), { usdPerHour: 1 }]);
    expect(total).toMatchObject({ pods: 2, usdPerHour: 1 });
    expect(total.workloadsUsdPerHour).toBeGreaterThan(0.6);
  });
});

describe('a list of groups', () => {
  it('names workloads by the controllers of their pods', () => {
    const replica = {
      ...owned(bound('web-7d-x', { cpu: '1', labels: { 'pod-template-hash': '7d' } }), 'ReplicaSet', 'web-7d'),
    };
    const { groups } = accountOf([
      node('n', [replica, owned(bound('db-0', { cpu: '1' }), 'StatefulSet', 'db')]),
      { usdPerHour: 1 },
    ]);
    expect(groups.workload.map(({ name }) => name).sort()).toEqual([
      IDLE,
      'default/Deployment/web',
      'default/StatefulSet/db',
    ]);
  });

  it('has one row per label value, highest cost first; nodes without the label are in "unknown"', () => {
    const { [ZONE_LABEL]: _, ...noZone } = stateNode('x').labels;
    const { groups } = accountOf(
      [node('a', [], { labels: { [ZONE_LABEL]: 'zone-b', [CAPACITY_TYPE_LABEL]: 'spot' } }), { usdPerHour: 0.1 }],
      [node('b', [], { labels: { [INSTANCE_TYPE_LABEL]: 'm.xlarge' } }), { usdPerHour: 0.2 }],
      [{ ...node('c', []), labels: noZone }, { usdPerHour: 0.4 }],
    );
    const rows = (list: readonly CostGroup[]) => list.map(({ name, nodes, usdPerHour }) => [name, nodes, usdPerHour]);
    expect(rows(groups.zone)).toEqual([
      ['unknown', 1, 0.4],
      ['zone-a', 1, 0.2],
      ['zone-b', 1, 0.1],
    ]);
    expect(rows(groups.capacityType)).toEqual([
      ['on-demand', 2, 0.6],
      ['spot', 1, 0.1],
    ]);
    expect(rows(groups.instanceType)).toEqual([
      ['m.large', 2, 0.5],
      ['m.xlarge', 1, 0.2],
    ]);
    expect(rows(groups.nodePool)).toEqual([['default', 3, 0.7]]);
  });

  it('excludes nodes without a NodePool or a price, and reports their number', () => {
    const { [NODEPOOL_LABEL]: _, ...foreign } = stateNode('x').labels;
    const report = accountOf(
      [{ ...node('managed-group', []), labels: foreign }, undefined],
      [node('odd', []), undefined],
      [node('n', []), { usdPerHour: 1 }],
    );
    expect(report).toMatchObject({ total: { nodes: 1 }, unpriced: { nodes: 1, names: ['odd'] }, otherNodes: 1 });
    expect(report.nodes.map((each) => each.node)).toEqual(['n']);
  });

  it('is empty if there are no nodes', () => {
    expect(accountOf()).toMatchObject({
      at: '2026-01-15T12:00:00Z',
      total: { nodes: 0, usdPerHour: 0 },
      groups: { namespace: [] },
      nodes: [],
    });
  });
});

it('lists at most one hundred nodes, highest idle cost first', () => {
  const many = Array.from({ length: 130 }, (_, at) => [node(`n${at}`, []), { usdPerHour: at / 100 }] as const);
  const { nodes } = accountOf(...many);
  expect(nodes).toHaveLength(100);
  expect(nodes[0]).toMatchObject({ node: 'n129', idleUsdPerHour: 1.29, nodePool: 'default', zone: 'zone-a' });
});

const amount = fc.integer({ min: 0, max: 200_000 });
const podParts = fc.record({
  cpu: fc.option(
    amount.map((milli) => `${milli}m`),
    { nil: undefined },
  ),
  memory: fc.option(
    amount.map((mebi) => `${mebi}Mi`),
    { nil: undefined },
  ),
  gpu: fc.constantFrom(0, 0, 0, 1, 3),
  namespace: fc.constantFrom('a', 'b', 'c'),
  isDaemon: fc.boolean(),
});
const priced = fc.record({
  pods: fc.array(podParts, { maxLength: 12 }),
  cpu: amount,
  memory: amount,
  gpu: fc.constantFrom(0, 0, 4),
  usdPerHour: fc.double({ min: 0, max: 100, noNaN: true }),
  discount: fc.double({ min: 0, max: 1, noNaN: true }),
  covered: fc.double({ min: 0, max: 50, noNaN: true }),
  fee: fc.double({ min: 0, max: 0.1, noNaN: true }),
  pool: fc.constantFrom('x', 'y'),
});

const nano = (usd: number): number => Math.round(usd * 1e9);

it('adds up to a billionth of a USD for any nodes', () => {
  fc.assert(
    fc.property(fc.array(priced, { maxLength: 8 }), (nodes) => {
      const account = new CostAccount();
      let expected = 0;
      nodes.forEach((each, at) => {
        const pods = each.pods.map(({ isDaemon, cpu, memory, gpu, namespace }, index) => {
          const requests = { ...(gpu > 0 ? { 'nvidia.com/gpu': String(gpu) } : {}) };
          const parts = { nodeName: 'n', namespace, requests, ...(cpu && { cpu }), ...(memory && { memory }) };
          return (isDaemon ? daemon : pod)(`p${index}`, parts);
        });
        const allocatable = { cpu: each.cpu, memory: each.memory * 2 ** 20, 'nvidia.com/gpu': each.gpu };
        const extras = { feeUsdPerHour: each.fee, volumesUsdPerHour: 0.0137, publicIpv4UsdPerHour: 0.005 };
        const usdPerHour = each.usdPerHour * (1 - each.discount);
        account.add(node(`n${at}`, pods, { allocatable, labels: { [NODEPOOL_LABEL]: each.pool } }), {
          ...{ usdPerHour, listUsdPerHour: each.usdPerHour, extras, coveredUsdPerHour: each.covered },
          surplusUsdPerHour: 0.0043,
        });
        expected += nano(usdPerHour) - nano(Math.min(usdPerHour, each.covered)) + nano(0.0187);
      });
      const { total, price, groups } = account.report(NOW);
      const sumOf = (rows: readonly CostSums[], key: keyof CostSums): number =>
        rows.reduce((sum, row) => sum + nano(row[key]), 0);
      expect(nano(total.usdPerHour)).toBe(expected);
      expect(nano(total.workloadsUsdPerHour) + nano(total.daemonSetsUsdPerHour) + nano(total.idleUsdPerHour)).toBe(
        expected,
      );
      const { coveredUsdPerHour, ...parts } = price;
      const added = Object.values(parts).map(nano);
      expect(added.reduce((sum, each) => sum + each, 0) - nano(coveredUsdPerHour)).toBe(expected);
      for (const rows of Object.values(groups)) {
        expect(sumOf(rows, 'usdPerHour')).toBe(expected);
        for (const key of [
          ...(['listUsdPerHour', 'workloadsUsdPerHour', 'daemonSetsUsdPerHour', 'idleUsdPerHour'] as const),
          'surplusCreditsUsdPerHour' as const,
        ])
          expect(sumOf(rows, key)).toBe(nano(total[key]));
        for (const row of rows)
          for (const value of Object.values(row))
            if (typeof value === 'number') expect(value).toBeGreaterThanOrEqual(0);
      }
    }),
    { numRuns: 150 },
  );
});
