import { describe, expect, it } from '@jest/globals';
import {
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  type LabelSelector,
  NODEPOOL_LABEL,
  type NodeClaim,
  ZONE_LABEL,
} from '#api/objects';
import { largestAmounts, largestClaimAmounts, USD, usdAmount, usdLimit } from '../../../src/engine/ceilings.ts';
import type { Ceiling, EngineSnapshot, Plan, PlannedClaim } from '../../../src/engine/model.ts';
import { Requirements } from '../../../src/engine/requirements.ts';
import { amountIn } from '../../../src/engine/resources.ts';
import { selects } from '../../../src/engine/selectors.ts';
import { solve } from '../../../src/engine/solve.ts';
import { instanceType, nodePool, OPTIONS, oneOf, pod, replicas, snapshot, TYPES } from './build.ts';
import { Draw, drawnSnapshot } from './scenarios.ts';

const ofPools = (...values: readonly string[]): LabelSelector => ({
  matchExpressions: [{ key: NODEPOOL_LABEL, operator: 'In', values }],
});

const ceiling = (limits: Ceiling['limits'], parts: Partial<Ceiling> = {}): Ceiling => ({
  object: { kind: 'NodePolicy', name: 'all' },
  field: 'spec.ceilings',
  limits,
  used: {},
  selector: ofPools('default'),
  ...parts,
});
const usd = (amount: number): Ceiling['limits'] => ({ [USD]: usdLimit(amount) });

const onDemand = nodePool('default', { requirements: [oneOf(CAPACITY_TYPE_LABEL, 'on-demand')] });
const PACKINGS = ['cheapest', 'compatible'] as const;

/** Returns the labels and amounts of each node that EC2 can launch for a claim. */
function launchesOf({ pools }: EngineSnapshot, claim: PlannedClaim) {
  const types = pools.find(({ nodePool: { metadata } }) => metadata.name === claim.nodePool)?.instanceTypes ?? [];
  const allowed = (key: string, value: string): boolean =>
    claim.requirements.every(({ key: own, values = [] }) => own !== key || values.includes(value));
  const single = (requirements: PlannedClaim['requirements']): readonly (readonly [string, string])[] =>
    requirements.flatMap(({ key, operator, values: [value, ...others] = [] }) =>
      operator === 'In' && value !== undefined && others.length === 0 ? [[key, value] as const] : [],
    );
  return types
    .filter(({ name }) => claim.instanceTypes.includes(name))
    .flatMap((type) =>
      type.offerings
        .filter(({ available, requirements }) => available && single(requirements).every(([k, v]) => allowed(k, v)))
        .map(({ requirements, usdPerHour }) => ({
          labels: Object.fromEntries([
            ...single(type.requirements),
            ...single(claim.requirements),
            ...Object.entries(claim.labels),
            ...single(requirements),
          ]),
          amounts: { ...type.capacity, nodes: 1, [USD]: usdAmount(usdPerHour) } as Readonly<Record<string, number>>,
        })),
    );
}

/** Returns the resources of the ceilings that a plan exceeds if each claim gets its worst launch. */
function excesses(input: EngineSnapshot, { claims }: Plan): readonly string[] {
  return (input.ceilings ?? []).flatMap(({ selector, limits, used, object }) =>
    Object.keys(limits).flatMap((name) => {
      const added = claims.map((claim) =>
        Math.max(
          0,
          ...launchesOf(input, claim).map(({ labels, amounts }) =>
            selects(selector, labels) ? (amounts[name] ?? 0) : 0,
          ),
        ),
      );
      const sum = added.reduce((total, each) => total + each, 0);
      return sum > 0 && amountIn(used, name) + sum > amountIn(limits, name) ? [`${object.name} ${name}`] : [];
    }),
  );
}

