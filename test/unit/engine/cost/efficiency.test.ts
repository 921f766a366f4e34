import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CostAccount, type NodePrice } from '../../../../src/engine/cost/account.ts';
import { efficiencyGroups, type PodUse, rightRequests } from '../../../../src/engine/cost/efficiency.ts';
import { daemon, pod, stateNode } from '../build.ts';

const MIB = 2 ** 20;
const used = (cpu: number, memory: number): PodUse => ({
  cpu: { p50: cpu / 2, p95: cpu },
  memory: { p50: memory / 2, p95: memory },
});
const PRICE: NodePrice = {
  usdPerHour: 0.1,
  extras: { feeUsdPerHour: 0, volumesUsdPerHour: 0, publicIpv4UsdPerHour: 0 },
};
const sum = (amounts: readonly number[]): number => amounts.reduce((total, each) => total + each, 0);

describe('the efficiency of pods', () => {
  const web = pod('web', { cpu: '1', memory: '1Gi', namespace: 'shop', nodeName: 'a' });
  const quiet = pod('quiet', { cpu: '500m', memory: '1Gi', namespace: 'shop', nodeName: 'a' });
  const agent = daemon('agent', { cpu: '100m', memory: '128Mi', namespace: 'system', nodeName: 'a' });
  const node = stateNode('a', { pods: [web, quiet, agent] });
  const uses = new Map([
    ['shop/web', used(200, 100 * MIB)],
    ['system/agent', used(1, MIB)],
  ]);
  const input = { nodes: [node], prices: new Map([[node.providerId, PRICE]]), uses };

  it('has requests with room above the use, which DaemonSets and pods without a known use do not get', () => {
    const right = rightRequests(node.pods, uses);
    expect([...right]).toEqual([['shop/Pod/web', { cpu: 230, memory: 128 * MIB }]]);
    const [shop] = efficiencyGroups({ ...input, right, by: 'namespace' });
    expect(shop).toMatchObject({
      ...{ name: 'shop', pods: 2, measured: 1 },
      requested: { cpu: 1_500, memory: 2_048 * MIB },
      usedP50: { cpu: 100, memory: 50 * MIB },
      right: { cpu: 730, memory: 1_152 * MIB },
    });
  });

  it('groups pods by a label, and names pods without it', () => {
    const labelled = { ...web, metadata: { ...web.metadata, labels: { team: 'a' } } };
    const nodes = [{ ...node, pods: [labelled, quiet] }];
    const groups = efficiencyGroups({ ...input, nodes, right: new Map(), by: 'label', label: 'team' });
    expect(groups.map(({ name }) => name)).toEqual(['a', '__none__']);
  });

  it('has the costs of the cost report, and an idle part from nothing to all of it', () => {
    const pods = fc.array(
      fc.record({ cpu: fc.integer({ min: 0, max: 3_000 }), memory: fc.nat(4_096), use: fc.nat(4_000) }),
      {
        maxLength: 6,
      },
    );
    fc.assert(
      fc.property(pods, (given) => {
        const all = given.map(({ cpu, memory }, at) =>
          pod(`p-${at}`, { cpu: `${cpu}m`, memory: `${memory}Mi`, nodeName: 'a' }),
        );
        const nodes = [stateNode('a', { pods: all })];
        const known = new Map(given.map(({ use }, at) => [`default/p-${at}`, used(use, use * MIB)]));
        const groups = efficiencyGroups({ ...input, nodes, uses: known, right: new Map(), by: 'workload' });
        const account = new CostAccount();
        for (const each of nodes) account.add(each, PRICE);
        const { workloadsUsdPerHour } = account.report(0).total;
        expect(Math.abs(sum(groups.map(({ usdPerMonth }) => usdPerMonth)) - workloadsUsdPerHour * 730)).toBeLessThan(
          0.05,
        );
        for (const { usdPerMonth, idleUsdPerMonth } of groups) {
          expect(idleUsdPerMonth).toBeGreaterThanOrEqual(0);
          expect(idleUsdPerMonth).toBeLessThanOrEqual(usdPerMonth);
        }
      }),
    );
  });
});
