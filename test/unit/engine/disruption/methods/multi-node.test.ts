import { describe, expect, it } from '@jest/globals';
import { multiNode } from '../../../../../src/engine/disruption/methods/multi-node.ts';
import { candidateOf, described, isBlock } from '../../../../../src/engine/disruption/pass.ts';
import { evaluate, isApproved, poolTotals } from '../../../../../src/engine/disruption/pricing/balance.ts';
import { NOW, pod, pool, stateNode } from '../objects.ts';
import { asking, candidate, planned, pools, soldAsSpot, solved, types } from './consolidation-input.ts';

describe('multi-node consolidation', () => {
  const five = ['a', 'b', 'c', 'd', 'e'].map((name) => candidate(name));
  const small = { type: 'm.2' };

  it('finds the longest prefix of candidates that can be disrupted together', async () => {
    const { commands } = await multiNode.decide(
      asking(five, (gone) => (gone.length <= 3 ? solved() : solved([], ['default/x']))),
    );
    expect(commands[0]?.candidates.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  it('records the evaluation of every batch and decides by the last batch', async () => {
    const { commands, evaluations, weighed } = await multiNode.decide(
      asking(five, () => solved(), { consolidation: 'compatible' }),
    );
    expect(commands[0]?.candidates).toHaveLength(5);
    expect(evaluations).toHaveLength(1);
    expect(weighed).toHaveLength(3); // three, four and five candidates
  });

  it('requires at least two candidates', async () => {
    const { commands } = await multiNode.decide(asking(five.slice(0, 1), () => solved()));
    expect(commands).toEqual([]);
  });

  it('compares with the price of its nodes even if their type is unavailable', async () => {
    const soldOut = types.map((type) => ({
      ...type,
      offerings: type.offerings.map((offering, at) => ({ ...offering, available: at > 1 })), // the zone of the nodes
    }));
    const nodes = ['a', 'b'].map((name) => candidate(name));
    const gone = nodes.map((node) => ({ ...node, instanceType: soldOut.find(({ name }) => name === 'm.4') }));
    const { commands } = await multiNode.decide(
      asking(gone, () => solved([planned(['m.2', 'm.4'], ['on-demand'])], [], soldOut)),
    );
    expect(commands[0]?.replacements[0]?.instanceTypes).toEqual(['m.2']);
  });

  it('does not replace nodes by a node of the same type', async () => {
    const mixed = [candidate('a', { type: 'm.4' }), candidate('b', { type: 'm.4' }), candidate('c', { type: 'm.1' })];
    const run = async (names: readonly string[]) =>
      (await multiNode.decide(asking(mixed, () => solved([planned(names, ['on-demand'])])))).commands[0];
    // Keeping the small node costs less than deleting all three and launching another one.
    expect((await run(['m.1', 'm.2']))?.candidates.map(({ name }) => name)).toEqual(['a', 'b']);
    expect((await run(['m.2']))?.candidates).toHaveLength(3);
  });

  it.each([
    'thorough',
    'compatible',
  ] as const)('keeps a node whose type is a possible replacement, even if its spot offering is unavailable, %s', async (consolidation) => {
    const nodes = [candidate('a', { type: 'm.4' }), candidate('b', { type: 'm.4' })];
    const offered = soldAsSpot(['m.16']);
    const run = async (names: readonly string[]) =>
      multiNode.decide(asking(nodes, () => solved([planned(names)], [], offered), { consolidation }));
    // An m.16 as spot costs less than both nodes, but more than one of them.
    expect((await run(['m.16'])).commands).toHaveLength(1);
    expect((await run(['m.4', 'm.16'])).commands).toEqual([]);
  });

  it('respects budgets, and retries if a budget excluded a candidate', async () => {
    const { commands, exhausted } = await multiNode.decide(
      asking(five, () => solved([], ['default/x']), { budgets: new Map([['default', 2]]) }),
    );
    expect(commands).toEqual([]);
    expect(exhausted).toBe(false);
  });

  it('finds wasteful nodes that a budget would leave out in the order of Karpenter', async () => {
    const main = { name: 'main', resources: { requests: { cpu: '1500m' } } };
    const pods = Array.from({ length: 10 }, (_, at) => pod(`full-${at}`, { spec: { containers: [main] } }));
    // a full node with many pods costs most for each unit of disruption, but little more than its pods are worth
    const nodes = [candidate('waste-2', small), candidate('full', { type: 'm.16', pods }), candidate('waste-1', small)];
    const run = async (consolidation: 'compatible' | 'thorough') => {
      const simulate = (gone: readonly { readonly name: string }[]) =>
        solved([], gone.some(({ name }) => name === 'full') ? ['default/full-0'] : []);
      const more = { budgets: new Map([['default', 2]]), consolidation, pools };
      const { commands } = await multiNode.decide(asking(nodes, simulate, more));
      return commands.map(({ candidates }) => candidates.map(({ name }) => name));
    };
    expect(await run('compatible')).toEqual([]);
    expect(await run('thorough')).toEqual([['waste-1', 'waste-2']]);
  });

  it('returns the best command so far at the timeout', async () => {
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

  it('sums the cost and the disruption of a NodePool', () => {
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
  ])('compares savings with disruption: the deletion of $name is approved: $approved', ({ name, approved }) => {
    const candidates = found.filter((one) => one.name === name);
    const views = evaluate({ reason: 'Underutilized', candidates, replacements: [] }, { totals });
    expect(isApproved(views)).toBe(approved);
  });

  it('blocks a command if one of its NodePools refuses it, and reports the scores of the other NodePools', async () => {
    const lean = pool('lean', { consolidateAfter: '0s', consolidationPolicy: 'Balanced' });
    const members = new Map(
      [balanced, lean].map((each) => [each.metadata.name, { nodePool: each, instanceTypes: types }]),
    );
    // The command would save the entire cost of `lean`, but move most pods of the balanced pool for little.
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

  it('does not score other policies, and rejects a command without scores', () => {
    expect(
      evaluate({ reason: 'Underutilized', candidates: [candidate('x')], replacements: [] }, { totals }),
    ).toMatchObject([{ approved: true, policy: 'WhenEmptyOrUnderutilized' }]);
    expect(isApproved([])).toBe(false);
  });
});