describe('a ceiling in USD', () => {
  // small costs $0.2, medium $0.4, large $0.8 per hour
  const planOf = (parts: Partial<EngineSnapshot>, packing: (typeof PACKINGS)[number] = 'cheapest') =>
    solve(
      { ...snapshot({ pools: [onDemand], pendingPods: replicas(6, 'p', { cpu: '2' }) }), ...parts } as EngineSnapshot,
      {
        ...OPTIONS,
        packing,
        explain: true,
      },
    );

  it.each(PACKINGS)('launches no node beyond it with %s packing', (packing) => {
    expect(planOf({}, packing).refusals.size).toBe(0);
    const ceilings = [ceiling(usd(0.7))];
    const plan = planOf({ ceilings }, packing);
    expect(plan.claims.length).toBeGreaterThan(0);
    expect(plan.refusals.size).toBeGreaterThan(0);
    expect(excesses({ ...snapshot({ pools: [onDemand] }), ceilings }, plan)).toEqual([]);
  });

  it('names the use, the ceiling and the cheapest refused node', () => {
    const ceilings = [ceiling(usd(1), { used: usd(0.9) })];
    const { claims, refusals } = planOf({ ceilings });
    expect(claims).toEqual([]);
    expect(refusals.get('default/p-0')).toMatchObject({
      text: expect.stringContaining('NodePolicy=all'),
      cause: {
        code: 'ceiling',
        object: { kind: 'NodePolicy', name: 'all' },
        field: `spec.ceilings.${USD}`,
        offered: `${USD} $0.9000/h of $1.0000/h in use`,
        wanted: 'the cheapest node for the pod is small for $0.2000/h',
      },
    });
  });

  it('narrows a launch to spot if on-demand would exceed it', () => {
    const input = { ...snapshot({ pools: [nodePool('default')], pendingPods: replicas(1, 'p', { cpu: '2' }) }) };
    const ceilings = [ceiling(usd(1), { used: usd(0.85) })];
    const plan = planOf({ ...input, ceilings });
    expect(plan.claims).toHaveLength(1);
    expect(plan.claims[0]?.instanceTypes).toEqual(['small']);
    expect(plan.claims[0]?.requirements).toContainEqual(oneOf(CAPACITY_TYPE_LABEL, 'spot'));
    expect(excesses({ ...input, ceilings }, plan)).toEqual([]);
  });

  it('launches a pod that requires spot although on-demand would exceed it', () => {
    const selector = { nodeSelector: { [CAPACITY_TYPE_LABEL]: 'spot' } };
    const pools = [nodePool('default')];
    const input = snapshot({ pools, pendingPods: replicas(1, 'p', { cpu: '2', ...selector }) });
    expect(planOf({ ...input, ceilings: [ceiling(usd(1), { used: usd(0.85) })] }).claims).toHaveLength(1);
    expect(planOf({ ...input, ceilings: [ceiling(usd(1), { used: usd(0.95) })] }).claims).toEqual([]);
  });

  it('narrows a launch to the zones in which the type fits', () => {
    const type = instanceType('only', {
      offerings: [{ ...offeringIn('zone-a', 0.5) }, { ...offeringIn('zone-b', 0.3) }, { ...offeringIn('zone-c', 0.2) }],
    });
    const input = snapshot({ pools: [onDemand], pendingPods: replicas(1, 'p', { cpu: '2' }), types: [type] });
    const { claims } = planOf({ ...input, ceilings: [ceiling(usd(0.4))] });
    expect(claims[0]?.requirements).toContainEqual(oneOf(ZONE_LABEL, 'zone-b', 'zone-c'));
  });

  it('counts an offering that is sold out for now, because it can be launched later', () => {
    const soldOut = { ...offeringIn('zone-a', 0.5), available: false, outage: { reason: 'sold out' } };
    const type = instanceType('only', { offerings: [soldOut, offeringIn('zone-b', 0.3)] });
    const input = snapshot({ pools: [onDemand], pendingPods: replicas(1, 'p', { cpu: '2' }), types: [type] });
    const { claims } = planOf({ ...input, ceilings: [ceiling(usd(0.4))] });
    expect(claims[0]?.requirements).toContainEqual(oneOf(ZONE_LABEL, 'zone-b'));
  });

  it('neither launches nor removes nodes while a price is above it', () => {
    const { claims, refusals } = planOf({ ceilings: [ceiling(usd(1), { used: usd(3) })] });
    expect(claims).toEqual([]);
    expect(refusals.size).toBe(6);
  });

  it('does not restrict other NodePools', () => {
    expect(planOf({ ceilings: [ceiling(usd(0), { selector: ofPools('other') })] }).refusals.size).toBe(0);
  });

  it('does not replace the limit of a NodePool as the cause', () => {
    const limited = nodePool('default', { limits: { cpu: '1' } });
    const { refusals } = planOf({
      ...snapshot({ pools: [limited], pendingPods: replicas(1, 'p', { cpu: '2' }) }),
      ceilings: [ceiling(usd(0))],
    });
    expect(refusals.get('default/p-0')).toMatchObject({ cause: { code: 'limits' } });
  });
});

const offeringIn = (zone: string, usdPerHour: number) => ({
  requirements: [oneOf(CAPACITY_TYPE_LABEL, 'on-demand'), oneOf(ZONE_LABEL, zone)],
  usdPerHour,
  available: true,
});

