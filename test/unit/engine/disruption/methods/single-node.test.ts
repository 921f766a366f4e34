import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL } from '#api/objects';
import type { Candidate } from '../../../../../src/engine/disruption/command.ts';
import type { MethodInput } from '../../../../../src/engine/disruption/method.ts';
import { singleNode } from '../../../../../src/engine/disruption/methods/single-node.ts';
import type { InstanceType, PlannedClaim } from '../../../../../src/engine/model.ts';
import { instanceType, NOW, pool, stateNode } from '../objects.ts';
import { asking, candidate, planned, soldAsSpot, solved } from './consolidation-input.ts';

describe('single-node consolidation', () => {
  it('deletes a node whose pods fit on other nodes', async () => {
    const { commands } = await singleNode.decide(asking([candidate('a')], () => solved()));
    expect(commands).toMatchObject([{ reason: 'Underutilized', replacements: [] }]);
  });

  it('replaces a node only by types that cost less, and by spot if the NodePool allows spot', async () => {
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
    { when: 'no spot offering is available', spot: [], minValues: 1, thorough: ['on-demand', 'm.1', 'm.2'] },
    { when: 'some of the types have spot offerings', spot: ['m.2'], minValues: 1, thorough: ['spot', 'm.2'] },
    {
      when: 'too few spot offerings satisfy minValues',
      spot: ['m.4'],
      minValues: 2,
      thorough: ['on-demand', 'm.1', 'm.2'],
      compatible: ['spot', 'm.1', 'm.2', 'm.4'],
    },
  ])('replaces a node by available offerings if $when, or by spot only as Karpenter does', async (row) => {
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

  it('reports the price of an available spot offering, even if another type comes first', async () => {
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

  it('keeps the node if neither spot nor on-demand offerings alone satisfy minValues', async () => {
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
      when: 'no type costs less',
      simulation: solved([planned(['m.4', 'm.8'], ['on-demand'])]),
      text: "Can't replace with a cheaper node",
    },
  ])('keeps the node if $when', async ({ simulation, text }) => {
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
  ])('replaces spot by spot if $count types cost less: keeps $is', async ({ count, is }) => {
    const offered = many.slice(0, count);
    const { commands } = await singleNode.decide(
      asking([spotNode()], () => solved([planned(offered.map(({ name }) => name))], [], offered), {
        spotToSpot: true,
      }),
    );
    expect(commands[0]?.replacements[0]?.instanceTypes.length ?? 0).toBe(is);
  });

  it.each([
    { count: 4, is: 0 },
    { count: 20, is: 5 },
  ])('replaces spot by spot with the number of types of the NodePolicy: keeps $is of $count', async ({ count, is }) => {
    const offered = many.slice(0, count);
    const spot = { policy: 'few', consolidationTypes: 5 };
    const { commands, reasons } = await singleNode.decide(
      asking([spotNode()], () => solved([planned(offered.map(({ name }) => name))], [], offered), {
        spotToSpot: true,
        pools: new Map([['default', { nodePool: pool(), instanceTypes: offered, spot }]]),
      }),
    );
    expect(commands[0]?.replacements[0]?.instanceTypes.length ?? 0).toBe(is);
    if (is === 0) expect([...(reasons?.values() ?? [])]).toMatchObject([{ nearestMiss: `${count} of 5 types` }]);
  });

  it('evaluates NodePools in turn, starting with NodePools that were not reached before', async () => {
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

  it('keeps a node that it cannot evaluate, reports the error, and continues', async () => {
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

  it('stops after three minutes and reports the NodePools that were not reached', async () => {
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
    { when: 'the node was deleted', later: [], category: 'churn' },
    {
      when: 'a pod is nominated',
      later: [candidate('a', { state: { nominatedUntilMs: 0 } })],
      nominated: true,
      category: 'budget',
    },
  ])('withdraws the command if $when', async ({ later, nominated, category }) => {
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

  it('withdraws the command if its pods would now need a node', async () => {
    const command = { reason: 'Underutilized' as const, candidates: [candidate('a')], replacements: [] };
    const result = await singleNode.validate?.(
      command,
      asking([candidate('a')], () => solved([planned(['m.1'])])),
    );
    expect(result?.failure?.category).toBe('scheduling');
  });

  it('confirms a replacement only if every type is still possible', async () => {
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
