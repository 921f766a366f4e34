/** Consolidation of nodes that Savings Plans or reserved instances cover. */
import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL } from '#api/objects';
import { savingsOf } from '../../../../../src/engine/disruption/command.ts';
import type { MethodInput } from '../../../../../src/engine/disruption/method.ts';
import { multiNode } from '../../../../../src/engine/disruption/methods/multi-node.ts';
import { singleNode } from '../../../../../src/engine/disruption/methods/single-node.ts';
import { cheaperTogether, swap } from '../../../../../src/engine/disruption/methods/swap.ts';
import { Replacement } from '../../../../../src/engine/disruption/pricing/price-filter.ts';
import type { Simulation } from '../../../../../src/engine/disruption/simulations/simulation.ts';
import type { Commitment } from '../../../../../src/engine/price-book/commitment.ts';
import { CommittedUse } from '../../../../../src/engine/price-book/committed-use.ts';
import { asking, candidate, planned, pools, solved } from './consolidation-input.ts';

/** An m.4 costs 0.20 on demand and uses 0.12 of a plan. Spot costs 40 % of on-demand. */
const DRAW = 0.12;
const plan = (amount: number): Commitment => ({
  name: 'plan',
  kind: 'compute-savings-plan',
  amount,
  rates: [{ share: 0.6 }],
});
const [a, b, c] = ['a', 'b', 'c'].map((name) => candidate(name)) as [
  ReturnType<typeof candidate>,
  ReturnType<typeof candidate>,
  ReturnType<typeof candidate>,
];
const use = (amount: number, ...running: readonly (typeof a)[]): CommittedUse | undefined =>
  CommittedUse.of(
    [plan(amount)],
    running.map(({ stateNode }) => stateNode),
    [...pools.values()],
  );

const ask = (
  candidates: readonly (typeof a)[],
  committed: CommittedUse | undefined,
  simulate: () => Simulation = () => solved(),
): MethodInput => asking(candidates, simulate, { committed, consolidation: 'thorough' });

describe('the saving of deleting nodes', () => {
  const all = [a, b, c];
  const ids = (nodes: readonly (typeof a)[]) => nodes.map(({ providerId }) => providerId);
  const saved = (committed: CommittedUse | undefined, nodes: readonly (typeof a)[]) =>
    nodes.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0) - (committed?.lost(ids(nodes)) ?? 0);

  it.each([
    ['nothing if all nodes stay covered', 3 * DRAW, [a], 0],
    ['nothing if all nodes are deleted but covered', 5 * DRAW, all, 0],
    ['the full price without commitments', 0, all, 0.6],
    ['the uncovered part of one node', 2 * DRAW, [a], 0.2],
    ['the uncovered part of two nodes, counted once', 2 * DRAW, [a, b], 0.2],
    ['the uncovered part of a node', 2.5 * DRAW, [a], 0.1],
  ])('equals %s', (_, amount, nodes, usd) => {
    expect(saved(use(amount, ...all), nodes)).toBeCloseTo(usd);
  });

  it('never exceeds the reduction of the bill', () => {
    for (let amount = 0; amount < 4 * DRAW; amount += DRAW / 7) {
      const covered = (count: number) => Math.min(count * 0.2, (amount / DRAW) * 0.2);
      for (const gone of [[a], [a, b], all]) {
        const bill = (count: number) => count * 0.2 - covered(count);
        expect(saved(use(amount, ...all), gone)).toBeLessThanOrEqual(bill(3) - bill(3 - gone.length) + 1e-9);
      }
    }
  });
});