describe('a ceiling of nodes with some labels', () => {
  const inZone = (zone: string): LabelSelector => ({ matchLabels: { [ZONE_LABEL]: zone } });
  const quota = (limits: Ceiling['limits'], parts: Partial<Ceiling>): Ceiling =>
    ceiling(limits, { object: { kind: 'CapacityQuota', name: 'q' }, field: 'spec.limits.resources', ...parts });
  const planOf = (
    ceilings: readonly Ceiling[],
    parts: Parameters<typeof snapshot>[0],
    packing: (typeof PACKINGS)[number] = 'cheapest',
  ) => solve({ ...snapshot(parts), ceilings }, { ...OPTIONS, packing, explain: true });

  it.each(PACKINGS)('moves new nodes to labels that it does not select with %s packing', (packing) => {
    const full = quota({ nodes: 3 }, { selector: inZone('zone-a'), used: { nodes: 3 } });
    const parts = { pools: [nodePool('default')], pendingPods: replicas(3, 'p', { cpu: '2' }) };
    const { claims, refusals } = planOf([full], parts, packing);
    expect(refusals.size).toBe(0);
    for (const { requirements } of claims) expect(requirements).toContainEqual(oneOf(ZONE_LABEL, 'zone-b', 'zone-c'));
  });

  it('excludes instance types beyond its room and names the quota for the other pods', () => {
    const cores = quota({ cpu: 16_000 }, { selector: {}, used: { cpu: 12_000 } });
    const { claims, refusals } = planOf([cores], {
      pools: [nodePool('default')],
      pendingPods: replicas(8, 'p', { cpu: '1' }),
    });
    expect(claims.map(({ instanceTypes }) => instanceTypes)).toEqual([['medium']]);
    expect(refusals.size).toBe(4);
    expect([...refusals.values()][0]).toMatchObject({
      cause: {
        code: 'ceiling',
        object: { kind: 'CapacityQuota', name: 'q' },
        field: 'spec.limits.resources.cpu',
        offered: 'cpu 16 of 16 in use',
        wanted: 'the cheapest node for the pod is small with cpu 2 for $0.1000/h',
        remedy: 'Increase spec.limits.resources.cpu of the CapacityQuota, or remove nodes.',
      },
    });
  });

  it('launches a node with a value of a label of the NodePool that it does not select', () => {
    const teams = nodePool('default', { requirements: [{ key: 'team', operator: 'Exists' }] });
    const full = quota({ nodes: 0 }, { selector: { matchLabels: { team: 'a' } } });
    const of = (team: string) => pod(team, { cpu: '1', nodeSelector: { team } });
    const { claims, refusals } = planOf([full], { pools: [teams], pendingPods: [of('a'), of('b')] });
    expect(claims).toHaveLength(1);
    expect([...refusals.keys()]).toEqual(['default/a']);
  });

  it('does not count a resource that the instance type does not have', () => {
    const gpus = quota({ 'nvidia.com/gpu': 1 }, { selector: {}, used: { 'nvidia.com/gpu': 4 } });
    const parts = { pools: [nodePool('default')], pendingPods: replicas(1, 'p', { cpu: '1' }) };
    expect(planOf([gpus], parts).refusals.size).toBe(0);
  });

  it('launches nothing if one of two quotas has no room', () => {
    const room = quota({ nodes: 10 }, { selector: {} });
    const full = quota({ nodes: 1 }, { selector: ofPools('default'), used: { nodes: 1 } });
    const parts = { pools: [nodePool('default')], pendingPods: replicas(1, 'p', { cpu: '1' }) };
    expect(planOf([room, full], parts).claims).toEqual([]);
  });

  it('bounds a gang as a whole', () => {
    const pods = replicas(4, 'g', { cpu: '4' });
    const ceilings = [quota({ nodes: 2 }, { selector: {} })];
    const parts = { pools: [nodePool('default')], pendingPods: pods };
    const plan = planOf(ceilings, parts);
    expect(excesses({ ...snapshot(parts), ceilings }, plan)).toEqual([]);
    expect(plan.claims.length).toBeLessThanOrEqual(2);
  });
});

