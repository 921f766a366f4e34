import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, NODEPOOL_LABEL, ZONE_LABEL } from '#api/objects';
import { nodePrices } from '../../../../src/engine/cost/node-prices.ts';
import type { Offering, PoolInput, StateNode } from '../../../../src/engine/model.ts';
import type { Commitment } from '../../../../src/engine/price-book/commitment.ts';
import { present } from '../../../support/present.ts';
import { instanceType, nodePool, offering, pod } from '../build.ts';
import { stateNode } from '../disruption/objects.ts';

const EXTRAS = { feeUsdPerHour: 0.01, volumesUsdPerHour: 0.002, publicIpv4UsdPerHour: 0.005 };

const offerings: readonly Offering[] = [
  { ...offering('on-demand', 'zone-a', 0.9), listUsdPerHour: 1 },
  offering('spot', 'zone-a', 0.4, false),
  offering('reserved', 'zone-a', 0.0000001),
  offering('spot', 'zone-b', Number.NaN),
];
const POOL: PoolInput = {
  nodePool: nodePool('default'),
  instanceTypes: [instanceType('m.large', { offerings })],
  extras: EXTRAS,
};

const node = (name: string, labels: Record<string, string> = {}, more: Partial<StateNode> = {}): StateNode => {
  const state = stateNode(name);
  return { ...state, ...more, labels: { ...state.labels, ...labels } };
};

const priceOf = (state: StateNode) => nodePrices([state], [POOL]).get(state.providerId);

describe('the price of a node', () => {
  it.each([
    ['on-demand, with the list price if it differs', {}, { usdPerHour: 0.9, listUsdPerHour: 1, extras: EXTRAS }],
    ['spot, whether available or not', { [CAPACITY_TYPE_LABEL]: 'spot' }, { usdPerHour: 0.4, extras: EXTRAS }],
    [
      'reserved, with the on-demand list price',
      { [CAPACITY_TYPE_LABEL]: 'reserved' },
      { usdPerHour: 0.0000001, listUsdPerHour: 1, extras: EXTRAS },
    ],
    ['unknown if the offering does not exist', { [ZONE_LABEL]: 'zone-c' }, undefined],
    ['unknown if it is not a number', { [ZONE_LABEL]: 'zone-b', [CAPACITY_TYPE_LABEL]: 'spot' }, undefined],
    [
      'known without extra costs in another NodePool',
      { [NODEPOOL_LABEL]: 'gone' },
      { usdPerHour: 0.9, listUsdPerHour: 1 },
    ],
  ])('is %s', (_, labels, price) => {
    expect(priceOf(node('n', labels))).toEqual(price);
  });

  it('includes surplus CPU credits for pods that have not finished', () => {
    const cpuBurst = { baseline: 400, utilization: 0.5, usdPerVcpuHour: 0.04 };
    const burstable = { ...POOL, instanceTypes: POOL.instanceTypes.map((type) => ({ ...type, cpuBurst })) };
    const done = { ...pod('done', { cpu: '9' }), status: { phase: 'Succeeded' as const } };
    const busy = node('busy', {}, { pods: [pod('a', { cpu: '800m' }), pod('b', { cpu: '1' }), done] });
    const prices = nodePrices([busy, node('idle')], [burstable]);
    expect(prices.get(busy.providerId)?.surplusUsdPerHour).toBeCloseTo(0.02, 12);
    expect(prices.get(node('idle').providerId)).not.toHaveProperty('surplusUsdPerHour');
  });

  it('includes surplus CPU credits for the requests of its NodeClaim until the node is initialized', () => {
    const cpuBurst = { baseline: 400, utilization: 0.5, usdPerVcpuHour: 0.04 };
    const burstable = { ...POOL, instanceTypes: POOL.instanceTypes.map((type) => ({ ...type, cpuBurst })) };
    const claim = present(node('n').nodeClaim);
    const nodeClaim = { ...claim, spec: { ...claim.spec, resources: { requests: { cpu: '1800m' } } } };
    const launching = { initialized: false, nodeClaim };
    const surplusOf = (state: StateNode) => nodePrices([state], [burstable]).get(state.providerId)?.surplusUsdPerHour;
    expect(surplusOf(node('n', {}, launching))).toBeCloseTo(0.02, 12);
    expect(surplusOf(node('n', {}, { ...launching, initialized: true }))).toBeUndefined();
  });

  it('reports the part that commitments cover, also for nodes that are being deleted', () => {
    const plan: Commitment = {
      kind: 'compute-savings-plan',
      name: 'plan',
      amount: 0.75,
      rates: [{ share: 0.5 }],
    } as Commitment;
    const nodes = [node('a', {}, { markedForDeletion: true }), node('b'), node('c', { [CAPACITY_TYPE_LABEL]: 'spot' })];
    const prices = nodePrices(nodes, [POOL], [plan]);
    const covered = nodes.map(({ providerId }) => prices.get(providerId)?.coveredUsdPerHour);
    expect(covered).toEqual([0.9, expect.closeTo(0.45, 9), undefined]);
  });
});
