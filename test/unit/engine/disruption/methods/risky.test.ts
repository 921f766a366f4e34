/** Spot risk blocks moves into recently interrupted pools, but never causes a move. */
import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import { addedRiskOf, type Candidate, savingsOf } from '../../../../../src/engine/disruption/command.ts';
import { multiNode } from '../../../../../src/engine/disruption/methods/multi-node.ts';
import { singleNode } from '../../../../../src/engine/disruption/methods/single-node.ts';
import { swap } from '../../../../../src/engine/disruption/methods/swap.ts';
import type { InstanceType } from '../../../../../src/engine/model.ts';
import { pod, pool } from '../objects.ts';
import { asking, candidate, planned, solved, types } from './consolidation-input.ts';

/** Types with a risk in USD per hour. Spot of `m.4` costs 0.08, of `m.2` 0.04. */
const withRisk = (risks: Readonly<Record<string, number>>): readonly InstanceType[] =>
  types.map((type) => ({
    ...type,
    offerings: type.offerings.map((offering) => {
      const isSpot = offering.requirements.some(({ values }) => values?.includes('spot'));
      const spotRiskUsdPerHour = isSpot ? risks[type.name] : undefined;
      return spotRiskUsdPerHour === undefined ? offering : { ...offering, spotRiskUsdPerHour };
    }),
  }));

const node = (name: string, capacityType: string, spotRiskUsdPerHour = 0): Candidate => {
  const labels = {
    'karpenter.sh/nodepool': 'default',
    'karpenter.sh/initialized': 'true',
    'karpenter.sh/registered': 'true',
    [INSTANCE_TYPE_LABEL]: 'm.4',
    [ZONE_LABEL]: 'zone-a',
    [CAPACITY_TYPE_LABEL]: capacityType,
  };
  const found = candidate(name, { state: { labels }, pods: [pod(`on-${name}`)] });
  return { ...found, spotRiskUsdPerHour };
};

const thorough = { consolidation: 'thorough', spotToSpot: true } as const;

describe('a replacement in a recently interrupted spot pool', () => {
  const into = (risk: number) =>
    singleNode.decide(
      asking([node('a', 'on-demand')], () => solved([planned(['m.2'])], [], withRisk({ 'm.2': risk })), thorough),
    );

  it('is launched if it saves more than the expected cost of its interruptions', async () => {
    const { commands } = await into(0.1);
    expect(commands[0]?.replacements[0]).toMatchObject({
      usdPerHour: expect.closeTo(0.04),
      spotRiskUsdPerHour: 0.1,
    });
    const [command] = commands;
    expect(command && [savingsOf(command), addedRiskOf(command)]).toEqual([expect.closeTo(0.16), 0.1]);
  });

  it('is refused if it saves less, and the verdict of the node contains the reason', async () => {
    const { commands, events, reasons } = await into(0.2);
    expect(commands).toEqual([]);
    expect([...(reasons?.values() ?? [])]).toEqual([
      expect.objectContaining({ code: 'spot-risk', nearestMiss: 'savings of $0.1600/h' }),
    ]);
    expect(events[0]?.message).toMatch(/^Interruptions of its replacement are expected to cost \$0\.2000\/h more, /);
  });

  it('keeps all types that cost less, including types with a risk', async () => {
    const claim = planned(['m.1', 'm.2', 'm.4']);
    const namesAt = async (risks: Readonly<Record<string, number>>) => {
      const input = asking([node('a', 'on-demand')], () => solved([claim], [], withRisk(risks)), thorough);
      const [replacement] = (await singleNode.decide(input)).commands[0]?.replacements ?? [];
      return replacement;
    };
    const [risky, plain] = [await namesAt({ 'm.1': 0.05 }), await namesAt({})];
    expect(risky?.instanceTypes).toEqual(plain?.instanceTypes);
    expect(risky?.requirements).toEqual(plain?.requirements);
    expect([plain?.cheapest, risky?.cheapest, risky?.usdPerHour]).toEqual(['m.1', 'm.2', expect.closeTo(0.04)]);
    expect(risky).not.toHaveProperty('spotRiskUsdPerHour');
  });

  it('is refused for several nodes too', async () => {
    const pair = [node('a', 'on-demand'), node('b', 'on-demand')];
    for (const [method, risk, expected] of [
      [multiNode, 0.1, 1],
      [multiNode, 0.4, 0],
      [swap, 0.05, 1],
      [swap, 0.2, 0],
    ] as const) {
      const claims = method === swap ? [planned(['m.2']), planned(['m.2'])] : [planned(['m.2'])];
      const instanceTypes = withRisk({ 'm.2': risk });
      const pools = new Map([['default', { nodePool: pool(), instanceTypes }]]);
      const input = asking(pair, () => solved(claims, [], instanceTypes), { ...thorough, pools });
      expect([method.name, risk, (await method.decide(input)).commands.length]).toEqual([method.name, risk, expected]);
    }
  });
});

describe('a spot node in a recently interrupted pool', () => {
  it('is kept if prices alone do not justify a move', async () => {
    const input = (risk: number) =>
      asking([node('a', 'spot', risk)], () => solved([planned(['m.4', 'm.8'], ['spot'])], [], types), thorough);
    for (const risk of [0, 0.08]) {
      const { commands, reasons } = await singleNode.decide(input(risk));
      expect(commands).toEqual([]);
      expect([...(reasons?.values() ?? [])]).toMatchObject([{ code: 'not-cheaper' }]);
    }
  });

  it('may move to a pool with the same risk', async () => {
    const command = {
      reason: 'Underutilized' as const,
      candidates: [node('a', 'spot', 0.03)],
      replacements: [{ ...planned(['m.2'], ['spot']), usdPerHour: 0.04, spotRiskUsdPerHour: 0.02 }],
    };
    expect(addedRiskOf(command)).toBe(0);
  });
});
