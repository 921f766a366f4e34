import { describe, expect, it } from '@jest/globals';
import { explainNodeClaim } from '../../../src/engine/causes/nodeclaim-explanation.ts';
import type { InstanceType, SpotTerms } from '../../../src/engine/model.ts';
import { pseudoRandom } from '../../../src/engine/pseudo-random.ts';
import { poolSpots, poolSpotText, withinSpotPrice } from '../../../src/engine/spot-price.ts';
import { instanceType, nodePool, offering, planOf, pod, TYPES } from './build.ts';

const TERMS: SpotTerms = { policy: 'spot', maxPrice: 0.6 };

/** Type with these spot prices in three zones, at 1 USD on demand. */
const sold = (name: string, ...spot: readonly number[]): InstanceType =>
  instanceType(name, {
    offerings: ['a', 'b', 'c'].flatMap((zone, at) => [
      offering('on-demand', zone, 1),
      offering('spot', zone, spot[at] ?? 0, spot[at] !== undefined),
    ]),
  });

const available = (types: readonly InstanceType[]): readonly number[] =>
  types.flatMap(({ offerings }) => offerings.filter((each) => each.available).map(({ usdPerHour }) => usdPerHour));

describe('the maximum price of spot', () => {
  it('makes more expensive offerings unavailable, and keeps offerings at the maximum price', () => {
    const found = withinSpotPrice([sold('m', 0.59, 0.6, 0.61)], TERMS);
    expect(available(found)).toEqual([1, 0.59, 1, 0.6, 1]);
    expect(found[0]?.offerings.at(-1)).toMatchObject({
      usdPerHour: 0.61,
      available: false,
      spotLimit: { policy: 'spot', share: 0.6, onDemandUsdPerHour: 1 },
    });
  });

  it('returns the same list if all offerings are within it or the policy has none', () => {
    expect(withinSpotPrice(TYPES, TERMS)).toBe(TYPES);
    expect(withinSpotPrice([sold('m', 0.9)], { policy: 'spot' })).toEqual([sold('m', 0.9)]);
  });

  it('excludes spot without a known on-demand price, and does not change unavailable offerings', () => {
    const unknown = instanceType('m', {
      offerings: [offering('on-demand', 'a', 0, false), offering('spot', 'a', 0.1)],
    });
    expect(withinSpotPrice([unknown], TERMS)[0]?.offerings[1]).toMatchObject({ available: false });
    const gone = instanceType('m', { offerings: [offering('on-demand', 'a', 1), offering('spot', 'a', 0.9, false)] });
    expect(withinSpotPrice([gone], TERMS)[0]).toBe(gone);
  });

  it('uses the on-demand price of another zone if the zone has none', () => {
    const split = instanceType('m', { offerings: [offering('on-demand', 'a', 1), offering('spot', 'b', 0.7)] });
    expect(withinSpotPrice([split], TERMS)[0]?.offerings[1]).toMatchObject({ available: false });
  });

  it('does not depend on the scale of prices, and never leaves an available offering above it', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = pseudoRandom(seed);
      const maxPrice = random();
      const types = Array.from({ length: 5 }, (_, at) => sold(`m.${at}`, random(), random(), random()));
      const scaled = types.map((type) => ({
        ...type,
        offerings: type.offerings.map((each) => ({ ...each, usdPerHour: each.usdPerHour * 7 })),
      }));
      const [one, seven] = [types, scaled].map((each) => withinSpotPrice(each, { policy: 'spot', maxPrice }));
      expect(available(seven ?? []).length).toBe(available(one ?? []).length);
      for (const usd of available(one ?? [])) expect(usd === 1 || usd <= maxPrice * (1 + 1e-6)).toBe(true);
    }
  });

  it('lets on-demand capacity be launched instead', () => {
    const types = withinSpotPrice([sold('m', 0.9, 0.9, 0.9)], TERMS);
    const plan = planOf({ types, pendingPods: [pod('web', { cpu: '1' })] });
    expect(plan.claims).toMatchObject([{ usdPerHour: 1 }]);
  });

  it('is the cause if only spot may be launched', () => {
    const types = withinSpotPrice([sold('m', 0.9, 0.71, 0.8)], TERMS);
    const spotOnly = nodePool('default', {
      requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] }],
    });
    const plan = planOf({ pools: [spotOnly], types, pendingPods: [pod('web', { cpu: '1' })] }, { explain: true });
    expect(plan.refusals.get('default/web')).toMatchObject({
      code: 'no-fit',
      cause: {
        code: 'spot-price',
        field: 'spec.spot.maxPrice',
        offered: 'for m in b, spot costs 71 % of on-demand, and spot.maxPrice of NodePolicy "spot" is 60 %',
      },
    });
  });

  it('is the reason why a NodeClaim did not use an offering', () => {
    const types = withinSpotPrice([sold('m', 0.9, 0.59, 0.59)], TERMS);
    const found = explainNodeClaim({
      claim: {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodeClaim',
        metadata: { name: 'a', labels: { 'node.kubernetes.io/instance-type': 'm' } },
        spec: { nodeClassRef: { group: 'g', kind: 'k', name: 'n' }, requirements: [] },
      },
      pool: nodePool('default'),
      types,
      chargesUsdPerHour: 0,
      answer: undefined,
      pods: [],
      nowMs: 0,
    });
    const texts = found.alternatives.map(({ code, zone, text }) => [code, zone, text]);
    expect(texts).toContainEqual(['spot-price', 'a', expect.stringContaining('spot costs 90 % of on-demand')]);
  });

  it('is reported with the number of offerings above it', () => {
    const nodePoolOf = { nodePool: nodePool('default') };
    const input = { ...nodePoolOf, instanceTypes: withinSpotPrice([sold('m', 0.9, 0.2)], TERMS), spot: TERMS };
    const types = { policy: 'few', consolidationTypes: 5 };
    const found = poolSpots([input, { ...nodePoolOf, instanceTypes: TYPES }, { ...input, spot: types }]);
    expect(found.map(poolSpotText)).toEqual([
      'default (NodePolicy spot): at most 60 % of on-demand, which 1 of 2 spot offerings exceed',
      'default (NodePolicy few): 5 instance types for spot-to-spot consolidation',
    ]);
  });
});