describe('consolidation of nodes that commitments cover', () => {
  it('keeps a node that is paid for in any case, and reports the reason', async () => {
    const { commands, reasons } = await singleNode.decide(ask([a], use(1, a)));
    expect(commands).toEqual([]);
    expect(reasons?.get(a.providerId)).toMatchObject({
      code: 'not-cheaper',
      text: expect.stringContaining('cover the node'),
    });
  });

  it('does not replace a covered node by spot, which adds to the bill', async () => {
    const simulate = () => solved([planned(['m.1', 'm.2'])]);
    expect((await singleNode.decide(ask([a], use(1, a), simulate))).commands).toEqual([]);
    // Without a commitment the node is replaced.
    expect((await singleNode.decide(ask([a], undefined, simulate))).commands).toHaveLength(1);
  });

  it('deletes nodes beyond the commitment, although the sum of their separate savings is too high', async () => {
    const committed = use(2 * DRAW, a, b, c);
    const { commands } = await multiNode.decide(ask([a, b, c], committed));
    expect(commands).toHaveLength(1);
    expect(savingsOf(commands[0] as NonNullable<(typeof commands)[0]>)).toBeCloseTo(0.2);
  });

  it('replaces an uncovered node by a covered on-demand node', async () => {
    const committed = use(DRAW);
    const { commands } = await singleNode.decide(ask([a], committed, () => solved([planned(['m.1', 'm.2', 'm.16'])])));
    const [replacement] = commands[0]?.replacements ?? [];
    expect(replacement?.requirements.find(({ key }) => key === CAPACITY_TYPE_LABEL)?.values).toEqual(['on-demand']);
    // Only a small part of an m.16 would be covered.
    expect(replacement?.instanceTypes.toSorted()).toEqual(['m.1', 'm.2']);
    expect(replacement?.usdPerHour).toBeLessThan(0.001);
  });

  it('does not replace several nodes, one of them covered, by one node of the same type', async () => {
    const committed = use(DRAW, a, b);
    const { commands } = await multiNode.decide(ask([a, b], committed, () => solved([planned(['m.4'])])));
    expect(commands).toEqual([]);
  });

  it('sorts nodes by the savings of their deletion', async () => {
    const seen: string[][] = [];
    const covered = candidate('covered', { type: 'm.8' });
    const spot: Commitment = {
      ...plan(1),
      kind: 'regional-reserved-instances',
      rates: [{ instanceType: 'm.8', perHour: 1 }],
    };
    const committed = CommittedUse.of([spot], [covered.stateNode, a.stateNode], [...pools.values()]);
    const input = asking([covered, a], () => solved(), { committed, consolidation: 'thorough' });
    await singleNode.decide({
      ...input,
      simulate: async (gone) => {
        seen.push(gone.map(({ name }) => name));
        return solved();
      },
    });
    expect(seen[0]).toEqual(['a']);
  });

  it('ignores commitments in mode compatible, as Karpenter does', async () => {
    const { commands } = await singleNode.decide(asking([a], () => solved(), { consolidation: 'compatible' }));
    expect(commands).toHaveLength(1);
  });

  it('swaps nodes by actual savings', async () => {
    const replacements = [planned(['m.4']), planned(['m.1'])].map((claim) =>
      Replacement.of(claim, pools.get('default')?.instanceTypes ?? []),
    );
    expect(cheaperTogether(replacements, [a, b], { spotToSpot: true, pools: new Map() })).toBeDefined();
    expect(cheaperTogether(replacements, [a, b], { spotToSpot: true, pools: new Map() }, 0.05)).toBeUndefined();
    const claims = () => solved([planned(['m.1']), planned(['m.1'])]);
    const covered = use(1, a, b, c);
    expect((await swap.decide({ ...ask([a, b, c], covered, claims), pools })).commands).toEqual([]);
    expect((await swap.decide({ ...ask([a, b, c], undefined, claims), pools })).commands).toHaveLength(1);
  });

  it('counts the rest of a commitment once for several replacements', async () => {
    // Enough for one m.2 on demand (0.06), but not for two.
    const committed = use(0.07);
    const onDemand = () => solved([planned(['m.2'], ['on-demand']), planned(['m.2'], ['on-demand'])]);
    const { commands } = await swap.decide({ ...ask([a, b], committed, onDemand), pools });
    const [command] = commands;
    const prices = command?.replacements.map(({ usdPerHour }) => usdPerHour).sort((one, other) => one - other) ?? [];
    expect(prices[0]).toBeLessThan(0.001);
    expect(prices[1]).toBeGreaterThan(0.08);
  });
});
