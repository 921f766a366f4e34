import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL } from '../../../../../src/api/labels.ts';
import {
  type Candidate,
  candidateOf,
  described,
  isBlock,
} from '../../../../../src/engine/disruption/candidates/candidates.ts';
import type { MethodInput } from '../../../../../src/engine/disruption/method.ts';
import { multiNode } from '../../../../../src/engine/disruption/methods/multi-node.ts';
import { singleNode } from '../../../../../src/engine/disruption/methods/single-node.ts';
import { evaluate, isApproved, poolTotals } from '../../../../../src/engine/disruption/pricing/balance.ts';
import { Replacement } from '../../../../../src/engine/disruption/pricing/price-filter.ts';
import type { Simulation } from '../../../../../src/engine/disruption/simulations/simulation.ts';
import type { InstanceType, Plan, PlannedClaim } from '../../../../../src/engine/model.ts';
import { instanceType, methodInputOf, NOW, pod, pool, stateNode } from '../objects.ts';

const types = [1, 2, 4, 8, 16].map((cpu) => instanceType(`m.${cpu}`, cpu, cpu * 0.05));
const pools = new Map(['default', 'other'].map((name) => [name, { nodePool: pool(name), instanceTypes: types }]));

function candidate(name: string, more: Parameters<typeof stateNode>[1] = {}): Candidate {
  const node = stateNode(name, { type: 'm.4', pods: [pod(`on-${name}`)], ...more });
  const found = candidateOf(node, {
    nowMs: NOW,
    class: 'graceful',
    inProgress: new Set(),
    pools,
    podDisruptionBudgets: [],
  });
  if (isBlock(found)) throw new Error(found.text);
  return found;
}

const plan: Plan = { claims: [], placements: [], refusals: new Map(), notEvaluated: [], emptyPools: [] };

const planned = (names: readonly string[], capacityTypes = ['on-demand', 'spot']): PlannedClaim => ({
  nodePool: 'default',
  pods: [],
  instanceTypes: names,
  requirements: [
    { key: INSTANCE_TYPE_LABEL, operator: 'In', values: [...names] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: capacityTypes },
  ],
  requests: {},
  labels: {},
  annotations: {},
  cheapest: names[0] ?? '',
  usdPerHour: 1,
});

const solved = (
  claims: readonly PlannedClaim[] = [],
  stranded: readonly string[] = [],
  instanceTypes: readonly InstanceType[] = types,
): Simulation => ({
  claims,
  pools: [{ nodePool: pool(), instanceTypes }],
  plan: { ...plan, claims },
  stranded: new Map(stranded.map((key) => [key, 'no room'])),
});

/** The types with spot for sale only where said. */
const soldAsSpot = (names: readonly string[]): readonly InstanceType[] =>
  types.map((type) => ({
    ...type,
    offerings: type.offerings.map((offering) => ({
      ...offering,
      available: names.includes(type.name) || !isSpot(offering),
    })),
  }));
const isSpot = ({ requirements }: InstanceType['offerings'][number]): boolean =>
  requirements.some(({ key, values = [] }) => key === CAPACITY_TYPE_LABEL && values.includes('spot'));

const asking = (
  candidates: readonly Candidate[],
  simulate: (gone: readonly Candidate[]) => Simulation | undefined,
  more: Partial<MethodInput> = {},
): MethodInput => methodInputOf(candidates, { simulate: async (gone) => simulate(gone), ...more });

describe('Replacement', () => {
  it('keeps types of which every launch is cheaper', () => {
    const kept = Replacement.of(planned(['m.8', 'm.2', 'm.4'], ['on-demand']), types).cheaperThan(0.2);
    expect(typeof kept === 'string' ? kept : kept.claim.instanceTypes).toEqual(['m.2']);
  });

  it('says so when too few are left for minValues', () => {
    const claim = planned(['m.8', 'm.2', 'm.4'], ['on-demand']);
    const [types2, ...rest] = claim.requirements;
    const demanding = { ...claim, requirements: types2 ? [{ ...types2, minValues: 2 }, ...rest] : rest };
    expect(Replacement.of(demanding, types).cheaperThan(0.2)).toMatch(/minValues requirement is not met/);
  });

  it('prices what remains', () => {
    const spot = Replacement.of(planned(['m.8', 'm.4']), types).only('spot');
    expect(spot.claim).toMatchObject({ cheapest: 'm.4', instanceTypes: ['m.4', 'm.8'] });
    expect(spot.claim.usdPerHour).toBeCloseTo(0.08);
  });
});

