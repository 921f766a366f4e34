import { describe, expect, it } from '@jest/globals';
import { ZONE_LABEL } from '#api/objects';
import type { Candidate } from '../../../../../src/engine/disruption/command.ts';
import { singleNode } from '../../../../../src/engine/disruption/methods/single-node.ts';
import type { PlannedClaim } from '../../../../../src/engine/model.ts';
import { instanceType, pool } from '../objects.ts';
import { asking, candidate, planned, solved } from './consolidation-input.ts';

/** A replacement for a node in zone-a that saves this share of its price. */
const saving = (share: number) => instanceType('m.3', 3, 0.2 * (1 - share));
const SHARE = 0.03;
const NODE = instanceType('m.4', 4, 0.2);

const inZone = (zone: string): PlannedClaim => {
  const claim = planned(['m.3', 'm.4'], ['on-demand']);
  return { ...claim, requirements: [...claim.requirements, { key: ZONE_LABEL, operator: 'In', values: [zone] }] };
};

/** @param counts nodes of zone-a and zone-b, with the candidate in zone-a */
async function decide(zone: string, share: number, counts: readonly [number, number], zoneBalance = SHARE) {
  const types = [saving(share), NODE];
  const zones = new Map([
    ['zone-a', counts[0]],
    ['zone-b', counts[1]],
  ]);
  const node: Candidate = { ...candidate('a'), zone: 'zone-a' };
  const input = asking([node], () => solved([inZone(zone)], [], types), {
    pools: new Map([['default', { nodePool: pool(), instanceTypes: types, zoneBalance }]]),
    totals: new Map([['default', { usdPerHour: 1, disruption: 1, zones }]]),
  });
  const { commands, reasons } = await singleNode.decide(input);
  return commands.length === 1 ? 'moves' : reasons?.get(node.providerId)?.text;
}

const TOO_LITTLE =
  "Can't replace with a cheaper node that saves more than 3 %, as a move to a zone with more nodes must";

describe('consolidation to another zone', () => {
  it('needs savings above the share if the zone has as many nodes', async () => {
    expect(await decide('zone-b', 0.02, [5, 5])).toBe(TOO_LITTLE);
    expect(await decide('zone-b', 0.04, [5, 5])).toBe('moves');
  });

  it('needs no higher savings within the zone, or to a zone with fewer nodes', async () => {
    expect(await decide('zone-a', 0.02, [5, 5])).toBe('moves');
    expect(await decide('zone-b', 0.02, [6, 5])).toBe('moves');
  });

  it('needs no higher savings without balance', async () => {
    expect(await decide('zone-b', 0.02, [5, 9], 0)).toBe('moves');
  });
});