describe('a price', () => {
  it('is rounded up as an amount and down as a ceiling, so that sums stay within the ceiling', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const draw = new Draw(seed);
      const prices = Array.from({ length: 5 }, () => draw.below(1_000_000) / 7_000_000);
      const most = draw.below(1_000_000) / 1_300_000;
      const sum = prices.reduce((total, price) => total + price, 0);
      const amounts = prices.reduce((total, price) => total + usdAmount(price), 0);
      if (amounts <= usdLimit(most)) expect(sum).toBeLessThanOrEqual(most + 1e-7);
    }
  });

  it('of a NodeClaim without an instance is that of its most expensive type', () => {
    const claim: NodeClaim = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: 'x' },
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [oneOf(INSTANCE_TYPE_LABEL, 'small', 'medium')],
      },
    };
    const all = { limits: { [USD]: 0, cpu: 0, nodes: 0 }, selector: {} };
    expect(largestClaimAmounts(all, claim, { types: TYPES, chargesUsdPerHour: 0.1 })).toEqual({
      [USD]: 500_000,
      cpu: 4000,
      nodes: 1,
    });
    expect(largestClaimAmounts(all, claim, { types: [] })).toEqual({ [USD]: 0, cpu: 0, nodes: 1 });
  });

  it('is the highest price that the requirements allow', () => {
    const spot = Requirements.fromRequirements([oneOf(CAPACITY_TYPE_LABEL, 'spot')]);
    const of = (parts: Parameters<typeof largestAmounts>[1]) =>
      largestAmounts({ limits: { [USD]: 0 }, selector: {} }, parts)[USD];
    expect(of({ types: TYPES, requirements: spot, chargesUsdPerHour: 0.01 })).toBe(410_000);
    expect(of({ types: TYPES, requirements: Requirements.EMPTY })).toBe(800_000);
    expect(of({ types: [], requirements: Requirements.EMPTY, chargesUsdPerHour: 1 })).toBe(0);
  });
});

function drawnSelector(draw: Draw, pools: readonly string[]): LabelSelector {
  const some = <T>(all: readonly T[]): readonly T[] => all.filter(() => draw.chance(0.7));
  const operator = () => draw.of(['In', 'NotIn'] as const);
  const all: LabelSelector[] = [
    ofPools(...some(pools)),
    {},
    { matchExpressions: [{ key: ZONE_LABEL, operator: operator(), values: some(['zone-a', 'zone-b', 'zone-c']) }] },
    {
      matchExpressions: [{ key: CAPACITY_TYPE_LABEL, operator: operator(), values: [draw.of(['spot', 'on-demand'])] }],
    },
    { matchExpressions: [{ key: INSTANCE_TYPE_LABEL, operator: 'NotIn', values: ['small'] }] },
    { matchExpressions: [{ key: 'team', operator: draw.of(['Exists', 'DoesNotExist'] as const) }] },
  ];
  return draw.of(all);
}

describe('a random ceiling', () => {
  function drawn(seed: number): EngineSnapshot {
    const draw = new Draw(seed);
    const base = drawnSnapshot(seed, { nodes: 4, workloads: 8 });
    const names = base.pools.map(({ nodePool: { metadata } }) => metadata.name);
    const ceilings = Array.from({ length: 1 + draw.below(3) }, (_, at) => {
      const used = { nodes: draw.below(4), cpu: 1000 * draw.below(20), [USD]: usdAmount(draw.below(20) / 10) };
      const free = { nodes: draw.below(5), cpu: 1000 * draw.below(40), [USD]: usdLimit(draw.below(40) / 10) };
      const chosen = Object.keys(used).filter(() => draw.chance(0.6));
      const limits = Object.fromEntries(chosen.map((name) => [name, amountIn(used, name) + amountIn(free, name)]));
      const object = { kind: 'NodePolicy' as const, name: `ceiling-${at}` };
      return ceiling(limits, { object, used, selector: drawnSelector(draw, names) });
    });
    return { ...base, ceilings };
  }

  it('changes no plan with compatible packing if it has room for all launches', () => {
    const decisions = ({ claims, refusals }: Plan) => ({
      claims: claims.map(({ pods, requirements, instanceTypes }) => ({ pods, requirements, instanceTypes })),
      refused: [...refusals.keys()],
    });
    for (let seed = 1; seed <= 40; seed++) {
      const { ceilings = [], ...free } = drawn(seed);
      const wide = ceilings.map((each) => ({
        ...each,
        limits: Object.fromEntries(Object.keys(each.limits).map((name) => [name, Number.MAX_SAFE_INTEGER])),
      }));
      const options = { ...OPTIONS, packing: 'compatible' as const };
      expect(decisions(solve({ ...free, ceilings: wide }, options))).toEqual(decisions(solve(free, options)));
    }
  });

  it.each(PACKINGS)('is never exceeded by a plan of several NodePools with %s packing', (packing) => {
    let refused = 0;
    for (let seed = 1; seed <= 150; seed++) {
      const input = drawn(seed);
      const plan = solve(input, { ...OPTIONS, packing, explain: true });
      expect({ seed, exceeded: excesses(input, plan) }).toEqual({ seed, exceeded: [] });
      const { ceilings: _, ...free } = input;
      refused += plan.refusals.size - solve(free, { ...OPTIONS, packing }).refusals.size;
    }
    // the ceilings take effect
    expect(refused).toBeGreaterThan(100);
  });
});