describe('single-node consolidation', () => {
  it('deletes a node whose pods fit elsewhere', async () => {
    const { commands } = await singleNode.decide(asking([candidate('a')], () => solved()));
    expect(commands).toMatchObject([{ reason: 'Underutilized', replacements: [] }]);
  });

  it('replaces by cheaper types only, and by spot where spot is allowed', async () => {
    const { commands, events } = await singleNode.decide(
      asking([candidate('a')], () => solved([planned(['m.1', 'm.2', 'm.4', 'm.8', 'm.16'])])),
    );
    expect(commands[0]?.replacements[0]?.instanceTypes).toEqual(['m.1', 'm.2', 'm.4', 'm.8']);
    expect(commands[0]?.replacements[0]?.requirements).toContainEqual({
      key: 'karpenter.sh/capacity-type',
      operator: 'In',
      values: ['spot'],
    });
    expect(events.map(({ kind }) => kind)).toContain('ConsolidationCandidate');
  });

  const demanding = (claim: PlannedClaim, minValues: number): PlannedClaim => ({
    ...claim,
    requirements: claim.requirements.map((each) => (each.key === INSTANCE_TYPE_LABEL ? { ...each, minValues } : each)),
  });

  it.each([
    { when: 'spot is sold out', spot: [], minValues: 1, thorough: ['on-demand', 'm.1', 'm.2'] },
    { when: 'some of the types are sold as spot', spot: ['m.2'], minValues: 1, thorough: ['spot', 'm.2'] },
    {
      when: 'spot is too little for minValues',
      spot: ['m.4'],
      minValues: 2,
      thorough: ['on-demand', 'm.1', 'm.2'],
      compatible: ['spot', 'm.1', 'm.2', 'm.4'],
    },
  ])('replaces by what can be launched when $when, or by spot alone as Karpenter does', async (row) => {
    const { spot, minValues, thorough, compatible = ['spot', 'm.1', 'm.2'] } = row;
    const offered = soldAsSpot(spot);
    const claim = demanding(planned(['m.1', 'm.2', 'm.4']), minValues);
    const bought = async (consolidation: MethodInput['consolidation']) => {
      const { commands } = await singleNode.decide(
        asking([candidate('a')], () => solved([claim], [], offered), { consolidation }),
      );
      const [replacement] = commands[0]?.replacements ?? [];
      const capacityTypes = replacement?.requirements.find(({ key }) => key === CAPACITY_TYPE_LABEL)?.values ?? [];
      return [...capacityTypes, ...(replacement?.instanceTypes.toSorted() ?? [])];
    };
    expect(await bought('thorough')).toEqual(thorough);
    expect(await bought('compatible')).toEqual(compatible);
  });

  it('tells the price of spot that is sold, also where another type comes first', async () => {
    const claim = planned(['m.1', 'm.2', 'm.4']);
    const priceOf = async (spot: readonly string[]) => {
      const input = asking([candidate('a')], () => solved([claim], [], soldAsSpot(spot)));
      const [replacement] = (await singleNode.decide(input)).commands[0]?.replacements ?? [];
      return [replacement?.instanceTypes[0], replacement?.cheapest, replacement?.usdPerHour];
    };
    expect(await priceOf(['m.2'])).toEqual(['m.2', 'm.2', expect.closeTo(0.04)]);
    expect(await priceOf(['m.4'])).toEqual(['m.1', 'm.4', expect.closeTo(0.08)]);
    expect(await priceOf([])).toEqual(['m.1', 'm.1', 0]);
  });

  it('leaves the node alone when neither spot nor on-demand alone is enough for minValues', async () => {
    const claim = demanding(planned(['m.1', 'm.2', 'm.4', 'm.8']), 3);
    const simulate = () => solved([claim], [], soldAsSpot(['m.4', 'm.8']));
    const { commands, events } = await singleNode.decide(
      asking([candidate('a')], simulate, { consolidation: 'thorough' }),
    );
    expect(commands).toEqual([]);
    expect(events[0]?.message).toMatch(/^Filtering by price: minValues requirement is not met/);
  });

  it.each([
    {
      when: 'a pod would be stranded',
      simulation: solved([], ['default/x']),
      text: 'not all pods would schedule, default/x => no room',
    },
    {
      when: 'two nodes would be needed',
      simulation: solved([planned(['m.1']), planned(['m.1'])]),
      text: "Can't remove without creating 2 candidates",
    },
    {
      when: 'nothing is cheaper',
      simulation: solved([planned(['m.4', 'm.8'], ['on-demand'])]),
      text: "Can't replace with a cheaper node",
    },
  ])('leaves the node alone when $when', async ({ simulation, text }) => {
    const { commands, events, exhausted } = await singleNode.decide(asking([candidate('a')], () => simulation));
    expect(commands).toEqual([]);
    expect(events).toMatchObject([{ kind: 'Unconsolidatable', message: text }]);
    expect(exhausted).toBe(true);
  });

  const spotNode = (): Candidate => {
    const labels = { ...stateNode('a', { type: 'm.4' }).labels, 'karpenter.sh/capacity-type': 'spot' };
    return candidate('a', { state: { labels } });
  };
  const many: readonly InstanceType[] = Array.from({ length: 20 }, (_, at) =>
    instanceType(`s.${at}`, 1, 0.01 + at / 1000),
  );

  it.each([
    { count: 20, is: 15 },
    { count: 15, is: 15 },
    { count: 14, is: 0 },
  ])('replaces spot by spot when $count types are cheaper: keeps $is', async ({ count, is }) => {
    const offered = many.slice(0, count);
    const { commands } = await singleNode.decide(
      asking([spotNode()], () => solved([planned(offered.map(({ name }) => name))], [], offered), {
        spotToSpot: true,
      }),
    );
    expect(commands[0]?.replacements[0]?.instanceTypes.length ?? 0).toBe(is);
  });

  it('gives each NodePool its turn, those first that went short before', async () => {
    const asked: string[] = [];
    const candidates = ['a', 'b', 'c'].map((name) => candidate(name));
    const other = candidate('z', { pool: 'other', type: 'm.1' });
    const question = asking(
      [...candidates, other],
      ([gone]) => {
        asked.push(gone?.name ?? '');
        return undefined;
      },
      {
        unseenPools: new Set(['other']),
        budgets: new Map([
          ['default', 9],
          ['other', 9],
        ]),
      },
    );
    await singleNode.decide(question);
    expect(asked).toEqual(['z', 'a', 'b', 'c']);
  });

  it('leaves a node alone about which it cannot decide, tells why, and looks at the others', async () => {
    const { commands, failures, reasons, exhausted } = await singleNode.decide(
      asking(
        ['a', 'b', 'c'].map((name) => candidate(name)),
        ([gone]) => {
          if (gone?.name === 'b') return solved();
          throw new Error(`no answer for ${gone?.name}`);
        },
      ),
    );
    expect(commands.flatMap(({ candidates }) => candidates.map(({ name }) => name))).toEqual(['b']);
    expect(failures).toEqual([{ node: 'a', error: 'no answer for a' }]);
    expect(reasons?.get('aws:///a')?.code).toBe('failed');
    expect(exhausted).toBe(false);
  });

  it('stops after three minutes and tells which NodePools it has not come to', async () => {
    let elapsed = 0;
    const { timeout, unseenPools, exhausted } = await singleNode.decide(
      asking(
        [candidate('a'), candidate('z', { pool: 'other', type: 'm.1' })],
        () => {
          elapsed += 200_000;
          return undefined;
        },
        {
          elapsedMs: () => elapsed,
          budgets: new Map([
            ['default', 9],
            ['other', 9],
          ]),
        },
      ),
    );
    expect(timeout?.fields).toEqual({ candidates_evaluated: 1 });
    expect([...(unseenPools ?? [])]).toEqual(['other']);
    expect(exhausted).toBe(false);
  });

  it.each([
    { when: 'the node is gone', later: [], category: 'churn' },
    {
      when: 'a pod is expected',
      later: [candidate('a', { state: { nominatedUntilMs: 0 } })],
      nominated: true,
      category: 'budget',
    },
  ])('withdraws the command when $when', async ({ later, nominated, category }) => {
    const command = { reason: 'Underutilized' as const, candidates: [candidate('a')], replacements: [] };
    const candidates = later.map((found) =>
      nominated ? { ...found, stateNode: { ...found.stateNode, nominatedUntilMs: NOW + 1 } } : found,
    );
    const result = await singleNode.validate?.(
      command,
      asking(candidates, () => solved()),
    );
    expect(result?.failure?.category).toBe(category);
    expect(result?.events).toMatchObject([{ kind: 'ConsolidationRejected' }]);
  });

  it('withdraws the command when the pods would now need a node', async () => {
    const command = { reason: 'Underutilized' as const, candidates: [candidate('a')], replacements: [] };
    const result = await singleNode.validate?.(
      command,
      asking([candidate('a')], () => solved([planned(['m.1'])])),
    );
    expect(result?.failure?.category).toBe('scheduling');
  });

  it('stands by a replacement of which every type is still possible', async () => {
    const command = {
      reason: 'Underutilized' as const,
      candidates: [candidate('a')],
      replacements: [planned(['m.1', 'm.2'])],
    };
    const check = (names: readonly string[]) =>
      singleNode.validate?.(
        command,
        asking([candidate('a')], () => solved([planned(names)])),
      );
    expect((await check(['m.1', 'm.2', 'm.4']))?.command).toBe(command);
    expect((await check(['m.1']))?.failure?.category).toBe('scheduling');
  });
});

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
    const all = scene.flatMap((node) => described(node, members, NOW) ?? []);
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
