import { describe, expect, it } from '@jest/globals';
import { multiNode } from '../../../../../src/engine/disruption/methods/multi-node.ts';
import { candidateOf, described, isBlock } from '../../../../../src/engine/disruption/pass.ts';
import { evaluate, isApproved, poolTotals } from '../../../../../src/engine/disruption/pricing/balance.ts';
import { NOW, pod, pool, stateNode } from '../objects.ts';
import { asking, candidate, planned, soldAsSpot, solved, types } from './consolidation-input.ts';

describe('multi-node consolidation', () => {
  const five = ['a', 'b', 'c', 'd', 'e'].map((name) => candidate(name));

  it('finds the longest run of candidates that can go together', async () => {
    const { commands } = await multiNode.decide(
      asking(five, (gone) => (gone.length <= 3 ? solved() : solved([], ['default/x']))),
    );
    expect(commands[0]?.candidates.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  it('keeps what it made of every batch, and decides by the last', async () => {
    const { commands, evaluations, weighed } = await multiNode.decide(
      asking(five, () => solved(), { consolidation: 'compatible' }),
    );
    expect(commands[0]?.candidates).toHaveLength(5);
    expect(evaluations).toHaveLength(1);
    expect(weighed).toHaveLength(3); // of three, four and five
  });

  it('needs at least two', async () => {
    const { commands } = await multiNode.decide(asking(five.slice(0, 1), () => solved()));
    expect(commands).toEqual([]);
  });

  it('compares with what its nodes cost even when that is sold out now', async () => {
    const soldOut = types.map((type) => ({
      ...type,
      offerings: type.offerings.map((offering, at) => ({ ...offering, available: at > 1 })), // the nodes' zone
    }));
    const nodes = ['a', 'b'].map((name) => candidate(name));
    const gone = nodes.map((node) => ({ ...node, instanceType: soldOut.find(({ name }) => name === 'm.4') }));
    const { commands } = await multiNode.decide(
      asking(gone, () => solved([planned(['m.2', 'm.4'], ['on-demand'])], [], soldOut)),
    );
    expect(commands[0]?.replacements[0]?.instanceTypes).toEqual(['m.2']);
  });

  it('does not replace nodes by one of their own type', async () => {
    const mixed = [candidate('a', { type: 'm.4' }), candidate('b', { type: 'm.4' }), candidate('c', { type: 'm.1' })];
    const run = async (names: readonly string[]) =>
      (await multiNode.decide(asking(mixed, () => solved([planned(names, ['on-demand'])])))).commands[0];
    // of all three, keeping the small one would be better than buying another of its kind
    expect((await run(['m.1', 'm.2']))?.candidates.map(({ name }) => name)).toEqual(['a', 'b']);
    expect((await run(['m.2']))?.candidates).toHaveLength(3);
  });

  it.each([
    'thorough',
    'compatible',
  ] as const)('keeps a node of a type that would do, even where spot is bought and that type is sold out as spot, %s', async (consolidation) => {
    const nodes = [candidate('a', { type: 'm.4' }), candidate('b', { type: 'm.4' })];
    const offered = soldAsSpot(['m.16']);
    const run = async (names: readonly string[]) =>
      multiNode.decide(asking(nodes, () => solved([planned(names)], [], offered), { consolidation }));
    // m.16 as spot costs less than both, but not less than one of them
    expect((await run(['m.16'])).commands).toHaveLength(1);
    expect((await run(['m.4', 'm.16'])).commands).toEqual([]);
  });

  it('keeps within budgets, and looks again when one was in the way', async () => {
    const { commands, exhausted } = await multiNode.decide(
      asking(five, () => solved([], ['default/x']), { budgets: new Map([['default', 2]]) }),
    );
    expect(commands).toEqual([]);
    expect(exhausted).toBe(false);
  });

  it('returns the best so far when time runs out', async () => {
    let elapsed = 0;
    const { commands, timeout } = await multiNode.decide(
      asking(
        five,
        () => {
          elapsed += 61_000;
          return solved();
        },
        { elapsedMs: () => elapsed },
      ),
    );
    expect(commands[0]?.candidates).toHaveLength(3);
    expect(timeout?.message).toMatch(/returning last valid command/);
  });
});

describe('the Balanced policy', () => {
  const balanced = pool('default', { consolidateAfter: '0s', consolidationPolicy: 'Balanced' });
  const own = new Map([['default', { nodePool: balanced, instanceTypes: types }]]);
  const nodes = [
    stateNode('a', { type: 'm.1', pods: [pod('p'), pod('q'), pod('r')] }),
    stateNode('b', { type: 'm.16', pods: [pod('s')] }),
  ];
  const found = nodes.flatMap((node) => {
    const result = candidateOf(node, {
      nowMs: NOW,
      class: 'graceful',
      inProgress: new Set(),
      pools: own,
      podDisruptionBudgets: [],
    });
    return isBlock(result) ? [] : [result];
  });
  const totals = poolTotals(nodes, found, own);

  it('sums what a pool costs and what it would disturb to take it away', () => {
    expect(totals.get('default')?.usdPerHour).toBeCloseTo(0.85);
    expect(totals.get('default')?.disruption).toBe(6);
  });

  it('does not count the price of nodes without a NodeClaim', () => {
    const { nodeClaim: _, ...foreign } = stateNode('foreign', { type: 'm.16' });
    expect(poolTotals([...nodes, foreign], found, own).get('default')?.usdPerHour).toBeCloseTo(0.85);
  });

  it.each([
    { name: 'a', approved: false },
    { name: 'b', approved: true },
  ])('weighs savings against disturbance: taking $name away is approved $approved', ({ name, approved }) => {
    const candidates = found.filter((one) => one.name === name);
    const views = evaluate({ reason: 'Underutilized', candidates, replacements: [] }, totals);
    expect(isApproved(views)).toBe(approved);
  });

  it('holds up a move of several NodePools that one of them refuses, and tells what the others think of it', async () => {
    const lean = pool('lean', { consolidateAfter: '0s', consolidationPolicy: 'Balanced' });
    const members = new Map(
      [balanced, lean].map((each) => [each.metadata.name, { nodePool: each, instanceTypes: types }]),
    );
    // all that the lean pool costs would be saved; of the balanced one, most pods would move for next to nothing
    const scene = [
      stateNode('a', { type: 'm.1', pods: [pod('p'), pod('q'), pod('r')] }),
      stateNode('b', { type: 'm.16' }),
      stateNode('c', { pool: 'lean', type: 'm.1', pods: [pod('s')] }),
    ];
    const all = scene.flatMap((node) => described(node, members) ?? []);
    const moved = all.filter(({ name }) => name !== 'b');
    const { commands, evaluations, events } = await multiNode.decide(
      asking(moved, () => solved(), {
        totals: poolTotals(scene, all, members),
        pools: members,
        budgets: new Map([...members.keys()].map((name) => [name, 9])),
      }),
    );
    expect(commands).toEqual([]);
    const views = new Map(evaluations?.map(({ nodePool, approved }) => [nodePool.metadata.name, approved]));
    expect(Object.fromEntries(views)).toEqual({ default: false, lean: true });
    expect(events).toMatchObject([{ kind: 'ConsolidationApproved', nodePool: { metadata: { name: 'lean' } } }]);
  });

  it('does not score other policies, and refuses a move of nothing', () => {
    expect(evaluate({ reason: 'Underutilized', candidates: [candidate('x')], replacements: [] }, totals)).toMatchObject(
      [{ approved: true, policy: 'WhenEmptyOrUnderutilized' }],
    );
    expect(isApproved([])).toBe(false);
  });
});
