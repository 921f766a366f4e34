/** Spot risk affects the choice of offerings, but not reported prices. */
import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL } from '#api/objects';
import { withoutExpectedCosts } from '../../../src/engine/expected-costs.ts';
import type { InstanceType, Plan } from '../../../src/engine/model.ts';
import { nodeUsdPerHour } from '../../../src/engine/purchase.ts';
import { sharedTypeList } from '../../../src/engine/shared-types.ts';
import { instanceType, nodePool, offering, oneOf, planOf, replicas, type SnapshotParts } from './build.ts';

/** A type whose spot offerings have a risk, in the given zones or in all zones. */
const risky = (type: InstanceType, spotRiskUsdPerHour: number, zones?: readonly string[]): InstanceType => ({
  ...type,
  offerings: type.offerings.map((each) => {
    const values = each.requirements.flatMap((requirement) => requirement.values ?? []);
    const isMeant = values.includes('spot') && (zones?.some((zone) => values.includes(zone)) ?? true);
    return isMeant ? { ...each, spotRiskUsdPerHour } : each;
  }),
});

const CHEAP = instanceType('cheap', { cpu: 4, usd: 0.4 });
const CALM = instanceType('calm', { cpu: 4, usd: 0.42 });
const pendingPods = replicas(1, 'web', { cpu: '3' });
const bought = (types: readonly InstanceType[], more: SnapshotParts = {}) =>
  planOf({ types, pendingPods, ...more }).claims[0];

describe('a spot offering with a risk', () => {
  it('loses to a slightly more expensive one without risk, and the risk is not part of the reported price', () => {
    const types = [risky(CHEAP, 0.02), CALM];
    expect(bought([CHEAP, CALM])).toMatchObject({ cheapest: 'cheap', usdPerHour: 0.2 });
    expect(bought(types)).toMatchObject({ cheapest: 'calm', usdPerHour: 0.21 });
    expect(bought(types)).not.toHaveProperty('spotRiskUsdPerHour');
    expect(bought(withoutExpectedCosts(types))).toEqual(bought([CHEAP, CALM]));
  });

  it('is chosen if it still costs less, and its risk is reported beside the price', () => {
    const claim = bought([risky(CHEAP, 0.005), CALM]);
    expect(claim).toMatchObject({ cheapest: 'cheap', usdPerHour: 0.2, spotRiskUsdPerHour: 0.005 });
    expect(claim && nodeUsdPerHour(claim)).toBe(0.2);
  });

  it('moves the launch to another zone if its risk is in one zone', () => {
    const claim = bought([risky(CHEAP, 0.02, ['zone-a', 'zone-b']), CALM]);
    expect(claim).toMatchObject({ cheapest: 'cheap', usdPerHour: 0.2 });
    expect(claim).not.toHaveProperty('spotRiskUsdPerHour');
  });

  it('keeps its list price beside its price', () => {
    const [plain] = CHEAP.offerings.filter(({ usdPerHour }) => usdPerHour === 0.2);
    const offerings = plain ? [{ ...plain, listUsdPerHour: 0.3, spotRiskUsdPerHour: 0.01 }] : [];
    expect(bought([{ ...CHEAP, offerings }])).toMatchObject({
      usdPerHour: 0.2,
      listUsdPerHour: 0.3,
      spotRiskUsdPerHour: 0.01,
    });
  });

  it('moves pods to other nodes, and leaves no pod out', () => {
    const small = instanceType('small', { cpu: 2, usd: 0.2 });
    const large = instanceType('large', { cpu: 8, usd: 0.82 });
    const cpus = (plan: Plan) => plan.claims.map(({ cheapest }) => cheapest);
    const pods = replicas(8, 'web', { cpu: '900m' });
    expect(cpus(planOf({ types: [small, large], pendingPods: pods }))).toEqual(['small', 'small', 'small', 'small']);
    const plan = planOf({ types: [risky(small, 0.02), large], pendingPods: pods });
    expect(cpus(plan)).toEqual(['large']);
    expect(plan.refusals.size).toBe(0);
  });

  it('does not affect on-demand, reserved and covered instances', () => {
    const types = [risky(CHEAP, 0.19), CALM];
    const onDemand = [nodePool('default', { requirements: [oneOf(CAPACITY_TYPE_LABEL, 'on-demand')] })];
    expect(bought(types, { pools: onDemand })).toEqual(bought([CHEAP, CALM], { pools: onDemand }));
    const commitments = [{ name: 'plan', kind: 'compute-savings-plan' as const, amount: 10, rates: [{ share: 0.6 }] }];
    expect(bought(types, { commitments })).toEqual(bought([CHEAP, CALM], { commitments }));
    const reserved = {
      ...offering('reserved', 'zone-a', 1e-8),
      reservationCapacity: 1,
      requirements: [
        oneOf(CAPACITY_TYPE_LABEL, 'reserved'),
        oneOf('topology.kubernetes.io/zone', 'zone-a'),
        oneOf('karpenter.k8s.aws/capacity-reservation-id', 'cr-1'),
      ],
    };
    const withReserved = (type: InstanceType): InstanceType => ({ ...type, offerings: [...type.offerings, reserved] });
    expect(bought([withReserved(risky(CHEAP, 0.19)), CALM])?.requirements).toEqual(
      bought([withReserved(CHEAP), CALM])?.requirements,
    );
  });

  it('removes no type from a NodeClaim, and does not violate minValues', () => {
    const many = (risk: number) =>
      Array.from({ length: 620 }, (_, at) => {
        const type = instanceType(`type-${at}`, { cpu: 4, usd: 0.4 + at / 10_000 });
        return at < 50 && risk > 0 ? risky(type, risk) : type;
      });
    const namesOf = (types: readonly InstanceType[], more: SnapshotParts = {}) =>
      bought(types, more)?.requirements.find(({ key }) => key === INSTANCE_TYPE_LABEL)?.values;
    expect(namesOf(many(0.19))).toHaveLength(600);
    expect(namesOf(many(0.19))).toEqual(namesOf(many(0)));
    const first = many(0)
      .slice(0, 50)
      .map(({ name }) => name);
    const later = many(0)
      .slice(550)
      .map(({ name }) => name);
    const requirements = [{ ...oneOf(INSTANCE_TYPE_LABEL, ...first, ...later), minValues: 100 }];
    expect(namesOf(many(0.19), { pools: [nodePool('default', { requirements })] })).toHaveLength(120);
  });
});

describe('a list of types', () => {
  it('is unchanged without spot risk, and is one new object with it', () => {
    const plain = sharedTypeList([CHEAP, CALM]);
    expect(withoutExpectedCosts(plain)).toBe(plain);
    const list = [risky(CHEAP, 0.1), CALM];
    expect(withoutExpectedCosts(list)).toEqual([CHEAP, CALM]);
    expect(withoutExpectedCosts(list)).toBe(withoutExpectedCosts(list));
  });
});
